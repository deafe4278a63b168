"""`hudictl metadata`, as it is typed."""

import json
from pathlib import Path

import pytest

from hudictl.errors import StorageFailed
from hudictl.ops.metadata import drop as metadata_drop
from hudictl.table.kept import room_times
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import drop, put, tree
from tests.metadata_edits import newest_log
from tests.ops.metadata.drop_support import later
from tests.reports.metadata_table_support import some

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


@pytest.mark.parametrize(
    "command", [("files",), ("files", "part-0"), ("verify", *LOCAL), ("partitions",)], ids=" ".join
)
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
def test_partitions(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_part")
    said = tell("metadata", "partitions", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    heads, *lines = said.out.splitlines()
    assert heads.startswith("partition ")
    assert {line.split()[1] for line in lines} == {"listed"}
    rows = tell("metadata", "partitions", "-t", copy.path, "-o", "json").json["rows"]
    assert list(rows[0]) == [
        *("partition", "state", "file_groups", "base_files", "base_bytes", "logs", "log_bytes"),
        *("oldest_slice", "newest_slice", "last_compaction", "last_compaction_utc", "delta_commits_since"),
        *("commits_back", "back_to", "back_limit"),
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


@pytest.mark.slow
def test_drop(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_record_index")
    before = tree(copy.path)
    said = tell("metadata", "drop", "-t", copy.path, *LOCAL, "--plan")
    assert (said.code, said.err) == (0, "")
    assert tell("metadata", "drop", "-t", copy.path, *LOCAL, "--plan", "--detailed-exitcode").code == 20
    said = tell("metadata", "drop", "-t", copy.path, *LOCAL)
    assert said.code == 4
    assert tree(copy.path) == before
    lines = said.out.splitlines()
    assert lines[1] == "Drop the metadata table"
    assert [line.split()[0] for line in lines[3:8]] == [
        *("partition", "column_stats", "files", "partition_stats", "record_index"),
    ]
    assert "readers list folders: slower, but the same rows" in said.out
    assert "The next Hudi write builds again only what its configuration names." in said.out
    assert "by reading all keys" in said.out
    assert "No lock is taken: none is configured. All writers" in said.out

    said = tell("metadata", "drop", "-t", copy.path, *LOCAL, "--yes", "-o", "json")
    assert (said.code, said.json["outcome"]) == (0, "done")
    result = said.json["result"]
    assert list(result) == ["whole", "partitions", "files_deleted", "bytes_deleted", "undo"]
    assert result["undo"] is None
    assert (result["whole"], result["files_deleted"] > 0) == (True, True)
    assert "metadata drop" in tell("history", "-t", copy.path).out
    said = tell("metadata", "drop", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, said.out) == (0, "there is no metadata table: nothing to do\n")


def test_drop_an_index(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_part")
    said = tell("metadata", "drop", "column_stats", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, said.err) == (0, "")
    assert "partition_stats" in said.out.splitlines()[5]
    assert said.out.splitlines()[5].endswith("column_stats")
    assert "Kept: files." in said.out
    assert said.out.splitlines()[-1].startswith("dropped column_stats, partition_stats (")
    assert [row["partition"] for row in tell("metadata", "partitions", "-t", copy.path, "-o", "json").json["rows"]] == [
        "files"
    ]
    said = tell("metadata", "drop", "column_stats", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, said.out) == (0, "the metadata table has no column_stats (it has files): nothing to do\n")
    said = tell("metadata", "drop", "colum_stats", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, "'colum_stats' is no partition" in said.line) == (13, True)
    said = tell("metadata", "drop", "files", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, "drops the whole metadata table" in said.line) == (13, True)


@pytest.mark.parametrize("names", [(), ("record_index",)], ids=["whole", "index"])
def test_drop_and_undo(unpack: Unpack, tell: Tell, names: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_record_index")
    said = tell("metadata", "drop", *names, "-t", copy.path, *LOCAL, "--keep-files", "--yes")
    assert said.code == 0
    assert "are moved into .hoodie/.hudictl/undo" in said.out
    (time,) = room_times(copy.table)
    undo = f"hudictl undo --table={copy.path} --engine=local {time}"
    assert f"until the table is changed again, `{undo}` brings all back" in said.out
    said = tell("undo", time, "-t", copy.path, *LOCAL, "--yes")
    of = f" of {names[0]}" if names else ""
    assert said.out.splitlines()[1].startswith(f"Undo the metadata drop {time}{of}, begun at ")
    assert "Data files" not in said.out
    assert said.out.splitlines()[-1] == f"undid the metadata drop {time}{of}: the metadata table is back"
    assert "record_index" in copy.table.metadata_partitions


def test_drop_indexes_of_sql(unpack: Unpack, tell: Tell) -> None:
    copy = later(unpack("v9", "later"))
    said = tell("metadata", "drop", "-t", copy.path, *LOCAL, "--plan")
    assert "names, and expr_index_idx_day, secondary_index_idx_val from the definitions, which are kept." in said.out
    said = tell("metadata", "drop", "record_index", "-t", copy.path, *LOCAL, "--plan")
    assert "Definitions to delete: secondary_index_idx_val. Create these indexes again (CREATE INDEX)." in said.out


@pytest.mark.slow
@pytest.mark.parametrize("names", [(), ("record_index",)], ids=["whole", "index"])
def test_drop_is_applied(unpack: Unpack, tell: Tell, names: tuple[str, ...], tmp_path: Path) -> None:
    copy = unpack("v9", "cow_record_index")
    said = tell("metadata", "drop", *names, "-t", copy.path, *LOCAL, "--plan", "-o", "json")
    plan = tmp_path / "plan.json"
    plan.write_text(said.out)
    result = said.json["result"]
    assert (result["operation"], result["target"]) == ("metadata drop", ", ".join(names))
    assert result["partitions"][-1] == {
        **{"partition": "record_index", "files": 62},
        **{"bytes": result["partitions"][-1]["bytes"], "depends_on": ""},
    }
    put(copy.meta / "metadata/bloom_filters/.hoodie_partition_metadata")
    said = tell("apply", plan, *LOCAL)
    assert (said.code, "metadata table: was" in said.line) == (12, True)
    (copy.meta / "metadata/bloom_filters/.hoodie_partition_metadata").unlink()
    (copy.meta / "metadata/bloom_filters").rmdir()
    assert tell("apply", plan, *LOCAL).code == 0
    assert "record_index" not in copy.table.metadata_partitions
    said = tell("apply", plan, *LOCAL)
    assert (said.code, "nothing to do" in said.out) == (0, True)


def fails(*_given: object) -> None:
    raise StorageFailed("disk full")


def test_the_rest_of_a_drop_that_died(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_record_index")
    with monkeypatch.context() as patch:
        patch.setattr(metadata_drop, "delete_dropped", fails)
        assert tell("metadata", "drop", "-t", copy.path, *LOCAL, "--yes").code == 15
    said = tell("metadata", "drop", "-t", copy.path, *LOCAL, "--yes")
    assert said.code == 0
    assert said.out.splitlines()[1] == "Drop what earlier drops have left"
    assert "Earlier drops to finish: 2" in said.out
    assert said.out.splitlines()[-1] == "dropped what earlier drops have left"
    assert tell("metadata", "drop", "-t", copy.path, *LOCAL, "--yes").out.endswith("nothing to do\n")


@pytest.mark.slow
@VERSIONS
def test_indexes_that_agree(indexed: Unpack, tell: Tell, version: str) -> None:
    copy = indexed(version, "cow")
    said = tell("metadata", "verify", "--indexes", "-t", copy.path, *LOCAL)
    assert (said.code, said.err) == (0, "")
    assert "no differences: " in said.out
    assert "record_index" in said.out.splitlines()[0]
    found = tell("metadata", "verify", "--indexes", "--sample", "1", "-t", copy.path, *LOCAL, "-o", "json").json
    assert found["rows"] == []


@pytest.mark.slow
@VERSIONS
def test_indexes_that_differ(indexed: Unpack, tell: Tell, version: str) -> None:
    copy = indexed(version, "cow")
    drop(newest_log(copy.path, "record_index"))
    words = ("metadata", "verify", "--indexes", "-t", copy.path, *LOCAL)
    said = tell(*words)
    assert said.code == 3
    assert "missing in the index" in said.out
    assert "between the indexes and the data" in said.line
    said = tell(*words, "-o", "json")
    rows = said.json["rows"]
    assert list(rows[0]) == ["index", "difference", "partition", "file", "key", "in_index", "in_data"]
    assert said.error["slug"] == "findings"
    assert said.error["fields"] == {"differences": len(rows)}
    said = tell(*words, "-o", "ndjson")
    assert [json.loads(line) for line in said.out.splitlines()] == rows


@pytest.mark.slow
def test_differences_are_a_list_like_others(indexed: Unpack, tell: Tell) -> None:
    """Whatever is shown of them, all are counted."""
    copy = indexed("v9", "cow")
    for partition in ("a", "b"):
        (copy.path / partition).rename(copy.path / f"{partition}-moved")
    words = ("metadata", "verify", "--indexes", "-t", copy.path, *LOCAL)
    rows = tell(*words, "-o", "json").json["rows"]
    assert len(rows) > 3
    said = tell(*words, "-o", "csv", "--where", "index=record_index", "--limit", "2", "--columns", "index,partition")
    assert (said.code, len(said.out.splitlines())) == (3, 3)
    assert f"{len(rows):,} differences" in said.line


def test_a_table_without_indexes(unpack: Unpack, tell: Tell) -> None:
    said = tell("metadata", "verify", "--indexes", "-t", unpack("v6", "cow_part").path, *LOCAL)
    assert (said.code, said.out) == (0, "the metadata table has no indexes\n")
    said = tell("metadata", "verify", "--indexes", "-t", unpack("v6", "cow_flat_nomdt").path, *LOCAL)
    assert (said.code, said.out) == (0, "no metadata table is in use: readers list folders\n")


def test_a_sample_of_the_listing_is_not_possible(unpack: Unpack, tell: Tell) -> None:
    said = tell("metadata", "verify", "--sample", "3", "-t", unpack("v6", "cow_part").path, *LOCAL)
    assert said.code == 2
    assert "--sample goes with --indexes" in said.line


def test_a_damaged_index_is_unreadable(indexed: Unpack, tell: Tell) -> None:
    """Exit code 14, with the file's name, from a task, too."""
    copy = indexed("v9", "cow")
    base = max((copy.meta / "metadata/record_index").glob("record-index-0000*.hfile"))
    body = base.read_bytes()
    put(base, body[:200] + bytes(50) + body[250:])
    said = tell("metadata", "verify", "--indexes", "-t", copy.path, *LOCAL)
    assert said.code == 14
    assert base.name in said.line


def test_the_old_name_of_partitions(unpack: Unpack, tell: Tell) -> None:
    """For one release; it is not in the help."""
    path = unpack("v9", "mor_part").path
    assert tell("metadata", "stats", "-t", path).out == tell("metadata", "partitions", "-t", path).out
    assert "stats" not in tell("metadata", "--help").out


@VERSIONS
def test_where_a_record_is(indexed: Unpack, tell: Tell, version: str) -> None:
    copy = indexed(version, "mor")
    said = tell("metadata", "lookup", "key-11", "no such key", "-t", copy.path)
    assert (said.code, said.err) == (0, "")
    head, there, absent = said.out.splitlines()
    assert head.split()[:2] == ["key", "found"]
    assert there.split()[:3] == ["key-11", "yes", "b"]
    assert absent.split() == ["no", "such", "key", "no"]
    assert tell("metadata", "lookup", "-t", copy.path).code == 2


@VERSIONS
def test_the_columns_of_a_file(indexed: Unpack, tell: Tell, version: str) -> None:
    copy = indexed(version, "cow")
    file = min(path.relative_to(copy.path) for path in (copy.path / "b").glob("*.parquet"))
    rows = tell("metadata", "columns", file, "-t", copy.path, "-o", "json").json["rows"]
    assert list(rows[0]) == ["column", "min", "max", "nulls", "values", "exact"]
    (key,) = (row for row in rows if row["column"] == "_hoodie_record_key")
    assert key["min"].startswith("key-")
    for said in (f"./{file}", f"/{file}"):
        assert tell("metadata", "columns", said, "-t", copy.path, "-o", "json").json["rows"] == rows
    said = tell("metadata", "columns", file.name, "-t", copy.path)
    assert (said.code, said.out) == (10, "")
    assert "no statistics of" in said.line


@pytest.mark.parametrize(("command", "index"), [("lookup", "record_index"), ("columns", "column_stats")])
def test_10_there_is_no_such_index(unpack: Unpack, indexed: Unpack, tell: Tell, command: str, index: str) -> None:
    tables = [unpack("v9", "cow_flat_nomdt"), unpack("v6", "cow_part"), indexed("v9", "cow")]
    properties = tables[-1].meta / "hoodie.properties"
    text = properties.read_text().replace(f",{index}", "").replace(f"{index},", "")
    put(properties, text.replace("partitions.inflight=", f"partitions.inflight={index}").encode())
    for copy, more in zip(tables, ("", "", ": it is being built"), strict=True):
        said = tell("metadata", command, "x", "-t", copy.path)
        assert (said.code, said.out) == (10, "")
        assert f"the table has no index {index}{more} (" in said.line


@pytest.mark.parametrize(("command", "index"), [("lookup", "record_index"), ("columns", "column_stats")])
def test_14_a_damaged_index_has_no_answer(indexed: Unpack, tell: Tell, command: str, index: str) -> None:
    copy = indexed("v9", "cow")
    for base in (copy.meta / f"metadata/{index}").glob("*.hfile"):
        put(base, base.read_bytes()[:-20])
    said = tell("metadata", command, "b/x.parquet", "-t", copy.path)
    assert (said.code, said.out) == (14, "")
    assert ".hfile" in said.line
    for path in (copy.meta / f"metadata/{index}").iterdir():
        path.unlink()
    said = tell("metadata", command, "b/x.parquet", "-t", copy.path)
    assert (said.code, "no file group of it has a committed file slice" in said.line) == (14, True)
