"""Orphans, as rows, and the plan to delete them."""

from dataclasses import dataclass

from hudictl.formats.instants import utc_text_of_ms
from hudictl.ops.fingerprint import PLAN_VERSION
from hudictl.ops.orphans import OrphanOptions, OrphanPlan
from hudictl.state.orphans import Orphan


@dataclass(frozen=True)
class OrphanRow:
    """A file that belongs to no instant. ``certainty`` is sure or unknown; ``visible``: readers show its rows."""

    path: str
    bytes: int
    modified_utc: str | None
    instant: str
    visible: bool
    certainty: str
    why: str


@dataclass(frozen=True)
class OrphanPlanView:
    """The deletion of orphans: everything that changes, and what it rests on."""

    plan_version: int
    operation: str
    timezone: str | None
    target: str
    options: OrphanOptions
    fingerprint: dict[str, str]
    files_to_delete: int
    bytes_to_delete: int
    files: list[OrphanRow]
    files_left: list[OrphanRow]
    metadata_table_dropped: bool
    indexes_lost: list[str]


def orphan_row(orphan: Orphan) -> OrphanRow:
    """The row of one file."""
    return OrphanRow(
        orphan.file.path,
        orphan.file.size or 0,
        utc_text_of_ms(orphan.file.modified_ms),
        orphan.file.data.instant,
        orphan.visible,
        "sure" if orphan.sure else "unknown",
        orphan.why,
    )


def orphan_plan_view(plan: OrphanPlan, timezone: str | None) -> OrphanPlanView:
    """The plan as the operator and ``--output json`` see it; ``timezone`` as it was asked for."""
    return OrphanPlanView(
        plan_version=PLAN_VERSION,
        operation="orphans delete",
        timezone=timezone,
        target="",
        options=plan.options,
        fingerprint=dict(plan.fingerprint),
        files_to_delete=len(plan.files),
        bytes_to_delete=plan.size,
        files=[orphan_row(orphan) for orphan in plan.files],
        files_left=[orphan_row(orphan) for orphan in plan.left],
        metadata_table_dropped=plan.metadata_table,
        indexes_lost=list(plan.indexes),
    )
