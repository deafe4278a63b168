"""Blocks in logs with a time after the last commit: below table version 8 the name of a log does not tell its writers.

Executors import this module: it imports nothing that reads a table.
"""

from collections import defaultdict
from typing import NamedTuple

from hudictl import workers
from hudictl.engine.work import read_each
from hudictl.formats.file_names import data_path
from hudictl.storage import Storage
from hudictl.table.files.slices import StoredFile, logs_of
from hudictl.table.files.sweep import Partition


class SliceBlocks(NamedTuple):
    """The blocks of a slice's logs. ``commands`` are rollback blocks: path, the block's own time, and whether data or
    delete blocks follow that none rolls back. ``written`` are the (path, instant) pairs with data or delete blocks of
    the instant that no later rollback block rolls back."""

    commands: list[tuple[str, str, bool]]
    written: list[tuple[str, str]]


def slice_blocks(task: workers.LogTask) -> SliceBlocks:
    """Reads the headers of all blocks. The task has all logs of the slice."""
    commands: list[tuple[str, str, set[str]]] = []
    written: set[tuple[str, str]] = set()
    for (name, _), block in workers.blocks_of(task.storage, task.partition, task.logs, may_vanish=True):
        path, time = data_path(task.partition, name), block.instant or ""
        if block.rollback_target is None:
            for _, _, behind in commands:
                behind.add(time)
            written.add((path, time))
        else:
            for _, _, behind in commands:
                behind.discard(block.rollback_target)
            commands.append((path, time, set()))
            written = {pair for pair in written if pair[1] != block.rollback_target}
    return SliceBlocks([(path, time, bool(behind)) for path, time, behind in commands], sorted(written))


def late_blocks(storage: Storage, last: str, since_ms: int, place: Partition[object]) -> SliceBlocks | None:
    """The blocks with a time after the last commit, of the slices with a log that was changed since a time in ms."""
    slices: dict[tuple[str, str], list[StoredFile]] = defaultdict(list)
    for file in logs_of(place.path, place.listing):
        if not file.data.cdc:
            slices[file.data.file_id, file.data.instant].append(file)
    tasks = [
        workers.LogTask(storage, place.path, tuple((log.data.name, log.size or 0) for log in logs))
        for _, logs in sorted(slices.items())
        if any(log.modified_ms >= since_ms for log in logs)
    ]
    found = SliceBlocks([], [])
    for blocks in read_each(slice_blocks, tasks):
        found.commands.extend(block for block in blocks.commands if block[1] > last)
        found.written.extend(pair for pair in blocks.written if pair[1] > last)
    return found if any(found) else None
