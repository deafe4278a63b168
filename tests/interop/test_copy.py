"""A copy is a table to the real Hudi: it has the rows of its commit, and takes writes and table services."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hudictl.cli.main import run
from hudictl.ops.copy.plan import CopyOptions
from hudictl.reports.partition_back import partitions_back
from tests import support
from tests.copy_support import held, made
from tests.helpers import OWN, Copy, tree
from tests.interop.judge import Judge
from tests.interop.restore_support import partition_columns
from tests.interop.scenarios import MERGE_ON_READ, NO_METADATA, batch, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
BY_HAND = {"hoodie.compact.inline": "false", "hoodie.clean.async": "false"}
CLEAN_NOW = {"hoodie.cleaner.commits.retained": "1"}
ARCHIVE_SOON = {**BY_HAND, **NO_METADATA, **CLEAN_NOW, "hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3"}
NAMES = ("cow_cleaned", "cow_cluster", "cow_part", "mor_flat_nomdt", "mor_part", "mor_pending_compaction")


def copies() -> list[tuple[str, str, str]]:
    """(version, table, instant): the second and the last commit of each that is active."""
    found = []
    for version in support.VERSIONS:
        for name in NAMES:
            times = sorted(support.facts(version, name)["rows"])
            # Of the cleaned one most commits are archived, or their files are gone.
            chosen = times[-2:] if name == "cow_cleaned" else [times[1], times[-1]]
            found += [(version, name, time) for time in chosen]
    return found


@pytest.mark.short(
    *("v6-mor_pending_compaction-20261121025411624", "v8-mor_part-20261121025840258"),
    *("v9-cow_cleaned-20261121030336245", "v9-cow_cluster-20261121030316018"),
)
@pytest.mark.parametrize(("version", "name", "target"), copies())
def test_copy(judge: Judges, version: str, name: str, target: str, tmp_path: Path) -> None:
    hudi, source = judge(version), Copy(version, name, support.unpack(version, name, tmp_path))
    before = tree(source.path)
    base = tmp_path / "to"
    made(source, target, base, CopyOptions(checksum=True))
    assert tree(source.path, OWN) == before
    expected = support.facts(version, name)["rows"][target]
    assert hudi.rows(base, metadata=False) == expected == hudi.rows(source.path, metadata=False, as_of=target)
    # Without a metadata table, then with the one that a write makes.
    write(hudi, base, NO_METADATA)
    write(hudi, base, {})


def write(hudi: Judge, base: Path, options: Mapping[str, str]) -> None:
    """An upsert, a delete, a compaction, a clean: each time the right rows, also of filtered queries."""
    whole = hudi.read(base, metadata=False, columns=("id", "ts", "val", *partition_columns(hudi, base)))
    rows = {row[0]: row[:3] for row in whole}
    assert len(rows) == len(whole)
    changed = [[row[0], row[1] + 9_999_999, "after the copy", *(row[3:] or ["-"])] for row in whole[:7]]
    hudi.upsert(base, changed, options=options)
    rows |= {row[0]: row[:3] for row in changed}
    assert hudi.both_rows(base) == digest(rows.values())
    gone = [row[0] for row in whole[5:9]]
    hudi.delete(base, gone, options)
    rows = {key: row for key, row in rows.items() if key not in gone}
    assert hudi.both_rows(base) == digest(rows.values())
    if hudi.properties(base)["hoodie.table.type"] == "MERGE_ON_READ":
        hudi.compact(base, options={**options})
    hudi.clean(base, {**options, **CLEAN_NOW})
    assert hudi.both_rows(base) == digest(rows.values())
    if not options:
        ids = [*rows][:3] + gone[:1]
        assert hudi.index_differences(base, keys=ids, conditions=[f"id = {one}" for one in ids]) == []


@pytest.mark.full
def test_instants_that_the_copy_has_not(judge: Judges, tmp_path: Path) -> None:
    """Version 6: their rows are in logs that the copy needs. When the copy's timeline begins after them, readers would
    count them as archived."""
    hudi, source, base = judge("v6"), Copy("v6", "table", tmp_path / "table"), tmp_path / "to"
    hudi.create(source.path, batch(range(12), 1), {**MERGE_ON_READ, **BY_HAND})
    target = hudi.upsert(source.path, batch(range(0, 12, 2), 2), options=BY_HAND)
    rows = {row[0]: row for row in hudi.read(source.path, metadata=False)}
    later = [hudi.upsert(source.path, batch(range(12), ts), options=BY_HAND) for ts in (3, 4)]
    made(source, target, base)
    assert hudi.rows(base, metadata=False) == digest(rows.values())
    for ts in range(6, 12):
        (new,) = batch([100 + ts], ts)
        hudi.upsert(base, [new], options=ARCHIVE_SOON)
        rows[100 + ts] = new[:3]
        assert hudi.rows(base, metadata=False) == digest(rows.values())
    assert min(entry[0] for entry in hudi.timeline(base)) > max(later)
    hudi.compact(base, options=ARCHIVE_SOON)
    assert hudi.rows(base, metadata=False) == digest(rows.values())


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_table_goes_on_meanwhile(judge: Judges, version: str, tmp_path: Path) -> None:
    """A clean passes the commit, and commits before it are archived: the same command goes on, and ends it."""
    hudi, source, base = judge(version), Copy(version, "table", tmp_path / "table"), tmp_path / "to"
    later = {**ARCHIVE_SOON, "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    hudi.create(source.path, batch(range(12), 1), later)
    times = [hudi.upsert(source.path, batch(range(0, 12, 2), ts), options=later) for ts in range(2, 8)]
    expected = hudi.rows(source.path, metadata=False)
    held(source, base, times[-1], "verify")
    for ts in range(20, 24):
        hudi.upsert(source.path, batch(range(0, 12, 2), ts), options=later)
    hudi.clean(source.path, later)
    hudi.archive(source.path, later)
    assert times[0] < min(source.commits)
    assert source.having("clean")
    made(source, times[-1], base)
    assert source.savepoints == []
    assert hudi.rows(base, metadata=False) == expected
    write(hudi, base, NO_METADATA)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_one_partition_comes_back(judge: Judges, version: str, tmp_path: Path) -> None:
    """The copy of a partition takes writes, and its rows replace those of the table."""
    hudi, source = judge(version), Copy(version, "mor_part", support.unpack(version, "mor_part", tmp_path))
    target, base = source.commits[1], tmp_path / "to"
    columns = ("id", "ts", "val", "p")
    wanted = hudi.read(source.path, metadata=False, as_of=target, columns=columns)
    made(source, target, base, CopyOptions(partitions=("part-1",)))
    mine = [row for row in wanted if row[3] == "part-1"]
    assert hudi.read(base, metadata=False, columns=columns) == mine
    others = [row for row in hudi.read(source.path, metadata=False, columns=columns) if row[3] != "part-1"]
    hudi.upsert(source.path, mine, operation="insert_overwrite")
    assert hudi.read(source.path, metadata=False, columns=columns) == sorted([*others, *mine])
    write(hudi, base, {})


@pytest.mark.parametrize("version", support.VERSIONS)
def test_partitions_come_back_by_the_printed_steps(judge: Judges, version: str, tmp_path: Path) -> None:
    """As a restore's plan prints them: the command, then the statements."""
    hudi, source = judge(version), Copy(version, "cow_part", support.unpack(version, "cow_part", tmp_path))
    target, back = source.commits[1], ("part-0", "part-1")
    columns = ("id", "ts", "val", "p")
    wanted = [row for row in hudi.read(source.path, as_of=target, columns=columns) if row[3] in back]
    others = [row for row in hudi.read(source.path, columns=columns) if row[3] not in back]
    steps = partitions_back(source.table, target, back)
    assert run([*shlex.split(steps.copy)[1:], "--yes", "--engine", "local"]) == 0
    hudi.sql(source.path, [statement.replace("`cow_part`", "judged") for statement in steps.statements])
    assert hudi.read(source.path, columns=columns) == sorted([*others, *wanted])


