"""Freeing a lock of the table's writers that is past its own expiry.

It is taken as any process may take it by the rules of its kind, under the condition that nobody else has, and released.
"""

from contextlib import suppress
from dataclasses import dataclass, replace

from hudictl.errors import Conflict, Refused, UsageError
from hudictl.ops.guards.liveness import no_running_write
from hudictl.ops.session import Begun, Kind, NothingLeft, Session, changing
from hudictl.phrases import span
from hudictl.state.facts import Signs, read_signs
from hudictl.state.writable import writable_table
from hudictl.table.beat_rule import HOW_TO_SAY
from hudictl.table.clock import measure_clock, storage_now_ms
from hudictl.table.locks.claim import Owner
from hudictl.table.locks.config import (
    FILE_SYSTEM,
    PREFIX,
    AnyLock,
    FileLock,
    ItemLock,
    LockConfig,
    LockSign,
    MetastoreLock,
)
from hudictl.table.locks.hold import locked
from hudictl.table.locks.providers import look_at_lock
from hudictl.table.metadata.listing import listing_table
from hudictl.table.timeline.active import load_timeline

_MARGIN_MS = 5_000
"""How much longer than its lease a lock is watched."""


@dataclass(frozen=True)
class LockBreak:
    """A lock to free; ``lock`` is None if none is held."""

    lock: LockSign | None
    configured: LockConfig
    dead_after_ms: int | None = None


def plan_lock_break(session: Session, dead_after_ms: int | None = None) -> LockBreak:
    """Plans to free the configured lock.

    Args:
        dead_after_ms: the owner of a lock file without expiry counts as dead if the file is so old, no heartbeat lives,
            and no pending write, nor the timeline, nor the metadata table's has changed for as long.

    Raises:
        UsageError: no lock is configured.
        Conflict: it has not expired yet. Refused: it never expires, or ``dead_after_ms`` is not for it.
        Unsupported, Unreadable, StorageFailed.
    """
    table, config = session.table, session.lock
    writable_table(table, session.locking)
    if config.lock is None:
        raise UsageError(
            "no lock between processes is configured" if config.provider else "no lock is configured",
            hint=f"specify the settings of the table's writers: --props, or --hoodie-conf {PREFIX}provider=..., for a "
            f"lock file {FILE_SYSTEM}",
        )
    clock = None
    if dead_after_ms is not None:
        config = replace(config, lock=_expiring(config.lock, dead_after_ms))
        clock = measure_clock(table.storage)
    assert config.lock is not None
    sign = look_at_lock(table, config.lock, storage_now_ms(clock))
    if sign is None or not (sign.held or sign.expired):
        return LockBreak(None, config, dead_after_ms)
    if dead_after_ms is not None and sign.age_ms is not None and not sign.expired:
        raise Conflict(f"{sign.path} is {span(sign.age_ms)} old: younger than --dead-after", lock=sign.path)
    if dead_after_ms is not None:
        _not_shared(sign, config.lock)
        _no_sign_of_a_writer(session, dead_after_ms, read_signs(table, clock))
    # An item has no time: only the one who watches it for its lease knows that its owner is dead.
    if not sign.expired and not isinstance(config.lock, ItemLock):
        _refuse_living(sign, config.lock)
    return LockBreak(sign, config, dead_after_ms)


def _expiring(lock: AnyLock | None, dead_after_ms: int) -> FileLock:
    """Raises UsageError: not a lock file without expiry."""
    if not isinstance(lock, FileLock) or lock.expire_ms:
        raise UsageError(
            "--dead-after is for a lock file without expiry (FileSystemBasedLockProvider)",
            hint="without it, a lock that is past its own expiry is freed",
        )
    return replace(lock, expire_ms=dead_after_ms)


def _not_shared(sign: LockSign, lock: AnyLock) -> None:
    """Raises Refused: writers of other tables may use the lock, too, and only this table is looked at."""
    if isinstance(lock, FileLock) and lock.inside is None:
        raise Refused(
            f"{sign.path} is outside the table: a writer of another table may hold it",
            hint=f"if no writer of any table that uses this lock is running, delete the file {sign.path}",
            lock=sign.path,
        )


