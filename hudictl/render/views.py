"""From results to rows: what of a plan or a result is shown, in both text and JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hudictl.formats.restore import target_text
from hudictl.ops.fingerprint import PLAN_VERSION
from hudictl.ops.restore.plan import PendingView, RestoreOptions, RestorePlan
from hudictl.ops.savepoint.plan import SavepointDeletion, SavepointOptions, SavepointPlan
from hudictl.ops.undo.plan import Removal
from hudictl.table.locks.config import FileLock, LockConfig

# Table services write records anew that other instants have written.
_REWRITES = ("COMPACT", "CLUSTER", "LOG_COMPACT")


@dataclass(frozen=True)
class InstantView:
    """An instant that is taken back."""

    time: str
    action: str
    state: str
    completion_time: str | None
    operation: str
    records: int
    files: int
    bytes: int
    rollback_blocks: int


@dataclass(frozen=True)
class FileView:
    """A file that is deleted."""

    path: str
    instant: str
    bytes: int


@dataclass(frozen=True)
class BlockView:
    """A file slice that gets a rollback block."""

    partition: str
    file_id: str
    base_instant: str
    target: str


@dataclass(frozen=True)
class RestorePlanView:
    """A restore's plan: everything that changes, and what it rests on."""

    plan_version: int
    operation: str
    timezone: str | None
    target: str
    options: RestoreOptions
    fingerprint: dict[str, str]
    table_version: int
    rule: str
    resumes: str | None
    pending_restores: list[PendingView]
    restores_superseded: list[str]
    nothing_to_do: bool
    instants: list[InstantView]
    files_to_delete: int
    bytes_to_delete: int
    files: list[FileView]
    rollback_blocks: list[BlockView]
    savepoints_deleted: list[str]
    protecting_savepoint: bool
    rollbacks_removed: list[str]
    rollbacks_discarded: list[str]
    cleans_discarded: dict[str, int]
    partition_metafiles_made: list[str]
    metadata_table_dropped: bool
    indexes_lost: list[str]
    pending_writes_that_stay: list[str]
    newer_compactions_that_stay: list[str]
    files_needed: int
    bytes_needed: int
    timeline: list[str]
    lock: LockConfig


@dataclass(frozen=True)
class SavepointPlanView:
    """A savepoint's plan."""

    plan_version: int
    operation: str
    timezone: str | None
    target: str
    options: SavepointOptions
    fingerprint: dict[str, str]
    exists: bool
    completes_interrupted: bool
    user: str
    comment: str
    partitions: int
    files: int
    bytes: int
    file_names: dict[str, list[str]]
    lock: LockConfig


@dataclass(frozen=True)
class DeletionView:
    """A savepoint's deletion."""

    plan_version: int
    operation: str
    timezone: str | None
    target: str
    options: dict[str, str]
    fingerprint: dict[str, str]
    exists: bool
    files_protected: int
    lock: LockConfig


def restore_plan_view(plan: RestorePlan, timezone: str | None, lock: LockConfig) -> RestorePlanView:
    """The plan as the operator and ``--output json`` see it; ``timezone`` as it was asked for."""
    return RestorePlanView(
        plan_version=PLAN_VERSION,
        operation="restore",
        timezone=timezone,
        target=plan.target,
        options=plan.options,
        fingerprint=dict(plan.fingerprint),
        table_version=plan.table_version,
        rule=plan.rule,
        resumes=plan.restore,
        pending_restores=list(plan.found),
        restores_superseded=list(plan.superseded),
        nothing_to_do=plan.nothing_to_do,
        instants=[instant_view(removal) for removal in plan.removals],
        files_to_delete=plan.file_count,
        bytes_to_delete=plan.size,
        files=file_views(plan.removals),
        rollback_blocks=block_views(plan.removals),
        savepoints_deleted=list(plan.savepoints),
        protecting_savepoint=plan.protects,
        rollbacks_removed=list(plan.rollbacks),
        rollbacks_discarded=list(plan.discarded),
        cleans_discarded=dict(plan.cleans),
        partition_metafiles_made=list(plan.bare),
        metadata_table_dropped=plan.metadata_table,
        indexes_lost=list(plan.indexes),
        pending_writes_that_stay=list(plan.stays),
        newer_compactions_that_stay=list(plan.newer_compactions),
        files_needed=len(plan.needed),
        bytes_needed=sum(file.size or 0 for file in plan.needed.values()),
        timeline=sorted(plan.timeline),
        lock=lock,
    )


def deletion_view(plan: SavepointDeletion, timezone: str | None, lock: LockConfig) -> DeletionView:
    """The plan as the operator and ``--output json`` see it."""
    fingerprint = dict(plan.fingerprint)
    return DeletionView(
        PLAN_VERSION, "savepoint delete", timezone, plan.instant, {}, fingerprint, plan.exists, plan.file_count, lock
    )


def savepoint_plan_view(plan: SavepointPlan, timezone: str | None, lock: LockConfig) -> SavepointPlanView:
    """The plan as the operator and ``--output json`` see it."""
    return SavepointPlanView(
        plan_version=PLAN_VERSION,
        operation="savepoint create",
        timezone=timezone,
        target=plan.instant,
        options=plan.options,
        fingerprint=dict(plan.fingerprint),
        exists=plan.exists,
        completes_interrupted=plan.completes,
        user=plan.user,
        comment=plan.comment,
        partitions=sum(1 for names in plan.files.values() if names),
        files=plan.file_count,
        bytes=plan.size,
        file_names={partition: list(names) for partition, names in plan.files.items()},
        lock=lock,
    )


