"""Leftovers of restores that have ended: pending rollbacks, requests without a plan, and temporary savepoints; and of
writers that died while they archived."""

from dataclasses import dataclass
from functools import partial

from hudictl.errors import Conflict, Unreadable
from hudictl.formats.instants import RESTORE, ROLLBACK, SAVEPOINT, InstantFile
from hudictl.formats.layouts import METADATA_TABLE, PROPERTIES_BACKUP
from hudictl.ops.guards import liveness
from hudictl.ops.metadata.keep import forget_kept
from hudictl.ops.session import Begun, Kind, Session, changing
from hudictl.state.facts import Signs, read_signs
from hudictl.state.files.savepoints import is_protection, read_savepoint_head
from hudictl.state.metadata.record import left_aside
from hudictl.state.services.left_manifests import left_manifests, readable_metadata_table
from hudictl.state.writable import known_timeline, writable_table
from hudictl.storage import delete_all
from hudictl.table.metadata.place import properties_in_use
from hudictl.table.properties import recover_properties
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, delete_instant_files, load_timeline


@dataclass(frozen=True)
class Leftovers:
    """Instants to remove, newest first: pending rollbacks of completed restores, restores that were requested without a
    plan, and temporary savepoints of restores that are no longer pending. ``metadata_tables`` are the restores and
    rollbacks that have set a metadata table aside, and were finished by Hudi, which does not know of it. ``manifests``
    are the paths of temporary ones in the archive. ``properties`` are the backups that interrupted updates left, of the
    table's or the metadata table's."""

    rollbacks: tuple[str, ...]
    restores: tuple[str, ...]
    savepoints: tuple[str, ...]
    metadata_tables: tuple[str, ...] = ()
    manifests: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        found = (self.rollbacks, self.restores, self.savepoints, self.metadata_tables, self.manifests)
        return not any(found) and not self.properties


def plan_leftovers(session: Session, idle_ms: int) -> Leftovers:
    """Finds them; none while a restore is pending, because that one removes its own.

    Args:
        idle_ms: a restore of Hudi's, or an archiving, without activity for this time counts as dead.

    Raises:
        Conflict, Unsupported, Unreadable.
    """
    signs = read_signs(session.table)
    liveness.no_running_restore(session.table, signs, idle_ms)
    return _find(session, signs, idle_ms)


def remove_leftovers(session: Session, plan: Leftovers, idle_ms: int) -> Leftovers:
    """Removes them; ``idle_ms`` as in ``plan_leftovers``. Raises Conflict: the timeline has changed since planning;
    Unsupported, Refused, StorageFailed."""
    files = _files(plan, load_timeline(session.table))

    def work(run: Begun[None]) -> Leftovers:
        run.held.check()
        storage = session.table.storage
        for path in plan.properties:
            recover_properties(storage if path == PROPERTIES_BACKUP else storage.below(METADATA_TABLE))
        delete_instant_files(session.table, files)
        for time in plan.metadata_tables:
            forget_kept(session.table, time)
        delete_all(session.table.storage, plan.manifests)
        return plan

    names = ", ".join([*(file.name for file in files), *plan.metadata_tables, *plan.manifests, *plan.properties])
    look = partial(_look_again, session, plan, idle_ms, files)
    return changing(session, Kind.REMOVE_LEFTOVERS, names, {}, look=look, work=work)


def _look_again(session: Session, plan: Leftovers, idle_ms: int, files: tuple[InstantFile, ...]) -> None:
    signs = read_signs(session.table)
    liveness.no_lock_in_use(session.table, signs, session.locking)
    if _find(session, signs, idle_ms) != plan or _files(plan, signs.timeline) != files:
        raise Conflict("the timeline has changed since planning", hint="run the command again")
    session.monitor.step("remove leftovers of restores")


def _files(plan: Leftovers, timeline: Timeline) -> tuple[InstantFile, ...]:
    """The files of the leftovers, in the order of their removal."""
    of = ((ROLLBACK, plan.rollbacks), (RESTORE, plan.restores), (SAVEPOINT, plan.savepoints))
    found = (timeline.find(time, action) for action, times in of for time in times)
    return tuple(file for instant in found if instant is not None for file in reversed(instant.files))


def _find(session: Session, signs: Signs, idle_ms: int) -> Leftovers:
    """Raises Unsupported: there are leftovers, but hudictl does not change this table."""
    table = session.table
    if signs.planned_restores:
        return Leftovers((), (), ())
    times = sorted((entry.time for entry in signs.timeline.savepoints()), reverse=True)
    own = tuple(time for time in times if _is_own(table, signs, time))
    unplanned = tuple(sorted((entry.instant.time for entry in signs.unplanned_restores), reverse=True))
    rollbacks = tuple(sorted((entry.instant.time for entry in signs.left_rollbacks), reverse=True))
    manifests = left_manifests(table, readable_metadata_table(table), signs.now_ms, idle_ms)
    stats = {backup: table.storage.stat(backup) for _, backup in properties_in_use(table)}
    properties = tuple(
        path for path, found in stats.items() if found is not None and signs.now_ms - found.modified_ms >= idle_ms
    )
    found = Leftovers(rollbacks, unplanned, own, left_aside(table, signs.timeline), manifests, properties)
    if not found.nothing:
        writable_table(table, session.locking)
        known_timeline(table, signs.timeline)
    return found


def _is_own(table: Table, signs: Signs, time: str) -> bool:
    try:
        head = read_savepoint_head(table, signs.timeline, time)
    except Unreadable:
        # hudictl's own are created atomically: an unreadable one is not its own.
        return False
    return head is not None and is_protection(head)