def _no_sign_of_a_writer(session: Session, dead_after_ms: int, signs: Signs) -> None:
    """The file of the lock is never renewed, and a writer that cleans eagerly has no heartbeat.

    Raises Conflict: a heartbeat lives, or a pending write, the timeline or the metadata table's has changed.
    """
    for beat in signs.heartbeats:
        if beat.live:
            raise Conflict(
                f"the heartbeat of {beat.time} {'may be' if beat.doubtful else 'is'} live: a writer may hold the lock",
                hint=HOW_TO_SAY if beat.doubtful else "stop all writers first",
                instant=beat.time,
            )
    pending = [entry for entry in signs.timeline.instants if entry.pending]
    no_running_write(session.table, signs, pending, dead_after_ms, None, ())
    changed = [*signs.timeline.modified_ms.values()]
    metadata = listing_table(session.table)
    if metadata is not None:
        changed += load_timeline(metadata).modified_ms.values()
    quiet_ms = signs.now_ms - max(changed, default=0)
    if quiet_ms < dead_after_ms:
        raise Conflict(
            f"the timeline has changed {span(max(0, quiet_ms))} ago: a writer may hold the lock",
            hint="stop all writers, and wait; or give a shorter --dead-after if none runs",
            quiet_ms=quiet_ms,
        )


def break_lock(session: Session, plan: LockBreak) -> None:
    """Frees exactly the lock of the plan; one that is free by now is no error.

    Raises as ``plan_lock_break``; Conflict: it has changed since planning.
    """
    shown, lock = plan.lock, plan.configured.lock
    if shown is None or lock is None:
        return

    def look() -> None:
        now = plan_lock_break(session, plan.dead_after_ms).lock
        if now is None:
            raise NothingLeft
        if (now.content, now.owner) != (shown.content, shown.owner):
            raise Conflict(f"the lock {now.path} has changed since planning", hint="run the command again")

    def work(run: Begun[None]) -> LockSign:
        run.held.check()
        _free(session, lock, shown, run.held.claim.owner)
        return shown

    # Of the two locks of a change it holds hudictl's own; the writers' lock is what it works on.
    without = replace(session, locking=replace(session.locking, off=True))
    with suppress(NothingLeft):
        changing(without, Kind.LOCK_BREAK, shown.path, {"owner": shown.owner}, look=look, work=work)


def _free(session: Session, lock: AnyLock, shown: LockSign, owner: Owner) -> None:
    """Raises Conflict: its owner lives."""
    if isinstance(lock, MetastoreLock):
        # Of two requests the metastore grants the second one only when the first one is removed.
        from hudictl.table.locks.hive_metastore import free_expired_metastore_lock

        if not free_expired_metastore_lock(lock, shown, owner):
            raise Conflict(
                f"the lock {shown.path} is not the same any more, or not past its expiry by the metastore's clock"
            )
        return
    watched_ms = lock.lease_ms + _MARGIN_MS if isinstance(lock, ItemLock) else 0
    with locked(session.table, lock, owner, watched_ms, session.monitor, session.contend) as own:
        own.check()


def _refuse_living(sign: LockSign, lock: AnyLock) -> None:
    if sign.expires_in_ms is not None:
        raise Conflict(
            f"{sign.path} is held by {sign.owner or 'an unknown owner'}, and expires in {span(sign.expires_in_ms)}",
            hint="wait until then: a living owner extends it",
            lock=sign.path,
            expires_in_ms=sign.expires_in_ms,
        )
    reason = "has no expiry" if isinstance(lock, FileLock) else "has no expiry that can be read"
    if isinstance(lock, FileLock):
        reason += f": {PREFIX}filesystem.expire is 0 or not specified"
    hint = "specify the expiry of the writers' settings; "
    hint += (
        "if its owner is dead: `hudictl lock break --dead-after 1h`, refused where there is a younger sign of a writer"
        if isinstance(lock, FileLock) and lock.inside is not None
        else "a lock without one is removed by the team that runs the writers"
    )
    raise Refused(f"{sign.path} {reason}", hint=hint, lock=sign.path)
