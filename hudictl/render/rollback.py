"""How the plan of a rollback looks."""

from dataclasses import dataclass

from hudictl.ops.fingerprint import PLAN_VERSION
from hudictl.ops.rollback.plan import MetadataStep, RollbackOptions, RollbackPlan
from hudictl.render.views import (
    BlockView,
    FileView,
    InstantView,
    block_views,
    file_views,
    instant_view,
)
from hudictl.render.words import lock_line, size
from hudictl.table.locks.config import LockConfig


@dataclass(frozen=True)
class RollbackPlanView:
    """A rollback's plan: everything that changes, and what it rests on."""

    plan_version: int
    operation: str
    timezone: str | None
    target: str
    options: RollbackOptions
    fingerprint: dict[str, str]
    table_version: int
    resumes: str | None
    nothing_to_do: bool
    instant: InstantView
    plan_kept: bool
    files_to_delete: int
    bytes_to_delete: int
    files: list[FileView]
    rollback_blocks: list[BlockView]
    rollbacks_superseded: list[str]
    cleans_discarded: dict[str, int]
    partition_metafiles_made: list[str]
    metadata_table: str
    indexes_lost: list[str]
    lock: LockConfig
    files_needed: int
    bytes_needed: int


def rollback_plan_view(plan: RollbackPlan, timezone: str | None, lock: LockConfig) -> RollbackPlanView:
    """The plan as the operator and ``--output json`` see it; ``timezone`` as it was asked for."""
    return RollbackPlanView(
        plan_version=PLAN_VERSION,
        operation="rollback",
        timezone=timezone,
        target=plan.target,
        options=plan.options,
        fingerprint=dict(plan.fingerprint),
        table_version=plan.table_version,
        resumes=plan.rollback,
        nothing_to_do=plan.nothing_to_do,
        instant=instant_view(plan.removal),
        plan_kept=plan.options.keep_plan,
        files_to_delete=len(plan.removal.files),
        bytes_to_delete=plan.removal.size,
        files=file_views([plan.removal]),
        rollback_blocks=block_views([plan.removal]),
        rollbacks_superseded=list(plan.superseded),
        cleans_discarded=dict(plan.cleans),
        partition_metafiles_made=list(plan.bare),
        metadata_table=plan.metadata_table.value,
        indexes_lost=list(plan.indexes) if plan.metadata_table is MetadataStep.DELETE else [],
        lock=lock,
        files_needed=len(plan.needed),
        bytes_needed=sum(file.size or 0 for file in plan.needed.values()),
    )


def rollback_lines(view: RollbackPlanView) -> list[str]:
    """What the row of the instant does not say."""
    lines = [f"The pending rollback {view.resumes} goes on."] if view.resumes else []
    lines.append(f"Files that are deleted: {view.files_to_delete:,} ({size(view.bytes_to_delete)}).")
    if view.files_needed:
        lines.append(
            f"Files that readers need without it, all there: {view.files_needed:,} ({size(view.bytes_needed)})."
        )
    if view.rollback_blocks:
        lines.append(f"Rollback blocks that are written behind log files that stay: {len(view.rollback_blocks):,}.")
    if view.plan_kept:
        lines.append(f"{view.target} goes back to requested: the next run of the table service does it anew.")
    lines += [f"The pending rollback {rollback} ends with this one." for rollback in view.rollbacks_superseded]
    if view.metadata_table == MetadataStep.DELETE.value:
        lost = f", and with it the indexes {', '.join(view.indexes_lost)}" if view.indexes_lost else ""
        lines.append(f"The metadata table is deleted{lost}; the next Hudi write builds what it is configured for.")
    elif view.metadata_table == MetadataStep.ROLL_BACK.value:
        lines.append("The metadata table stays: its deltacommit of the same time is rolled back.")
    for clean, count in view.cleans_discarded.items():
        lines.append(f"The pending clean {clean} is discarded: it would delete {count} needed files.")
    if view.partition_metafiles_made:
        lines.append(f"Partition metafiles are made anew: {', '.join(view.partition_metafiles_made)}.")
    lines.append(lock_line(view.lock))
    if view.files_needed:
        lines.append("All writers and table services must be stopped.")
    return lines
