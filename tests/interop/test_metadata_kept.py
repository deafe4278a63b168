"""The metadata table that a restore or rollback keeps: right in the eyes of the real Hudi, and after its next writes.

Hudi's own readers compare each index with what a scan finds (``Judge.index_differences``). Nothing may be built anew.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state.metadata.undo import MetadataPlan, Mode
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.helpers import Copy, plan
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.killed import BY_HAND, LAZY, MARKERS, WRITES, Death, instants
from tests.interop.make_indexed import FOR_EACH_PARTITION, INDEXES
from tests.interop.make_indexes import EXPRESSION, SECONDARY
from tests.interop.scenarios import MERGE_ON_READ, Row, batch, digest
from tests.metadata_edits import append_deletes, append_records, say
from tests.reports.indexes.bloom_filters_support import entry
from tests.reports.indexes.column_stats_support import change, newest
from tests.reports.indexes.record_index_support import entries, some

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
State = Mapping[int, Row]
Written = tuple[str, str]
"""The time of an instant, and when it was completed."""

BY_STATEMENT = ("secondary_index_idx_val", "expr_index_idx_day")
# 1.2.0 cannot write both: "mismatched partition path, record partition: expr_index_idx_day" of column_stats.
BESIDE_AN_EXPRESSION = {
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.index.partition.stats.enable": "false",
}
COMPACTED = MERGE_ON_READ | {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "4"}
CLEANED = {"hoodie.cleaner.commits.retained": "7", "hoodie.metadata.compact.max.delta.commits": "3"}
ARCHIVED = CLEANED | {"hoodie.keep.min.commits": "8", "hoodie.keep.max.commits": "9"}
CLUSTERED = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "4"}
OF_ANOTHER_DAY = "from_unixtime(ts, 'yyyy-MM-dd') <> '1970-01-01'"


@dataclass
class Life:
    """A table with every index, and what readers see: after each write that it can be restored to, oldest first."""

    hudi: Judge
    path: Path
    options: Mapping[str, str]
    states: dict[str, State] = field(default_factory=dict)
    state: State = field(default_factory=dict)
    values: set[str] = field(default_factory=set)
    number: int = 0
    """The writes up to now, with those that were taken back."""

    def copy(self, folder: Path) -> "Life":
        path = shutil.copytree(self.path, folder / "table")
        return replace(self, path=path, states=dict(self.states), values=set(self.values))

    def write(self, times: int = 1) -> None:
        """Updates and inserts; each third time deletes."""
        for _ in range(times):
            self.number += 1
            if self.number == 1:
                instant = self.hudi.create(self.path, self.rows(range(30)), self.options)
            elif self.number % 3:
                instant = self.hudi.upsert(self.path, self.rows(self.ids()), options=self.options)
            else:
                gone = sorted(self.state)[self.number :: 7]
                instant = self.hudi.delete(self.path, gone, self.options)
                self.state = {one: row for one, row in self.state.items() if one not in gone}
            self.states[instant] = self.state

    def ids(self) -> list[int]:
        """Known ones, and two that are new."""
        start = 7 * self.number % 30
        return [*range(start, start + 8), 30 + 2 * self.number, 31 + 2 * self.number]

    def rows(self, ids: Sequence[int]) -> list[Row]:
        """Rows that are written now."""
        found = batch(ids, self.number)
        self.state = {**self.state, **{row[0]: row for row in found}}
        self.values |= {row[2] for row in found}
        return found

    def goes_back(self, target: str) -> None:
        """What is later is not there any more."""
        self.states = {instant: state for instant, state in self.states.items() if instant <= target}
        self.state = self.states[target]

    @property
    def listed(self) -> frozenset[str]:
        return frozenset(open_table(str(self.path)).metadata_partitions)


# Kinds of tables


def by_itself(life: Life, judge: Judges) -> None:
    life.write(9)


def longer(life: Life, judge: Judges) -> None:
    life.write(13)


def overlapping(life: Life, judge: Judges) -> None:
    """Of two writes the one that was requested later is completed first: there is no reading between them."""
    life.write(5)
    life.number += 1
    slow, quick = ([row for row in life.rows(life.ids()) if (row[3] == "a") is a] for a in (True, False))
    options = {**life.options, **LAZY, "hoodie.index.type": "BLOOM"}
    life.hudi.call("beside", path=life.path, rows=slow, other=quick, options=options)
    life.write(5)


def with_sql(life: Life, judge: Judges) -> None:
    """A secondary and an expression index, made by statements."""
    life.write(3)
    for statement in (SECONDARY, EXPRESSION):
        life.hudi.sql(life.path, [statement], life.options)
    life.write(7)


def upgraded(life: Life, judge: Judges) -> None:
    """The first commits are those of 0.15.0. Partition statistics may begin with the second one after the upgrade."""
    newer, life.hudi = life.hudi, judge("v6")
    life.write(3)
    life.hudi = newer
    life.write(8)


@dataclass(frozen=True)
class Kind:
    make: Callable[[Life, Judges], None] = by_itself
    options: Mapping[str, str] = field(default_factory=dict)
    versions: Sequence[str] = support.VERSIONS
    beside: Sequence[str] = ("column_stats",)


KINDS = {
    "cow": Kind(),
    "mor": Kind(options=COMPACTED),
    "cleaned": Kind(longer, CLEANED),
    # Compactions count as commits that are retained, too.
    "cleaned_mor": Kind(longer, CLEANED | COMPACTED | {"hoodie.cleaner.commits.retained": "9"}),
    "clustered": Kind(options=CLUSTERED),
    "clustered_mor": Kind(options=MERGE_ON_READ | BY_HAND | CLUSTERED),
    "overlapping": Kind(overlapping),
    "archived": Kind(longer, ARCHIVED),
    "parted": Kind(options=FOR_EACH_PARTITION, versions=("v9",)),
    "sql": Kind(with_sql, BESIDE_AN_EXPRESSION, ("v8", "v9"), BY_STATEMENT),
    "sql_mor": Kind(with_sql, COMPACTED | BESIDE_AN_EXPRESSION, ("v8", "v9"), BY_STATEMENT),
    "upgraded": Kind(upgraded, versions=("v8", "v9")),
    "upgraded_mor": Kind(upgraded, COMPACTED, versions=("v8", "v9")),
}
CASES = [pytest.param(version, kind, id=f"{version}-{kind}") for kind, one in KINDS.items() for version in one.versions]

Lives = Callable[[str, str], Life]


@pytest.fixture(scope="module")
def lives(judge: Judges, tmp_path_factory: pytest.TempPathFactory) -> Lives:
    """``lives("v9", "mor")``: a table that is made once, to be copied."""
    known: dict[tuple[str, str], Life] = {}

    def get(version: str, kind: str) -> Life:
        if (version, kind) not in known:
            known[version, kind] = made(judge, version, kind, tmp_path_factory.mktemp(version))
        known[version, kind].hudi = judge(version)
        return known[version, kind]

    return get


def made(judge: Judges, version: str, kind: str, folder: Path) -> Life:
    """A table that is right before anything is done to it."""
    life = Life(judge(version), folder / kind / "table", {**INDEXES, **KINDS[kind].options})
    KINDS[kind].make(life, judge)
    assert life.listed >= {"files", "record_index", "bloom_filters", *KINDS[kind].beside}
    assert_right(life)
    return life


# What must hold


def assert_right(life: Life) -> None:
    """Rows by listing and by the metadata table; every file, key, value, column and filter that is indexed."""
    assert life.hudi.both_rows(life.path) == digest(life.state.values())
    assert differences(life) == []


def differences(life: Life) -> list[str]:
    """By Hudi's readers; also of keys and values that are not there any more, or never were."""
    last, gone = max(life.state), sorted(life.values - {row[2] for row in life.state.values()})
    conditions = [
        f"id IN ({last}, {last + 1})",
        f"ts BETWEEN {life.number - 2} AND {life.number}",
        f"val IN ('{life.state[last][2]}', {', '.join(map(repr, gone))})",
    ]
    if "expr_index_idx_day" in life.listed:
        conditions.append(OF_ANOTHER_DAY)
    return life.hudi.index_differences(life.path, range(120), gone, conditions=conditions)


