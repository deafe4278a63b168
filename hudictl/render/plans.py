"""Plans for eyes; JSON has them by the names in ``shown``."""

from collections.abc import Sequence
from dataclasses import asdict

from hudictl.formats.instants import CLEAN, State
from hudictl.formats.restore import target_text
from hudictl.ops.orphans import OrphanPlan
from hudictl.ops.restore.plan import FoundRestore, Overlap, RestorePlan
from hudictl.ops.rollback.plan import MetadataStep, RollbackPlan
from hudictl.ops.rollback.service import ServiceRemoval
from hudictl.ops.undo.plan import InstantRow
from hudictl.phrases import first_few
from hudictl.render.locks import lock_line
from hudictl.render.text import Console, print_lines, print_table
from hudictl.render.words import size
from hudictl.state.orphans import OrphanRow

_STOPPED = "All writers and table services must be stopped."


def print_restore_plan(out: Console, plan: RestorePlan) -> None:
    """The instants as a table, then what it does not say."""
    head = f"Finish the restore {plan.resumes} to" if plan.resumes else "Restore to"
    kind = "instant" if plan.protecting_savepoint else "savepoint"
    _print_undo(out, f"{head} {kind} {plan.target}", plan.instants, restore_lines(plan))


def print_rollback_plan(out: Console, plan: RollbackPlan) -> None:
    """The instant as a table of one row, then what it does not say."""
    _print_undo(out, f"{rollback_verb(plan)} {plan.target}", [plan.instant], rollback_lines(plan))


def print_service_removal(out: Console, plan: ServiceRemoval) -> None:
    """The files that go, and why."""
    lines = [f"Remove the pending {plan.action} {plan.target} ({plan.state})", "", f"Why: {plan.reason}"]
    lines.append(f"Files to delete: {', '.join(plan.files)}. No data files.")
    if plan.action == CLEAN and plan.state == State.INFLIGHT.name:
        lines.append("What it had deleted is then known from the commits alone.")
    print_lines(out, [*lines, lock_line(plan.lock), ""])


def rollback_verb(plan: RollbackPlan) -> str:
    """What is done to the instant, for the head of a plan and its question."""
    return f"Finish the rollback {plan.resumes} of" if plan.resumes else "Roll back"


def print_orphan_plan(out: Console, plan: OrphanPlan) -> None:
    """The files as a table, then what stays, and what goes with them."""
    rows = [asdict(row) for row in plan.files]
    print_table(out, rows, list(OrphanRow.__dataclass_fields__), "nothing to delete")
    lines = [f"stays: {row.path} ({row.why})" for row in plan.files_left]
    if plan.metadata_table_dropped:
        indexes = ", ".join(plan.indexes_lost) or "no index"
        lines.append(f"the metadata table goes first, with {indexes}; the next writer makes it anew")
    lines += _unread_lines(plan)
    lines += _metafile_lines(plan)
    print_lines(out, ["", *lines, lock_line(plan.lock), ""])


def _print_undo(out: Console, head: str, instants: Sequence[InstantRow], lines: Sequence[str]) -> None:
    print_lines(out, [head, ""])
    rows = [asdict(row) for row in instants]
    print_table(out, rows, list(InstantRow.__dataclass_fields__), "no instants to take back")
    print_lines(out, ["", *lines, ""])


def restore_lines(plan: RestorePlan) -> list[str]:
    """What the table of instants does not say."""
    lines = [_found_line(entry) for entry in plan.pending_restores]
    lines += [_overlap_line(entry, plan.rule) for entry in plan.overlaps]
    if plan.rule_fallback:
        lines.append(f"Rule {plan.rule}: by the other one, that of this table's release, files would be missing.")
    lines += [f"The pending restore {restore} ends with this one." for restore in plan.restores_superseded]
    lines += [
        f"Instants that go, newest first: {len(plan.instants)}; records that they wrote: {plan.records_written:,}.",
        f"Files that are deleted: {plan.files_to_delete:,} ({size(plan.bytes_to_delete)}); "
        f"that {plan.target} needs: {plan.files_needed:,} ({size(plan.bytes_needed)}).",
    ]
    if plan.files_lost:
        lost = first_few(plan.files_lost, rest=" and {:,} more")
        lines.append(f"LOST, and accepted as lost: {len(plan.files_lost):,} files that {plan.target} needs: {lost}.")
    lines += [*_kept_lines(plan), *_block_lines(plan), *_going_lines(plan), *_staying_lines(plan)]
    if plan.options.grace_s:
        lines.append(f"Files are deleted {plan.options.grace_s:g} s after readers are back, for queries that run.")
    lines.append(f"{lock_line(plan.lock)} {_STOPPED}")
    return lines


