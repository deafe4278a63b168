"""The files in the plan and the result of an instant (checked on Hudi 0.15.0 to 1.2.0)."""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from hudictl.reports.records import Fields, Recorded, by_partition

Told = tuple[str | None, str | None, str | None, str]
"""Instant, partition, file, role."""


def name_of(path: str) -> str:
    """The name of a file in a record: its path there may be whole."""
    return path.rpartition("/")[2]


def planned_cleans(plan: Fields) -> Mapping[str, list[str]]:
    """The files that a clean's plan deletes, by partition."""
    files = {path: [*map(name_of, names)] for path, names in (plan.get("filesToBeDeletedPerPartition") or {}).items()}
    for path, infos in (plan.get("filePathsToBeDeletedPerPartition") or {}).items():
        files[path] = [*files.get(path, ()), *(name_of(info["filePath"]) for info in infos)]
    return files


def clustered(plan: Fields) -> list[Fields]:
    """The slices that a clustering's plan reads."""
    return [one for group in plan["clusteringPlan"]["inputGroups"] for one in group["slices"]]


def rollbacks_of(done: Fields) -> list[Fields]:
    """The results of the rollbacks in a restore's result."""
    return [one for some in done["hoodieRestoreMetadata"].values() for one in some or () if one]


def _clean(entry: Recorded) -> Iterator[Told]:
    if entry.done:
        for path, part in entry.done["partitionMetadata"].items():
            yield from ((None, path, name_of(name), "deleted") for name in part["successDeleteFiles"])
            yield from ((None, path, name_of(name), "not deleted") for name in part["failedDeleteFiles"])
            yield from [(None, path, None, "deleted")] if part.get("isPartitionDeleted") else ()
        return
    plan = entry.plan or {}
    yield from ((None, path, name, "to delete") for path, names in planned_cleans(plan).items() for name in names)
    yield from ((None, path, None, "to delete") for path in plan.get("partitionsToBeDeleted") or ())


def _service(entry: Recorded) -> Iterator[Told]:
    return chain(reads(entry), _writes(entry))


def reads(entry: Recorded) -> Iterator[Told]:
    """The files in the plan of a compaction or clustering."""
    role, plan = "read" if entry.done else "to read", entry.plan or {}
    for one in clustered(plan) if plan.get("clusteringPlan") else plan.get("operations") or ():
        for path in (one.get("dataFilePath"), *(one.get("deltaFilePaths") or ())):
            if path:
                yield None, one["partitionPath"] or "", name_of(path), role


def _writes(entry: Recorded) -> Iterator[Told]:
    for partition, stats in by_partition(entry.done or {}, "partitionToWriteStats").items():
        yield from ((None, partition, name_of(stat["path"]), "written") for stat in stats if stat.get("path"))


def _indexing(entry: Recorded) -> Iterator[Told]:
    role = "built" if entry.done else "to build"
    for info in (entry.done or entry.plan or {}).get("indexPartitionInfos") or ():
        yield None, info["metadataPartitionPath"], None, role


def _rollback(entry: Recorded) -> Iterator[Told]:
    if entry.done:
        yield from _undone(entry.done)
        return
    plan = entry.plan or {}
    target = (plan.get("instantToRollback") or {}).get("commitTime")
    for one in plan.get("RollbackRequests") or ():
        path = one["partitionPath"]
        yield from ((target, path, name_of(name), "to delete") for name in one["filesToBeDeleted"])
        yield from (
            (target, path, name_of(name), "gets a rollback block") for name in one["logBlocksToBeDeleted"] or ()
        )


def _restore(entry: Recorded) -> Iterator[Told]:
    if entry.done:
        for rollback in rollbacks_of(entry.done):
            yield from _undone(rollback)
        return
    for info in (entry.plan or {}).get("instantsToRollback") or ():
        yield info["commitTime"], None, None, f"to remove: {info['action']}"


def _undone(rollback: Fields) -> Iterator[Told]:
    target = ", ".join(rollback["commitsRollback"])
    for path, part in (rollback["partitionMetadata"] or {}).items():
        yield from ((target, path, name_of(name), "deleted") for name in part["successDeleteFiles"])
        yield from ((target, path, name_of(name), "not deleted") for name in part["failedDeleteFiles"])
        yield from ((target, path, name_of(name), "rollback block") for name in part["rollbackLogFiles"] or ())


def _savepoint(entry: Recorded) -> Iterator[Told]:
    for path, part in (entry.done or {}).get("partitionMetadata", {}).items():
        yield from ((None, path, name, "saved") for name in part["savepointDataFile"])


TOLD: Mapping[str, Callable[[Recorded], Iterator[Told]]] = {
    "clean": _clean,
    "compaction": _service,
    "clustering": _service,
    "indexing": _indexing,
    "rollback": _rollback,
    "restore": _restore,
    "savepoint": _savepoint,
}
"""The files in the records of an instant, by the word of the command."""
