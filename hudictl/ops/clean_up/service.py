"""Removing a pending clean whose plan cannot be read or would delete required files, or an indexing that died.

Files that such a clean has deleted are not recovered; the next clean plans the others again. A clean that Hudi could
finish is only removed if the operator discards it, and if the metadata table lists none of what it has deleted. An
indexing is only removed if it has left nothing in the metadata table. So only timeline files are removed, the inflight
file first, as Hudi does: after a crash the instant is still pending, and the same command removes it. They are kept:
``undo`` takes it back.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from hudictl.errors import Conflict, Refused
from hudictl.formats.instants import CLEAN, INDEXING, Instant
from hudictl.ops.fingerprint import PLAN_VERSION, table_fingerprint
from hudictl.ops.guards import clock, liveness
from hudictl.ops.session import Begun, Kind, Session, changing, keeping_files, writable_signs
from hudictl.phrases import command_of
from hudictl.state.facts import Facts, Signs, read_facts
from hudictl.state.files.savepoints import readable_partitions
from hudictl.state.services.harmful_cleans import harmful_cleans, stays_listed
from hudictl.state.services.stalled import drop_first, partitions_in_the_making, what_is_built
from hudictl.state.timeline.clean_plans import cleans_without_plan
from hudictl.state.timeline.targets import what_it_may_be
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.locks.config import LockConfig
from hudictl.table.metadata.listing import read_known
from hudictl.table.operations import last_operation_on
from hudictl.table.table import Table
from hudictl.table.timeline.active import delete_instant, load_timeline


@dataclass(frozen=True)
class ServiceOptions:
    """``idle_ms``: an instant with activity less than this ago may be running. ``discard``: only a clean, also one that
    Hudi could finish."""

    idle_ms: int = DEFAULT_IDLE_MS
    discard: bool = False


@dataclass(frozen=True)
class ServiceRemoval:
    """A pending clean or indexing to remove: its timeline files in the order of their removal, and the reason; when
    removed, the number for ``hudictl undo``. The names in ``shown`` are those in JSON."""

    shown: ClassVar = (
        *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "action", "state", "reason"),
        *("files", "lock", "undo"),
    )
    plan_version: ClassVar = PLAN_VERSION
    operation: ClassVar = Kind.SERVICE_REMOVE.value

    timezone: str | None
    target: str
    options: ServiceOptions
    fingerprint: Mapping[str, str]
    action: str
    state: str
    reason: str
    files: tuple[str, ...]
    lock: LockConfig
    undo: str | None = None


def is_service(table: Table, target: str) -> bool:
    """Whether an instant is a pending clean or indexing, or one that hudictl has removed. Raises Unreadable."""
    at = load_timeline(table).at(target)
    if at is None:
        return removed_already(table, target) is not None
    return at.action in (CLEAN, INDEXING) and at.pending


def removed_already(table: Table, target: str) -> str | None:
    """When hudictl has removed a pending clean or indexing; None where there is one. Raises Unreadable."""
    if load_timeline(table).at(target) is not None:
        return None
    return last_operation_on(table.storage, Kind.SERVICE_REMOVE.value, target)


def plan_service_removal(session: Session, target: str, options: ServiceOptions | None = None) -> ServiceRemoval:
    """Plans to remove a pending clean or indexing. Changes nothing; every guard has passed.

    Raises:
        Refused: there is none; Hudi can finish it without harm, or it has begun in the metadata table.
        Conflict: it may be running.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    return _planned(session, target, options or ServiceOptions())[1]


def execute_service_removal(session: Session, plan: ServiceRemoval) -> ServiceRemoval:
    """Removes it. Raises as ``plan_service_removal``; Conflict: it has changed since planning."""

    def look() -> Instant:
        instant, now = _planned(session, plan.target, plan.options, again=True)
        if now.files != plan.files:
            raise Conflict(f"{instant} has changed since planning", hint="run the command again: it makes a new plan")
        session.monitor.step(f"remove the {plan.action}")
        return instant

    def work(run: Begun[Instant]) -> ServiceRemoval:
        run.held.check()
        kept = keeping_files(session, Kind.SERVICE_REMOVE, [run.time], [plan.target], asked=True).table
        delete_instant(kept, run.found)
        return replace(plan, undo=run.time)

    record = {"action": plan.action, "reason": plan.reason, "files": plan.files}
    return changing(session, Kind.SERVICE_REMOVE, plan.target, record, look=look, work=work)


