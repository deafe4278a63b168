"""What the tests of restore share with others."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.table.open import open_table
from tests import support
from tests.crash import reader
from tests.crash.inject import copy, dying
from tests.crash.kept import assert_right_if_listed, without_own_times
from tests.helpers import session

OPTIONS = RestoreOptions(settle_s=0.0)


# What a restore can be asked to do besides: protect a target without savepoint, delete later ones, keep copies.
ALL_OPTIONS = RestoreOptions(to_instant=True, delete_later_savepoints=True, keep_backup=True, settle_s=0.0)


DELETING = RestoreOptions(settle_s=0.0, metadata="delete")


@dataclass(frozen=True)
class Case:
    """A table before the restore; the digests of what readers may see; the state after a restore without a crash."""

    base: Path
    target: str
    allowed: frozenset[str]
    groups: dict[tuple[str, str], frozenset[str | None]]
    after: frozenset[str]
    mutations: int
    options: RestoreOptions


def _case(
    version: str,
    name: str,
    number: int,
    folder: Path,
    options: RestoreOptions = OPTIONS,
    prepare: Callable[[Path], object] = lambda base: None,
) -> Case:
    base = support.unpack(version, name, folder)
    prepare(base)
    facts = support.history_facts if name in support.history_names(version) else support.facts
    seen = facts(version, name)["rows"]
    target = sorted(seen)[number]
    if not options.to_instant:
        _savepoint(base, target)
    now = reader.snapshot(base)
    views = [now, *(reader.as_of(base, time) for time in _completed(base) if time >= target)]
    every = {group for view in views for group in view.groups}
    groups = {group: frozenset(view.groups.get(group) for view in views) for group in every}
    done = copy(base, folder / "done")
    with dying(None) as system:
        _restore(done, target, options)
    assert reader.snapshot(done).digest == seen[target]["digest"]
    return Case(base, target, frozenset(view.digest for view in views), groups, _state(done), system.count, options)


def _completed(base: Path) -> list[str]:
    commits = ("commit", "deltacommit", "replacecommit")
    return [time for time, action, state in reader.instants(base) if state == "COMPLETED" and action in commits]


def _savepoint(base: Path, target: str) -> None:
    table = open_table(str(base))
    if any(time == target and action == "savepoint" for time, action, _ in reader.instants(base)):
        return
    plan = plan_savepoint(session(table), target)
    create_savepoint(session(table), plan)


def _restore(base: Path, target: str, options: RestoreOptions) -> None:
    table = open_table(str(base))
    plan = plan_restore(session(table), target, options)
    if not plan.nothing_to_do:
        execute_restore(session(table), plan)


def _state(base: Path) -> frozenset[str]:
    """All files, with hudictl's own times left out, and its own folder."""
    found = set()
    for path in base.rglob("*"):
        name = path.relative_to(base).as_posix()
        if path.is_file() and not name.startswith(".hoodie/.hudictl"):
            found.add(without_own_times(name))
    return frozenset(found)


def _check_promise(case: Case, base: Path) -> None:
    seen = reader.snapshot(base)
    assert seen.digest in case.allowed
    for group, digest in seen.groups.items():
        assert digest in case.groups[group]
    assert not reader.missing(base)
    assert_right_if_listed(base)
