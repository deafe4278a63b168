"""Guards against acting beside somebody who is alive."""

from collections.abc import Collection, Iterable

from hudictl.errors import Conflict
from hudictl.formats.instants import INDEXING, Instant
from hudictl.phrases import seconds
from hudictl.state.cleans import pending_cleans
from hudictl.state.facts import Signs
from hudictl.state.pending import is_own
from hudictl.state.unfinished import restore_quiet_ms
from hudictl.state.writers import find_traces, read_marked
from hudictl.table.file_view import StoredFile
from hudictl.table.locks.config import FileLock, Locking, lock_config
from hudictl.table.table import Table


def no_lock_in_use(table: Table, signs: Signs, locking: Locking) -> None:
    """Raises Conflict: writers hold a lock that this command does not take."""
    taken = lock_config(table, locking).taken
    own = taken.inside if isinstance(taken, FileLock) else None
    for lock in signs.locks:
        if lock.held and lock.path != own:
            raise Conflict(
                f"{lock.path}: the table's writers use {lock.provider}, and it is held "
                f"(since {seconds(lock.age_ms)}) {lock.content[:80]}".rstrip(),
                hint="configure that lock as the writers do (--hoodie-conf, --props); where none runs any more, its "
                "owner must remove it",
                file=lock.path,
                age_ms=lock.age_ms,
            )


def no_live_heartbeat(signs: Signs, instants: Iterable[Instant]) -> None:
    """Raises Conflict: the heartbeat of a pending instant beats."""
    live = {beat.time: beat for beat in signs.heartbeats if beat.live}
    for instant in instants:
        if instant.pending and instant.time in live:
            raise Conflict(
                f"{instant}: its writer is alive, its heartbeat is {seconds(live[instant.time].age_ms)} old",
                hint="stop all writers and table services of the table first",
                instant=instant.time,
            )


def no_running_write(
    table: Table,
    signs: Signs,
    instants: Iterable[Instant],
    idle_ms: int,
    files: Iterable[StoredFile],
    touched: Collection[str],
) -> None:
    """Refuses while a pending write lives: by its heartbeat, or because it did something in the last ``idle_ms``.

    Args:
        instants: those to look at.
        files: the data files of the table, from the sweep.
        touched: instants of a restore or rollback that has begun: it was the last to touch them.

    Raises:
        Conflict.
    """
    pending = [entry for entry in instants if entry.pending and _may_run(entry)]
    no_live_heartbeat(signs, pending)
    # An expired heartbeat proves death; without one only silence speaks.
    told = {beat.time for beat in signs.heartbeats} | set(touched)
    marked = read_marked(table, (entry for entry in pending if entry.time not in told))
    for instant, left in find_traces(table, signs.timeline, marked, files).items():
        quiet = signs.now_ms - left.changed_ms
        if quiet < idle_ms:
            raise Conflict(
                f"{instant}: pending, and active {seconds(quiet)} ago: it may be running",
                hint=f"stop all writers and table services; once nothing runs, --idle sets the silence to wait for "
                f"(now {seconds(idle_ms)})",
                instant=instant.time,
                quiet_ms=quiet,
            )


def no_running_restore(table: Table, signs: Signs, idle_ms: int) -> None:
    """Raises Conflict: a pending restore that is not hudictl's own did something in the last ``idle_ms``."""
    for restore in signs.restores:
        quiet_ms = restore_quiet_ms(signs, restore)
        if quiet_ms < idle_ms and not is_own(table, restore):
            raise Conflict(
                f"{restore.instant} is not hudictl's, and was active {seconds(quiet_ms)} ago: it may be running",
                hint="wait for it; once nothing runs, --idle sets the silence to wait for",
                restore=restore.instant.time,
            )


def no_running_clean(signs: Signs, idle_ms: int, cleans: Iterable[str]) -> None:
    """Raises Conflict: a pending clean that the plan discards may be running."""
    for instant in pending_cleans(signs.timeline):
        quiet_ms = signs.timeline.idle_ms(instant, signs.now_ms)
        if instant.time in cleans and quiet_ms < idle_ms:
            raise Conflict(
                f"{instant}: it would delete files that the restore needs, and was begun {seconds(quiet_ms)} ago",
                hint="stop all writers and table services; once nothing runs, --idle sets the silence to wait for",
                instant=instant.time,
            )


def no_running_rollback(signs: Signs, idle_ms: int, rollbacks: Iterable[Instant]) -> None:
    """Raises Conflict: a pending rollback, clean or indexing that the plan discards may be running."""
    for instant in rollbacks:
        quiet_ms = signs.timeline.idle_ms(instant, signs.now_ms)
        if quiet_ms < idle_ms:
            raise Conflict(
                f"{instant}: it was begun {seconds(quiet_ms)} ago, and may be running",
                hint="stop all writers and table services; once nothing runs, --idle sets the silence to wait for",
                instant=instant.time,
            )


def _may_run(instant: Instant) -> bool:
    return instant.is_write or instant.action == INDEXING
