"""After a drop of the metadata table, or of one index, the real Hudi reads the same rows, and builds it again."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.table.metadata.aside import delete_dropped, drop_indexes, drop_metadata_table
from hudictl.table.metadata.place import (
    metadata_partition_names,
    open_metadata_table,
)
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.crash.inject import copy
from tests.helpers import NEVER, assert_listed, put
from tests.helpers import drop as delete
from tests.interop import product
from tests.interop.check_support import slugs
from tests.interop.indexes_support import SKIP
from tests.interop.judge import Judge, JudgeError
from tests.interop.make_indexes import ALONE, RECORD_INDEX
from tests.interop.scenarios import MERGE_ON_READ, batch, digest
from tests.interop.services_support import BLOOM, INDEXER, assert_indexes_again
from tests.state.orphans.find_support import LATER
from tests.walks.shape import NO_STATISTICS, STATISTICS

pytestmark = [pytest.mark.hudi, pytest.mark.parametrize("version", support.VERSIONS)]

Judges = Callable[[str], Judge]
INDEXES = RECORD_INDEX | {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.compact.max.delta.commits": "3",
}
BUILT = {"files", "record_index", "column_stats", "bloom_filters"}
BY_INDEX = INDEXES | {"hoodie.index.type": "RECORD_INDEX"}


def drop(base: Path, *names: str) -> int:
    return product.command(base, "metadata", "drop", *names, idle="0s")


def made(hudi: Judge, base: Path, writes: int = 4, **kind: str) -> None:
    """A table with indexes, whose metadata table was compacted."""
    hudi.create(base, batch(range(30), 1), INDEXES | kind)
    for ts in range(2, writes + 1):
        hudi.upsert(base, batch(range(30), ts), options=BY_INDEX | kind)
    assert set(open_table(str(base)).metadata_partitions) >= BUILT
    assert hudi.both_rows(base) == digest(batch(range(30), writes))


def goes_on(hudi: Judge, base: Path, since: int, ids: range = range(30)) -> None:
    """Over the next compactions of the metadata table."""
    for ts in range(since, since + 4):
        hudi.upsert(base, batch(ids, ts), options=BY_INDEX)
        assert hudi.both_rows(base) == digest(batch(ids, ts))
        assert_listed(base)
    for one in (0, ids[-1]):
        said = hudi.sql(base, [f"SELECT id, val FROM judged WHERE id = {one}"], SKIP)
        assert said == [[one, f"v{since + 3}-{one}"]]


def instants(base: Path) -> list[str]:
    metadata = open_metadata_table(open_table(str(base)))
    assert metadata is not None
    return [entry.time for entry in load_timeline(metadata).instants]


@pytest.mark.full
@pytest.mark.parametrize("kind", [{}, MERGE_ON_READ], ids=["cow", "mor"])
def test_the_whole_one(judge: Judges, version: str, kind: dict[str, str], tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "table"
    made(hudi, base, **kind)
    assert drop(base) == 0
    assert metadata_partition_names(open_table(str(base))) == set()
    assert hudi.both_rows(base) == digest(batch(range(30), 4))
    goes_on(hudi, base, 5)
    assert set(open_table(str(base)).metadata_partitions) >= BUILT
    assert drop(base) == 0
    assert hudi.both_rows(base) == digest(batch(range(30), 8))


@pytest.mark.full
@pytest.mark.short("record_index-v6")
@pytest.mark.parametrize("name", ["record_index", "column_stats", "bloom_filters"])
def test_one_index(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    """The rest of the metadata table is as it was; a writer that is not configured for the index leaves it out."""
    hudi, base = judge(version), tmp_path / "table"
    made(hudi, base)
    before, rest = instants(base), metadata_partition_names(open_table(str(base)))
    dropped = {name, "partition_stats"} if name == "column_stats" else {name}
    assert drop(base, name) == 0
    assert metadata_partition_names(open_table(str(base))) == rest - dropped
    assert instants(base) == before
    assert hudi.both_rows(base) == digest(batch(range(30), 4))

    other = copy(base, tmp_path / "other")
    goes_on(hudi, base, 5)
    assert set(open_table(str(base)).metadata_partitions) >= BUILT
    assert instants(base)[0] == before[0]

    without = dict.fromkeys((key for key in INDEXES if key.endswith("enable")), "false")
    for ts in (5, 6):
        hudi.upsert(other, batch(range(30), ts), options=INDEXES | without)
        assert hudi.both_rows(other) == digest(batch(range(30), ts))
    assert name not in open_table(str(other)).metadata_partitions


@pytest.mark.full
def test_indexes_of_sql(judge: Judges, version: str, tmp_path: Path) -> None:
    """The next writer builds them again from their definitions, with the whole metadata table; not by themselves."""
    if version == "v6":
        pytest.skip("it has none")
    hudi, base = judge(version), support.unpack(version, "later", tmp_path)
    assert drop(base) == 13
    options = RECORD_INDEX | ALONE
    rows = batch(range(6), 4, (("a",),))
    hudi.upsert(base, rows, options=options)
    other = copy(base, tmp_path / "other")
    built = set(open_table(str(base)).metadata_partitions)
    queries = [f"SELECT id FROM judged WHERE {where}" for where in ("val = 'v4-5'", "id = 5")]
    assert drop(base) == 0
    assert [hudi.sql(base, [query], SKIP) for query in queries] == [[[5]], [[5]]]
    hudi.upsert(base, rows, options=options)
    assert set(open_table(str(base)).metadata_partitions) == built
    assert [hudi.sql(base, [query], SKIP) for query in queries] == [[[5]], [[5]]]

    assert drop(other, "record_index") == 0
    assert "secondary_index_idx_val" not in json.loads((other / ".hoodie/.index_defs/index.json").read_text())
    assert [hudi.sql(other, [query], SKIP) for query in queries] == [[[5]], [[5]]]
    for _ in range(2):
        hudi.upsert(other, rows, options=options)
        assert [hudi.sql(other, [query], SKIP) for query in queries] == [[[5]], [[5]]]
    assert set(open_table(str(other)).metadata_partitions) == built - {"secondary_index_idx_val"}
    assert hudi.both_rows(other) == digest(rows)


@pytest.mark.full
def test_an_indexing_that_died(judge: Judges, version: str, tmp_path: Path) -> None:
    """What it has built goes, then the instant; Hudi's own indexer removes only the former."""
    hudi, base = judge(version), support.unpack(version, "cow_part", tmp_path)
    before = hudi.both_rows(base)
    time = hudi.index(base, "schedule", BLOOM, INDEXER)
    with hudi.dying(base, r"(create|rename) \.hoodie/metadata/bloom_filters/"):
        hudi.index(base, "run", time, INDEXER)
    assert product.rollback(base, time) == 13
    if drop(base, "bloom_filters"):
        assert drop(base) == 0
    assert product.rollback(base, time) == 0
    assert hudi.both_rows(base) == before
    assert_indexes_again(hudi, base)
    hudi.both_rows(base)


