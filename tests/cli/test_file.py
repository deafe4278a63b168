"""``hudictl file history`` and ``file explain``, as they are typed."""

import csv
import re

from tests.cli.conftest import Tell, Unpack
from tests.helpers import put

LOCAL = ("--engine", "local")


def test_history_as_a_list(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_savepoints")
    name = next(path for path in sorted(copy.data()) if path.endswith(".parquet")).rpartition("/")[2]
    command = ("file", "history", name.partition("_")[0], "-t", copy.path)
    said = tell(*command)
    assert (said.code, said.err) == (0, "")
    rows = tell(*command, "-o", "json").json["rows"]
    assert [line.split()[0] for line in said.out.splitlines()[1:]] == [row["time"] for row in rows]
    assert {"written", "read", "saved"} <= {row["event"] for row in rows}
    saved = tell(*command, "--where", "event=saved", "--columns", "file", "--asc", "-o", "csv").out
    assert [row["file"] for row in csv.DictReader(saved.splitlines())] == [
        row["file"] for row in rows if row["event"] == "saved"
    ]
    since = rows[0]["time"]
    assert {row["time"] for row in tell(*command, "--since", since, "-o", "json").json["rows"]} == {since}


def test_history_of_nothing(unpack: Unpack, tell: Tell) -> None:
    """It says how far back it has looked; damage ends it with exit code 14."""
    copy = unpack("v9", "cow_part")
    said = tell("file", "history", "no-such-file-0", "-t", copy.path)
    assert (said.code, "no instant names the file no-such-file-0" in said.line) == (10, True)
    assert "--archived includes them" in said.line
    said = tell("file", "history", "no-such-file-0", "-t", copy.path, "--archived")
    assert (said.code, "what happened before is not recorded" in said.line) == (10, True)
    said = tell("file", "history", "no-such-file-0", "-t", copy.path, "--since", "1h")
    assert (said.code, said.out.splitlines()[0]) == (0, "no row meets the conditions")
    done = max(name for name in copy.timeline.glob("*_*.commit"))
    put(done, b"{ no commit")
    said = tell("file", "history", "no-such-file-0", "-t", copy.path)
    assert (said.code, done.name in said.out) == (14, True)


def test_explain_says_what_a_file_is(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    path = next(path for path in sorted(copy.data()) if copy.commits[-1] in path)
    said = tell("file", "explain", path, "-t", copy.path, *LOCAL)
    assert (said.code, said.err) == (0, "")
    facts = dict(re.split(r"  +", line, maxsplit=1) for line in said.out.splitlines())
    found = tell("file", "explain", copy.path / path, "-t", copy.path, *LOCAL, "-o", "json").json["result"]
    assert (found["path"], found["fate"]) == (path, "read")
    assert (facts["path"], facts["fate"], facts["deletable"]) == (path, "read", "no")
    assert found["deletable"] is False
    assert found["deleted_by"] is None
    assert "deleted by" not in facts
    saved = next(path for path in sorted(copy.data()) if copy.savepoints[0] in path)
    found = tell("file", "explain", saved, "-t", copy.path, *LOCAL, "-o", "json").json["result"]
    assert (found["fate"], copy.savepoints[0] in found["why"]) == ("saved", True)


def test_explain_a_failed_write_with_a_command_to_copy(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    failed = next(row["instant"] for row in tell("failed-writes", "list", "-t", copy.path, "-o", "json").json["rows"])
    path = next(path for path in sorted(copy.data()) if failed in path)
    found = tell("file", "explain", path, "-t", copy.path, *LOCAL, "-o", "json").json["result"]
    assert (found["fate"], found["deletable"]) == ("pending", True)
    assert found["deleted_by"] == f"`hudictl failed-writes clean --table={copy.path} --engine=local`"


def test_2_what_is_no_data_file(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    said = tell("file", "explain", ".hoodie_partition_metadata", "-t", copy.path, *LOCAL)
    assert (said.code, "not the name of a data file" in said.line) == (2, True)
    said = tell("file", "explain", "x-0_0-1-2_20261121030000000.parquet", "-t", copy.path, *LOCAL)
    assert (said.code, "no instant names the file" in said.line) == (10, True)
