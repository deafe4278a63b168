"""The end of rollbacks: the instants go, and the rollbacks are completed."""

from collections.abc import Iterator, Sequence

from hudictl.errors import Conflict, Incomplete
from hudictl.formats import instants as fmt
from hudictl.formats.instants import State
from hudictl.formats.plans import encode_compaction_plan
from hudictl.ops.rollback.plan import RollbackPlan
from hudictl.ops.rollback.run import One, RollbackRun
from hudictl.ops.undo.backup import drop_backup
from hudictl.ops.undo.execute import remove_traces
from hudictl.state.timeline.lost_plans import has_lost_plan
from hudictl.table.table import Table
from hudictl.table.timeline.active import (
    Timeline,
    completion_now,
    create_instant_file,
    delete_instant,
    delete_instant_files,
    load_timeline,
    replace_request,
)
from hudictl.table.writers.markers import marker_folders


def check_own(one: One, timeline: Timeline) -> None:
    """Raises Conflict: the rollback is no longer pending."""
    own = timeline.find(one.time, fmt.ROLLBACK)
    if own is None or own.completed:
        raise Conflict(
            f"the rollback {one.time} was {'completed' if own else 'removed'} by another process",
            hint="run the command again: it shows what is left to do",
            rollback=one.time,
        )


def publish(run: RollbackRun, bodies: Sequence[bytes]) -> None:
    """Removes the instants' pending files and traces, then publishes their rollbacks: from then on they are completed.

    Raises Conflict: another process has published one.
    """
    timeline = load_timeline(run.table)
    for one in run.each:
        # From version 8 on the completion time is part of the name, so that a second completed file is possible.
        check_own(one, timeline)
    for one in run.each:
        _remove_instant(run.table, one.plan, timeline)
    if not run.options.keep_backup:
        drop_backup(run.table, run.targets)
    # Before the completion: afterwards there is no reason for a rerun, which would remove the leftovers.
    remove_traces(run.table, run.targets)
    for one, body in zip(run.each, bodies, strict=True):
        run.held.check()
        completed = completion_now(run.table, one.time)
        create_instant_file(run.table, one.time, fmt.ROLLBACK, State.COMPLETED, body, completed)


def _remove_instant(table: Table, plan: RollbackPlan, timeline: Timeline) -> None:
    """Removes the target's pending files, or makes it requested again; and the rollbacks that are superseded."""
    instant = timeline.find(plan.target, *fmt.WRITE_ACTIONS)
    if instant is not None and plan.options.keep_plan:
        if plan.planned_again:
            replace_request(table, instant, encode_compaction_plan(plan.planned_again))
        delete_instant_files(table, [file for file in instant.files if file.state is State.INFLIGHT])
    else:
        delete_instant(table, instant)
    for superseded in plan.rollbacks_superseded:
        delete_instant(table, timeline.find(superseded, fmt.ROLLBACK))


def verify_timeline(run: RollbackRun) -> None:
    """Reads the timeline back. New writes of other processes are no failure. Raises Incomplete, Unreadable."""
    timeline = load_timeline(run.table)
    findings = [finding for one in run.each for finding in _unfinished(run.table, one, timeline)]
    own = run.targets.union(run.times)
    findings += [f"markers of {time}" for time in marker_folders(run.table) if time in own]
    if findings:
        raise Incomplete(
            f"the rollback is published, but the verification found: {', '.join(findings)}",
            hint="`hudictl check` shows what is wrong, and the remedy",
            findings=findings,
        )


def _unfinished(table: Table, one: One, timeline: Timeline) -> Iterator[str]:
    """What a rollback should have changed on the timeline, and has not."""
    plan = one.plan
    own, instant = timeline.find(one.time, fmt.ROLLBACK), timeline.find(plan.target, *fmt.WRITE_ACTIONS)
    requested = instant is not None and instant.state is State.REQUESTED and not has_lost_plan(table, timeline, instant)
    if own is None or not own.completed:
        yield f"{one.time} is not completed"
    kept = plan.options.keep_plan and plan.removal.instant is not None
    if not (requested if kept else instant is None):
        yield f"{instant}" if instant is not None else f"{plan.target} is not on the timeline any more"