@pytest.mark.full
@pytest.mark.parametrize("style", ["false", "true"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_partition_comes_back_into_a_table_that_has_changed(
    judge: Judges, version: str, style: str, tmp_path: Path
) -> None:
    """Its path is URL-encoded, a column is new, and a record has moved to another partition."""
    hudi, base = judge(version), tmp_path / "t"
    options = {
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.precombine.field": "ts",
        "hoodie.datasource.write.partitionpath.urlencode": "true",
        "hoodie.datasource.write.hive_style_partitioning": style,
        "hoodie.index.type": "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": "true",
        "hoodie.table.name": "t",
    }
    first = "SELECT {0} AS id, 1 AS ts, 'old' AS val, '{1}' AS p"
    rows = [(1, "a/b"), (2, "a/b"), (3, "c:d"), (4, "a/b")]
    hudi.write_query(base, " UNION ALL ".join(first.format(*row) for row in rows), "upsert", options, mode="overwrite")
    source = Copy(version, "t", base)
    target = source.commits[-1]
    second = "SELECT {0} AS id, 2 AS ts, 'new' AS val, nullif('x', '') AS more, '{1}' AS p"
    hudi.write_query(
        base, " UNION ALL ".join(second.format(*row) for row in [(1, "a/b"), (2, "c:d")]), "upsert", options
    )
    path = "p=a%2Fb" if style == "true" else "a%2Fb"
    steps = partitions_back(source.table, target, [path])
    assert run([*shlex.split(steps.copy)[1:], "--yes", "--engine", "local"]) == 0
    query = steps.warnings[-1].partition("before INSERT, ")[2].removesuffix(" lists them")
    name = steps.statements[1].split()[2]
    create, insert, drop, query = (text.replace(name, "judged") for text in (*steps.statements, query))
    moved = hudi.sql(base, [create, query])
    assert moved == [["2"]]
    hudi.sql(base, [insert, drop])
    found = hudi.sql(base, ["SELECT id, ts, val, more, CAST(p AS STRING) FROM judged ORDER BY id, ts"])
    assert found == [
        *([1, 1, "old", None, "a/b"], [2, 1, "old", None, "a/b"], [2, 2, "new", "x", "c:d"]),
        *([3, 1, "old", None, "c:d"], [4, 1, "old", None, "a/b"]),
    ]
