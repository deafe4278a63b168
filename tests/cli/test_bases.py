"""Tables whose base files are ORC, HFile or Lance: what goes by names and records works; what would open a file of
another format says which one it cannot read."""

import re
from collections.abc import Iterator

import pytest

from tests import support
from tests.cli.conftest import Said, Tell, Unpack
from tests.helpers import Copy, drop, put, tree

LOCAL = ("--engine", "local")
EVERY = pytest.mark.parametrize(("version", "name"), support.base_tables())
SHORT = pytest.mark.short("v6-orc_cow", "v6-hfile_mor", "v9-lance_cow", "v9-lance_mor", "v9-orc_mor")
OTHERS = [table for table in support.base_tables() if "orc" not in table[1]]
KINDS = {"orc": "an ORC file", "hfile": "an HFile", "lance": "a Lance file"}


def instants(copy: Copy) -> dict[str, str]:
    return dict(support.base_facts(copy.version, copy.name)["instants"])


def bases(copy: Copy) -> set[str]:
    """The base files with something in them."""
    form = copy.name.split("_")[0]
    return {path.name for path in copy.path.glob(f"[abc]/*.{form}") if path.name[0] != "." and path.stat().st_size}


def changed(tell: Tell, copy: Copy, *words: str) -> Said:
    said = tell(*words, "-t", copy.path, *LOCAL, "--idle", "0s", "--yes")
    assert said.code == 0, said.err
    return said


