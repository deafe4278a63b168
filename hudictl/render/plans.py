"""Plans as text; JSON has them under the names in ``shown``."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict

from hudictl.formats.instants import CLEAN, State
from hudictl.formats.restore import target_text
from hudictl.ops.clean_up.orphans import OrphanPlan
from hudictl.ops.clean_up.service import ServiceRemoval
from hudictl.ops.metadata.drop import DroppedPartition, DropPlan
from hudictl.ops.restore.execute import RestoreResult
from hudictl.ops.restore.plan import FoundRestore, Overlap, RestorePlan
from hudictl.ops.rollback.plan import RollbackPlan
from hudictl.ops.rollback.run import RollbackResult
from hudictl.ops.savepoint.plan import PrunePlan, PruneRow
from hudictl.ops.undo.plan import InstantRow, Undo
from hudictl.phrases import count_of, first_few
from hudictl.render.afterwards import catalog_lines, checkpoint_lines
from hudictl.render.locks import lock_line
from hudictl.render.text import Console, print_lines, print_table
from hudictl.render.words import size
from hudictl.state.metadata.undo import MetadataPlan, Mode
from hudictl.state.orphans.find import OrphanRow

_BUILT_AGAIN = "The next Hudi write builds it again, as configured."
_BY_HAND = "Create this index again yourself (CREATE INDEX)"
_AFTER_A_WRITE = "after the first write: before it, Hudi 1.2.0 leaves it empty, and queries and writes with it fail"
"""After a restore, also one of Hudi's own."""
_PARTITIONS = 10
"""So many are told by name."""
_STOPPED = "All writers and table services must be stopped."


def print_restore_plan(out: Console, plan: RestorePlan) -> None:
    """The instants as a table, then the facts that the table does not show."""
    head = f"Finish the restore {plan.resumes} to" if plan.resumes else "Restore to"
    kind = "instant" if plan.protecting_savepoint else "savepoint"
    _print_undo(out, f"{head} {kind} {plan.target}", plan.undo.instants, restore_lines(plan))


def print_rollback_plan(out: Console, plan: RollbackPlan) -> None:
    """The instant as a table of one row, then the facts that the row does not show."""
    _print_undo(out, f"{rollback_verb(plan)} {plan.target}", [plan.instant], rollback_lines(plan))


def print_service_removal(out: Console, plan: ServiceRemoval) -> None:
    """The timeline files to delete, and the reason."""
    lines = [f"Remove the pending {plan.action} {plan.target} ({plan.state})", "", f"Reason: {plan.reason}"]
    lines.append(f"Files to delete from the timeline: {', '.join(plan.files)}. No data file is deleted.")
    if plan.action == CLEAN and plan.state == State.INFLIGHT.name:
        lines.append("Files that this clean has already deleted stay deleted, although commits still name them.")
    print_lines(out, [*lines, lock_line(plan.lock), ""])


def rollback_verb(plan: RollbackPlan) -> str:
    """The verb for the head of a plan, and for its question."""
    return f"Finish the rollback {plan.resumes} of" if plan.resumes else "Roll back"


def print_orphan_plan(out: Console, plan: OrphanPlan) -> None:
    """The files as a table, then the orphans that are kept, and what is deleted with the files."""
    rows = [asdict(row) for row in plan.files]
    none = "no orphans" if plan.hashing else "nothing to delete"
    print_table(out, rows, list(OrphanRow.__dataclass_fields__), none, "OrphanRow")
    lines = [f"Kept: {row.path} ({row.why})" for row in plan.files_left]
    lines += _keeping_lines(keeps=plan.options.keep_files and bool(plan.orphans))
    lines += _metadata_lines(plan.metadata_table)
    if plan.orphans and plan.metadata_table.mode is Mode.KEEP:
        lines.append("The metadata table is kept: it lists none of these files.")
    if plan.unfinished:
        lines.append(f"Earlier deletions to finish: {', '.join(plan.unfinished)}.")
    lines += [*_unread_lines(plan), *_hashing_lines(plan)]
    lines += _metafile_lines(plan)
    stopped = f" {_STOPPED}" if plan.metadata_table.mode in (Mode.FORWARD, Mode.DELETE) else ""
    print_lines(out, ["", *lines, f"{lock_line(plan.lock)}{stopped}", ""])