@dataclass(frozen=True)
class Metadata:
    """What tells whether a metadata table, or a part of it, is another than before."""

    instants: frozenset[Written]
    listed: frozenset[str]

    @property
    def builds(self) -> set[Written]:
        return {one for one in self.instants if is_build(one[0])}


def is_build(time: str) -> bool:
    """Version 6 builds an index that comes later at the time of a commit, with a number of ten or more behind it; a
    compaction has 001 behind the instant before it, whatever that has."""
    return time.startswith("0" * 14) or (len(time) == 20 and int(time[17:]) >= 10)


def metadata_of(life: Life) -> Metadata:
    metadata = open_metadata_table(open_table(str(life.path)))
    assert metadata is not None
    entries = load_timeline(metadata).instants
    return Metadata(frozenset((entry.time, entry.completion_time or "") for entry in entries), life.listed)


def assert_kept(before: Metadata, life: Life, kept: frozenset[str]) -> None:
    """It begins with an instant that was there before (its own archive may have taken older ones), nothing was built
    since, and what the plan keeps is listed."""
    now = metadata_of(life)
    assert min(now.instants) in before.instants
    assert now.builds <= before.builds
    assert now.listed >= kept


def assert_goes_on(before: Metadata, life: Life, kept: frozenset[str]) -> None:
    """It is right at once, after Hudi's next write, and over the next compactions of the metadata table."""
    assert min(metadata_of(life).instants) == min(before.instants)
    for writes in (0, 1, 5):
        life.write(writes)
        assert_right(life)
        assert_kept(before, life, kept)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_judge_finds_what_an_index_says_wrongly(lives: Lives, version: str, tmp_path: Path) -> None:
    life = lives(version, "cow").copy(tmp_path)
    table = Copy(version, "cow", life.path)
    file = newest(table).name
    key, group, record = some(table)
    moved = next(other for _, other in entries(table).values() if partition_of(other) != partition_of(record))
    bloom_group, bloom_key, _ = entry(table)

    append_records(life.path, "record_index", group, [(key, moved)])
    assert [one.split(" is ")[0] for one in differences(life)] == [f"record_index: {key}"]
    append_deletes(life.path, "record_index", group, [key])
    (lost,) = differences(life)
    assert lost.startswith(f"record_index: {key} is ")
    assert lost.endswith(" the index says None")
    append_records(life.path, "record_index", group, [(key, record)])
    assert differences(life) == []

    wrapped = ("org.apache.hudi.avro.model.LongWrapper", {"value": life.number + 9})
    change(table, "ts", minValue=wrapped, maxValue=wrapped)
    statistics, query = differences(life)
    assert statistics.startswith(f"column_stats of ts: ('a', '{file}') is ")
    assert query.startswith("queries: where ts ")
    append_deletes(life.path, "bloom_filters", bloom_group, [bloom_key])
    say(life.path, {"a": {file: 1_000_000}})
    assert {one.split()[0] for one in differences(life)} >= {"files:", "bloom_filters:", "column_stats"}


