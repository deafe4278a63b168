"""Guards on the rollback of one instant."""

from collections.abc import Collection, Iterable

from hudictl.errors import Conflict, Refused
from hudictl.formats.instants import CLUSTERING, COMPACTION, SAVEPOINT, Instant, State
from hudictl.formats.plans import CompactedSlice
from hudictl.phrases import command_of, count_of, first_few
from hudictl.state.facts import Facts, Signs
from hudictl.state.files.bootstrap import with_sources
from hudictl.state.timeline.ahead import is_ahead
from hudictl.state.timeline.built_on import builds_on
from hudictl.state.timeline.lost_plans import can_be_planned_again, has_lost_plan, slices_to_plan
from hudictl.state.timeline.removed import instants_after, own_rule
from hudictl.state.timeline.service_plans import logs_of_later_writes, service_groups, service_of
from hudictl.state.timeline.unfinished import way_out_of_rollback
from hudictl.table.beat_rule import HOW_TO_SAY
from hudictl.table.kept import room_of
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline


def not_savepointed(timeline: Timeline, time: str) -> None:
    """Raises Refused: the instant has a savepoint, completed or pending."""
    if timeline.find(time, SAVEPOINT) is not None:
        raise Refused(
            f"{time} has a savepoint, and cannot be rolled back",
            hint=f"to roll the commit back all the same, run `{command_of('savepoint delete', time)}` first",
            savepoint=time,
        )


def nothing_later(table: Table, timeline: Timeline, target: Instant) -> None:
    """Raises Refused: other commits may build on a completed target. Unreadable: the metadata of one beside it."""
    found = builds_on(table, timeline, target)
    if not found:
        return
    one_by_one = "roll these commits back first, the newest first"
    newest = max(found, key=lambda entry: entry.time)
    if _beside(target, found) or _beside(newest, builds_on(table, timeline, newest)):
        # Side by side: each is refused for the other.
        one_by_one = "neither of two commits that changed the same file group side by side can be rolled back alone"
    later = sorted((entry.time for entry in found), reverse=True)
    raise Refused(
        f"later commits may build on {target.time}: {first_few(later)}",
        hint=f"{one_by_one}{_or_one_restore(table, timeline, [target, *found], 'them all')}",
        instants=later,
    )


def _beside(target: Instant, found: Iterable[Instant]) -> bool:
    """Whether some of the writes that may build on another one began before it, or completed before it."""
    done = target.completion_time or ""
    return any(entry.time < target.time or (entry.completion_time or "") < done for entry in found)


def _or_one_restore(table: Table, timeline: Timeline, gone: Collection[Instant], what: str) -> str:
    """The way to remove some instants with all that is later; "" if there is no earlier write to restore to."""
    rule, first = own_rule(table), min(entry.time for entry in gone)
    for before in reversed([entry for entry in timeline.completed_writes() if entry.time < first]):
        if {*gone} <= {*instants_after(table, timeline, before, rule)}:
            restore = command_of("restore", options=[f"--to-instant={before.time}", "--plan"])
            return f"; or remove {what} with one restore: `{restore}`"
    return ""


def no_metadata_table_ahead(table: Table, target: Instant) -> None:
    """Raises Refused: the target is ahead of the clock, and so is its delta commit in the metadata table. What follows
    there would be older: not tried on Hudi."""
    if is_ahead(table, target) and metadata_table_in_use(table):
        raise Refused(
            f"{target} is ahead of the clock, and the metadata table has its files",
            hint="run `hudictl metadata drop` first: Hudi's next write builds the metadata table again",
            instant=target.time,
        )


def no_block_ahead(table: Table, target: Instant, blocks: Collection[object]) -> None:
    """Raises Refused: the target is ahead of the clock, and its rows are in logs that stay: below table version 8,
    readers stop at a block that is newer than the last commit (0.15.0)."""
    if is_ahead(table, target) and blocks:
        raise Refused(
            f"{target} is ahead of the clock, and its rows are in logs that stay: rows behind them would not be read",
            hint="restore an instant that is so old that no log stays: before the compactions, or the first writes, of "
            "the file slices with these logs; or put a backup of this table back",
            instant=target.time,
        )


def no_other_rollback(table: Table, signs: Signs, target: str) -> None:
    """Raises Refused: the rollback of another instant is pending, and may be half done."""
    for rollback in signs.live_rollbacks:
        if rollback.target != target:
            of = f"of {rollback.target}" if rollback.target else "with an unreadable plan"
            raise Refused(
                f"another rollback is pending: {rollback.instant} {of}",
                hint=way_out_of_rollback(table, signs, rollback),
                rollback=rollback.instant.time,
            )


def no_pending_write(table: Table, timeline: Timeline, target: Instant) -> None:
    """Raises Refused: writes are pending beside a completed target. A scheduled table service is no write."""
    pending = [
        entry
        for entry in timeline.writes()
        if entry.pending and entry.time != target.time and service_of(table, entry) is None
    ]
    if pending:
        raise Refused(
            f"writes are pending: {first_few([str(entry) for entry in pending])}",
            hint="`hudictl failed-writes list` shows whether they failed; `hudictl failed-writes clean` rolls back the "
            "failed ones",
            instants=[entry.time for entry in pending],
        )


