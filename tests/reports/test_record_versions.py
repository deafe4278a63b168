"""A record is found where queries read it, wherever else its key is."""

from pathlib import Path
from shutil import copyfile

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.errors import NotFound, Unsupported
from hudictl.formats.log_blocks import DELETE
from hudictl.reports.logs.records import RECORD_KEY, Wanted, record_rows
from hudictl.reports.record_versions import FoundRecord, found_rows
from hudictl.table.logs.paths import find_logs
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, put
from tests.reports.logs.records_support import queried


def found(
    path: Path, key: str, partition: str | None = None, as_of: str | None = None
) -> tuple[list[FoundRecord], list[str]]:
    notes: list[str] = []
    return found_rows(open_table(str(path), zone="UTC"), key, partition, as_of, LocalEngine(), notes), notes


def alive(path: Path, key: str, as_of: str | None = None) -> list[tuple[str, str | None, object]]:
    rows, _ = found(path, key, as_of=as_of)
    assert [row.problem for row in rows if row.problem] == []
    return [(row.partition, row.file, row.instant) for row in rows if not row.deleted]


def read(path: Path, as_of: str | None = None) -> dict[str, list[tuple[str, str, object]]]:
    """Where queries read each key, by ``log records --merged``."""
    rows: dict[str, list[tuple[str, str, object]]] = {}
    for row in queried(path, as_of):
        folder, _, name = row.file.rpartition("/")
        rows.setdefault(row.record_key or "", []).append((folder, name, row.record["_hoodie_commit_time"]))
    return rows


def in_blocks(path: Path) -> dict[str, set[tuple[str, str | None]]]:
    """The keys in logs, each with the fates and types of its blocks."""
    logs, _ = find_logs([str(log) for log in path.rglob(".*.log.*") if ".hoodie" not in log.parts], None, "UTC")
    keys: dict[str, set[tuple[str, str | None]]] = {}
    for row in record_rows(logs, Wanted(), [], []):
        keys.setdefault(row.record_key or "", set()).add((row.fate, row.block_type))
    return keys


@pytest.mark.slow
@support.ONE_OF_EACH_KIND
@pytest.mark.parametrize(
    ("version", "name"),
    [pytest.param(of, name, id=f"{of}-{name}") for of in support.VERSIONS for name in support.names(of)],
)
def test_every_key_is_found_where_queries_read_it(tmp_path: Path, version: str, name: str) -> None:
    path = support.unpack(version, name, tmp_path)
    expected = read(path)
    assert expected
    for key, rows in expected.items():
        assert alive(path, key) == sorted(rows)
    others = {f"no-key-{number}" for number in range(3)} | set(in_blocks(path)) - set(expected)
    for key in others:
        assert alive(path, key) == []


