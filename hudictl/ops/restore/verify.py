"""Reading the timeline back after a restore."""

from collections.abc import Iterable

from hudictl.errors import Incomplete
from hudictl.formats import instants as fmt
from hudictl.formats.layouts import PROPERTIES_BACKUP
from hudictl.ops.restore.plan import RestorePlan
from hudictl.phrases import first_few
from hudictl.table.markers import marker_folders
from hudictl.table.metadata_table import metadata_table_in_use
from hudictl.table.properties import read_properties
from hudictl.table.table import Table
from hudictl.table.timeline import load_timeline


def verify_timeline(table: Table, plan: RestorePlan, restore: str, rollbacks: Iterable[str]) -> None:
    """Reads the timeline back after the restore is published. Writes that came since are no failure.

    Raises:
        Incomplete, Unreadable.
    """
    timeline = load_timeline(table)
    ended = {*plan.rollbacks_removed, *rollbacks}
    findings = [str(entry) for entry in timeline.writes() if entry.time in plan.removed]
    findings += [str(entry) for entry in timeline.having(fmt.ROLLBACK) if entry.time in ended]
    findings += [str(entry) for entry in timeline.having(fmt.RESTORE) if entry.pending]
    target = timeline.find(plan.target, *fmt.COMMIT_ACTIONS)
    if target is None or not target.completed:
        findings.append(f"the target {plan.target} is not completed")
    completed = timeline.find(restore, fmt.RESTORE)
    if completed is None or not completed.completed:
        findings.append(f"restore {restore} is not completed")
    findings += [f"markers of {time}" for time in marker_folders(table) if time in plan.removed | ended]
    read_properties(table.storage)
    if table.storage.stat(PROPERTIES_BACKUP) is not None:
        findings.append(PROPERTIES_BACKUP)
    written_since = any(entry.time > restore for entry in timeline.writes())
    if not written_since and metadata_table_in_use(table):
        findings.append("the metadata table is back")
    if findings:
        raise Incomplete(
            f"the restore is published, but not all is as it should be: {first_few(findings)}",
            hint="`hudictl table show` tells what is unfinished",
            findings=findings,
        )
