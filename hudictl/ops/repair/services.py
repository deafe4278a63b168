"""``compaction unschedule --group`` and ``clustering prune``: a requested plan gets less to do, or goes.

Only requested instants: a run that has begun has read its plan, and goes on by it.
"""

from collections.abc import Collection

from hudictl.errors import NotFound, Refused
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import CLUSTERING, COMPACTION, LOGCOMPACTION, REPLACECOMMIT, Instant, InstantFile, State
from hudictl.formats.layouts import HASHING_METADATA
from hudictl.formats.plans import decode_input_groups, without_input_groups, without_operations
from hudictl.ops.guards import liveness
from hudictl.ops.guards import timeline as timeline_guards
from hudictl.ops.repair.plan import FileRepair, RepairPlan
from hudictl.ops.session import Kind, Session, writable_signs
from hudictl.phrases import command_of, count_of, first_few
from hudictl.state.facts import Signs, read_facts
from hudictl.state.services.plan_problems import plan_problems, rows_in
from hudictl.state.timeline.lost_plans import has_lost_plan, remedy_of_lost_plan
from hudictl.state.timeline.service_plans import logs_of_later_writes, service_groups, service_of
from hudictl.state.timeline.unfinished import in_words, way_out_of_rollback
from hudictl.storage import entries_of
from hudictl.table.files.slices import Group
from hudictl.table.operations import last_operation_on
from hudictl.table.table import Table
from hudictl.table.timeline.active import read_instant

_NOT_BEGUN = "it is requested, and not begun: no run has read the plan"


def plan_unscheduling(session: Session, time: str, asked: Collection[str], idle_ms: int) -> RepairPlan:
    """Plans to take the operations of file groups (PARTITION/FILE_ID) out of the plan of a compaction or log
    compaction. Changes nothing; every guard has passed.

    Raises:
        NotFound: there is no such instant, or no such operation in its plan.
        Refused: it has begun, its plan is lost, or the rows of later writes would be lost to readers.
        Conflict: a writer or table service may be running.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    groups = {_group(one) for one in asked}
    found = _requested(session, time, (COMPACTION, LOGCOMPACTION), Kind.UNSCHEDULE)
    if found is None:
        return RepairPlan(Kind.UNSCHEDULE, time, (), session.lock)
    signs, instant, request = found
    planned = service_groups(session.table, instant)
    if unknown := groups - planned:
        if unknown == groups and _done_before(session.table, Kind.UNSCHEDULE, time):
            return RepairPlan(Kind.UNSCHEDULE, time, (), session.lock)
        raise NotFound(
            f"{instant} has no operation for {first_few([data_path(*group) for group in sorted(unknown)])}",
            hint=f"`{command_of('compaction show', time)}` shows its files",
        )
    liveness.nothing_at_work(session.table, session.engine, signs, session.locking, idle_ms)
    _no_later_rows(session, signs, instant, groups)

    body = without_operations(read_instant(session.table, request), request.name, groups)
    named = first_few([data_path(*group) for group in sorted(groups)])
    reasons = (
        f"{count_of(len(groups), 'operation')} of {len(planned):,} to take out: {named}",
        f"{_NOT_BEGUN}; readers find all rows without these operations",
    )
    changed = (_rewritten(session.table, signs, request, reasons, body),)
    # Below version 8 a writer puts its logs where the plan says: with the other plan readers do not find them.
    alone = not session.table.rules.logs_named_by_writer
    return RepairPlan(Kind.UNSCHEDULE, time, changed, session.lock, alone=alone)


def plan_pruning(session: Session, time: str, asked: Collection[str], idle_ms: int) -> RepairPlan:
    """Plans to take input groups out of the plan of a clustering: those with a file that is missing or damaged, or that
    a commit has changed since; or those with the files that are named. An input group is clustered as a whole, or not.

    Raises:
        NotFound: there is no such instant, or no such file in its plan.
        Refused: it has begun, its plan is lost, or it resizes buckets.
        Conflict, Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table = session.table
    found = _requested(session, time, (CLUSTERING, REPLACECOMMIT), Kind.PRUNE)
    if found is None:
        return RepairPlan(Kind.PRUNE, time, (), session.lock)
    signs, instant, request = found
    if entries_of(table.storage, HASHING_METADATA):
        raise Refused(
            f"{instant} can be a resize of buckets: its input groups depend on each other",
            hint=f"`{command_of('rollback', time)}` removes the whole plan",
        )
    body = read_instant(table, request)
    inputs = decode_input_groups(body, request.name)
    paths = [{data_path(*file) for file in entry.files} for entry in inputs]
    why: dict[int, str] = {}
    if asked:
        for one in asked:
            name = one.rpartition("/")[2]
            at = [n for n, some in enumerate(paths) if one in some or ("/" not in one and name in _names(some))]
            if not at:
                raise NotFound(
                    f"{instant} reads no file {one}", hint=f"`{command_of('clustering show', time)}` shows its files"
                )
            why |= dict.fromkeys(at, f"{one} was named")
    else:
        session.engine.start()
        partitions = {partition for entry in inputs for partition, _ in entry.groups}
        facts = read_facts(table, session.engine, signs, session.monitor.note, choose=lambda _: partitions)
        for problem in plan_problems(facts, instant):
            # Of two plans over one file group either can be the one to keep.
            for number, entry in enumerate(inputs):
                if (problem.partition, problem.file_group) in entry.groups and not problem.also_in:
                    why.setdefault(
                        number, f"{data_path(problem.partition, problem.file or problem.file_group)}: {problem.problem}"
                    )
    if not why:
        return RepairPlan(Kind.PRUNE, time, (), session.lock)
    liveness.nothing_at_work(table, session.engine, signs, session.locking, idle_ms)
    left = without_input_groups(body, request.name, why)
    reasons = (
        *(f"input group {n} of {count_of(len(inputs[n].files), 'file')}: {why[n]}" for n in sorted(why)),
        f"{_NOT_BEGUN}; a clustering changes no rows",
    )
    return RepairPlan(Kind.PRUNE, time, (_rewritten(table, signs, request, reasons, left),), session.lock)


