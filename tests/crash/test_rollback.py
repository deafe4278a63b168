"""A rollback that dies at any change to the file system: readers see the instant or not, and the same command, or
``resume``, finishes it."""

from pathlib import Path

import pytest

from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.crash import reader
from tests.crash.rollback_support import OPTIONS, _case, _crash_everywhere, _newest, _roll_back
from tests.helpers import put

pytestmark = pytest.mark.crash

DELETING = RollbackOptions(settle_s=0.0, metadata="delete")
KEEP_PLAN = RollbackOptions(settle_s=0.0, keep_plan=True)
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
# How many mutations are left out between two crashes by the quick half.
COMPLETED = [("cow_part", 5), ("mor_part", 7), ("mor_flat_nomdt", 5), ("cow_record_index", 17)]
FAILED = [("cow_failed_direct", 11), ("cow_failed_tls", 17), ("mor_failed_direct", 5), ("mor_failed_lazy", 7)]


def _until(base: Path, action: str) -> str:
    """Rolls back what is newer than the newest completed instant of an action."""
    while load_timeline(open_table(str(base))).find(newest := _newest(base), action) is None:
        _roll_back(base, newest, OPTIONS)
    return newest


def _begun_compaction(base: Path) -> str:
    """The pending compaction of a table, begun, with a base file that it has written."""
    (compaction,) = load_timeline(open_table(str(base))).having("compaction")
    timeline = next(base.glob(f".hoodie/**/{compaction.time}.compaction.requested")).parent
    put(timeline / f"{compaction.time}.compaction.inflight")
    older = next(base.glob("part-*/*.parquet"))
    put(older.with_name(f"{older.name.rpartition('_')[0]}_{compaction.time}.parquet"), older.read_bytes())
    return compaction.time


@VERSIONS
@pytest.mark.parametrize(("name", "every"), [*COMPLETED, *FAILED])
def test_dies_anywhere(version: str, name: str, every: int, tmp_path: Path) -> None:
    base = support.unpack(version, name, tmp_path)
    case = _case(base, _newest(base))
    _crash_everywhere(case, every)
    seen = support.facts(version, name)["rows"]
    assert case.without.digest == seen[sorted(seen)[-1 if name in dict(FAILED) else -2]]["digest"]


@pytest.mark.short("v6-mor_part", "v6-cow_failed_direct", "v9-cow_record_index", "v9-mor_failed_lazy")
@VERSIONS
@pytest.mark.parametrize(("name", "every"), [*COMPLETED, *FAILED])
def test_dies_anywhere_where_the_metadata_table_is_deleted(version: str, name: str, every: int, tmp_path: Path) -> None:
    base = support.unpack(version, name, tmp_path)
    case = _case(base, _newest(base), DELETING)
    assert not [path for path in case.after if "metadata/" in path]
    _crash_everywhere(case, every)


@VERSIONS
@pytest.mark.parametrize(("name", "action"), [("cow_cluster", "replacecommit"), ("mor_savepoints", "commit")])
def test_dies_anywhere_in_the_rollback_of_a_table_service(version: str, name: str, action: str, tmp_path: Path) -> None:
    """Readers see the same rows with a completed clustering or compaction and without."""
    base = support.unpack(version, name, tmp_path)
    case = _case(base, _until(base, action))
    assert case.with_it.digest == case.without.digest
    _crash_everywhere(case, 19)


@pytest.mark.parametrize(
    ("version", "options"),
    # Version 6 refuses to take the plan away: the logs of later writes lie on the compaction's slices.
    [*((version, KEEP_PLAN) for version in support.VERSIONS), ("v8", OPTIONS), ("v9", OPTIONS)],
)
def test_dies_anywhere_in_the_rollback_of_a_pending_compaction(
    version: str, options: RollbackOptions, tmp_path: Path
) -> None:
    base = support.unpack(version, "mor_pending_compaction", tmp_path)
    _crash_everywhere(_case(base, _begun_compaction(base), options), 5)


@VERSIONS
def test_dies_anywhere_in_place_of_hudis_own_that_died(version: str, tmp_path: Path) -> None:
    """Hudi's request names the place where the table was; it goes with the rollback that stands for it."""
    base = support.unpack(version, "cow_rollback_interrupted", tmp_path)
    _crash_everywhere(_case(base, _newest(base)), 7, (_roll_back,))


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_dies_anywhere_where_indexes_were_made_after_the_instant(version: str, tmp_path: Path) -> None:
    """As long as readers see the instant the indexes are right, and then they are listed no more."""
    base = support.unpack(version, "later", tmp_path)
    case = _case(base, _newest(base))
    listed, indexes = open_table(str(base)).metadata_partitions, open_table(str(base)).indexes

    def check(crashed: Path) -> None:
        table = open_table(str(crashed))
        assert table.metadata_partitions in (listed, ("files", "record_index"))
        if reader.snapshot(crashed).groups != case.with_it.groups:
            assert table.indexes == ("record_index",) != indexes

    _crash_everywhere(case, 3, check=check)


@pytest.mark.full
@VERSIONS
@pytest.mark.parametrize("name", [name for name, _ in [*COMPLETED, *FAILED]])
def test_dies_at_every_mutation(version: str, name: str, tmp_path: Path) -> None:
    base = support.unpack(version, name, tmp_path)
    _crash_everywhere(_case(base, _newest(base)), 1)


@pytest.mark.full
@VERSIONS
@pytest.mark.parametrize(("name", "action"), [("cow_cluster", "replacecommit"), ("mor_savepoints", "commit")])
def test_dies_at_every_mutation_in_the_rollback_of_a_table_service(
    version: str, name: str, action: str, tmp_path: Path
) -> None:
    base = support.unpack(version, name, tmp_path)
    _crash_everywhere(_case(base, _until(base, action)), 1)


@pytest.mark.full
@VERSIONS
def test_dies_at_every_mutation_in_place_of_hudis_own_that_died(version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_rollback_interrupted", tmp_path)
    _crash_everywhere(_case(base, _newest(base)), 1, (_roll_back,))
