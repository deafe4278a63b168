"""`hudictl metadata`, as it is typed."""

import json
from pathlib import Path

import pytest

from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import drop, put
from tests.reports.test_metadata_table import some

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LOCAL = ("--engine", "local")


@VERSIONS
def test_files(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_part")
    said = tell("metadata", "files", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines()] == ["partition", "part-0", "part-1", "part-2"]
    rows = tell("metadata", "files", "-t", copy.path, "-o", "json").json["rows"]
    assert list(rows[0]) == ["partition", "files", "bytes"]
    assert sum(row["files"] for row in rows) == len(copy.data())
    files = tell("metadata", "files", "part-2", "-t", copy.path, "-o", "json").json["rows"]
    assert list(files[0]) == ["partition", "name", "size_bytes", "instant", "listed_by"]
    assert (len(files), sum(row["size_bytes"] for row in files)) == (rows[2]["files"], rows[2]["bytes"])
    assert tell("metadata", "files", "./part-2/", "-t", copy.path, "-o", "json").json["rows"] == files
    assert files[0]["name"] in tell("metadata", "files", "part-2", "-t", copy.path).out


def test_files_of_no_partition(unpack: Unpack, tell: Tell) -> None:
    said = tell("metadata", "files", "part-7", "-t", unpack("v9", "mor_part").path)
    assert said.code == 10
    assert "no partition 'part-7'" in said.line


@VERSIONS
def test_verify(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    said = tell("metadata", "verify", "-t", copy.path, *LOCAL)
    assert (said.code, said.out) == (0, "the metadata table agrees with storage\n")
    name = some(copy)
    drop(copy.path / "part-1" / name)
    said = tell("metadata", "verify", "-t", copy.path, *LOCAL)
    assert said.code == 3
    assert name in said.out
    assert "1 difference between the metadata table and storage" in said.line
    said = tell("metadata", "verify", "-t", copy.path, *LOCAL, "-o", "json")
    (row,) = said.json["rows"]
    assert list(row) == [
        *("difference", "partition", "name", "listed_bytes", "stored_bytes", "listed_by", "meaning"),
    ]
    assert (row["difference"], row["name"]) == ("missing", name)
    assert said.error["fields"] == {"differences": 1}


@VERSIONS
def test_damage_over_which_readers_pass_is_a_note(unpack: Unpack, tell: Tell, version: str) -> None:
    """A torn log of the metadata table: its files are not listed, and the reason is said."""
    copy = unpack(version, "mor_part")
    files = copy.meta / "metadata/files"
    log = max(path for path in files.iterdir() if ".log." in path.name and path.suffix != ".crc")
    log.write_bytes(log.read_bytes()[:-30])
    for command in (("files",), ("files", "part-0"), ("verify", *LOCAL)):
        said = tell("metadata", *command, "-t", copy.path)
        assert f"{log} is damaged at byte 0, and readers skip this block: cut off" in said.out.splitlines()[-1]
        (note,) = tell("metadata", *command, "-t", copy.path, "-o", "json").json["notes"]
        assert note == said.out.splitlines()[-1]
    assert said.code == 3


@pytest.mark.parametrize("command", [("files",), ("files", "part-0"), ("verify", *LOCAL), ("stats",)], ids=" ".join)
def test_no_metadata_table(unpack: Unpack, tell: Tell, command: tuple[str, ...]) -> None:
    """Nothing is wrong then: readers list folders."""
    flat = unpack("v9", "cow_flat_nomdt").path
    for path, words in ((flat, "in use"), (without(unpack), "it does not exist")):
        said = tell("metadata", *command, "-t", path)
        assert (said.code, said.err) == (0, "")
        assert words in said.out
        found = json.loads(tell("metadata", *command, "-t", path, "-o", "json").out)
        assert (found["rows"], len(found["notes"])) == ([], 1)


def without(unpack: Unpack) -> Path:
    """A table whose properties name a metadata table that is not there."""
    copy = unpack("v9", "cow_part")
    (copy.meta / "metadata").rename(copy.meta / ".metadata_away")
    return copy.path


@VERSIONS
def test_stats(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_part")
    said = tell("metadata", "stats", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    heads, *lines = said.out.splitlines()
    assert heads.startswith("partition ")
    assert {line.split()[1] for line in lines} == {"listed"}
    rows = tell("metadata", "stats", "-t", copy.path, "-o", "json").json["rows"]
    assert list(rows[0]) == [
        *("partition", "state", "file_groups", "base_files", "base_bytes", "logs", "log_bytes"),
        *("oldest_slice", "newest_slice", "last_compaction", "last_compaction_utc", "delta_commits_since"),
    ]
    assert [row["partition"] for row in rows] == [line.split()[0] for line in lines]


def test_a_damaged_metadata_table(unpack: Unpack, tell: Tell) -> None:
    """Exit code 14, with the file's name; never a traceback."""
    copy = unpack("v9", "cow_part")
    base = next((copy.meta / "metadata/files").glob("*.hfile"))
    body = base.read_bytes()
    for damaged in (b"", b"PAR1" * 2000, body[:-1], body[: len(body) // 2], bytes(len(body))):
        put(base, damaged)
        for command in (("files",), ("verify", *LOCAL)):
            said = tell("metadata", *command, "-t", copy.path)
            assert said.code in (11, 14)
            assert base.name in said.line
