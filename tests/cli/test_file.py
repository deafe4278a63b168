"""``hudictl file history`` and ``file explain``, as they are typed."""

import csv

from tests.cli.conftest import Tell, Unpack
from tests.helpers import put


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
    assert (said.code, said.out.splitlines()[0]) == (0, "no instant names the file")
    assert "--archived includes them" in said.out
    document = tell("file", "history", "no-such-file-0", "-t", copy.path, "--archived", "-o", "json").json
    assert document["rows"] == []
    assert "what happened before is not recorded" in document["notes"][0]
    done = max(name for name in copy.timeline.glob("*_*.commit"))
    put(done, b"{ no commit")
    said = tell("file", "history", "no-such-file-0", "-t", copy.path)
    assert (said.code, done.name in said.out) == (14, True)
