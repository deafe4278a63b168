"""``clean show`` and its like: the files in the plan or the result of one instant, and whether each is there."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from hudictl.engine.base import Engine
from hudictl.errors import Unreadable
from hudictl.phrases import count_of
from hudictl.reports.commits import by_partition
from hudictl.reports.records import Fields, Recorded
from hudictl.reports.services import clustered, name_of, planned_cleans, rollbacks_of
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import sweep
from hudictl.table.table import Table

Told = tuple[str | None, str | None, str | None, str]
"""Instant, partition, file, role."""


@dataclass(frozen=True)
class ServiceFile:
    """A file in an instant's plan or result. ``role`` says what is done with it, or was. ``instant`` is the one that a
    rollback or restore removes. ``there``: it is on storage now, with ``bytes``; None if no file is named."""

    role: str
    instant: str | None
    partition: str | None
    file: str | None
    there: bool | None
    bytes: int | None


def service_files(table: Table, name: str, entry: Recorded, open_engine: Callable[[], Engine]) -> list[ServiceFile]:
    """The files of an instant, in the order of its records; the engine lists their partitions.

    Raises:
        Unreadable: the plan or result is not what Hudi writes.
        StorageFailed, EngineFailed.
    """
    try:
        told = list(TOLD[name](entry))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"{entry.time} {entry.action} is not what Hudi writes: {error}") from error
    named: dict[str, set[str]] = {}
    for _, partition, file, _ in told:
        if partition is not None and file is not None:
            named.setdefault(partition, set()).add(file)
    sizes = _sizes(table, named, open_engine) if named else {}
    return [_row(one, sizes) for one in told]


def role_lines(rows: Collection[ServiceFile]) -> list[str]:
    """How many files have each role, with their bytes, and how many are missing."""
    by_role: dict[str, list[ServiceFile]] = {}
    for row in rows:
        if row.file is not None:
            by_role.setdefault(row.role, []).append(row)
    return [
        f"{role}: {count_of(len(found), 'file')}, {sum(row.bytes or 0 for row in found):,} bytes"
        + (f"; {missing:,} not there" if (missing := sum(not row.there for row in found)) else "")
        for role, found in by_role.items()
    ]


def _row(told: Told, sizes: Mapping[tuple[str, str], int]) -> ServiceFile:
    instant, partition, file, role = told
    size = sizes.get((partition or "", file or ""))
    return ServiceFile(role, instant, partition, file, None if file is None else size is not None, size)


def _sizes(
    table: Table, named: Mapping[str, Collection[str]], open_engine: Callable[[], Engine]
) -> Mapping[tuple[str, str], int]:
    engine = open_engine()
    try:
        chosen = partial(_is_named, {path: frozenset(names) for path, names in named.items()})
        found = sweep(table, engine, named, within=named).select("look for files", chosen)
    finally:
        engine.close()
    return {(file.partition, file.data.name): file.size or 0 for file in found}


def _is_named(named: Mapping[str, Collection[str]], file: StoredFile) -> bool:
    return file.data.name in named.get(file.partition, ())


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


def _compaction(entry: Recorded) -> Iterator[Told]:
    yield from reads(entry, (entry.plan or {}).get("operations") or ())
    yield from _writes(entry)


def _clustering(entry: Recorded) -> Iterator[Told]:
    yield from reads(entry, clustered(entry.plan) if entry.plan else ())
    yield from _writes(entry)


def reads(entry: Recorded, slices: Collection[Fields]) -> Iterator[Told]:
    """The files in the slices of a compaction's or clustering's plan."""
    role = "read" if entry.done else "to read"
    for one in slices:
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


TOLD: Mapping[str, Callable[[Recorded], Iterator[Told]]] = {
    "clean": _clean,
    "compaction": _compaction,
    "clustering": _clustering,
    "indexing": _indexing,
    "rollback": _rollback,
    "restore": _restore,
}
"""The files in the records of an instant, by the word of the command."""
