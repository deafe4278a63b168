"""A metadata table that is given up late, against the plan: who goes on says the same, and who needed it is told."""

from collections.abc import Callable

import pytest

from hudictl.errors import Findings, StorageFailed
from hudictl.ops.metadata import keep as module
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import (
    At,
    Copy,
    assert_ended,
    attempt,
    plan,
    replace_function,
    required,
    restore,
    roll_back,
    rollback_of,
)
from tests.ops.guards.record_index_rebuilt_support import compacting
from tests.ops.rollback.execute_support import newest

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
NAME = "cow_record_index"
Act = Callable[[Copy, str, "At | None", tuple[str, ...]], object]


def restored(copy: Copy, target: str, monitor: At | None = None, required: tuple[str, ...] = ()) -> object:
    return restore(copy, target, monitor, RestoreOptions(to_instant=True, require_index=required))


def rolled_back(copy: Copy, target: str, monitor: At | None = None, required: tuple[str, ...] = ()) -> object:
    return roll_back(copy, newest(copy), monitor, RollbackOptions(require_index=required))


def differing(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its listing stays wrong; returns the file that it is wrong of."""
    path = min(required(copy.table, plan(copy, copy.commits[-2], RestoreOptions(to_instant=True)).undo.case))
    partition, _, name = path.rpartition("/")
    replace_function(monkeypatch, f"{module.__name__}._changes", lambda real, *given: {partition: {name: 1}})
    return path


def dies() -> None:
    raise StorageFailed("the process dies here")


@pytest.mark.slow
@VERSIONS
def test_who_goes_on_says_why(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    copy = unpack(version, NAME)
    target = copy.commits[-2]
    with monkeypatch.context() as patch:
        path = differing(copy, patch)
        with pytest.raises(StorageFailed, match="dies here"):
            restored(copy, target, At("publish the restore", dies))
    made = plan(copy, target, RestoreOptions(to_instant=True)).undo.metadata_table
    assert (made.fate, made.kept) == ("deleted", frozenset())
    assert path in str(made.reason)
    done = restore(copy, target, options=RestoreOptions(to_instant=True))
    assert (done.metadata_table, done.indexes_kept) == ("deleted", ())
    assert path in str(done.metadata_table_given_up)
    assert_ended(copy, target)


def test_so_does_a_rollback(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of version 6: above, it is rolled back in its place."""
    copy = unpack("v6", NAME)
    time = newest(copy)
    with monkeypatch.context() as patch:
        path = differing(copy, patch)
        with pytest.raises(StorageFailed, match="dies here"):
            roll_back(copy, time, At("publish the rollback", dies))
    assert rollback_of(copy, time).undo.metadata_table.fate == "deleted"
    done = roll_back(copy, time)
    assert (done.metadata_table, done.indexes_kept) == ("deleted", ())
    assert path in str(done.metadata_table_given_up)


@pytest.mark.parametrize(("version", "act"), [("v6", restored), ("v9", restored), ("v6", rolled_back)])
@pytest.mark.parametrize("required", ["record_index", "all"])
def test_who_required_an_index_is_told(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, act: Act, required: str
) -> None:
    """The operation is done: it could not go back any more."""
    copy = unpack(version, NAME)
    target = copy.commits[-2]
    path = differing(copy, monkeypatch)
    error = attempt(lambda: act(copy, target, None, (required,)))
    assert isinstance(error, Findings)
    assert (error.exit_code, "record_index" in error.fields["partitions"]) == (3, True)
    assert path in error.message
    assert not metadata_table_in_use(copy.table)
    timeline = load_timeline(copy.table)
    assert [entry.state.name for entry in timeline.having("restore", "rollback")] == ["COMPLETED"]


@pytest.mark.parametrize("act", [restored, rolled_back])
def test_a_compaction_beside_which_hudi_cannot_build_it_again_is_named(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, act: Act
) -> None:
    """0.15.0: each write would fail."""
    copy = unpack("v6", NAME)
    target = copy.commits[-2]
    time = compacting(unpack, copy)
    differing(copy, monkeypatch)
    error = attempt(lambda: act(copy, target, None, ()))
    assert isinstance(error, Findings)
    assert (error.fields["instant"], f"`hudictl rollback {time}`" in str(error.hint)) == (time, True)
    assert not metadata_table_in_use(copy.table)
