"""``record duplicates`` has the keys that each Hudi reads more than once, and what its own ``repair_deduplicate`` does
with them."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from pyarrow import parquet

from hudictl.engine.local import LocalEngine
from hudictl.reports.record_duplicates import DuplicateRecord, duplicate_rows
from hudictl.table.open import open_table
from tests import support
from tests.interop.judge import RELEASES, Judge, JudgeError
from tests.interop.scenarios import MERGE_ON_READ, batch

pytestmark = pytest.mark.hudi

KEY, TIME = "_hoodie_record_key", "_hoodie_commit_time"
ALONE = {"hoodie.parquet.small.file.limit": "0"}
NO_COMPACTION = {"hoodie.compact.inline": "false", "hoodie.datasource.compaction.async.enable": "false"}
KINDS = {"cow": {}, "mor": {**MERGE_ON_READ, **NO_COMPACTION}}

Judges = Callable[[str], Judge]


def duplicates(base: Path, everywhere: bool = False, as_of: str | None = None) -> list[DuplicateRecord]:
    found = list(duplicate_rows(open_table(str(base)), None, as_of, everywhere, LocalEngine(), []))
    assert [row.problem for row in found if row.problem] == []
    return found


def assert_same(hudi: Judge, base: Path, as_of: str | None = None) -> list[DuplicateRecord]:
    """Also the files and commits; logs have the file id in the place of a file name."""
    at = f" timestamp as of '{as_of}'" if as_of else ""
    columns = f"{KEY}, _hoodie_partition_path, _hoodie_file_name, {TIME}"
    for everywhere, of in ((True, KEY), (False, f"{KEY}, _hoodie_partition_path")):
        counted = f"select {columns}, count(*) over (partition by {of}) as n from judged{at}"
        theirs = hudi.sql(base, [f"select {columns}, n from ({counted}) where n > 1"])
        rows = duplicates(base, everywhere, as_of)
        ours = [
            [row.key, row.partition, row.file if row.kind == "base" else row.file_id, row.instant, row.copies]
            for row in rows
        ]
        assert sorted(ours) == sorted([key, path, file.removesuffix("_"), *rest] for key, path, file, *rest in theirs)
    return rows


@pytest.mark.full
@pytest.mark.short("v6-mor", "v9-cow", "v9-mor")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", RELEASES)
def test_what_hudi_reads_twice(judge: Judges, tmp_path: Path, version: str, kind: str) -> None:
    hudi, base, options = judge(version), tmp_path / "twice" / "table", KINDS[kind]
    hudi.create(base, batch(range(30), 1), options)
    assert assert_same(hudi, base) == []
    hudi.upsert(base, batch(range(9), 2), "insert", options=options | ALONE)
    then = hudi.upsert(base, batch([20, 21, 22, 40, 40, 43, 43], 3), "bulk_insert", options=options | ALONE)
    assert len(assert_same(hudi, base)) == 2 * 14
    # An update of both; and one that is in another partition, too.
    hudi.upsert(base, batch([1, 2, 40], 4), options=options)
    (number, ts, text, _), *_ = batch([5], 5)
    hudi.upsert(base, [(number, ts, text, "a")], "insert", options=options | ALONE)
    assert len(assert_same(hudi, base)) == 2 * 14
    assert len(duplicates(base, everywhere=True)) == 2 * 14 + 1
    hudi.delete(base, [3, 4, 43], options=options)
    left = {row.key for row in assert_same(hudi, base)}
    assert "40" in left
    assert left.isdisjoint({"3", "4"})
    # In one base file with the key twice, the log's delete counts for the first record alone (0.15.0).
    assert "43" not in left
    assert_same(hudi, base, then)
    if kind == "mor":
        hudi.compact(base, options=options | {"hoodie.compact.inline.max.delta.commits": "1"})
        assert {row.kind for row in duplicates(base)} == {"base"}
        assert_same(hudi, base)


@pytest.mark.full
@pytest.mark.short("v6-mor_savepoints", "v9-cow_cluster")
@pytest.mark.parametrize("name", ["cow_cluster", "cow_part", "mor_parquet_logs", "mor_savepoints"])
@pytest.mark.parametrize("version", RELEASES)
def test_the_same_rows_inserted_again(judge: Judges, tmp_path: Path, version: str, name: str) -> None:
    hudi, base = judge(version), support.unpack(version, name, tmp_path)
    rows = [(number, 99_999, "again", f"part-{number % 3}") for number in range(40)]
    hudi.upsert(base, rows, "bulk_insert", options=ALONE)
    assert assert_same(hudi, base)


Rows = Sequence[tuple[object, ...]]
CASES: dict[str, tuple[str, dict[str, str], str]] = {
    # Operation and options of the second write, and what Hudi says.
    "two-files": ("insert", ALONE, ""),
    "one-file": ("insert", {}, "not found in fixed files"),
    "one-commit": ("bulk_insert", ALONE, "Still found some duplicates"),
}


@pytest.mark.short("v6-one-file", "v9-two-files", "v9-one-commit")
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("version", RELEASES)
def test_beside_repair_deduplicate(judge: Judges, tmp_path: Path, version: str, case: str) -> None:
    hudi, base = judge(version), tmp_path / "beside" / "table"
    operation, options, fails = CASES[case]
    again = [4, 4] if case == "one-commit" else [1, 4]
    hudi.create(base, batch([number for number in range(30) if number % 3 == 1], 1))
    hudi.upsert(base, batch(again if case != "one-commit" else [31, 31], 2), operation, options=options)
    rows = assert_same(hudi, base)
    assert {row.partition for row in rows} == {"b"}
    sql = str(rows[0].repair_sql).replace("beside", "judged").replace("/tmp/deduplicated", str(tmp_path / "fixed"))
    sql = sql.replace(f"table => '{open_table(str(base)).name}'", "table => 'judged'")
    if fails:
        with pytest.raises(JudgeError, match=fails):
            hudi.sql(base, [sql])
    else:
        hudi.sql(base, [sql])
    left = Counter(
        (row[KEY], row[TIME])
        for file in (tmp_path / "fixed").glob("*.parquet")
        for row in parquet.read_table(file, columns=[KEY, TIME], partitioning=None).to_pylist()
    )
    keys = {row.key for row in rows}
    kept = Counter((row.key, row.instant) for row in rows if row.kept)
    assert {entry: count for entry, count in left.items() if entry[0] in keys} == dict(kept)
    by_key = defaultdict(list)
    for row in rows:
        by_key[row.key].append(row.kept)
    assert {tuple(sorted(map(bool, some))) for some in by_key.values()} == {
        {"two-files": (False, True), "one-file": (False, False), "one-commit": (True, True)}[case]
    }
    assert sorted((row.key, row.file) for row in duplicates(base)) == sorted((row.key, row.file) for row in rows)
