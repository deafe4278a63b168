"""From results to rows: what of a plan or a result is shown, in both text and JSON."""

from dataclasses import dataclass

from hudictl.ops.plan import PLAN_VERSION, Removal, RestorePlan, SavepointPlan

# Table services write records anew that other instants have written.
_REWRITES = ("COMPACT", "CLUSTER", "LOG_COMPACT")


@dataclass(frozen=True)
class InstantView:
    """An instant that a restore removes."""

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
    """A file that a restore deletes."""

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
    table_version: int
    savepoint: str
    rule: str
    resumes: str | None
    nothing_to_do: bool
    instants: list[InstantView]
    files_to_delete: int
    bytes_to_delete: int
    files: list[FileView]
    rollback_blocks: list[BlockView]
    rollbacks_removed: list[str]
    cleans_discarded: dict[str, int]
    partition_metafiles_made: list[str]
    metadata_table_dropped: bool
    indexes_lost: list[str]
    pending_writes_that_stay: list[str]
    newer_compactions_that_stay: list[str]
    files_needed: int
    bytes_needed: int
    timeline: list[str]


@dataclass(frozen=True)
class SavepointPlanView:
    """A savepoint's plan."""

    plan_version: int
    operation: str
    instant: str
    exists: bool
    completes_interrupted: bool
    user: str
    comment: str
    partitions: int
    files: int
    bytes: int
    file_names: dict[str, list[str]]


def restore_plan_view(plan: RestorePlan) -> RestorePlanView:
    """The plan as the operator and ``--output json`` see it."""
    return RestorePlanView(
        plan_version=PLAN_VERSION,
        operation="restore",
        table_version=plan.table_version,
        savepoint=plan.target,
        rule=plan.rule,
        resumes=plan.restore,
        nothing_to_do=plan.nothing_to_do,
        instants=[_instant(removal) for removal in plan.removals],
        files_to_delete=plan.file_count,
        bytes_to_delete=plan.size,
        files=[
            FileView(file.path, removal.time, file.size or 0) for removal in plan.removals for file in removal.files
        ],
        rollback_blocks=[
            BlockView(block.partition, block.file_id, block.base_instant, removal.time)
            for removal in plan.removals
            for block in removal.blocks
        ],
        rollbacks_removed=list(plan.rollbacks),
        cleans_discarded=dict(plan.cleans),
        partition_metafiles_made=list(plan.bare),
        metadata_table_dropped=plan.metadata_table,
        indexes_lost=list(plan.indexes),
        pending_writes_that_stay=list(plan.stays),
        newer_compactions_that_stay=list(plan.newer_compactions),
        files_needed=len(plan.needed),
        bytes_needed=sum(file.size or 0 for file in plan.needed.values()),
        timeline=sorted(plan.timeline),
    )


def savepoint_plan_view(plan: SavepointPlan) -> SavepointPlanView:
    """The plan as the operator and ``--output json`` see it."""
    return SavepointPlanView(
        plan_version=PLAN_VERSION,
        operation="savepoint create",
        instant=plan.instant,
        exists=plan.exists,
        completes_interrupted=plan.completes,
        user=plan.user,
        comment=plan.comment,
        partitions=sum(1 for names in plan.files.values() if names),
        files=plan.file_count,
        bytes=plan.size,
        file_names={partition: list(names) for partition, names in plan.files.items()},
    )


def restore_lines(view: RestorePlanView) -> list[str]:
    """What the table of instants does not say."""
    written = sum(row.records for row in view.instants if row.operation not in _REWRITES)
    lines = [
        f"Instants that go, newest first: {len(view.instants)}; records that they wrote: {written:,}.",
        f"Files that are deleted: {view.files_to_delete:,} ({size(view.bytes_to_delete)}); "
        f"that the savepoint needs: {view.files_needed:,} ({size(view.bytes_needed)}).",
    ]
    if view.rollback_blocks:
        lines.append(f"Rollback blocks that are written behind log files that stay: {len(view.rollback_blocks):,}.")
    if view.metadata_table_dropped:
        lost = f", and with it the indexes {', '.join(view.indexes_lost)}" if view.indexes_lost else ""
        lines.append(f"The metadata table is deleted{lost}; the next Hudi write builds what it is configured for.")
    if view.rollbacks_removed:
        lines.append(f"Rollback instants that go: {', '.join(view.rollbacks_removed)}.")
    for clean, count in view.cleans_discarded.items():
        lines.append(f"The pending clean {clean} is discarded: it would delete {count} needed files.")
    if view.partition_metafiles_made:
        lines.append(f"Partition metafiles are made anew: {', '.join(view.partition_metafiles_made)}.")
    if view.pending_writes_that_stay:
        lines.append(f"Pending writes older than the savepoint stay: {', '.join(view.pending_writes_that_stay)}.")
    if view.newer_compactions_that_stay:
        compactions = ", ".join(view.newer_compactions_that_stay)
        lines.append(f"The read-optimised view stays newer than the savepoint: {compactions} completed after it.")
    lines.append("No lock is taken: none is configured. All writers and table services must be stopped.")
    return lines


def size(count: int) -> str:
    """Bytes for eyes."""
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError


def _instant(removal: Removal) -> InstantView:
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
