"""Rollbacks that were requested, and have changed nothing: Hudi writes the request before it checks its guards."""

from collections.abc import Sequence

from hudictl import workers
from hudictl.engine.base import Engine, values
from hudictl.errors import Refused
from hudictl.formats.instants import State
from hudictl.formats.rollback import StoredRollbackPlan
from hudictl.ops.undo.blocks import marked_slices, stored_targets
from hudictl.ops.undo.plan import block_tasks
from hudictl.state.facts import Facts
from hudictl.state.pending import PendingRollback


def untouched_rollbacks(facts: Facts, engine: Engine, rollbacks: Sequence[PendingRollback]) -> tuple[str, ...]:
    """The times of pending rollbacks that can be discarded, newest first: none of them has changed anything. Raises
    Refused: one has changed something, or that cannot be determined; StorageFailed, EngineFailed."""
    for rollback in rollbacks:
        instant = rollback.instant
        done = _done(facts, engine, rollback)
        if done:
            finish = "`hudictl resume` finishes it; or restore to a target before the instant that it rolls back"
            raise Refused(
                f"{instant} cannot be discarded: {done}",
                hint=finish if rollback.plan else "`hudictl resume --discard-rollbacks` removes it, then try again",
                rollback=instant.time,
            )
    return tuple(sorted((rollback.instant.time for rollback in rollbacks), reverse=True))


def _done(facts: Facts, engine: Engine, rollback: PendingRollback) -> str:
    """A change that a rollback has made, or why that cannot be determined; "" if it has changed nothing."""
    plan = rollback.plan
    if plan is None:
        # Without a readable plan Hudi executes nothing, and does not begin.
        return "" if rollback.instant.state is State.REQUESTED else "its plan cannot be read"
    if not rollback.visible:
        return f"its target {plan.target.time} is no longer completed"
    names: dict[str, set[str]] = {}
    for request in plan.requests:
        names.setdefault(request.partition, set()).update(path.rpartition("/")[2] for path in request.files)
    absent = facts.sweep.absent(names)
    if absent:
        return f"{absent[0]} is no longer on storage"
    blocks = logs_with_blocks(facts, engine, [plan])
    return f"{blocks[0]} contains a rollback block" if blocks else ""


def logs_with_blocks(facts: Facts, engine: Engine, plans: Sequence[StoredRollbackPlan]) -> list[str]:
    """The logs in which rollbacks have written a block, by their plans. Raises StorageFailed, EngineFailed."""
    targets = ((plan.target.time, block) for plan in plans for block in stored_targets(plan))
    tasks = block_tasks(facts.table.storage, marked_slices(targets, facts.sweep))
    found = values(engine.map("read rollback blocks", workers.find_rollback_blocks, tasks), "read blocks")
    return [block.name for blocks in found for block in blocks.values()]
