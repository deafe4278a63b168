"""``record find`` of every key is where each Hudi reads it: after updates, deletes, compaction and clustering; and
``record history`` has what each Hudi reads as of any commit."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.formats.bloom_filters import FILTER, FILTER_TYPE, SIMPLE, may_have_key
from hudictl.formats.parquet_footers import own_entries, read_footer
from hudictl.reports.record_versions import found_rows, version_rows
from hudictl.reports.timeline import TimelineFilter
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.interop.judge import RELEASES, Judge, JudgeError

pytestmark = pytest.mark.hudi

NAMES = ("cow_part", "cow_cluster", "cow_record_index", "mor_parquet_logs", "mor_pending_compaction", "mor_savepoints")
KEY, TIME = "_hoodie_record_key", "_hoodie_commit_time"
META = f"{KEY}, _hoodie_partition_path, _hoodie_file_name, {TIME}"
GONE = "no such key"


def assert_found(hudi: Judge, base: Path, *deleted: int) -> None:
    """Logs have the file id in the place of a file name."""
    table = open_table(str(base))
    theirs = defaultdict(list)
    for key, partition, file, instant in hudi.sql(base, [f"select {META} from judged"]):
        theirs[key].append((partition, file.removesuffix("_"), instant))
    assert theirs
    assert not set(map(str, deleted)) & set(theirs)
    for key in (*theirs, *map(str, deleted), GONE):
        rows = [row for row in found_rows(table, key, None, None, LocalEngine(), []) if not row.deleted]
        named = [(row.partition, row.file if row.kind == "base" else row.file_id, row.instant) for row in rows]
        assert sorted(named) == sorted(theirs.get(key, [])), [key, rows]


@pytest.mark.short("v6-mor_parquet_logs", "v8-mor_savepoints", "v9-cow_cluster", "v9-mor_pending_compaction")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", RELEASES)
def test_every_key(judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str) -> None:
    assert_found(judge(version), support.unpack(version, name, tmp_path))


@pytest.mark.full
@pytest.mark.short("v6-mor_savepoints", "v9-cow_part")
@pytest.mark.parametrize("name", ["cow_part", "mor_savepoints"])
@pytest.mark.parametrize("version", RELEASES)
def test_after_more_writes(judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str) -> None:
    base, hudi = support.unpack(version, name, tmp_path), judge(version)
    hudi.upsert(base, [(number, 99_999, "new", f"part-{number % 3}") for number in (1, 2, 1001)])
    assert_found(hudi, base)
    hudi.delete(base, [1, 1001])
    assert_found(hudi, base, 1, 1001)
    if name.startswith("mor"):
        hudi.compact(base)
        assert_found(hudi, base, 1, 1001)
    hudi.cluster(base)
    assert_found(hudi, base, 1, 1001)


@pytest.mark.short("v6-mor_savepoints", "v8-mor_part", "v9-cow_cleaned")
@pytest.mark.parametrize("name", ["cow_cleaned", "cow_cluster", "mor_part", "mor_savepoints"])
@pytest.mark.parametrize("version", RELEASES)
def test_history_as_of_each_commit(judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str) -> None:
    """No version is missing from where the note says, and all of these were read. 1.2.0 reads no commit that its
    cleaner need not retain, although the files may be there."""
    base, hudi = support.unpack(version, name, tmp_path), judge(version)
    table = open_table(str(base))
    read: dict[str, dict[str, str]] = defaultdict(dict)
    refused: set[str] = set()
    last = ""
    for time in sorted(entry.time for entry in load_timeline(table).completed_writes()):
        last = time
        try:
            seen = hudi.sql(base, [f"select {KEY}, {TIME} from judged timestamp as of '{time}'"])
        except JudgeError as error:
            if "Cleaner cleaned up the timestamp" not in str(error):
                raise
            refused.add(time)
            continue
        for key, instant in seen:
            read[key][time] = instant
    assert read
    for key, by_time in read.items():
        notes: list[str] = []
        rows = list(version_rows(table, key, None, TimelineFilter(), LocalEngine(), notes))
        complete_from = notes[-1].split(" on;")[0].rpartition(" ")[2]
        kept = {row.instant for row in rows if row.state == "committed" and not row.deleted}
        assert {instant for time, instant in by_time.items() if time >= complete_from} <= kept
        assert {instant for instant in kept - refused if instant >= complete_from} <= set(by_time.values())
        assert [row.instant for row in rows if row.visible] == ([by_time[last]] if last in by_time else [])


@pytest.mark.short("v6-DYNAMIC_V0", "v9-SIMPLE")
@pytest.mark.parametrize("kind", ["SIMPLE", "DYNAMIC_V0"])
@pytest.mark.parametrize("version", RELEASES)
def test_bloom_filters_of_keys_that_are_not_ascii(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, kind: str
) -> None:
    """Hadoop's hash reads the bytes of a key as signed ones; a dynamic filter grows with the file."""
    base, hudi = tmp_path / "keys" / "table", judge(version)
    # Ends of one, two and three bytes behind the last whole word, above and below 128.
    key = "concat(substr('\u00e9\u044f\u6f22\U0001f600', 1 + i % 4), i, repeat('\u00fc', i % 5))"
    keys = f"SELECT {key} AS id FROM (SELECT explode(sequence(1, 300)) AS i)"
    options = {
        "hoodie.table.name": "keys",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.index.type": "BLOOM",
        "hoodie.bloom.index.filter.type": kind,
        "hoodie.index.bloom.num_entries": "20",
        "hoodie.bloom.index.filter.dynamic.max.entries": "100",
    }
    hudi.write_query(base, f"SELECT id, 1L AS ts FROM ({keys})", "insert", options, "errorifexists")
    assert_found(hudi, base)
    (file,) = base.glob("*.parquet")
    body = file.read_bytes()
    entries = own_entries(read_footer(lambda offset, length: body[offset : offset + length], len(body)))
    assert entries.get(FILTER_TYPE, SIMPLE) == kind
    alone = {name: value for name, value in entries.items() if name in (FILTER, FILTER_TYPE)}
    found = {key for (key,) in hudi.sql(base, [f"select {KEY} from judged"])}
    assert len(found) == 300
    assert all(may_have_key(alone, key) for key in found)
    if kind == "DYNAMIC_V0":
        assert sum(may_have_key(alone, f"{key}-") for key in found) < 30