def print_prune_plan(out: Console, plan: PrunePlan) -> None:
    """The savepoints as a table, then what cleaning and archiving get back."""
    rows = [asdict(row) | {"own_bytes": size(row.own_bytes or 0)} for row in plan.savepoints]
    print_table(out, rows, list(PruneRow.__dataclass_fields__), "no savepoints", "PruneRow")
    lines = [f"Without the savepoints to delete, {freed_text(plan)}."]
    if plan.unfinished:
        lines.append(f"Earlier deletions to finish: {', '.join(plan.unfinished)}.")
    print_lines(out, ["", *lines, lock_line(plan.lock), ""])


def freed_text(plan: PrunePlan) -> str:
    """What a plan gives back."""
    commits = count_of(plan.instants_freed, "more commit")
    return f"cleaning can delete {size(plan.bytes_freed)} more, and archiving can take {commits}"


def print_drop_plan(out: Console, plan: DropPlan) -> None:
    """The partitions as a table, then what their loss means."""
    print_lines(out, [f"Drop {dropped_text(plan)}", ""])
    rows = [asdict(row) for row in plan.partitions]
    print_table(out, rows, list(DroppedPartition.__dataclass_fields__), "no partitions")
    print_lines(out, ["", *drop_lines(plan), f"{lock_line(plan.lock)} {_STOPPED}", ""])


def dropped_text(plan: DropPlan) -> str:
    """What a plan drops."""
    if plan.whole:
        return "the metadata table"
    return ", ".join(plan.names) or "what earlier drops have left"


def drop_lines(plan: DropPlan) -> list[str]:
    """The facts that the table of partitions does not show."""
    dropped = plan.whole or bool(plan.partitions)
    lines = [f"Files to delete: {plan.files_to_delete:,} ({size(plan.bytes_to_delete)})."] if dropped else []
    lines += _keeping_lines(keeps=plan.options.keep_files and dropped)
    if plan.whole:
        kept = plan.defined and not plan.definitions_damaged
        also = f", and {', '.join(plan.defined)} from the definitions, which are kept" if kept else ""
        if plan.definitions_damaged:
            again = f" Create {', '.join(plan.defined)} again (CREATE INDEX)." if plan.defined else ""
            lines.append(f"Definitions of indexes to take out: {plan.definitions_damaged}.{again}")
        if plan.files_lost:
            lost = first_few(plan.files_lost, rest=" and {:,} more")
            lines.append(f"LOST (accepted): {count_of(len(plan.files_lost), 'file')} required by readers: {lost}.")
        rows = "without the rows of lost files" if plan.files_lost else "but the same rows"
        lines.append(f"Until it is built again, readers list folders: slower, {rows}.")
        lines.append(f"The next Hudi write builds again only what its configuration names{also}.")
    elif plan.partitions:
        lines.append(f"Kept: {', '.join(plan.partitions_kept)}. Queries without the indexes are slower.")
        lines.append("The next Hudi write builds again only what its configuration names.")
        if plan.defined:
            names = ", ".join(plan.defined)
            lines.append(f"Definitions to delete: {names}. Create these indexes again (CREATE INDEX).")
    if "record_index" in plan.names:
        lines.append("A record index is built by reading all keys: on a large table that write takes long.")
    if plan.partitions_absent:
        lines.append(f"Not in the metadata table: {', '.join(plan.partitions_absent)}.")
    for time in plan.indexings_pending:
        lines.append(f"The pending indexing {time} is kept: roll it back afterwards.")
    if plan.unfinished:
        lines.append(f"Earlier drops to finish: {', '.join(plan.unfinished)}.")
    return [*lines, *_metafile_lines(plan), *_unread_lines(plan)]


def _print_undo(out: Console, head: str, instants: Sequence[InstantRow], lines: Sequence[str]) -> None:
    print_lines(out, [head, ""])
    rows = [asdict(row) for row in instants]
    print_table(out, rows, list(InstantRow.__dataclass_fields__), "no instants to remove", "InstantRow")
    print_lines(out, ["", *lines, ""])


