"""Data files, deleted by exact names in one job."""

from collections.abc import Iterable

from hudictl import workers
from hudictl.engine.base import Engine
from hudictl.table.file_view import StoredFile, values
from hudictl.table.table import Table

_BATCH = 1000
"""Files a delete task: what object stores take in one call."""


def delete_data_files(table: Table, engine: Engine, files: Iterable[StoredFile]) -> list[tuple[str, str]]:
    """Deletes the files; an absent one is no error.

    Returns:
        The paths of those that are still there, each with the reason.

    Raises:
        StorageFailed, EngineFailed.
    """
    partitions: dict[str, list[str]] = {}
    for file in files:
        partitions.setdefault(file.partition, []).append(file.data.name)
    tasks = [
        workers.DeleteTask(table.storage, partition, tuple(names[start : start + _BATCH]))
        for partition, names in sorted(partitions.items())
        for start in range(0, len(names), _BATCH)
    ]
    kept = values(engine.map("delete files", workers.delete_files, tasks), "delete files")
    return [failure for batch in kept for failure in batch]
