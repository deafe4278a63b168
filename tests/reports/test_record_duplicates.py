"""Keys that queries read twice are found, wherever their records are; and nothing else is."""

from collections import defaultdict
from pathlib import Path
from shutil import copyfile

import pyarrow
import pytest
from pyarrow import parquet

from hudictl.engine.base import Engine
from hudictl.engine.local import LocalEngine
from hudictl.errors import NotFound, Unsupported
from hudictl.record_workers import doubled
from hudictl.reports import record_duplicates
from hudictl.reports.record_duplicates import DuplicateRecord, duplicate_rows
from hudictl.table.open import open_table
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, put
from tests.reports.logs.records_support import queried

Place = tuple[str, str, str]


def duplicates(
    base: Path, partition: str | None = None, as_of: str | None = None, everywhere: bool = False
) -> tuple[list[DuplicateRecord], list[str]]:
    notes: list[str] = []
    engine: Engine = LocalEngine()
    rows = duplicate_rows(open_table(str(base), zone="UTC"), partition, as_of, everywhere, engine, notes)
    return list(rows), notes


def places(rows: list[DuplicateRecord]) -> list[Place]:
    assert [row.problem for row in rows if row.problem] == []
    return sorted((str(row.key), row.partition, str(row.file)) for row in rows)


def read_twice(base: Path, as_of: str | None = None, everywhere: bool = False) -> list[Place]:
    """By ``log records --merged`` of the whole table."""
    found: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for row in queried(base, as_of):
        folder, _, name = row.file.rpartition("/")
        found[str(row.record_key), "" if everywhere else folder].append((str(row.record_key), folder, name))
    return sorted(place for some in found.values() if len(some) > 1 for place in some)


def second_group(copy: Copy, base: str, folder: str = "") -> Path:
    """The rows of a base file once more, in a file group of their own."""
    file = copy.path / base
    other = (copy.path / folder if folder else file.parent) / f"{'f' * 8}{file.name[8:]}"
    copyfile(file, other)
    return other


def newest_base(copy: Copy) -> str:
    return min(path.relative_to(copy.path).as_posix() for path in copy.path.glob("part-0/*.parquet"))


@pytest.mark.slow
@support.ONE_OF_EACH_KIND
@pytest.mark.parametrize(
    ("version", "name"),
    [pytest.param(of, name, id=f"{of}-{name}") for of in support.VERSIONS for name in support.names(of)],
)
def test_they_are_what_queries_read_twice(tmp_path: Path, version: str, name: str) -> None:
    base = support.unpack(version, name, tmp_path)
    for everywhere in (False, True):
        rows, notes = duplicates(base, everywhere=everywhere)
        assert places(rows) == read_twice(base, everywhere=everywhere)
        assert notes[0].startswith("Looked at ")


@pytest.mark.parametrize(
    ("version", "name"),
    [(version, name) for version in support.VERSIONS for name in ("cow_part", "mor_savepoints", "mor_parquet_logs")],
)
def test_a_second_file_group(unpack: Unpack, version: str, name: str) -> None:
    """Of merge on read, records that a log has deleted or updated are counted as queries read them."""
    copy = unpack(version, name)
    other = second_group(copy, newest_base(copy))
    expected = read_twice(copy.path)
    assert any(file == other.name for _, _, file in expected)
    rows, notes = duplicates(copy.path)
    assert places(rows) == expected
    assert places(duplicates(copy.path, "part-0")[0]) == [place for place in expected if place[1] == "part-0"]
    assert {row.copies for row in rows} == {2}
    assert notes[1] == f"Queries read {len(expected) // 2} keys more than once: {len(expected)} records."
    sql = (
        f"CALL repair_deduplicate(table => '{open_table(str(copy.path)).name}', duplicated_partition_path => 'part-0', "
        "repaired_output_path => '/tmp/deduplicated', dry_run => true, dedupe_type => 'insert_type')"
    )
    assert {row.repair_sql for row in rows} == {sql}
    assert sql in notes[2]
    # Both have the commit time of the copied row; logs are not Hudi's business.
    assert {row.kept for row in rows} == ({True} if name == "cow_part" else {None})