def sound(tell: Tell, copy: Copy) -> bool:
    """No finding but a note, ends of files included; and rollback blocks after the last commit (version 6)."""
    checked = tell("check", "--footers", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    verified = tell("metadata", "verify", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    found = [row for row in checked if row["severity"] != "info" and row["finding"] != "rollback-block-ahead"]
    return not found and not verified


@SHORT
@EVERY
def test_a_restore(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    """The base files are those of the instants up to the savepoint; the writer that died is cleaned up before."""
    copy = unpack(version, name)
    known = instants(copy)
    kept = {file for file in bases(copy) if file.rpartition("_")[2].split(".")[0] in (known["first"], known["S"])}
    assert kept < bases(copy) or name in ("orc_mor", "hfile_mor")  # which has later rows in logs only
    changed(tell, copy, "restore", known["S"])
    assert copy.commits == [known["first"], known["S"]]
    assert bases(copy) == kept
    assert sound(tell, copy)


@pytest.mark.slow
@SHORT
@EVERY
def test_rollbacks_and_a_failed_write(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    known = instants(copy)
    tell("failed-writes", "clean", "-t", copy.path, *LOCAL, "--policy", "lazy", "--interval", "1s", "--yes")
    assert not any(known["failed"] in file for file in bases(copy))
    assert sound(tell, copy)
    said = changed(tell, copy, "rollback", known["L2"])
    assert f"rolled back {known['L2']}" in said.out
    assert not any(known["L2"] in file for file in bases(copy))
    assert sound(tell, copy)


@SHORT
@EVERY
def test_a_savepoint_names_the_base_files(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    last = instants(copy)["L2"]
    changed(tell, copy, "savepoint", "create", last, "--allow-pending")
    said = tell("savepoint", "show", last, "--verify", "-t", copy.path, *LOCAL, "-o", "json")
    assert said.code == 0, said.err
    slices = tell("file", "slices", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    newest = {row["base_file"] for row in slices if row["newest"]} - {None}
    assert newest <= bases(copy)
    assert len(newest) >= 3
    assert all(file in copy.file(last, "savepoint").read_bytes().decode(errors="replace") for file in newest)


@SHORT
@EVERY
def test_a_base_file_that_no_commit_names(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    """Its instant was rolled back long ago."""
    copy = unpack(version, name)
    changed(tell, copy, "restore", instants(copy)["S"])
    like = sorted(bases(copy))[0]
    early = instants(copy)["first"][:-1] + "0"
    place = next(copy.path.glob(f"[abc]/{like}"))
    stray = place.with_name(re.sub(r"_\d+\.", f"_{early}.", like))
    put(stray, place.read_bytes())
    (row,) = tell("orphans", "list", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    assert row["path"] == f"{stray.parent.name}/{stray.name}"


@SHORT
@EVERY
def test_a_torn_base_file(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    slices = tell("file", "slices", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    row = next(row for row in slices if row["newest"] and row["base_file"])
    path = copy.path / row["partition"] / row["base_file"]
    body = path.read_bytes()
    put(path, body[:-8] + bytes(8))
    found = tell("check", "--footers", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    (finding,) = [entry for entry in found if entry["finding"] == "not-parquet"]
    assert finding["subject"] == f"{row['partition']}/{row['base_file']}"
    assert f"it is not {KINDS[name.split('_')[0]]} (its end is missing)" in finding["meaning"]


@SHORT
@EVERY
def test_a_lost_base_file(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    slices = tell("file", "slices", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    row = next(row for row in slices if row["newest"] and row["base_file"])
    drop(copy.path / row["partition"] / row["base_file"])
    found = tell("check", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    assert any(row["base_file"] in entry["subject"] for entry in found if entry["finding"] == "missing-file")


@EVERY
def test_what_is_shown(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    shown = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
    assert (shown["base_file_format"], shown["writers_can_start"]) == (name.split("_")[0].upper(), True)
    listed = tell("metadata", "files", "a", "-t", copy.path, "-o", "json").json["rows"]
    assert {row["name"] for row in listed if row["name"][0] != "."} <= bases(copy)
    (failed,) = tell("failed-writes", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert failed["markers"] > 0


def whole_slices(tell: Tell, copy: Copy) -> Iterator[str]:
    rows = tell("file", "slices", "-t", copy.path, *LOCAL, "-o", "json").json["rows"]
    return (f"{row['partition']}/{row['base_file']}" for row in rows if row["newest"] and row["base_file"])


@pytest.mark.parametrize(("version", "name"), OTHERS)
def test_merged_records_of_other_formats(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    """Refused before the first record is shown; the records of logs alone are shown."""
    copy = unpack(version, name)
    path = next(whole_slices(tell, copy))
    said = tell("log", "records", "--merged", copy.path / path, "-o", "ndjson")
    assert (said.code, said.out) == (11, "")
    kind = KINDS[name.split("_")[0]]
    assert said.error["message"] == f"{path} is {kind}: hudictl reads the rows of Parquet and ORC base files only"
    assert said.error["fields"] == {"file": path}
    if "mor" in name:
        log = next(path for path in copy.path.glob("[abc]/.*.log.*") if path.stat().st_size and "crc" not in path.name)
        assert tell("log", "records", log).code == 0


@pytest.mark.parametrize(("version", "name"), [table for table in support.base_tables() if "orc" in table[1]])
def test_merged_records_of_orc(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    found = {}
    for path in whole_slices(tell, copy):
        rows = tell("log", "records", "--merged", copy.path / path, "--limit", "0", "-o", "json").json["rows"]
        found |= {row["record"]["id"]: row["record"]["val"] for row in rows}
    written = [dict.fromkeys(range(30), 1), dict.fromkeys(range(0, 30, 2), 2), dict.fromkeys(range(36), 3)]
    # S wrote into a and b only, L2 into b and c.
    last: dict[int, int] = {}
    for part, partitions in zip([*written, dict.fromkeys(range(0, 36, 2), 4)], ("abc", "ab", "abc", "bc"), strict=True):
        last |= {one: ts for one, ts in part.items() if "abc"[one % 3] in partitions}
    assert found == {one: f"v{ts}-{one}" for one, ts in last.items()}


@EVERY
def test_indexes_over_other_formats(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    """Each that is not compared is named, with the file and its format."""
    copy = unpack(version, name)
    before = tree(copy.path)
    said = tell("metadata", "verify", "--indexes", "-t", copy.path, *LOCAL, "-o", "json")
    assert (said.code, said.json["rows"]) == (0, [])
    kind = KINDS[name.split("_")[0]]
    notes = "\n".join(said.json["notes"])
    for index in set(copy.table.indexes) - {"partition_stats"}:
        what = "the rows of Parquet and ORC" if index == "record_index" else "the footers of Parquet"
        pattern = rf"{index} is not compared: [abc]/\S+ is {kind}: hudictl reads {what} base files only"
        assert re.search(pattern, notes), notes
    assert tree(copy.path) == before
