"""A restore that dies at any change to the file system: readers never see a half, and the same command finishes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.restore.leftovers import plan_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.history import find_operation
from hudictl.table.open import open_table
from hudictl.table.operations import operation_instants
from hudictl.table.timeline.archive import archived_writes_after
from tests import support
from tests.crash import reader
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.kept import end_leftovers
from tests.crash.restore_support import ALL_OPTIONS, DELETING, Case, _case, _check_promise, _restore, _state
from tests.helpers import session

pytestmark = pytest.mark.crash

ENGINE = LocalEngine(parallelism=1)
# Table, and which of its instants the savepoint stands on.
TABLES = [("cow_cluster", 0), ("mor_savepoints", 1)]
MORE_TABLES = [
    ("cow_part", 1),
    ("mor_part", 1),
    ("mor_pending_compaction", 1),
    ("mor_failed_direct", 0),
    ("cow_flat_nomdt", 1),
    ("cow_rollback_interrupted", 1),
    ("mor_restore_interrupted", 1),
]


def _points(case: Case) -> Iterator[tuple[int, bool]]:
    for at in deaths(case.mutations):
        yield at, False
    # In the middle of a write, too: every body goes through a file that has no name of Hudi's yet.
    yield from ((at, True) for at in deaths(case.mutations, 7))


def _assert_nothing_left(base: Path) -> None:
    """Neither of its own savepoint nor of the later ones, and the record can be read."""
    table = open_table(str(base))
    assert plan_leftovers(session(table), 0).nothing
    assert not [entry for entry in reader.instants(base) if entry[1] in ("savepoint", "rollback")]
    assert [state for _, action, state in reader.instants(base) if action == "restore"] == ["COMPLETED"]
    assert {find_operation(table, time).last.exit_code for time in operation_instants(table.storage)} <= {0, None}


def _crash_everywhere(case: Case, folder: Path, every: int = 1) -> None:
    for at, torn in _points(case):
        if at % every:
            continue
        base = copy(case.base, folder / f"crash-{at}-{torn}")
        with dying(at, torn), pytest.raises(Crash):
            _restore(base, case.target, case.options)
        _check_promise(case, base)
        _restore(base, case.target, case.options)
        assert _state(base) == case.after, (at, torn)
        assert reader.snapshot(base).digest == reader.as_of(base, case.target).digest
        if case.options is ALL_OPTIONS:
            # If it died behind the completion, the same command has nothing to do: `resume` removes the record.
            end_leftovers(base)
            _assert_nothing_left(base)


@pytest.mark.short("v6-mor_savepoints", "v9-mor_savepoints", "v9-cow_cluster")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(("name", "number"), TABLES)
def test_dies_anywhere(version: str, name: str, number: int, tmp_path: Path) -> None:
    _crash_everywhere(_case(version, name, number, tmp_path), tmp_path)


@pytest.mark.short("v9-mor_savepoints-3")
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(("name", "number"), [*TABLES, *MORE_TABLES])
def test_dies_anywhere_where_the_metadata_table_is_deleted(
    version: str, name: str, number: int, every: int, tmp_path: Path
) -> None:
    case = _case(version, name, number, tmp_path, DELETING)
    assert not [path for path in case.after if "metadata/" in path]
    _crash_everywhere(case, tmp_path, every)


def _completed_beside(base: Path) -> None:
    """Both writes before the compaction have completed while it ran: their logs lie behind its base files."""
    *writes, compaction = [time for time, action, _ in reader.instants(base) if action.endswith("commit")][-5:-2]
    for number, write in enumerate(writes, 1):
        (done,) = (base / ".hoodie/timeline").glob(f"{write}_*.deltacommit")
        done.rename(done.with_name(f"{write}_{time_plus_ms(compaction, number)}.deltacommit"))


@pytest.mark.full
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_dies_anywhere_where_files_go_first(version: str, tmp_path: Path) -> None:
    """Readers miss rows only from the un-publishing of the compaction until the last of its base files is gone."""
    options = RestoreOptions(settle_s=0.0, to_instant=True)
    case = _case(version, "mor_savepoints", 2, tmp_path, options, _completed_beside)
    (compaction,) = (time for time, action, _ in reader.instants(case.base) if action == "commit")
    # A query as of the target leaves out what has completed into the compaction's slice.
    allowed = case.allowed - {reader.as_of(case.base, case.target).digest}
    allowed |= {support.facts(version, "mor_savepoints")["rows"][case.target]["digest"]}
    missed = 0
    for at, torn in _points(case):
        base = copy(case.base, tmp_path / f"crash-{at}-{torn}")
        with dying(at, torn), pytest.raises(Crash):
            _restore(base, case.target, case.options)
        if reader.snapshot(base).digest not in allowed:
            assert (compaction, "commit", "INFLIGHT") in reader.instants(base)
            assert [*base.glob(f"*/*_{compaction}.parquet")]
            missed += 1
        _restore(base, case.target, case.options)
        assert _state(base) == case.after, (at, torn)
        assert reader.snapshot(base).digest in allowed
    assert 0 < missed < 30


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_dies_anywhere_where_later_writes_are_archived(version: str, tmp_path: Path) -> None:
    """They go from the archive as well, whichever run comes so far."""
    case = _case(version, "archived_beyond_savepoint", 1, tmp_path)
    _crash_everywhere(case, tmp_path)
    for done in tmp_path.glob("crash-*"):
        assert not archived_writes_after(open_table(str(done)), case.target)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(("name", "number"), MORE_TABLES)
def test_dies_anywhere_on_more_tables(version: str, name: str, number: int, tmp_path: Path) -> None:
    _crash_everywhere(_case(version, name, number, tmp_path), tmp_path)


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_with_all_options_it_dies_anywhere(version: str, tmp_path: Path) -> None:
    _crash_everywhere(_case(version, "cow_savepoints", 0, tmp_path, ALL_OPTIONS), tmp_path, every=3)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
def test_with_all_options_it_dies_anywhere_at_every_mutation(version: str, name: str, tmp_path: Path) -> None:
    _crash_everywhere(_case(version, name, 0, tmp_path, ALL_OPTIONS), tmp_path)
