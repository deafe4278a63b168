"""Tasks on hosts that were cut off: what comes late changes nothing; what comes in while tasks run ends them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from hudictl.engine.base import Engine, Progress, TaskResult
from hudictl.engine.local import LocalEngine
from hudictl.errors import Conflict
from hudictl.fence import Fenced, claim_links
from hudictl.ops import session as module
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.ops.session import change_on_engine
from hudictl.table.locks.claim import _encode, current_owner
from hudictl.table.locks.hold import Hold
from tests.fixtures import Unpack
from tests.helpers import ENGINE, OWN, Copy, put, session, tree
from tests.ops.held_support import holding

Task = tuple[Fenced[Any, Any], Any]


@dataclass
class Late:
    """An engine that remembers the tasks that change files, and acts before they begin."""

    act: Callable[[], object] = lambda: None
    tasks: list[Task] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)

    def map(
        self, label: str, function: Callable[[Any], Any], items: Sequence[Any], progress: Progress | None = None
    ) -> list[TaskResult[Any]]:
        if items and isinstance(function, Fenced):
            self.labels.add(label)
            self.tasks += [(function, item) for item in items]
            self.act()
        return ENGINE.map(label, function, items, progress)

    def __getattr__(self, name: str) -> Any:
        return getattr(ENGINE, name)


def restore_newest(copy: Copy, engine: object, target: str, *, keep: bool = False) -> str:
    options = RestoreOptions(settle_s=0.0, keep_files=keep)
    using = session(copy.table, engine=cast(Engine, engine))
    return execute_restore(using, plan_restore(using, target, options)).restore


def roll_back_newest(copy: Copy, engine: object, target: str, *, keep: bool = False) -> str:
    options = RollbackOptions(settle_s=0.0, keep_files=keep)
    using = session(copy.table, engine=cast(Engine, engine))
    return execute_rollback(using, plan_rollback(using, target, options)).rollback


def target_of(copy: Copy, operate: object) -> str:
    return copy.savepoints[-1] if operate is restore_newest else copy.commits[-1]


OPERATIONS = [restore_newest, roll_back_newest]


@pytest.mark.parametrize("operate", OPERATIONS)
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_name_that_is_used_again_stays(unpack: Unpack, version: str, name: str, operate: Callable[..., str]) -> None:
    """As that of a compaction, which runs again at its own time."""
    copy, engine = unpack(version, name), Late()
    before = copy.data()
    operate(copy, engine, target_of(copy, operate))
    gone = sorted(before - copy.data())
    for path in gone:
        put(copy.path / path, b"of a later writer")
    nothing_comes_of(copy, engine)
    # A log of version 6 with other writes in it stays, and gets a rollback block.
    assert ("delete files" if gone else "write rollback blocks") in engine.labels


@pytest.mark.slow
@pytest.mark.parametrize("operate", OPERATIONS)
@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_what_undo_has_brought_back_stays(unpack: Unpack, version: str, operate: Callable[..., str]) -> None:
    copy, engine, back = unpack(version, "cow_savepoints"), Late(), Late()
    before = copy.data()
    time = operate(copy, engine, target_of(copy, operate), keep=True)
    using = session(copy.table, engine=cast(Engine, back))
    execute_undo(using, plan_undo(using, time, 0), 0)
    assert copy.data() == before
    nothing_comes_of(copy, engine)
    assert back.labels == {"put files back"}
    put(copy.path / min(before), b"of a later writer")
    nothing_comes_of(copy, back)


def nothing_comes_of(copy: Copy, engine: Late) -> None:
    """The command has ended; its tasks are done once more."""
    now = tree(copy.path)
    assert engine.tasks
    for function, item in engine.tasks:
        with pytest.raises(Conflict, match="released"):
            function(item)
    assert tree(copy.path) == now


def take_over(copy: Copy) -> None:
    """Another hudictl, which has ended since."""
    storage = copy.table.storage
    owner = replace(current_owner("other"), pid=2**22 + 1)
    storage.create(f"{OWN}/claim-{max(claim_links(storage)) + 1}", _encode(owner, released=True))


@pytest.mark.slow
@pytest.mark.parametrize("operate", OPERATIONS)
@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_who_takes_over_before_the_tasks(unpack: Unpack, version: str, operate: Callable[..., str]) -> None:
    """No task does anything; the same command again does all, also where it comes in once more."""
    copy = unpack(version, "mor_savepoints")
    before, target = copy.data(), target_of(copy, operate)
    for _ in range(2):
        with pytest.raises(Conflict, match="another hudictl has taken over") as caught:
            operate(copy, Late(lambda: take_over(copy)), target)
        assert caught.value.exit_code == 12
        assert copy.data() == before
    operate(copy, ENGINE, target)
    assert copy.data() != before


@dataclass
class Lost:
    """A lock of Hudi's writers whose session ends after a look."""

    looks: int = 0

    def holder(self) -> None:
        return None

    def check(self) -> None:
        self.looks += 1
        if self.looks > 1:
            raise Conflict("the lock is lost")


def test_a_lock_that_is_lost_between_two_tasks(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour of deletions is not worth more than another's write."""
    monkeypatch.setattr(module, "_WATCH_SECONDS", -1.0)
    copy = unpack("v9", "cow_part")
    held, done = Hold(holding(copy.table).claim, Lost()), list[int]()
    using = session(copy.table, engine=LocalEngine(1))
    with pytest.raises(Conflict, match="the lock is lost"):
        change_on_engine(using, held, "delete files", done.append, range(9), 9)
    assert done == [0, 1]


def test_the_locks_are_looked_at_where_tasks_fail(unpack: Unpack) -> None:
    """What they failed for is the smaller trouble."""
    copy = unpack("v9", "cow_part")
    held = Hold(holding(copy.table).claim, Lost(1))
    with pytest.raises(Conflict, match="the lock is lost"):
        change_on_engine(session(copy.table), held, "delete files", int, ["no number"])
