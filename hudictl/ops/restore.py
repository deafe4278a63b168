"""Planning a restore: from what is on storage to the list of everything that changes."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from hudictl.engine.base import Engine
from hudictl.errors import Conflict
from hudictl.formats.instants import COMMIT, ROLLBACK, Instant
from hudictl.formats.rollback import RollbackPlan
from hudictl.ops.facts import DEFAULT_IDLE_MS, Facts, PendingRestore, Signs, read_facts, read_signs
from hudictl.ops.guards import files as file_guards
from hudictl.ops.guards import liveness
from hudictl.ops.guards import table as table_guards
from hudictl.ops.guards import timeline as guards
from hudictl.ops.needed import needed_files
from hudictl.ops.plan import BlockTarget, Removal, RestorePlan
from hudictl.ops.rollback_blocks import plan_blocks
from hudictl.ops.rules import COMPLETION, REQUESTED, instants_after, own_rule
from hudictl.table.file_view import StoredFile
from hudictl.table.metadata_table import metadata_table_in_use
from hudictl.table.table import Table
from hudictl.table.timeline import refuse_future

SliceKey = tuple[str, str, str]
_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*:)?(//)?")


@dataclass(frozen=True)
class RestoreOptions:
    """``rule``: see ``ops.rules``; ``idle_ms``: how long a pending write must have been silent to count as dead."""

    rule: str | None = None
    idle_ms: int = DEFAULT_IDLE_MS


def plan_restore(
    table: Table,
    engine: Engine,
    target: str,
    options: RestoreOptions | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> RestorePlan:
    """Plans a restore to a savepoint, or the rest of one that is pending. Changes nothing; every guard has passed.

    Raises:
        Unsupported, Conflict, Refused, Unreadable: a guard.
        StorageFailed, EngineFailed.
    """
    options = options or RestoreOptions()
    table_guards.writable_table(table)
    signs = read_signs(table)
    found = guards.no_foreign_restore(signs, target)
    liveness.no_running_restore(table, signs, options.idle_ms)
    pending = found if found and found.begun else None
    savepoint = guards.find_savepoint(table, signs.timeline, target)
    removed = _instants(table, signs, target, pending, options.rule)
    if pending is not None:
        refuse_future(table, signs.timeline)
    check_signs(table, signs, target, removed)
    facts = read_facts(table, engine, signs, note, savepointed=savepoint.files)
    unpublished = {info.time for info in pending.plan.instants} if pending else set()
    liveness.no_running_write(table, signs, options.idle_ms, _newest_files(facts), unpublished)
    file_guards.own_files_only(facts, removed)
    needed = needed_files(facts, set(removed), savepoint.files)
    file_guards.nothing_missing(needed, target)
    file_guards.metafiles_can_be_made(table, needed)
    cleans = file_guards.cleans_in_the_way(table, signs, needed)
    liveness.no_running_clean(signs, options.idle_ms, cleans)
    removals = _removals(facts, engine, removed, pending)
    return RestorePlan(
        table=table.uri,
        table_version=table.version,
        target=target,
        rule=options.rule or own_rule(table),
        restore=pending.instant.time if pending else None,
        withdrawn=found.instant.time if found and not pending else None,
        removals=removals,
        rollbacks=_rollbacks(signs, target, set(removed), pending),
        cleans=cleans,
        bare=needed.bare,
        metadata_table=metadata_table_in_use(table),
        indexes=tuple(name for name in table.metadata_partitions if name != "files"),
        stays=tuple(entry.time for entry in signs.timeline.writes() if entry.pending and entry.time not in removed),
        newer_compactions=_newer_compactions(table, signs, target, removed),
        needed=needed.files,
        logs=_logs(facts, {block.slice for removal in removals for block in removal.blocks}),
        timeline=frozenset(signs.timeline.modified_ms),
    )


def check_signs(table: Table, signs: Signs, target: str, removed: Mapping[str, Instant | None]) -> None:
    """The guards that need no listing of data files; they run again under the claim. Raises as ``plan_restore``."""
    guards.find_commit(signs.timeline, target)
    table_guards.known_timeline(signs.timeline)
    table_guards.no_log_compaction(tuple(entry for entry in removed.values() if entry))
    for instant in signs.timeline.instants:
        guards.readable_inflight(instant)
    liveness.no_lock_in_use(signs)
    guards.no_later_savepoint(signs.timeline, removed)
    guards.no_foreign_rollback(signs, removed)
    guards.nothing_archived_after(table, target)


def _instants(
    table: Table, signs: Signs, target: str, pending: PendingRestore | None, rule: str | None
) -> dict[str, Instant | None]:
    """The instants to remove by requested time, newest first; None for one that the pending restore removed already.

    Raises Conflict: a write came in beside a pending restore.
    """
    commit = guards.find_commit(signs.timeline, target)
    if pending is None:
        return {entry.time: entry for entry in instants_after(table, signs.timeline, commit, rule)}
    planned = [info.time for info in pending.plan.instants]
    on_timeline = {entry.time: entry for entry in signs.timeline.writes()}
    both = {entry.time for entry in instants_after(table, signs.timeline, commit, REQUESTED)} & {
        entry.time for entry in instants_after(table, signs.timeline, commit, COMPLETION)
    }
    later = sorted(both - set(planned))
    if later:
        raise Conflict(
            f"writes that are not in the plan of the pending restore {pending.instant.time}: {', '.join(later)}",
            hint="stop all writers; roll these instants back with Hudi, then resume",
            instants=later,
        )
    return {time: on_timeline.get(time) for time in dict.fromkeys(planned)}


def _newer_compactions(table: Table, signs: Signs, target: str, removed: Collection[str]) -> tuple[str, ...]:
    """Compactions that stay and completed after the target: their base files hold what the target's logs held."""
    commit = guards.find_commit(signs.timeline, target)
    if table.is_cow or commit.completion_time is None:
        return ()
    return tuple(
        entry.time
        for entry in signs.timeline.having(COMMIT)
        if entry.time not in removed and (entry.completion_time or "") > commit.completion_time
    )


