"""``clean show`` and its like: the files in the plan or the result of one instant, and whether each is there."""

from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from hudictl.engine.base import Engine
from hudictl.errors import Unreadable
from hudictl.phrases import count_of
from hudictl.reports.record_files import TOLD, Told
from hudictl.reports.records import Recorded
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.sweep import sweep
from hudictl.table.table import Table


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
    """The files of an instant, in the order of its records; the engine lists their partitions. Raises Unreadable: the
    plan or result is not what Hudi writes; StorageFailed, EngineFailed."""
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
    """How many files have each role, with their bytes, and how many are not there; of deleted ones how many are."""
    by_role: dict[str, list[ServiceFile]] = {}
    for row in rows:
        if row.file is not None:
            by_role.setdefault(row.role, []).append(row)
    return [_line(role, found) for role, found in by_role.items()]


def _line(role: str, rows: Collection[ServiceFile]) -> str:
    there = sum(bool(row.there) for row in rows)
    counted = f"{role}: {count_of(len(rows), 'file')}"
    if role == "deleted":
        return f"{counted}, {there:,} still there" if there else f"{counted}, none is there any more"
    missing = f"; {len(rows) - there:,} not there" if there < len(rows) else ""
    return f"{counted}, {sum(row.bytes or 0 for row in rows):,} bytes{missing}"


def _row(told: Told, sizes: Mapping[tuple[str, str], int]) -> ServiceFile:
    instant, partition, file, role = told
    size = sizes.get((partition or "", file or ""))
    return ServiceFile(role, instant, partition, file, None if file is None else size is not None, size)


def _sizes(
    table: Table, named: Mapping[str, Collection[str]], open_engine: Callable[[], Engine]
) -> Mapping[tuple[str, str], int]:
    chosen = partial(_is_named, {path: frozenset(names) for path, names in named.items()})
    with closing(open_engine()) as engine:
        found = sweep(table, engine, named, within=named).select("look for files", chosen)
    return {(file.partition, file.data.name): file.size or 0 for file in found}


def _is_named(named: Mapping[str, Collection[str]], file: StoredFile) -> bool:
    return file.data.name in named.get(file.partition, ())
