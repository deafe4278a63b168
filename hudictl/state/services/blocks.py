"""The commands that end the blocks of table services."""

from collections.abc import Sequence
from dataclasses import replace

from hudictl.formats.instants import CLUSTERING, REPLACECOMMIT, WRITE_ACTIONS, State
from hudictl.phrases import command_of
from hudictl.state.facts import Signs
from hudictl.state.services.due import METADATA, PENDING, SAVEPOINT, Blocker
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.unfinished import find_unfinished
from hudictl.state.writers.failed_writes import pending_writes_seen
from hudictl.table.table import Table


def with_remedies(table: Table, signs: Signs, idle_ms: int, blocks: Sequence[Blocker]) -> tuple[Blocker, ...]:
    """The blocks, each with the commands that end it; none if Hudi's own services end it, or a writer is running.

    Args:
        idle_ms: an instant with activity less than this ago may be running.
    """
    if not blocks:
        return ()
    pending = {row.instant: row for row in pending_writes_seen(table, signs, idle_ms, None)}
    unfinished = {entry.time: entry for entry in find_unfinished(table, signs, idle_ms)}

    def ended(block: Blocker) -> Blocker:
        time = block.instant
        if block.kind == SAVEPOINT:
            lost = (
                f"after that, no restore to {time} is possible: cleaning deletes its old files, and archiving removes "
                "its commit"
            )
            return replace(block, remedy=(Remedy(command_of("savepoint delete", time), lost),))
        if block.kind not in (PENDING, METADATA):
            return block
        if row := pending.get(time):
            return replace(block, because=f"{block.because}; {row.reason}", remedy=row.remedy)
        if entry := unfinished.get(time):
            return replace(block, remedy=() if entry.at_work else entry.remedy)
        instant = signs.timeline.at(time)
        if instant is not None and instant.action in WRITE_ACTIONS and instant.state is State.REQUESTED:
            because = f"{block.because}; it is scheduled, but not started: it ends when Hudi runs it"
            # The slices of a scheduled compaction already contain logs of later writes.
            clustering = instant.action in (CLUSTERING, REPLACECOMMIT)
            way = Remedy(command_of("rollback", time), "its plan is removed; it had not started")
            return replace(block, because=because, remedy=(way,) if clustering else ())
        return block

    return tuple(ended(block) for block in blocks)