def _newest_files(facts: Facts) -> dict[str, int]:
    newest: dict[str, int] = {}
    for file in facts.sweep.files:
        newest[file.data.instant] = max(newest.get(file.data.instant, 0), file.modified_ms)
    return newest


def _removals(
    facts: Facts, engine: Engine, removed: Mapping[str, Instant | None], pending: PendingRestore | None
) -> tuple[Removal, ...]:
    own: dict[str, list[StoredFile]] = {time: [] for time in removed}
    for file in facts.sweep.files:
        if file.data.instant in own:
            own[file.data.instant].append(file)
    # The action before un-publishing: Hudi's metadata names that one.
    actions = {info.time: info.action for info in reversed(pending.plan.instants)} if pending else {}
    stored = {plan.target.time: (entry.time, plan) for entry, plan in facts.signs.rollbacks if plan is not None}
    blocks = plan_blocks(facts, engine, removed, pending.instant.time if pending else None)
    removals = []
    for time, instant in removed.items():
        rollback, plan = stored.get(time, (None, None))
        targets = blocks.get(time, ())
        metadata = facts.commits.get(time)
        removals.append(
            Removal(
                time=time,
                action=actions.get(time) or (instant.action if instant else ""),
                instant=instant,
                operation=metadata.operation if metadata else "UNKNOWN",
                records=metadata.records if metadata and instant and instant.completed else 0,
                files=tuple(own[time]),
                blocks=targets,
                rollback=rollback if plan is not None and _covers(facts.table, plan, own[time], targets) else None,
            )
        )
    return tuple(removals)


def _covers(table: Table, plan: RollbackPlan, files: Iterable[StoredFile], blocks: Iterable[BlockTarget]) -> bool:
    """Whether a stored rollback plan undoes all that must be, in this table: a copy has the paths of the other."""
    paths = {_without_scheme(path) for request in plan.requests for path in request.files}
    slices = {(request.partition, request.file_id, request.base_instant) for request in plan.requests}
    return all(_without_scheme(table.storage.absolute(file.path)) in paths for file in files) and all(
        block.slice in slices for block in blocks
    )


def _without_scheme(path: str) -> str:
    """Writers name one store as s3: and s3a:, and Hudi's listing leaves ``//bucket/...`` of it (0.15.0 to 1.2.0)."""
    return _SCHEME.sub("", path)


def _logs(facts: Facts, slices: Collection[SliceKey]) -> dict[SliceKey, tuple[tuple[str, int], ...]]:
    """The logs of the slices that get rollback blocks."""
    logs: dict[SliceKey, list[tuple[str, int]]] = {key: [] for key in slices}
    for file in facts.sweep.files:
        key = (file.partition, file.data.file_id, file.data.instant)
        if key in logs and not file.data.is_base and not file.data.cdc:
            logs[key].append((file.data.name, file.size or 0))
    return {key: tuple(entries) for key, entries in logs.items()}


def _rollbacks(signs: Signs, target: str, removed: Collection[str], pending: PendingRestore | None) -> tuple[str, ...]:
    """The rollback instants that the restore removes, newest first: of removed instants, and older ones after the
    target: never one that a later writer made."""
    of_removed = {entry.time for entry, plan in signs.rollbacks if plan and plan.target.time in removed}
    until = pending.instant.time if pending else "~"
    later = {entry.time for entry in signs.timeline.having(ROLLBACK) if target < entry.time < until}
    return tuple(sorted(of_removed | later, reverse=True))