def partition_of(record: Mapping[str, Any]) -> str:
    return str(record["recordIndexMetadata"]["partitionName"])


# Restores


def planned(life: Life, target: str) -> MetadataPlan:
    return plan(
        Copy(life.hudi.version, life.path.name, life.path), target, RestoreOptions(to_instant=True)
    ).undo.metadata_table


@pytest.mark.full
@pytest.mark.short("v6-mor-3")
@pytest.mark.parametrize("back", [1, 3, 6])
@pytest.mark.parametrize(("version", "kind"), CASES)
def test_a_restore_takes_the_metadata_table_back(
    lives: Lives, version: str, kind: str, back: int, tmp_path: Path
) -> None:
    """Three commits back is to a savepoint."""
    life = lives(version, kind).copy(tmp_path)
    before, target = metadata_of(life), list(life.states)[-1 - back]
    if back == 3:
        product.savepoint(life.path, target)
    metadata = planned(life, target)
    assert (metadata.mode, metadata.kept) == (Mode.UNDO, before.listed)
    product.restore(life.path, target, RestoreOptions(to_instant=back != 3))
    life.goes_back(target)
    assert_goes_on(before, life, metadata.kept)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_second_restore_takes_it_back_again(lives: Lives, version: str, kind: str, tmp_path: Path) -> None:
    life = lives(version, kind).copy(tmp_path)
    before, target = metadata_of(life), list(life.states)[-4]
    for _ in range(2):
        product.restore(life.path, target, RestoreOptions(to_instant=True))
        life.goes_back(target)
        assert_goes_on(before, life, before.listed)


