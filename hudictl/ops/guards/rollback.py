"""Guards on the rollback of one instant."""

from collections.abc import Collection

from hudictl.errors import Conflict, Refused
from hudictl.formats.instants import CLUSTERING, COMPACTION, SAVEPOINT, Instant
from hudictl.phrases import first_few
from hudictl.state.facts import Facts, Signs
from hudictl.state.services import logs_of_later_writes, service_groups, service_of
from hudictl.state.unfinished import way_out_of_restore, way_out_of_rollback
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline


def no_restore(table: Table, signs: Signs) -> None:
    """Raises Refused: a restore is pending, which decides what becomes of every instant."""
    for restore in signs.restores:
        raise Refused(
            f"{restore.instant} is pending: nothing else can be rolled back",
            hint=way_out_of_restore(table, restore),
            restore=restore.instant.time,
        )


def not_savepointed(timeline: Timeline, time: str) -> None:
    """Raises Refused: a savepoint is on the instant, or is being made on it."""
    if timeline.find(time, SAVEPOINT) is not None:
        raise Refused(
            f"{time} has a savepoint",
            hint=f"`hudictl savepoint delete {time}` first, if its commit is to go",
            savepoint=time,
        )


def nothing_later(timeline: Timeline, target: Instant) -> None:
    """Raises Refused: commits were requested or completed after a completed target: they may build on it.

    Hudi asks for the requested time alone; a write that began earlier and completed later has read the target, too.
    """
    done = target.completion_time or ""
    later = [
        entry.time
        for entry in timeline.completed_writes()
        if entry.time != target.time and (entry.time > target.time or (entry.completion_time or "") > done)
    ]
    if later:
        raise Refused(
            f"later commits may build on {target.time}: {first_few(sorted(later, reverse=True))}",
            hint="roll these back first, newest first; a restore does it in one go",
            instants=later,
        )


def no_other_rollback(table: Table, signs: Signs, target: str) -> None:
    """Raises Refused: the rollback of another instant is pending, which may be half done."""
    for rollback in signs.live_rollbacks:
        if rollback.target != target:
            of = f"of {rollback.target}" if rollback.target else "whose plan cannot be read"
            raise Refused(
                f"{rollback.instant} {of} is pending",
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
            hint="`hudictl failed-writes list` tells whether they failed, `failed-writes clean` rolls them back",
            instants=[entry.time for entry in pending],
        )


def no_service_on_it(facts: Facts, target: Instant) -> None:
    """Raises Refused: a pending compaction or clustering has planned with files of the target."""
    touched = {
        (partition, stat.file_id) for partition, stats in facts.commits[target.time].stats.items() for stat in stats
    }
    for instant in facts.timeline.writes():
        if instant.pending and instant.time > target.time and touched & service_groups(facts.table, instant):
            raise Refused(
                f"{instant} has planned with files of {target.time}",
                hint=f"`hudictl rollback {instant.time}` takes the plan away first; a restore takes both in one go",
                instant=instant.time,
            )


def plan_can_stay(table: Table, target: Instant | None, keep_plan: bool) -> None:
    """Raises Refused: ``keep_plan`` for an instant that has none, or cannot keep it."""
    if target is None or not keep_plan:
        return
    if target.completed or service_of(table, target) not in (COMPACTION, CLUSTERING):
        raise Refused(
            f"{target} has no plan to keep",
            hint="leave --keep-plan out: only pending compactions and clusterings go back to requested",
        )


def nothing_on_its_slice(facts: Facts, target: Instant | None, keep_plan: bool) -> None:
    """Raises Refused: the logs of later writes lie on the slices of a pending compaction, whose plan would go."""
    logs = [] if keep_plan or target is None else logs_of_later_writes(facts, target)
    if logs:
        raise Refused(
            f"{len(logs)} logs of later writes lie on the slices of {target}, {logs[0]} among them",
            hint="--keep-plan takes back what the compaction has written, and leaves it requested",
            logs=logs,
        )


def metadata_table_can_go(signs: Signs, target: str, planned: Collection[str]) -> None:
    """Raises Conflict: the metadata table would be taken from under a writer that is alive.

    Args:
        planned: the names on the timeline at planning: a pending write that has moved since is alive, too.
    """
    pending = [entry for entry in signs.timeline.writes() if entry.pending and entry.time != target]
    live = {beat.time for beat in signs.heartbeats if beat.live}
    others = [entry.time for entry in pending if entry.time in live or any(n not in planned for n in entry.names)]
    if others:
        raise Conflict(
            f"the metadata table must be taken out of use for this rollback, and {others[0]} is being written",
            hint="run the command again when no writer runs",
            instants=others,
        )


def no_rollback_beside(signs: Signs, target: str, known: Collection[str]) -> None:
    """Raises Conflict: somebody else has requested a rollback of the instant, too."""
    for rollback in signs.live_rollbacks:
        if rollback.instant.time not in known and rollback.target == target:
            raise Conflict(
                f"{rollback.instant} of {target} came in: another process rolls it back",
                hint="wait for it, then run the command again",
                rollback=rollback.instant.time,
            )