@pytest.mark.full
def test_an_empty_file(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hudi cannot build the metadata table again beside it. With the old one readers and writers go on."""
    hudi, base = judge(version), tmp_path / "table"
    made(hudi, base, 2)
    like = min((base / "a").glob("*.parquet")).name.split("_")
    empty = put(base / f"a/deadbeef-0000-4000-8000-000000000000-0_{like[1]}_{NEVER}.parquet")
    assert drop(base) == 13
    with pytest.raises(JudgeError):
        hudi.upsert(without_guards(base, tmp_path), batch(range(30), 3), options=BY_INDEX)
    hudi.upsert(base, batch(range(30), 3), options=BY_INDEX)
    empty.unlink()
    assert drop(base) == 0
    goes_on(hudi, base, 4)


def without_guards(base: Path, folder: Path) -> Path:
    """A copy of which the metadata table is dropped all the same."""
    made = open_table(str(copy(base, folder / "without")))
    drop_metadata_table(made, LATER)
    delete_dropped(made, LATER)
    return folder / "without"


@pytest.mark.short("cow-v6", "mor-v9")
@pytest.mark.parametrize("kind", [{}, MERGE_ON_READ], ids=["cow", "mor"])
def test_where_it_alone_shows_that_files_are_lost(
    judge: Judges, version: str, kind: dict[str, str], tmp_path: Path
) -> None:
    """Queries fail at the lost file as long as the metadata table lists it. Without it they answer with fewer rows."""
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, batch(range(80), 1, [(f"p{number}",) for number in range(10)]), kind)
    delete(min((base / "p3").glob("*.parquet")))
    with pytest.raises(JudgeError):
        hudi.rows(base)
    assert drop(base) == 13
    with pytest.raises(JudgeError):
        hudi.rows(base)
    assert hudi.rows(without_guards(base, tmp_path))["count"] == 72


@pytest.mark.full
def test_a_record_index_beside_a_pending_compaction(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hudi 0.15.0 cannot build it again: refused there until the compaction is removed. The others can."""
    hudi, base = judge(version), tmp_path / "table"
    made(hudi, base, **MERGE_ON_READ)
    hudi.compact(base, "schedule", {"hoodie.compact.inline.max.delta.commits": "1"})
    (pending,) = [entry[0] for entry in hudi.timeline(base) if entry[1] == "compaction"]
    if version == "v6":
        with pytest.raises(JudgeError, match="No value present"):
            hudi.upsert(without_guards(base, tmp_path), batch(range(30), 5), options=BY_INDEX)
        assert [drop(base), drop(base, "record_index"), drop(base, "column_stats")] == [13, 13, 13]
        assert product.rollback(base, pending) == 0
    assert drop(base, "record_index") == 0
    goes_on(hudi, base, 5)
    assert drop(base) == 0
    goes_on(hudi, base, 9)


@pytest.mark.full
@pytest.mark.short("v6")
def test_an_index_that_is_built_beside_what_is_pending(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hudi 0.15.0 does not build it, and its metadata table does not list the write that tries: readers miss its rows,
    and check finds it. hudictl drops no index then."""
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, batch(range(30), 1), MERGE_ON_READ | STATISTICS)
    hudi.upsert(base, batch(range(30), 2), options=STATISTICS)
    hudi.compact(base, "schedule", {"hoodie.compact.inline.max.delta.commits": "1"})
    assert drop(base, "column_stats") == (13 if version == "v6" else 0)
    hudi.index(base, "drop", "COLUMN_STATS", {**ALONE, **NO_STATISTICS})
    hudi.upsert(base, batch(range(30), 4), options=STATISTICS)
    right = digest(batch(range(30), 4))
    if version != "v6":
        assert hudi.both_rows(base) == right
        return
    assert (hudi.rows(base, metadata=False), hudi.rows(base, metadata=True)) == (right, digest(batch(range(30), 2)))
    assert "metadata-table-behind" in slugs(base)
    assert drop(base) == 0
    hudi.upsert(base, batch(range(30), 5), options=STATISTICS)
    assert hudi.both_rows(base) == digest(batch(range(30), 5))


@pytest.mark.full
def test_a_pending_compaction_of_the_metadata_table_needs_its_indexes(
    judge: Judges, version: str, tmp_path: Path
) -> None:
    """Without them each write fails, as the compaction does. The whole metadata table may go."""
    hudi, base = judge(version), tmp_path / "table"
    made(hudi, base)
    metadata = open_metadata_table(open_table(str(base)))
    assert metadata is not None
    completed = max((base / ".hoodie/metadata" / metadata.layout.timeline).glob("[0-9]*.commit"))
    delete(completed)
    assert drop(base, "record_index") == 13
    other = copy(base, tmp_path / "other")
    drop_indexes(open_table(str(other)), ["record_index"], LATER)
    with pytest.raises(JudgeError, match="log file"):
        hudi.upsert(other, batch(range(30), 5), options=BY_INDEX)
    assert drop(base) == 0
    goes_on(hudi, base, 5)


@pytest.mark.parametrize("harm", ["cut", "missing"])
def test_damaged_definitions_end_with_a_drop(judge: Judges, version: str, harm: str, tmp_path: Path) -> None:
    """Every query fails at cut ones, and those with a condition at missing ones: then filters work as before, and the
    next write defines its indexes again."""
    if version == "v6":
        pytest.skip("0.15.0 has no definitions")
    hudi, base = judge(version), support.unpack(version, "mor_part", tmp_path)
    rows, ids = hudi.both_rows(base), "id = 4"
    found = hudi.call("filtered", path=base, conditions=[ids])
    definitions = base / ".hoodie/.index_defs/index.json"
    body = definitions.read_bytes()
    delete(definitions) if harm == "missing" else put(definitions, body[:100])
    with pytest.raises(JudgeError):
        hudi.call("filtered", path=base, conditions=[ids])
    assert "index-definitions-damaged" in slugs(base)
    assert drop(base) == 0
    assert "index-definitions-damaged" not in slugs(base)
    assert hudi.both_rows(base) == rows
    assert hudi.call("filtered", path=base, conditions=[ids]) == found
    hudi.upsert(base, [(4, 9, "new", "part-0")])
    assert json.loads(definitions.read_bytes()) == json.loads(body)
    assert_listed(base)
