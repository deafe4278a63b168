"""Guards against a change while another process works on the table."""

from collections.abc import Collection, Iterable

from hudictl.engine.base import Engine
from hudictl.errors import Conflict
from hudictl.formats.instants import INDEXING, Instant
from hudictl.phrases import seconds
from hudictl.state.facts import Signs
from hudictl.state.pending import worked_on
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.state.timeline.unfinished import restore_quiet_ms
from hudictl.state.writers.activity import find_traces, read_marked
from hudictl.table.beat_rule import HOW_TO_SAY
from hudictl.table.files.sweep import Sweep, sweep
from hudictl.table.locks.config import (
    PREFIX,
    STORAGE,
    FileLock,
    Locking,
    StorageLock,
    lock_config,
    works_in_storage,
)
from hudictl.table.locks.look import own_process
from hudictl.table.operations import is_recorded
from hudictl.table.table import Table

_LIKE_WRITERS = "run the same command with the writers' lock settings (--props or --hoodie-conf hoodie.write.lock...)"
_TAKES_OVER = ": it takes over the lock of a hudictl that has died"
_FREES = (
    "; if no writer is running, `hudictl lock break` with these settings frees an expired lock, and with --dead-after "
    "one without expiry"
)


def no_lock_in_use(table: Table, signs: Signs, locking: Locking) -> None:
    """Raises Conflict: a lock that this command does not take is held; or the table's writers take one, and it is not
    configured."""
    config = lock_config(table, locking)
    own = config.taken.inside if isinstance(config.taken, FileLock | StorageLock) else None
    takes_none = config.taken is None and not config.off and works_in_storage(table)
    for lock in signs.locks:
        if lock.held and lock.path != own:
            since = "" if lock.age_ms is None else f" for {seconds(lock.age_ms)}"
            own_made = own_process(lock.content)
            holder = own_made or lock.owner
            raise Conflict(
                f"{lock.path}: the lock of the table's writers ({lock.provider}) has been held{since}"
                f"{f' by {holder}' if holder else ''}",
                hint=f"{_LIKE_WRITERS}{_TAKES_OVER if own_made else _FREES}",
                file=lock.path,
                age_ms=lock.age_ms,
            )
        if takes_none and STORAGE.endswith(f".{lock.provider}"):
            raise Conflict(
                f"{lock.path}: the table's writers take this lock ({lock.provider}), and this command would take none",
                hint=f"use the writers' settings (--hoodie-conf {PREFIX}provider={STORAGE}, or --props); "
                "if no writer is running: --no-lock --yes",
                file=lock.path,
            )


def no_live_heartbeat(signs: Signs, instants: Iterable[Instant]) -> None:
    """Raises Conflict: a pending instant has a live heartbeat."""
    for instant in instants:
        beat = signs.beats.get(instant.time)
        if instant.pending and beat is not None and beat.live:
            raise Conflict(
                f"{instant}: its writer may be alive: its last heartbeat was {seconds(beat.age_ms)} ago, which does "
                "not prove that it has died",
                hint=HOW_TO_SAY if beat.doubtful else "stop all writers and table services of the table first",
                instant=instant.time,
            )


def no_running_write(
    table: Table,
    signs: Signs,
    instants: Iterable[Instant],
    idle_ms: int,
    found: Sweep | None,
    touched: Collection[str],
) -> None:
    """Refuses while a pending write may be running: its heartbeat is live, or its last activity is less than
    ``idle_ms`` ago.

    Args:
        instants: the instants to check.
        found: the listing of all partitions, if there is one.
        touched: instants of a restore or rollback that has begun: their last activity was its own.

    Raises:
        Conflict.
    """
    pending = [entry for entry in instants if entry.pending and (entry.is_write or entry.action == INDEXING)]
    no_live_heartbeat(signs, pending)
    # An expired heartbeat proves that the writer is dead; without a heartbeat only the time without activity tells.
    known = {beat.time for beat in signs.heartbeats} | set(touched)
    marked = read_marked(table, (entry for entry in pending if entry.time not in known))
    for instant, left in find_traces(table, signs.timeline, marked, found).items():
        # The storage's clock may be ahead of what is known of it.
        quiet = max(0, signs.now_ms - left.changed_ms)
        if quiet < idle_ms:
            raise Conflict(
                f"{instant} may be running: it is pending, and its last activity was {seconds(quiet)} ago",
                hint=_stop_and_wait(idle_ms),
                instant=instant.time,
                quiet_ms=quiet,
            )


def no_running_restore(table: Table, signs: Signs, idle_ms: int) -> None:
    """Raises Conflict: a pending restore of Hudi's was active less than ``idle_ms`` ago."""
    for restore in signs.restores:
        quiet_ms = restore_quiet_ms(signs, restore)
        if quiet_ms < idle_ms and not worked_on(table, restore):
            raise Conflict(
                f"{restore.instant} may be running: hudictl did not start it, and its last activity was "
                f"{seconds(quiet_ms)} ago",
                hint="wait until it has ended; if no restore is running, specify an --idle of at most "
                f"{seconds(max(0, quiet_ms))}",
                restore=restore.instant.time,
            )


def nothing_at_work(table: Table, engine: Engine, signs: Signs, locking: Locking, idle_ms: int) -> None:
    """Raises Conflict: there is what a restore's guards take for a living writer or table service. Where nothing else
    tells, data files are listed."""
    timeline = signs.timeline
    own = frozenset[str]().union(*(restore.instants for restore in signs.restores if worked_on(table, restore)))
    rollbacks = [entry.instant for entry in signs.live_rollbacks if entry.target not in own]
    rollbacks = [entry for entry in rollbacks if not is_recorded(table.storage, entry.time)]
    no_lock_in_use(table, signs, locking)
    no_running_restore(table, signs, idle_ms)
    no_running_rollback(signs, idle_ms, [*rollbacks, *pending_cleans(timeline)])
    no_running_write(table, signs, timeline.instants, idle_ms, None, own)
    # Only these are judged by their data files.
    pending = (entry for entry in timeline.writes() if entry.pending and entry.time not in own)
    marked = read_marked(table, (entry for entry in pending if entry.time not in signs.beats))
    if marked:
        named = {marker.partition for folder in marked.values() if folder for marker in folder.markers}
        no_running_write(table, signs, timeline.instants, idle_ms, sweep(table, engine, named), own)


def no_running_clean(signs: Signs, idle_ms: int, cleans: Iterable[str]) -> None:
    """Raises Conflict: a pending clean that the plan removes may be running."""
    going = [instant for instant in pending_cleans(signs.timeline) if instant.time in cleans]
    no_running_rollback(signs, idle_ms, going, ", and it would delete required files")


def no_running_rollback(signs: Signs, idle_ms: int, rollbacks: Iterable[Instant], harm: str = "") -> None:
    """Raises Conflict: a pending rollback, clean or indexing that the plan removes or continues may be running.
    ``harm``: what it would do."""
    for instant in rollbacks:
        quiet_ms = signs.timeline.idle_ms(instant, signs.now_ms)
        if quiet_ms < idle_ms:
            raise Conflict(
                f"{instant} may be running: its last activity was {seconds(quiet_ms)} ago{harm}",
                hint=_stop_and_wait(idle_ms),
                instant=instant.time,
            )


def _stop_and_wait(idle_ms: int) -> str:
    return (
        f"stop all writers and table services, and run the command again after {seconds(idle_ms)} without activity; "
        "if none is running, specify a shorter --idle"
    )