def restore_lines(plan: RestorePlan) -> list[str]:
    """The facts that the table of instants does not show."""
    undo = plan.undo
    lines = [_found_line(entry) for entry in plan.pending_restores]
    lines += [_overlap_line(entry, plan.rule) for entry in plan.overlaps]
    lines += [f"The pending restore {restore} is removed: this one covers it." for restore in plan.restores_superseded]
    read = ", footers and logs read" if plan.options.deep else " (--deep also reads them)"
    present = "present" if undo.files_lost else f"all present{read}"
    untold = sum(removal.records is None for removal in undo.removals)
    some = f", without those of {count_of(untold, 'instant')} whose file does not tell them" if untold else ""
    lines += [
        f"Instants to remove, newest first: {len(undo.instants):,} "
        f"({count_of(plan.records_written, 'record')} written{some}).",
        f"{_deleted_line(undo)} "
        f"Files required by {plan.target}: {undo.files_needed:,} ({size(undo.bytes_needed)}), {present}.",
    ]
    if undo.files_lost:
        lost = first_few(undo.files_lost, rest=" and {:,} more")
        lines.append(f"LOST (accepted): {count_of(len(undo.files_lost), 'file')} required by {plan.target}: {lost}.")
    if plan.table_type_before is not None:
        lines.append(
            f"The table becomes {plan.options.table_type} again (hoodie.table.type); now: {plan.table_type_before}."
        )
    lines += [
        *_keeping_lines(keeps=plan.options.keep_files),
        *_partition_lines(undo),
        *_kept_lines(undo),
        *_block_lines(undo),
        *_first_lines(undo),
        *_going_lines(plan),
        *_staying_lines(plan),
    ]
    lines += [*catalog_lines(undo.catalog), *checkpoint_lines(plan.checkpoint, "now")]
    if plan.options.grace_s:
        grace = f"{plan.options.grace_s:g} s"
        lines.append(f"Files are deleted {grace} after readers see {plan.target}, so that running queries can finish.")
    lines.append(f"{lock_line(plan.lock)} {_STOPPED}")
    return lines


def _keeping_lines(*, keeps: bool) -> list[str]:
    if not keeps:
        return []
    return ["The files to delete are kept: until the next write an undo can bring them back."]


def rollback_lines(plan: RollbackPlan) -> list[str]:
    """The facts that the row of the instant does not show."""
    undo = plan.undo
    lines = [f"The pending rollback {plan.resumes} is continued."] if plan.resumes else []
    lines += [_deleted_line(undo), *_keeping_lines(keeps=plan.options.keep_files), *_partition_lines(undo)]
    where = "" if plan.partitions_listed is None else " there"
    if plan.partitions_listed is not None:
        lines.append(f"Listed partitions: {plan.partitions_listed:,}, those in the records of {plan.target}.")
    if undo.files_needed:
        needed = f"{undo.files_needed:,} ({size(undo.bytes_needed)})"
        lines.append(f"Files required{where} by readers after the rollback: {needed}, all present.")
    if undo.files_lost:
        lost = first_few(undo.files_lost, rest=" and {:,} more")
        lines.append(f"MISSING already: {count_of(len(undo.files_lost), 'file')} required by readers: {lost}.")
    lines += [*_kept_lines(undo), *_block_lines(undo), *_first_lines(undo)]
    if plan.planned_again:
        slices = count_of(len(plan.planned_again), "file slice")
        lines.append(f"The plan of {plan.target} is lost: it is made again from {slices} with logs of later writes.")
    if plan.plan_kept:
        lines.append(f"{plan.target} becomes requested again: the next run of the table service executes its plan.")
    superseded = plan.rollbacks_superseded
    lines += [f"The pending rollback {rollback} is removed: this one covers it." for rollback in superseded]
    lines += _metadata_lines(undo.metadata_table)
    lines += [*_hashing_lines(undo), *_clean_lines(undo), *_metafile_lines(undo), *_unread_lines(undo)]
    lines += [*catalog_lines(undo.catalog), *checkpoint_lines(plan.checkpoint, "now")]
    lines.append(lock_line(plan.lock))
    if plan.completed or plan.undo.metadata_table.takes_it:
        lines.append(_STOPPED)
    return lines