def rollback_lines(plan: RollbackPlan) -> list[str]:
    """What the row of the instant does not say."""
    lines = [f"The pending rollback {plan.resumes} goes on."] if plan.resumes else []
    lines.append(f"Files that are deleted: {plan.files_to_delete:,} ({size(plan.bytes_to_delete)}).")
    if plan.files_needed:
        lines.append(
            f"Files that readers need without it, all there: {plan.files_needed:,} ({size(plan.bytes_needed)})."
        )
    if plan.files_lost:
        lost = first_few(plan.files_lost, rest=" and {:,} more")
        lines.append(f"MISSING already: {len(plan.files_lost):,} files that readers need: {lost}.")
    lines += [*_kept_lines(plan), *_block_lines(plan)]
    if plan.plan_kept:
        lines.append(f"{plan.target} goes back to requested: the next run of the table service does it anew.")
    lines += [f"The pending rollback {rollback} ends with this one." for rollback in plan.rollbacks_superseded]
    if plan.metadata_step is MetadataStep.DELETE:
        lines.append(_metadata_line(plan))
    elif plan.metadata_step is MetadataStep.ROLL_BACK:
        lines.append("The metadata table stays: its deltacommit of the same time is rolled back.")
    if plan.indexes_lost and plan.metadata_step is not MetadataStep.DELETE:
        lines.append(
            f"Indexes that are deleted, as they were built after {plan.target} and hold what it wrote: "
            f"{', '.join(plan.indexes_lost)}. The next Hudi write builds what it is configured for; secondary and "
            "expression indexes are to be created again (CREATE INDEX)."
        )
    lines += [*_hashing_lines(plan), *_clean_lines(plan), *_metafile_lines(plan), *_unread_lines(plan)]
    lines.append(lock_line(plan.lock))
    if plan.completed:
        lines.append(_STOPPED)
    return lines


def _going_lines(plan: RestorePlan) -> list[str]:
    """What goes beside the instants."""
    lines = [_metadata_line(plan)] if plan.metadata_table_dropped else []
    if plan.savepoints_deleted:
        lines.append(f"Later savepoints that are deleted: {', '.join(plan.savepoints_deleted)}.")
    for rollback in plan.rollbacks_discarded:
        lines.append(f"The pending rollback {rollback} is discarded: nothing of it was done.")
    if plan.rollbacks_removed:
        lines.append(f"Rollback instants that go: {', '.join(plan.rollbacks_removed)}.")
    return [*lines, *_hashing_lines(plan), *_clean_lines(plan)]


def _staying_lines(plan: RestorePlan) -> list[str]:
    """What stays, or is made."""
    lines = []
    if plan.protecting_savepoint:
        lines.append(f"A savepoint on {plan.target} protects its files from cleans until the restore is done.")
    lines += [*_metafile_lines(plan), *_unread_lines(plan)]
    if plan.pending_writes_that_stay:
        lines.append(f"Pending writes older than the target stay: {', '.join(plan.pending_writes_that_stay)}.")
    if plan.newer_compactions_that_stay:
        compactions = ", ".join(plan.newer_compactions_that_stay)
        lines.append(f"The read-optimised view stays newer than the target: {compactions} completed after it.")
    if plan.options.keep_backup:
        lines.append("Copies of the removed instants' files stay in .hoodie/.rollback_backup.")
    return lines


def _kept_lines(plan: RestorePlan | RollbackPlan) -> list[str]:
    kept = plan.files_kept
    if not kept:
        return []
    paths = first_few([row.path for row in kept], rest=" and {:,} more")
    return [f"Files kept although they carry the name of a removed instant: {len(kept):,} ({kept[0].why}): {paths}."]


def _block_lines(plan: RestorePlan | RollbackPlan) -> list[str]:
    count = len(plan.rollback_blocks)
    return [f"Rollback blocks that are written behind log files that stay: {count:,}."] if count else []


def _metadata_line(plan: RestorePlan | RollbackPlan) -> str:
    lost = f", and with it the indexes {', '.join(plan.indexes_lost)}" if plan.indexes_lost else ""
    return f"The metadata table is deleted{lost}; the next Hudi write builds what it is configured for."


def _hashing_lines(plan: RestorePlan | RollbackPlan) -> list[str]:
    times = sorted({file.instant for file in plan.hashing}, reverse=True)
    line = f"Hashing metadata of bucket resizes that goes: {', '.join(times)}, {len(plan.hashing):,} files."
    return [line] if times else []


def _clean_lines(plan: RestorePlan | RollbackPlan) -> list[str]:
    return [
        f"The pending clean {clean} is discarded: it would delete {count} needed files."
        for clean, count in plan.cleans_discarded.items()
    ]


def _metafile_lines(plan: RestorePlan | RollbackPlan | OrphanPlan) -> list[str]:
    made = plan.partition_metafiles_made
    return [f"Partition metafiles are made anew: {', '.join(made)}."] if made else []


def _overlap_line(overlap: Overlap, rule: str) -> str:
    """Why an instant is removed, or kept, where Hudi's releases disagree."""
    end = f"completed {overlap.completion_time}" if overlap.completion_time else "pending"
    fate = "is removed, its rows go" if overlap.removed else "is kept, its rows stay"
    return f"{overlap.time} {overlap.action} ({end}) overlaps the target: it {fate} (rule {rule}, see --rule)."


def _unread_lines(plan: RestorePlan | RollbackPlan | OrphanPlan) -> list[str]:
    reason = plan.metadata_table_unread
    return [f"The metadata table cannot be read: what it alone knows is lost. {reason}"] if reason else []


def _found_line(found: FoundRestore) -> str:
    owner = "hudictl's" if found.own else "Hudi's"
    return (
        f"Found {owner} restore {found.restore} to {target_text(found.target)}, {found.state}: of its instants "
        f"{found.gone} are gone, {found.taken_back} taken back, {found.completed} still completed."
    )
