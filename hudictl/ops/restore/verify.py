"""Reading the timeline back after a restore; later once more, if that was not done or found something."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from hudictl.errors import Incomplete, Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats.layouts import PROPERTIES_BACKUP
from hudictl.ops.metadata.keep import still_required
from hudictl.ops.restore.plan import RestorePlan
from hudictl.phrases import first_few
from hudictl.state.metadata.undo import KEPT
from hudictl.state.services.left_manifests import readable_metadata_table
from hudictl.state.writable import wrong_type
from hudictl.table.metadata.listing import FILES
from hudictl.table.metadata.place import metadata_partition_names, metadata_table_in_use
from hudictl.table.operations import Operation, begun_plan, read_operation
from hudictl.table.table import Table, opened_again
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.writers.markers import marker_folders


def verify_timeline(
    table: Table, plan: RestorePlan, restore: str, rollbacks: Iterable[str], kept: Collection[str]
) -> None:
    """Reads the timeline back after the restore is published. New writes since then are no failure.

    Args:
        kept: the partitions of the metadata table that are in use again.

    Raises:
        Incomplete, Unreadable.
    """
    ended = {*plan.rollbacks_removed, *rollbacks}
    _nothing_in([*_findings(table, plan.target, restore, plan.undo.removed, ended, kept)], "the restore is published")


def nothing_still_wrong(table: Table, target: str, required: Collection[str] = ()) -> None:
    """Repeats the last verification, if the newest restore is to the target and its verification found something, or
    did not happen.

    Args:
        required: indexes that must be in use, as in ``RestoreOptions``.

    Raises:
        Incomplete, Findings, Unreadable.
    """
    timeline = load_timeline(table)
    restore = max((entry.time for entry in timeline.having(fmt.RESTORE) if entry.completed), default="")
    operation = _record(table, restore)
    if operation is not None and operation.target == target:
        if operation.last.exit_code != 0:
            _look_again(table, operation, restore)
        still_required(table, restore, required)
    else:
        still_required(table, "", required)


def _look_again(table: Table, operation: Operation, restore: str) -> None:
    """Raises Incomplete: something is wrong by what the operation has recorded."""
    plan = begun_plan(operation)
    removed, ended = {instant.time for instant in plan.instants}, set(plan.rollbacks_removed)
    kept = {FILES, *plan.indexes_kept} if plan.metadata_table in KEPT else ()
    target = operation.target
    _nothing_in([*_findings(table, target, restore, removed, ended, kept)], f"the table is already at {target}")


def _nothing_in(findings: Sequence[str], done: str) -> None:
    """Raises Incomplete."""
    if findings:
        raise Incomplete(
            f"{done}, but the verification found: {first_few(findings)}",
            hint="`hudictl check` shows what is wrong, and the remedy",
            findings=findings,
        )


def _record(table: Table, restore: str) -> Operation | None:
    """hudictl's record of a restore; a damaged record must not block a restore."""
    with suppress(Unreadable):
        return read_operation(table.storage, restore) if restore else None
    return None


def _findings(
    table: Table, target: str, restore: str, removed: Collection[str], ended: Collection[str], kept: Collection[str]
) -> Iterator[str]:
    """Everything that a completed restore does not leave. ``ended`` are rollbacks that were removed with it, ``kept``
    the partitions of the metadata table that may be in use."""
    timeline = load_timeline(table)
    yield from (str(entry) for entry in timeline.writes() if entry.time in removed)
    yield from (str(entry) for entry in timeline.having(fmt.ROLLBACK) if entry.time in ended)
    yield from (str(entry) for entry in timeline.having(fmt.RESTORE) if entry.pending)
    commit = timeline.find(target, *fmt.COMMIT_ACTIONS)
    if commit is None or not commit.completed:
        yield f"the target {target} is not completed"
    completed = timeline.find(restore, fmt.RESTORE)
    if completed is None or not completed.completed:
        yield f"restore {restore} is not completed"
    yield from (f"markers of {time}" for time in marker_folders(table) if time in {*removed, *ended})
    yield from filter(None, [wrong_type(opened_again(table), timeline)])
    if table.storage.stat(PROPERTIES_BACKUP) is not None:
        yield PROPERTIES_BACKUP
    in_use = metadata_partition_names(table) - set(kept) if kept else metadata_table_in_use(table)
    if in_use and not _written_since(table, timeline, restore, completed):
        yield "the metadata table is in use again"


def _written_since(table: Table, timeline: Timeline, restore: str, completed: fmt.Instant | None) -> bool:
    """Whether a writer of Hudi has come since. A table service that finds nothing to do builds the metadata table, and
    leaves no instant of its own (0.15.0, 1.0.2, 1.2.0)."""
    if any(entry.time > restore for entry in timeline.writes()):
        return True
    ended, metadata = completed and completed.completion_time, readable_metadata_table(table)
    if not ended or metadata is None:
        return False
    return any((entry.completion_time or "") > ended for entry in load_timeline(metadata).instants)