def _going_lines(plan: RestorePlan) -> list[str]:
    """What is deleted besides the instants."""
    lines = _metadata_lines(plan.undo.metadata_table, f"{_BY_HAND}, {_AFTER_A_WRITE}.")
    if plan.savepoints_deleted:
        lines.append(f"Later savepoints to delete: {', '.join(plan.savepoints_deleted)}.")
    for rollback in plan.rollbacks_discarded:
        lines.append(f"The pending rollback {rollback} is discarded: it has changed nothing.")
    if plan.rollbacks_removed:
        lines.append(f"Rollback instants to remove: {', '.join(plan.rollbacks_removed)}.")
    return [*lines, *_hashing_lines(plan.undo), *_clean_lines(plan.undo)]


def _staying_lines(plan: RestorePlan) -> list[str]:
    """What is kept, or created."""
    lines = []
    if plan.protecting_savepoint:
        lines.append(f"A temporary savepoint on {plan.target} protects its files from cleans during the restore.")
    lines += [*_metafile_lines(plan.undo), *_unread_lines(plan.undo)]
    if plan.pending_writes_that_stay:
        lines.append(f"Pending writes to keep: {', '.join(plan.pending_writes_that_stay)} (older than the target).")
    if plan.newer_compactions_that_stay:
        compactions = ", ".join(plan.newer_compactions_that_stay)
        lines.append(
            "Read-optimised queries will show more rows up to the target than they did then, but none newer: "
            f"{compactions} completed after it."
        )
    if plan.options.keep_backup:
        lines.append("Copies of the removed instants' timeline files are kept in .hoodie/.rollback_backup.")
    return lines


def _first_lines(undo: Undo) -> list[str]:
    if not undo.hiding:
        return []
    hide = f"{count_of(len(undo.hiding), 'file')} would hide rows of commits that stay"
    return [f"Deleted first, before all others and any --grace: {hide}."]


def _deleted_line(undo: Undo) -> str:
    return f"Files to delete: {undo.files_to_delete:,} ({size(undo.bytes_to_delete)})."


def _partition_lines(undo: Undo) -> list[str]:
    """What is deleted in each partition, the most first."""
    sizes: dict[str, list[int]] = defaultdict(list)
    for file in undo.files:
        sizes[file.path.rpartition("/")[0]].append(file.bytes)
    most = sorted(sizes, key=lambda path: (-len(sizes[path]), path))
    told = [f"  {path}: {count_of(len(sizes[path]), 'file')} ({size(sum(sizes[path]))})" for path in most[:_PARTITIONS]]
    rest = len(most) - _PARTITIONS
    more = [f"  {count_of(rest, 'other partition')}: `-o json` has all files"] if rest > 0 else []
    return [*told, *more] if len(most) > 1 else []


def _kept_lines(undo: Undo) -> list[str]:
    kept = undo.files_kept
    if not kept:
        return []
    paths = first_few([row.path for row in kept], rest=" and {:,} more")
    return [f"Files kept although their names contain a removed instant: {len(kept):,} ({kept[0].why}): {paths}."]


def _block_lines(undo: Undo) -> list[str]:
    count = len(undo.rollback_blocks)
    return [f"Rollback blocks to write, in file slices that are kept: {count:,}."] if count else []


def metadata_text(result: RestoreResult | RollbackResult) -> str:
    """What has become of the metadata table, at the end of a sentence."""
    if result.metadata_table == Mode.NONE.value:
        return ""
    kept = f", with {', '.join(result.indexes_kept)}" if result.indexes_kept else ""
    why = f", because {result.metadata_table_given_up}" if result.metadata_table_given_up else ""
    return f"; metadata table: {result.metadata_table}{kept}{why}"