def _done_before(table: Table, kind: Kind, time: str) -> bool:
    return last_operation_on(table.storage, kind.value, time) is not None


def _group(text: str) -> Group:
    partition, _, file_id = text.rpartition("/")
    return partition, file_id


def _names(paths: Collection[str]) -> set[str]:
    return {path.rpartition("/")[2] for path in paths}


def _rewritten(table: Table, signs: Signs, request: InstantFile, reasons: tuple[str, ...], body: bytes) -> FileRepair:
    # The plan is as old as before: its age counts as that of the last activity.
    path = f"{table.layout.timeline}/{request.name}"
    return FileRepair(path, reasons, body or None, signs.timeline.modified_ms[request.name] if body else None)


def _requested(
    session: Session, time: str, actions: Collection[str], kind: Kind
) -> tuple[Signs, Instant, InstantFile] | None:
    """The signs, a table service that has not begun, and its request; None for one that was removed.

    Raises NotFound, Refused, Unsupported, Unreadable.
    """
    table, signs = session.table, writable_signs(session)
    timeline_guards.nothing_to_resume(signs, "it decides what becomes of pending table services")
    what = "compaction" if COMPACTION in actions else "clustering"
    instant = signs.timeline.find(time, *actions)
    if instant is None and _done_before(table, kind, time):
        return None
    if instant is not None and has_lost_plan(table, signs.timeline, instant):
        way = remedy_of_lost_plan(table, instant)
        raise Refused(f"the plan of {instant} is lost", hint=in_words(way), instant=time)
    if instant is None or not instant.pending or service_of(table, instant) is None:
        raise NotFound(f"there is no pending {what} {time}", hint=f"`{command_of(f'{what} list')}` lists them")
    for rollback in signs.live_rollbacks:
        if rollback.target == time:
            way_out = way_out_of_rollback(table, signs, rollback)
            raise Refused(f"{instant} is being rolled back by {rollback.instant.time}", hint=way_out, instant=time)
    request = instant.file(State.REQUESTED)
    if instant.state is not State.REQUESTED or request is None:
        keep = [] if instant.action == LOGCOMPACTION else ["--keep-plan"]
        raise Refused(
            f"{instant} has begun: a run may go on by its plan",
            hint=f"if it has died, `{command_of('rollback', time, options=keep)}` ends it; then run the command again",
            instant=time,
        )
    return signs, instant, request


def _no_later_rows(session: Session, signs: Signs, instant: Instant, groups: Collection[Group]) -> None:
    """Raises Refused: below table version 8, later writes have put logs into the slices that the operations open;
    readers would not find them without the operations."""
    table = session.table
    if table.rules.logs_named_by_writer:
        return
    session.engine.start()
    partitions = {partition for partition, _ in groups}
    facts = read_facts(table, session.engine, signs, session.monitor.note, choose=lambda _: partitions)
    logs = [log for log in logs_of_later_writes(facts, instant) if log.group in groups]
    if logs:
        raise Refused(
            f"without the plan, readers do not find {count_of(len(logs), 'log')} of later writes with "
            f"{count_of(rows_in(facts, logs), 'record')}, for example {logs[0].path}",
            hint=f"let Hudi run the compaction {instant.time}: the next one can leave the file groups out",
            logs=[log.path for log in logs],
        )