@pytest.mark.full
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_version_6_what_hudi_has_rolled_back_costs_no_index(lives: Lives, kind: str, tmp_path: Path) -> None:
    """Blocks of a dead write stay in the metadata table's logs; Hudi's rollback has put others behind them."""
    life = lives("v6", kind).copy(tmp_path)
    state = life.state
    killed_write(life, WRITES["metadata_done"])
    life.state = state
    # Of the first write after a dead one 0.15.0 hides rows of a merge-on-read table, until the next.
    life.write(3)
    assert_taken_back(life, back=1)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_index_that_was_built_again_is_kept_over_its_compactions(lives: Lives, version: str, tmp_path: Path) -> None:
    life = lives(version, "cow").copy(tmp_path)
    assert product.command(life.path, "metadata", "drop", "record_index") == 0
    life.write(6)
    assert_taken_back(life, back=5)


def assert_taken_back(life: Life, back: int) -> None:
    """By a restore, with all indexes."""
    before, target = metadata_of(life), list(life.states)[-1 - back]
    metadata = planned(life, target)
    assert (metadata.mode, metadata.kept) == (Mode.UNDO, before.listed)
    product.restore(life.path, target, RestoreOptions(to_instant=True))
    life.goes_back(target)
    assert_goes_on(before, life, metadata.kept)


# Rollbacks


@pytest.mark.full
@pytest.mark.parametrize(("version", "kind"), CASES)
def test_a_rollback_takes_the_metadata_table_back(lives: Lives, version: str, kind: str, tmp_path: Path) -> None:
    life = lives(version, kind).copy(tmp_path)
    before, (*_, target, newest) = metadata_of(life), life.states
    for later in newest_writes(life, newest):
        assert product.rollback(life.path, later, "--require-index", "all") == 0
    life.goes_back(target)
    assert_goes_on(before, life, before.listed)


def newest_writes(life: Life, write: str) -> Iterator[str]:
    """A write, after the table services that followed it: the newest first."""
    actions = ("commit", "deltacommit", "replacecommit")
    yield from sorted((e[0] for e in life.hudi.timeline(life.path) if e[1] in actions and e[0] >= write), reverse=True)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("death", WRITES)
def test_the_metadata_table_outlives_a_killed_write(
    lives: Lives, version: str, kind: str, death: str, tmp_path: Path
) -> None:
    life = lives(version, kind).copy(tmp_path)
    before, state = metadata_of(life), life.state
    killed_write(life, WRITES[death])
    life.state = state
    assert product.clean_failed(life.path) == 0
    assert_goes_on(before, life, before.listed)


def killed_write(life: Life, death: Death) -> str:
    """A writer dies; returns its instant."""
    before = instants(life.path)
    life.number += 1
    with life.hudi.dying(life.path, *death.events, number=death.number, after=death.after):
        life.hudi.upsert(life.path, life.rows(life.ids()), options={**life.options, **MARKERS["direct"]})
    (time,) = instants(life.path) - before
    return time