def create_again(plan: RestorePlan, fate: str) -> list[str]:
    """What its operator must know of indexes that no write builds again, by what has become of the metadata table: one
    that is deleted with all of it keeps its definition."""
    entries = () if fate == Mode.DELETE.value else plan.undo.metadata_table.partitions
    names = ", ".join(entry.partition for entry in entries if entry.reason is not None and entry.defined)
    return [f"Create {names} again yourself (CREATE INDEX), {_AFTER_A_WRITE}."] if names else []


def _metadata_lines(plan: MetadataPlan, by_hand: str = f"{_BY_HAND}.") -> list[str]:
    """What becomes of the metadata table, and of each partition that is deleted. ``by_hand``: what to do about one that
    no write builds again."""
    if plan.mode is Mode.DELETE:
        lost = f" with its indexes {', '.join(plan.lost)}" if plan.lost else ""
        return [f"The metadata table is deleted{lost}: {plan.reason}. {_BUILT_AGAIN}"]
    lines = []
    if plan.mode is Mode.UNDO:
        removed = f"{count_of(len(plan.undone), 'instant')}, {count_of(plan.files_to_delete, 'file')}"
        lines.append(f"The metadata table is rolled back, too: {removed} ({size(plan.bytes_to_delete)}).")
    elif plan.mode is Mode.FORWARD:
        corrected = "a new delta commit corrects its listing"
        lines.append(f"The metadata table is brought forward: {corrected}, because {plan.reason}.")
    if plan.keeps:
        lines.append(f"Metadata partitions that are kept: {', '.join(sorted(plan.kept))}.")
    for entry in plan.partitions:
        if entry.reason is not None:
            again = by_hand if entry.defined else _BUILT_AGAIN
            lines.append(f"The metadata partition {entry.partition} is deleted: {entry.reason}. {again}")
    return lines


def _hashing_lines(plan: Undo | OrphanPlan) -> list[str]:
    times = sorted({file.instant for file in plan.hashing}, reverse=True)
    line = (
        f"Hashing metadata to delete: {count_of(len(plan.hashing), 'file')} of the bucket resizes {', '.join(times)}."
    )
    return [line] if times else []


def _clean_lines(undo: Undo) -> list[str]:
    return [
        f"The pending clean {clean} is removed: it would delete {count_of(count, 'required file')}."
        for clean, count in undo.cleans_discarded.items()
    ]


def _metafile_lines(plan: Undo | OrphanPlan | DropPlan) -> list[str]:
    made = plan.partition_metafiles_made
    return [f"Partition metafiles to create: {', '.join(made)}."] if made else []


def _overlap_line(overlap: Overlap, rule: str) -> str:
    """An instant on which Hudi's releases disagree, and what this restore does with it."""
    end = f"completed {overlap.completion_time}" if overlap.completion_time else "pending"
    fate = "removed" if overlap.removed else "kept"
    instant = f"{overlap.time} {overlap.action} ({end})"
    line = f"{instant} overlaps the target: it is {fate} with its rows (rule {rule}, see --rule)."
    if overlap.bare:
        line += (
            f" The rows that it had replaced in {first_few(overlap.bare)} stay away, too: a clustering that is "
            "kept has replaced their file groups."
        )
    if not overlap.undoes:
        return line
    what = (
        f"It replaces file groups that {first_few(overlap.undoes)} has changed since it was planned: with it, readers"
    )
    seen = "would not see" if overlap.removed else "will not see"
    return f"{line} {what} {seen} what they saw at the target, but rows from before, or not all rows."


def _unread_lines(plan: Undo | OrphanPlan | DropPlan) -> list[str]:
    reason = plan.metadata_table_unread
    lost = "Information stored only there is lost with it, for example partitions that listings do not find."
    return [f"The metadata table cannot be read. {lost} {reason}"] if reason else []


def _found_line(found: FoundRestore) -> str:
    owner = "hudictl's" if found.own else "Hudi's"
    return (
        f"Found {owner} pending restore {found.restore} to {target_text(found.target)} ({found.state}): "
        f"{count_of(found.gone, 'instant')} removed, {found.taken_back:,} pending, {found.completed:,} still completed."
    )