@pytest.mark.slow
def test_as_of_an_instant(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_savepoints")
    then = copy.commits[1]
    expected = read(copy.path, then)
    assert expected != read(copy.path)
    for key, rows in expected.items():
        assert alive(copy.path, key, then) == sorted(rows)


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_deleted_record_is_told_where_a_log_has_the_delete(unpack: Unpack, version: str) -> None:
    path = unpack(version, "mor_parquet_logs").path
    deleted = {key for key, blocks in in_blocks(path).items() if ("valid", DELETE) in blocks} - set(read(path))
    assert deleted
    for key in deleted:
        (row,), _ = found(path, key)
        assert (row.deleted, row.kind, row.problem) == (True, "log", None)
        assert any(row.instant == instant.time for instant in load_timeline(open_table(str(path))).completed_writes())


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_pending_write_is_not_read(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    pending = {entry.time for entry in load_timeline(copy.table).writes() if entry.pending}
    keys = {key for key, blocks in in_blocks(copy.path).items() if "uncommitted" in {fate for fate, _ in blocks}}
    assert pending
    assert keys
    for key in keys:
        (row,), _ = found(copy.path, key)
        assert row.instant not in pending


def duplicated(copy: Copy) -> tuple[str, Path]:
    """A key of a base file that has a second file group with the same rows, and the new file."""
    file = min(path for path in copy.path.glob("part-0/*.parquet") if copy.commits[-1] in path.name)
    other = file.with_name("f" * 8 + file.name[8:])
    copyfile(file, other)
    key = next(key for key, rows in read(copy.path).items() if any(name == file.name for _, name, _ in rows))
    return key, other


def test_a_duplicate_is_a_row_for_each_file_group(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    key, other = duplicated(copy)
    rows, notes = found(copy.path, key)
    assert len(rows) == 2
    assert other.name in {row.file for row in rows}
    assert notes[-1] == "Queries read 2 records with this key: duplicates."
    other.unlink()
    rows, notes = found(copy.path, key)
    assert len(rows) == len(notes) == 1


def test_a_damaged_file_is_a_row_and_the_others_are_read(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    key, other = duplicated(copy)
    put(other, other.read_bytes()[:-9])
    rows, _ = found(copy.path, key)
    assert sorted((row.problem is not None, row.file is None) for row in rows) == [(False, False), (True, True)]
    (damaged,) = [row for row in rows if row.problem]
    assert other.name in str(damaged.problem)
    assert damaged.file_id == other.name.split("_")[0]


def test_only_the_file_group_that_the_record_index_names_is_read(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_record_index")
    (key, [(partition, name, _)]), *_ = read(copy.path).items()
    for file in copy.path.glob("part-*/*.parquet"):
        if file.name.split("_")[0] != name.split("_")[0]:
            put(file, b"damaged")
    rows, notes = found(copy.path, key)
    assert [(row.partition, row.file, row.problem) for row in rows] == [(partition, name, None)]
    assert notes == ["Looked at 1 file group, by the record index."]
    assert found(copy.path, "no key") == ([], ["Looked at 0 file groups, by the record index."])
    assert any(row.problem for row in found(copy.path, key, as_of=copy.commits[-1])[0])


def test_one_partition(unpack: Unpack) -> None:
    copy = unpack("v8", "mor_part")
    (key, [place]), *_ = read(copy.path).items()
    assert [(row.partition, row.file, row.instant) for row in found(copy.path, key, place[0])[0]] == [place]
    other = next(folder.name for folder in copy.path.glob("part-*") if folder.name != place[0])
    assert found(copy.path, key, other)[0] == []
    with pytest.raises(NotFound):
        found(copy.path, key, "part-9")


def without_own_columns(copy: Copy, fields: str) -> None:
    """As if the table had none of Hudi's own columns: its files keep them, and they are not looked at."""
    file = copy.path / ".hoodie/hoodie.properties"
    lines = [
        line
        for line in file.read_text().splitlines()
        if not line.startswith(("hoodie.table.recordkey", "hoodie.populate"))
    ]
    put(
        file,
        "\n".join(
            [*lines, "hoodie.populate.meta.fields=false", f"hoodie.table.recordkey.fields={fields}", ""]
        ).encode(),
    )


@pytest.mark.slow
def test_keys_that_are_computed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    expected = read(copy.path)
    column = open_table(str(copy.path)).record_key_fields[0]
    assert column != RECORD_KEY
    without_own_columns(copy, column)
    for key, rows in expected.items():
        assert [row[:2] for row in alive(copy.path, key)] == [row[:2] for row in sorted(rows)]
    without_own_columns(copy, f"{column},ts")
    with pytest.raises(Unsupported, match="2 record key fields"):
        found(copy.path, "1")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "reads"), [("orc_cow", True), ("hfile_mor", False)])
def test_other_base_files(tmp_path: Path, name: str, reads: bool) -> None:
    """ORC is read; of HFiles the rows say that they are not."""
    version = "v8" if reads else "v6"
    path = support.unpack(version, name, tmp_path)
    if reads:
        for key, rows in read(path).items():
            assert alive(path, key) == sorted(rows)
    else:
        rows, _ = found(path, "1")
        assert rows
        assert all("HFile" in str(row.problem) for row in rows)