def no_service_on_it(facts: Facts, target: Instant) -> None:
    """Raises Refused: the plan of a pending compaction or clustering names files of the target."""
    touched = facts.commits[target.time].written_groups
    for instant in facts.timeline.writes():
        if instant.pending and instant.time > target.time and touched & service_groups(facts.table, instant):
            raise Refused(
                f"the plan of {instant} names files of {target.time}",
                hint=f"remove that plan first with `{command_of('rollback', instant.time)}`"
                f"{_or_one_restore(facts.table, facts.timeline, [target, instant], 'both')}",
                instant=instant.time,
            )


def plan_can_stay(table: Table, timeline: Timeline, target: Instant | None, keep_plan: bool) -> None:
    """Raises Refused: ``keep_plan`` for an instant without a plan, or with one that cannot be kept, nor made again."""
    if target is None or not keep_plan:
        return
    if target.completed or service_of(table, target) not in (COMPACTION, CLUSTERING):
        raise Refused(
            f"{target} has no plan that can be kept",
            hint="leave --keep-plan out: it is only for pending compactions and clusterings",
        )
    if has_lost_plan(table, timeline, target) and not can_be_planned_again(table, target):
        raise Refused(
            f"the plan of {target} is lost, and cannot be kept",
            hint=_without_plan(target),
        )


def _without_plan(target: Instant) -> str:
    return f"`{command_of('rollback', target.time)}`, without --keep-plan, removes the instant: no rows go with it"


def something_is_planned(facts: Facts, target: Instant | None, keep_plan: bool) -> tuple[CompactedSlice, ...]:
    """The slices of a lost plan that is made again; none if the plan is there, or is not kept.

    Raises Refused: no rows depend on the plan; Unreadable: the rows of one are outside of the table, and nobody knows
    where.
    """
    if target is None or not keep_plan or not has_lost_plan(facts.table, facts.timeline, target):
        return ()
    slices = slices_to_plan(facts, target)
    if not slices:
        raise Refused(
            f"the plan of {target} is lost, and no file slice needs it",
            hint=_without_plan(target),
        )
    return with_sources(facts, slices)


def nothing_on_its_slice(facts: Facts, target: Instant | None, keep_plan: bool) -> None:
    """Raises Refused: the plan of a pending compaction would be removed, and its slices have logs of later writes."""
    if keep_plan or target is None:
        return
    logs = [file.path for file in logs_of_later_writes(facts, target)]
    if logs:
        keep = command_of("rollback", target.time, options=["--keep-plan"])
        if has_lost_plan(facts.table, facts.timeline, target):
            way = f"`{keep}` makes its lost plan again"
        elif target.state is State.REQUESTED:
            way = f"let Hudi run the compaction {target.time}: readers find these logs by its plan"
        else:
            way = f"`{keep}` deletes what the compaction has written, and keeps it requested"
        raise Refused(
            f"the file slices of {target} contain {count_of(len(logs), 'log')} of later writes, for example {logs[0]}",
            hint=way,
            logs=logs,
        )


def metadata_table_can_go(signs: Signs, target: str, planned: Collection[str]) -> None:
    """Raises Conflict: the metadata table would be taken out of use while a writer uses it.

    Args:
        planned: the names on the timeline at planning: a pending write with other files since then is alive, too.
    """
    pending = [entry for entry in signs.timeline.writes() if entry.pending and entry.time != target]
    live = {beat.time: beat for beat in signs.heartbeats if beat.live}
    others = [entry.time for entry in pending if entry.time in live or any(n not in planned for n in entry.names)]
    if others:
        doubtful = others[0] in live and live[others[0]].doubtful
        raise Conflict(
            f"this rollback must take the metadata table out of use, but the write {others[0]} "
            f"{'may be running' if doubtful else 'is running'}",
            hint=HOW_TO_SAY
            if doubtful
            else "stop all writers, or wait until they have ended; then run the command again",
            instants=others,
        )


def keeps_alone(table: Table, signs: Signs, own: Collection[str], *, asked: bool) -> None:
    """Raises Refused: one that is to keep its files would begin beside another one that does. Each would change what
    the other has left, and none could be undone. Unreadable.

    Args:
        own: the pending rollbacks that go on, or end before.
    """
    if not asked or any(room_of(table, time) for time in own):
        return
    for rollback in signs.live_rollbacks:
        time = rollback.instant.time
        if time not in own and room_of(table, time) is not None:
            raise Refused(
                f"{rollback.instant} is pending, and keeps its files: beside it none can begin that keeps its own",
                hint=f"{way_out_of_rollback(table, signs, rollback)}; then run the command again",
                rollback=time,
            )


def no_rollback_beside(signs: Signs, targets: Collection[str], known: Collection[str]) -> None:
    """Raises Conflict: another process has also requested a rollback of one of the instants."""
    for rollback in signs.live_rollbacks:
        if rollback.instant.time not in known and rollback.target in targets:
            raise Conflict(
                f"new rollback {rollback.instant} of {rollback.target}: another process rolls the same instant back",
                hint="wait until that rollback has ended, then run the command again",
                rollback=rollback.instant.time,
            )