def test_in_another_partition(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    second_group(copy, newest_base(copy), "part-1")
    rows, notes = duplicates(copy.path)
    assert (rows, len(notes)) == ([], 1)
    rows, _ = duplicates(copy.path, everywhere=True)
    assert places(rows) == read_twice(copy.path, everywhere=True) != []
    assert [row.key for row in rows] == sorted(str(row.key) for row in rows)
    # Each is alone in its partition.
    assert {row.kept for row in rows} == {True}


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_as_of_an_instant(unpack: Unpack, version: str) -> None:
    """In version 6 a log has the records of several commits."""
    copy = unpack(version, "mor_savepoints")
    second_group(copy, newest_base(copy))
    seen = []
    for then in copy.commits:
        expected = read_twice(copy.path, then)
        rows, notes = duplicates(copy.path, as_of=then)
        assert places(rows) == expected
        assert {(row.kept, row.repair_sql) for row in rows} <= {(None, None)}
        assert not any("repair_deduplicate" in note for note in notes)
        seen.append(expected)
    assert len({tuple(places) for places in seen}) > 1


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_below_a_pending_compaction(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    other = second_group(copy, newest_base(copy))
    expected = read_twice(copy.path)
    bases = {file for _, _, file in expected if file.endswith(".parquet")}
    assert other.name in bases
    assert len(bases) > 1
    assert places(duplicates(copy.path)[0]) == expected


def test_positions_and_commits_are_those_of_the_rows(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    second_group(copy, newest_base(copy))
    rows, _ = duplicates(copy.path)
    for row in rows:
        there = parquet.read_table(copy.path / row.partition / str(row.file), partitioning=None).to_pylist()
        found = there[row.position or 0]
        assert (found["_hoodie_record_key"], found["_hoodie_commit_time"]) == (row.key, row.instant)
        assert row.kind == "base"


def test_of_two_commits_in_one_file_hudi_keeps_none(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    file = copy.path / newest_base(copy)
    file = min(path for path in file.parent.glob("*.parquet") if copy.commits[-1] in path.name)
    rows = parquet.read_table(file, partitioning=None)
    older = rows.slice(0, 1).set_column(0, "_hoodie_commit_time", pyarrow.array([copy.commits[0]]))
    file.chmod(0o644)
    parquet.write_table(pyarrow.concat_tables([rows, older.cast(rows.schema)]), file)
    found, _ = duplicates(copy.path)
    assert [(row.position, row.kept) for row in found] == [(0, False), (rows.num_rows, False)]
    parquet.write_table(older.cast(rows.schema), second_group(copy, file.relative_to(copy.path).as_posix()))
    parquet.write_table(rows, file)
    found, _ = duplicates(copy.path)
    assert {(row.instant, row.kept) for row in found} == {
        (rows["_hoodie_commit_time"][0].as_py(), True),
        (copy.commits[0], False),
    }


def test_many_parts_and_batches_find_the_same(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "mor_savepoints")
    for base in [path.relative_to(copy.path).as_posix() for path in copy.path.glob("part-*/*.parquet")]:
        second_group(copy, base)
    before, _ = duplicates(copy.path)
    monkeypatch.setattr(record_duplicates, "_BYTES_OF_PART", 100)
    monkeypatch.setattr(record_duplicates, "_AT_ONCE", 1)
    assert duplicates(copy.path)[0] == before != []
    assert len({row.partition for row in before}) > 1


def test_keys_with_one_digest_are_told_apart(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    monkeypatch.setattr("hudictl.record_workers._digest", lambda key: 7)
    assert duplicates(copy.path)[0] == []
    second_group(copy, newest_base(copy))
    assert places(duplicates(copy.path)[0]) == read_twice(copy.path) != []


def test_digests_that_are_alone_do_not_come_back() -> None:
    one, two = (number.to_bytes(8, "little") for number in (1, 2))
    assert doubled("0 p", [(0, one + two), (1, two)]) == [(0, two), (1, two)]
    assert doubled("0 p", [(0, one + one)]) == [(0, one + one)]
    assert doubled("0 p", [(0, one), (1, two)]) is None


def test_a_file_that_cannot_be_read_is_a_row_and_the_others_are_compared(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    second_group(copy, newest_base(copy))
    expected = duplicates(copy.path)[0]
    damaged = min(path for path in copy.path.glob("part-1/*.parquet") if copy.commits[-1] in path.name)
    put(damaged, b"PAR1" + bytes(1000))
    rows, _ = duplicates(copy.path)
    assert [row for row in rows if row.key] == expected
    (broken,) = (row for row in rows if row.problem)
    assert (broken.partition, damaged.name.startswith(broken.file_id)) == ("part-1", True)


def test_other_tables_are_refused(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    with pytest.raises(NotFound, match="no-such"):
        duplicates(copy.path, "no-such")
    with pytest.raises(Unsupported, match="metadata table"):
        duplicates(copy.path / ".hoodie/metadata")
    file = copy.path / ".hoodie/hoodie.properties"
    put(file, file.read_bytes() + b"\nhoodie.populate.meta.fields=false\n")
    with pytest.raises(Unsupported, match="no column _hoodie_record_key"):
        duplicates(copy.path)