def _planned(
    session: Session, target: str, options: ServiceOptions, *, again: bool = False
) -> tuple[Instant, ServiceRemoval]:
    table, signs = session.table, writable_signs(session)
    liveness.no_lock_in_use(table, signs, session.locking)
    clock.writers_zone(table, signs.timeline)

    instant = signs.timeline.at(target)
    if options.discard and instant is not None and instant.action != CLEAN:
        raise Refused(f"{instant} is no clean", hint="`hudictl clean list` shows the cleans", instant=target)
    if instant is None or not instant.pending or instant.action not in (CLEAN, INDEXING):
        if not again:
            what = "clean" if options.discard else "clean or indexing"
            raise Refused(
                f"{target} is no pending {what}", hint=what_it_may_be(table, signs.timeline, target), instant=target
            )
        raise Conflict(
            f"{target} is no longer pending", hint="run the command again: it makes a new plan", instant=target
        )
    if instant.action == CLEAN:
        reason = _clean_reason(session, signs, instant, discard=options.discard)
    else:
        reason = _indexing_reason(table, instant)
    # A plan that is being written cannot be read either.
    liveness.no_live_heartbeat(signs, [instant])
    liveness.no_running_rollback(signs, options.idle_ms, [instant])

    files = tuple(file.name for file in reversed(instant.files))
    fingerprint = {
        **table_fingerprint(table, asdict(options)),
        "files to delete": ", ".join(files),
        "reason": reason,
    }
    return instant, ServiceRemoval(
        timezone=session.timezone,
        target=target,
        options=options,
        fingerprint=fingerprint,
        action=instant.action,
        state=instant.state.name,
        reason=reason,
        files=files,
        lock=session.lock,
    )


def _clean_reason(session: Session, signs: Signs, instant: Instant, *, discard: bool) -> str:
    """Raises Refused: the next clean may finish it, or the metadata table would list what it has deleted."""
    table = session.table
    for without in cleans_without_plan(table, signs.timeline):
        if without.instant.time == instant.time:
            return without.problem

    facts = _facts(session, signs)
    found = next((clean for clean in harmful_cleans(facts) if clean.instant.time == instant.time), None)
    if found is None and not discard:
        raise Refused(
            f"{instant} has a plan that deletes no required file: Hudi's next clean finishes it",
            hint=f"let a Hudi writer clean; or `{command_of('clean discard', instant.time)}`",
            instant=instant.time,
        )
    if found is None:
        stays = stays_listed(facts, instant)
        if stays:
            raise Refused(f"{instant}: {stays}", hint="let a Hudi writer clean: it finishes it", instant=instant.time)
        return "it is discarded: the next clean plans anew"
    if found.stays:
        raise Refused(
            f"{instant}: {found.stays}",
            hint="drop the metadata table; then, before any writer starts, run the command again",
            instant=instant.time,
        )
    return found.harm


def _facts(session: Session, signs: Signs) -> Facts:
    table = session.table
    session.engine.start()
    known = read_known(table, session.engine)
    # A savepoint that cannot be read may require more files; the ones found are reason enough.
    named = readable_partitions(table, signs.timeline, session.engine)
    note = session.monitor.note
    return read_facts(table, session.engine, signs, note, savepointed=named, known=known)


def _indexing_reason(table: Table, instant: Instant) -> str:
    """Raises Refused: partitions of the metadata table are in the making."""
    making = partitions_in_the_making(table, instant)
    if making:
        raise Refused(
            f"{instant} has begun to build partitions of the metadata table: {', '.join(making)}",
            hint=drop_first(making),
            instant=instant.time,
            partitions=list(making),
        )
    return f"it has not ended, and {what_is_built(table, instant)}"
