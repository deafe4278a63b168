"""What the tests of rollback share with others."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import done_already, plan_rollback
from hudictl.state.facts import read_signs
from hudictl.state.pending import rollbacks_to_end
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests.crash import reader
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.kept import assert_right_if_listed, without_own_times
from tests.helpers import assert_listed, session

OPTIONS = RollbackOptions(settle_s=0.0)


Finish = Callable[[Path, str, RollbackOptions], None]


@dataclass(frozen=True)
class Case:
    """A table before the rollback; what readers see with and without the instant; the state that it ends in."""

    base: Path
    target: str
    options: RollbackOptions
    with_it: reader.Snapshot
    without: reader.Snapshot
    after: frozenset[str]
    mutations: int


def _case(base: Path, target: str, options: RollbackOptions = OPTIONS) -> Case:
    with_it = reader.snapshot(base)
    done = copy(base, base.parent / "done")
    with dying(None) as system:
        _roll_back(done, target, options)
    return Case(base, target, options, with_it, reader.snapshot(done), _state(done), system.count)


def _newest(base: Path) -> str:
    return max(entry.time for entry in load_timeline(open_table(str(base))).writes())


def _roll_back(base: Path, target: str, options: RollbackOptions) -> None:
    """What `rollback` does, without the questions."""
    table = open_table(str(base))
    if done_already(table, target) is None:
        plan = plan_rollback(session(table), target, options)
        if not plan.nothing_to_do:
            execute_rollback(session(table), plan)


def _resume(base: Path, target: str, _options: RollbackOptions) -> None:
    """What `resume` does: it knows nothing of how the rollback was asked for, nor of one that left no trace."""
    table = open_table(str(base))
    pending = rollbacks_to_end(table, read_signs(table).live_rollbacks)
    assert (set(pending.finish) <= {target}, pending.unwanted) == (True, ())
    for time in pending.finish:
        execute_rollback(session(table), plan_rollback(session(table), time, OPTIONS))


def _state(base: Path) -> frozenset[str]:
    """All files, with hudictl's own times left out, and its own folder. Its heartbeat, too: it beats until
    the rollback is completed, and one that is left says nothing to anybody."""
    found = set()
    for path in base.rglob("*"):
        name = path.relative_to(base).as_posix()
        if path.is_file() and not name.startswith((".hoodie/.hudictl", ".hoodie/.heartbeat")):
            found.add(without_own_times(name))
    return frozenset(found)


def _points(case: Case, every: int) -> Iterator[tuple[int, bool]]:
    for at in deaths(case.mutations, every):
        yield at, False
        # In the middle of a write, too: every body goes through a file that has no name of Hudi's yet.
        if at % 7 == 0:
            yield at, True


def _check_promise(case: Case, base: Path) -> None:
    seen = reader.snapshot(base)
    assert seen.groups in (case.with_it.groups, case.without.groups)
    assert not reader.missing(base)
    assert_right_if_listed(base)


def _crash_everywhere(
    case: Case,
    every: int,
    finishes: tuple[Finish, ...] = (_roll_back, _resume),
    check: Callable[[Path], None] = lambda base: None,
    ended: Callable[[Path], None] = lambda base: None,
) -> None:
    for at, torn in _points(case, every):
        for finish in finishes:
            base = copy(case.base, case.base.parent / f"{at}-{torn}-{finish.__name__}")
            with dying(at, torn), pytest.raises(Crash):
                _roll_back(base, case.target, case.options)
            _check_promise(case, base)
            check(base)
            began = _state(base) != _state(case.base)
            finish(base, case.target, case.options)
            if finish is _roll_back or began:
                assert _state(base) == case.after, (at, torn, finish.__name__)
                assert reader.snapshot(base) == case.without
                assert_listed(base)
                ended(base)
                assert not (base / ".hoodie/.heartbeat" / case.target).exists()