def restore_lines(view: RestorePlanView) -> list[str]:
    """What the table of instants does not say."""
    written = sum(row.records for row in view.instants if row.operation not in _REWRITES)
    lines = [_pending_line(entry) for entry in view.pending_restores]
    lines += [f"The pending restore {restore} ends with this one." for restore in view.restores_superseded]
    lines += [
        f"Instants that go, newest first: {len(view.instants)}; records that they wrote: {written:,}.",
        f"Files that are deleted: {view.files_to_delete:,} ({size(view.bytes_to_delete)}); "
        f"that {view.target} needs: {view.files_needed:,} ({size(view.bytes_needed)}).",
    ]
    if view.rollback_blocks:
        lines.append(f"Rollback blocks that are written behind log files that stay: {len(view.rollback_blocks):,}.")
    lines += [*_going_lines(view), *_staying_lines(view)]
    if view.options.grace_s:
        lines.append(f"Files are deleted {view.options.grace_s:g} s after readers are back, for queries that run.")
    lines.append(f"{lock_line(view.lock)} All writers and table services must be stopped.")
    return lines


def lock_line(config: LockConfig) -> str:
    """Which lock a command takes, or why it takes none."""
    name = (config.provider or "").rpartition(".")[2]
    if config.provider is None:
        return "No lock is taken: none is configured."
    if config.off:
        return f"No lock is taken, by --no-lock, although {name} is configured."
    if config.taken is None:
        return f"No lock is taken: {name} has none outside a writer's own process."
    return f"The lock {config.taken.place} is taken ({name}), and waited for up to {config.wait_ms / 1000:g} s."


def lock_facts(config: LockConfig) -> list[tuple[str, Any]]:
    """The configuration of a lock as names and values."""
    facts: list[tuple[str, Any]] = [("provider", config.provider or "none is configured")]
    if config.unsupported:
        facts.append(("not supported", config.unsupported))
    elif config.lock is None and config.provider is not None:
        facts.append(("lock", "none outside a writer's own process"))
    if config.lock is not None:
        facts += [("lock", config.lock.place), ("waited for", f"{config.wait_ms / 1000:g} s")]
    if isinstance(config.lock, FileLock):
        facts.append(("expires", f"after {config.lock.expire_ms / 60_000:g} min" if config.lock.expire_ms else "never"))
    return facts


def _going_lines(view: RestorePlanView) -> list[str]:
    """What goes beside the instants."""
    lines = []
    if view.metadata_table_dropped:
        lost = f", and with it the indexes {', '.join(view.indexes_lost)}" if view.indexes_lost else ""
        lines.append(f"The metadata table is deleted{lost}; the next Hudi write builds what it is configured for.")
    if view.savepoints_deleted:
        lines.append(f"Later savepoints that are deleted: {', '.join(view.savepoints_deleted)}.")
    for rollback in view.rollbacks_discarded:
        lines.append(f"The pending rollback {rollback} is discarded: nothing of it was done.")
    if view.rollbacks_removed:
        lines.append(f"Rollback instants that go: {', '.join(view.rollbacks_removed)}.")
    for clean, count in view.cleans_discarded.items():
        lines.append(f"The pending clean {clean} is discarded: it would delete {count} needed files.")
    return lines


def _staying_lines(view: RestorePlanView) -> list[str]:
    """What stays, or is made."""
    lines = []
    if view.protecting_savepoint:
        lines.append(f"A savepoint on {view.target} protects its files from cleans until the restore is done.")
    if view.partition_metafiles_made:
        lines.append(f"Partition metafiles are made anew: {', '.join(view.partition_metafiles_made)}.")
    if view.pending_writes_that_stay:
        lines.append(f"Pending writes older than the target stay: {', '.join(view.pending_writes_that_stay)}.")
    if view.newer_compactions_that_stay:
        compactions = ", ".join(view.newer_compactions_that_stay)
        lines.append(f"The read-optimised view stays newer than the target: {compactions} completed after it.")
    if view.options.keep_backup:
        lines.append("Copies of the removed instants' files stay in .hoodie/.rollback_backup.")
    return lines


def _pending_line(found: PendingView) -> str:
    owner = "hudictl's" if found.own else "Hudi's"
    return (
        f"Found {owner} restore {found.restore} to {target_text(found.target)}, {found.state}: of its instants "
        f"{found.gone} are gone, {found.taken_back} taken back, {found.completed} still completed."
    )


def plan_facts(plan: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """A recorded plan as names and values, one level deep."""
    facts: list[tuple[str, Any]] = []
    for key, value in plan.items():
        if isinstance(value, Mapping):
            facts += [(f"{key}: {name}", entry) for name, entry in value.items()]
        elif value and isinstance(value, list) and isinstance(value[0], Mapping):
            facts += [(key, ", ".join(f"{name} {part}" for name, part in entry.items())) for entry in value]
        else:
            facts.append((key, value))
    return facts


def size(count: int) -> str:
    """Bytes for eyes."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError


def file_views(removals: Iterable[Removal]) -> list[FileView]:
    """The files that go."""
    return [FileView(file.path, removal.time, file.size or 0) for removal in removals for file in removal.files]


def block_views(removals: Iterable[Removal]) -> list[BlockView]:
    """The slices that get rollback blocks."""
    return [
        BlockView(block.partition, block.file_id, block.base_instant, removal.time)
        for removal in removals
        for block in removal.blocks
    ]


def instant_view(removal: Removal) -> InstantView:
    """An instant that goes, as a row."""
    instant = removal.instant
    return InstantView(
        removal.time,
        removal.action,
        instant.state.name if instant else "REMOVED",
        instant.completion_time if instant else None,
        removal.operation,
        removal.records,
        len(removal.files),
        removal.size,
        len(removal.blocks),
    )
