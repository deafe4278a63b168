"""The kinds of changes: how each is planned and executed, and when there is nothing to do."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hudictl.errors import NotFound, Refused, UsageError
from hudictl.library.change import Change
from hudictl.library.options import refuse_no_tag, refuse_value, refuse_wrong
from hudictl.phrases import command_of

if TYPE_CHECKING:
    from hudictl.formats.instants import Instant
    from hudictl.ops.clean_up.litter import HeartbeatDeletion, MarkerDeletion
    from hudictl.ops.clean_up.lock_break import LockBreak
    from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanPlan, OrphanResult
    from hudictl.ops.clean_up.service import ServiceOptions, ServiceRemoval
    from hudictl.ops.copy.execute import CopyResult
    from hudictl.ops.copy.plan import CopyOptions, CopyPlan
    from hudictl.ops.metadata.drop import DropOptions, DropPlan, DropResult
    from hudictl.ops.put_back.drop import UndoDrop, UndoDropped
    from hudictl.ops.put_back.execute import UndoResult
    from hudictl.ops.put_back.planning import UndoPlan
    from hudictl.ops.repair.plan import RepairPlan, RepairResult
    from hudictl.ops.restore.execute import RestoreResult
    from hudictl.ops.restore.leftovers import Leftovers
    from hudictl.ops.restore.plan import RestoreOptions, RestorePlan
    from hudictl.ops.restore.withdraw import Withdrawal, Withdrawn
    from hudictl.ops.rollback.discard import Discard
    from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
    from hudictl.ops.rollback.run import RollbackResult
    from hudictl.ops.savepoint.plan import (
        PruneOptions,
        PrunePlan,
        PruneResult,
        SavepointDeletion,
        SavepointOptions,
        SavepointPlan,
    )
    from hudictl.ops.session import Session
    from hudictl.ops.set_property import PropertyOptions, PropertyPlan
    from hudictl.storage import Storage
    from hudictl.table.table import Table


def restore(target: str, options: "RestoreOptions") -> "Change[RestorePlan, RestoreResult]":
    """A restore to a savepoint or a commit, or the rest of one that is pending."""
    from hudictl.ops.restore.execute import execute_restore
    from hudictl.ops.restore.planning import plan_restore
    from hudictl.ops.restore.verify import nothing_still_wrong

    refuse_value("to", target)
    refuse_wrong(options)

    def plan(session: "Session") -> "RestorePlan":
        made = plan_restore(session, target, options)
        if made.nothing_to_do:
            # What the last verification found is found again: the same command must not say less.
            nothing_still_wrong(session.table, target, options.require_index)
        return made

    return Change(
        "restore",
        plan,
        execute_restore,
        nothing=lambda plan: f"the table is already at {target}: nothing to do" if plan.nothing_to_do else None,
    )


def withdrawal(idle_ms: int) -> "Change[Withdrawal, Withdrawn]":
    """The withdrawal of a pending restore."""
    from hudictl.ops.restore.withdraw import plan_withdrawal, withdraw_restore, withdrawn_already

    refuse_value("idle_ms", idle_ms)

    def ended(table: "Table") -> str | None:
        done = withdrawn_already(table)
        return f"the last restore was already withdrawn at {done}: nothing to do" if done else None

    return Change(
        "resume",
        lambda session: plan_withdrawal(session, idle_ms),
        lambda session, plan: withdraw_restore(session, plan, idle_ms),
        ended=ended,
    )


def leftovers(idle_ms: int) -> "Change[Leftovers, Leftovers]":
    """What restores and rollbacks that have ended have left."""
    from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers

    refuse_value("idle_ms", idle_ms)
    return Change(
        "resume",
        lambda session: plan_leftovers(session, idle_ms),
        lambda session, plan: remove_leftovers(session, plan, idle_ms),
        nothing=lambda plan: "nothing is left" if plan.nothing else None,
    )


def discard_rollbacks(idle_ms: int) -> "Change[Discard, Discard]":
    """The removal of pending rollbacks of commits that are to stay."""
    from hudictl.ops.rollback.discard import execute_discard, plan_discard

    refuse_value("idle_ms", idle_ms)
    return Change(
        "resume",
        lambda session: plan_discard(session, idle_ms),
        lambda session, plan: execute_discard(session, plan, idle_ms),
        nothing=lambda plan: None if plan.rollbacks else "no rollback is to be discarded: nothing to do",
    )


def rollback(target: str, options: "RollbackOptions") -> "Change[RollbackPlan, RollbackResult]":
    """The rollback of an instant, or the rest of one that is pending."""
    from hudictl.ops.metadata.keep import still_required
    from hudictl.ops.rollback.execute import execute_rollback
    from hudictl.ops.rollback.planning import done_already, plan_rollback

    refuse_value("instant", target)
    refuse_wrong(options)

    def ended(table: "Table") -> str | None:
        done = done_already(table, target)
        if done:
            still_required(table, done, options.require_index)
        return f"{target} was already rolled back by {done}: nothing to do" if done else None

    return Change(
        "rollback",
        lambda session: plan_rollback(session, target, options),
        execute_rollback,
        nothing=lambda plan: f"{target} is requested and not begun: nothing to do" if plan.nothing_to_do else None,
        ended=ended,
    )


def pending_compaction(target: str, options: "RollbackOptions") -> "Change[RollbackPlan, RollbackResult]":
    """The same for a pending compaction or log compaction alone; with ``keep_plan``: its lost plan is made again."""
    from hudictl.formats.instants import COMPACTION, LOGCOMPACTION
    from hudictl.table.timeline.active import load_timeline

    change = rollback(target, options)
    actions = (COMPACTION,) if options.keep_plan else (COMPACTION, LOGCOMPACTION)

    def refuse_another(instant: "Instant | None") -> None:
        if instant is not None and (instant.completed or instant.action not in actions):
            raise NotFound(f"{target} is no pending compaction", hint="`hudictl compaction list` lists them")

    def plan(session: "Session") -> "RollbackPlan":
        # Before the guards of a rollback, whose ways out are for another kind of instant.
        refuse_another(load_timeline(session.table).at(target))
        made = change.plan(session)
        refuse_another(made.removal.instant)
        if options.keep_plan and not (made.planned_again or made.resumes or made.nothing_to_do):
            hint = f"`{command_of('rollback', target, options=['--keep-plan'])}` ends its run, and keeps the plan"
            raise Refused(f"the plan of {target} is not lost", hint=hint, instant=target)
        return made

    return replace(change, plan=plan)


def service_removal(target: str, options: "ServiceOptions") -> "Change[ServiceRemoval, ServiceRemoval]":
    """The removal of a pending clean, or of an indexing."""
    from hudictl.ops.clean_up.service import execute_service_removal, plan_service_removal, removed_already

    refuse_wrong(options)

    def ended(table: "Table") -> str | None:
        done = removed_already(table, target)
        return f"{target} was already removed at {done}: nothing to do" if done else None

    return Change(
        "rollback", lambda session: plan_service_removal(session, target, options), execute_service_removal, ended=ended
    )


def savepoint_creation(instant: str | None, options: "SavepointOptions") -> "Change[SavepointPlan, None]":
    """A savepoint on a commit; None: on the newest without older pending writes."""
    from hudictl.ops.savepoint.execute import create_savepoint
    from hudictl.ops.savepoint.planning import plan_savepoint
    from hudictl.state.files.savepoints import tag_of

    if instant is not None:
        refuse_value("instant", instant)
    refuse_wrong(options)
    asked = tag_of(options.comment)

    def nothing(plan: "SavepointPlan") -> str | None:
        has, other = tag_of(plan.comment), ""
        if has != asked:
            named = f", with the tag {has}, by which `savepoint prune` may delete it"
            other = named if has else f", without a tag: it does not get the tag {asked}"
        return f"{plan.target} already has a savepoint{other}: nothing to do" if plan.nothing_to_do else None

    return Change(
        "savepoint create",
        lambda session: plan_savepoint(session, instant, options),
        create_savepoint,
        nothing=nothing,
    )


def savepoint_if_old(options: "SavepointOptions", tag: str, every_ms: int, every: str) -> "Change[SavepointPlan, None]":
    """The same on the newest commit, unless a savepoint with the tag is on one that is younger than 90 % of the time.

    Args:
        every: the time, in words.
    """
    from hudictl.ops.savepoint.planning import young_savepoint

    def ended(table: "Table") -> str | None:
        young = young_savepoint(table, tag, every_ms)
        return f"the savepoint {young} with the tag {tag} is younger than {every}: nothing to do" if young else None

    return replace(savepoint_creation(None, options), ended=ended)


def savepoint_deletion(instant: str) -> "Change[SavepointDeletion, None]":
    """The deletion of a savepoint."""
    from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion

    refuse_value("instant", instant)
    return Change(
        "savepoint delete",
        lambda session: plan_deletion(session, instant),
        delete_savepoint,
        nothing=lambda plan: None if plan.exists else f"there is no savepoint on {instant}: nothing to do",
        needs_engine=False,
    )


def savepoint_prune(options: "PruneOptions") -> "Change[PrunePlan, PruneResult]":
    """The deletion of the savepoints that no rule keeps."""
    from hudictl.ops.savepoint.pruning import plan_prune, prune_savepoints

    refuse_wrong(options)
    refuse_wrong(options.rules)
    if options.tag is not None:
        refuse_no_tag(options.tag)
        if options.untagged:
            raise UsageError(
                f"--tag {options.tag} and --all (untagged) exclude each other",
                hint="--all is for savepoints with and without tags",
            )
    if not options.rules.any:
        hint = "--keep-last 3 --keep-daily 7; in Python KeepRules(last=3, daily=7)"
        raise UsageError("no rule says which savepoints to keep", hint=hint)

    def nothing(plan: "PrunePlan") -> str | None:
        kept = sum(row.kept for row in plan.savepoints)
        return f"no savepoint to delete: nothing to do; {kept:,} kept" if plan.nothing_to_do else None

    return Change("savepoint prune", lambda session: plan_prune(session, options), prune_savepoints, nothing=nothing)


def orphan_deletion(options: "OrphanOptions") -> "Change[OrphanPlan, OrphanResult]":
    """The deletion of orphans."""
    from hudictl.ops.clean_up.orphans import delete_orphans, plan_orphan_deletion

    refuse_wrong(options)
    return Change(
        "orphans delete",
        lambda session: plan_orphan_deletion(session, options),
        delete_orphans,
        nothing=lambda plan: "no orphans to delete: nothing to do" if plan.nothing_to_do else None,
    )


def metadata_drop(options: "DropOptions") -> "Change[DropPlan, DropResult]":
    """The drop of the metadata table, or of some of its indexes."""
    from hudictl.ops.metadata.drop import drop_metadata, plan_metadata_drop

    refuse_wrong(options)
    options = replace(options, partitions=tuple(sorted(set(options.partitions))))

    def nothing(plan: "DropPlan") -> str | None:
        if not plan.nothing_to_do:
            return None
        if not options.partitions:
            return "there is no metadata table: nothing to do"
        kept = f" (it has {', '.join(plan.partitions_kept)})" if plan.partitions_kept else ""
        return f"the metadata table has no {', '.join(plan.partitions_absent)}{kept}: nothing to do"

    return Change("metadata drop", lambda session: plan_metadata_drop(session, options), drop_metadata, nothing=nothing)


def undo(instant: str, idle_ms: int) -> "Change[UndoPlan, UndoResult]":
    """The undo of an operation that kept its files."""
    from hudictl.ops.put_back.execute import execute_undo
    from hudictl.ops.put_back.planning import plan_undo, undone_already

    refuse_value("instant", instant)
    refuse_value("idle_ms", idle_ms)

    def ended(table: "Table") -> str | None:
        done = undone_already(table, instant)
        return f"{instant} was already undone at {done}: nothing to do" if done else None

    return Change(
        "undo",
        lambda session: plan_undo(session, instant, idle_ms),
        lambda session, plan: execute_undo(session, plan, idle_ms),
        ended=ended,
    )


def undo_drop(instants: Sequence[str], older_than_ms: int | None) -> "Change[UndoDrop, UndoDropped]":
    """The deletion of what operations have kept: of some, or of all that are old."""
    from hudictl.ops.put_back.drop import execute_drop, plan_drop

    for instant in instants:
        refuse_value("instant", instant)
    if bool(instants) == (older_than_ms is not None):
        raise UsageError("give either instants, or an age", hint="an age drops all that is older")
    kept = f"kept of {', '.join(instants)}" if instants else "older"
    return Change(
        "undo drop",
        lambda session: plan_drop(session, tuple(instants), older_than_ms),
        execute_drop,
        nothing=lambda plan: None if plan.dropped else f"nothing is {kept}: nothing to do",
        needs_engine=False,
    )


def copy(target: "Storage", as_of: str, options: "CopyOptions") -> "Change[CopyPlan, CopyResult]":
    """A copy of the table as of a commit."""
    from hudictl.ops.copy.execute import execute_copy
    from hudictl.ops.copy.planning import plan_copy
    from hudictl.table.files.view import partition_named

    refuse_value("as_of", as_of)
    refuse_wrong(options)
    options = replace(options, partitions=tuple(sorted(set(map(partition_named, options.partitions)))))
    return Change(
        "copy",
        lambda session: plan_copy(session, target, as_of, options),
        lambda session, plan: execute_copy(session, plan, target),
        nothing=lambda plan: f"the copy at {plan.to} is done, and verified: nothing to do" if plan.done else None,
    )


def heartbeat_deletion(instant: str) -> "Change[HeartbeatDeletion, None]":
    """The deletion of an expired or stale heartbeat."""
    from hudictl.ops.clean_up.litter import delete_heartbeat, plan_heartbeat_deletion

    refuse_value("instant", instant)
    return Change(
        "heartbeat delete",
        lambda session: plan_heartbeat_deletion(session, instant),
        delete_heartbeat,
        nothing=lambda plan: None if plan.heartbeat else f"there is no heartbeat of {instant}: nothing to do",
        needs_engine=False,
    )


def marker_deletion(instant: str) -> "Change[MarkerDeletion, None]":
    """The deletion of the markers of a completed or removed instant."""
    from hudictl.ops.clean_up.litter import delete_markers, plan_marker_deletion

    refuse_value("instant", instant)
    return Change(
        "marker delete",
        lambda session: plan_marker_deletion(session, instant),
        delete_markers,
        nothing=lambda plan: None if plan.folder else f"there are no markers of {instant}: nothing to do",
        needs_engine=False,
    )


def lock_break(dead_after_ms: int | None) -> "Change[LockBreak, None]":
    """The release of a lock that has expired."""
    from hudictl.ops.clean_up.lock_break import break_lock, plan_lock_break

    if dead_after_ms is not None:
        refuse_value("dead_after_ms", dead_after_ms)
    return Change(
        "lock break",
        lambda session: plan_lock_break(session, dead_after_ms),
        break_lock,
        nothing=lambda plan: None if plan.lock else "no lock is held: nothing to do",
        needs_engine=False,
    )


def repair(command: str, plan: "Callable[[Session], RepairPlan]") -> "Change[RepairPlan, RepairResult]":
    """A repair of files: what is damaged goes into quarantine, and ``undo`` takes the repair back."""
    from hudictl.ops.repair.plan import execute_repair

    return Change(
        command,
        plan,
        lambda session, made: execute_repair(session, made, lambda: plan(session)),
        nothing=lambda made: None if made.files else _nothing_damaged(made),
    )


def _nothing_damaged(made: "RepairPlan") -> str:
    return "; ".join(["nothing is damaged: nothing to do", *(f"but {what}" for what in made.elsewhere)])


def archive_repair(idle_ms: int) -> "Change[RepairPlan, RepairResult]":
    """The damaged files of the archived timeline."""
    from hudictl.ops.repair.archive import plan_archive

    refuse_value("idle_ms", idle_ms)
    return repair("archive repair", lambda session: plan_archive(session, idle_ms))


def quarantine(time: str, idle_ms: int) -> "Change[RepairPlan, RepairResult]":
    """The damaged files of an instant."""
    from hudictl.ops.repair.timeline import plan_quarantine

    refuse_value("idle_ms", idle_ms)
    return repair("timeline quarantine", lambda session: plan_quarantine(session, time, idle_ms))


def properties_repair(values: Mapping[str, str], idle_ms: int) -> "Change[RepairPlan, RepairResult]":
    """A damaged or missing hoodie.properties; ``values``: those that nothing else proves."""
    from hudictl.ops.repair.properties import plan_properties_repair

    refuse_value("idle_ms", idle_ms)
    return repair("table repair-properties", lambda session: plan_properties_repair(session, values, idle_ms))


def unscheduling(time: str, groups: Sequence[str], idle_ms: int) -> "Change[RepairPlan, RepairResult]":
    """Operations out of the plan of a compaction."""
    from hudictl.ops.repair.services import plan_unscheduling

    refuse_value("idle_ms", idle_ms)
    return repair("compaction unschedule", lambda session: plan_unscheduling(session, time, groups, idle_ms))


def pruning(time: str, files: Sequence[str], idle_ms: int) -> "Change[RepairPlan, RepairResult]":
    """Input groups out of the plan of a clustering."""
    from hudictl.ops.repair.services import plan_pruning

    refuse_value("idle_ms", idle_ms)
    return repair("clustering prune", lambda session: plan_pruning(session, time, files, idle_ms))


def metafile_repair(partitions: Sequence[str]) -> "Change[RepairPlan, RepairResult]":
    """The metafiles of partitions, written again where they are missing or damaged."""
    from hudictl.ops.repair.metafiles import plan_metafiles

    return repair("partition repair", lambda session: plan_metafiles(session, partitions))


def set_properties(options: "PropertyOptions") -> "Change[PropertyPlan, PropertyPlan]":
    """A change of hoodie.properties."""
    from hudictl.ops.set_property import plan_properties
    from hudictl.ops.set_property import set_properties as execute

    refuse_value("idle_ms", options.idle_ms)
    return Change(
        "table set-property",
        lambda session: plan_properties(session, options),
        lambda session, plan: execute(session, plan, options),
        nothing=lambda plan: "all have these values: nothing to do" if plan.nothing_to_do else None,
    )
