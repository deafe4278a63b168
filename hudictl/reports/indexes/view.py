"""What is compared: the newest file slices of the data, and the file groups of an index; and how tasks are run."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hudictl.engine.base import Engine, Progress, values
from hudictl.errors import HudictlError
from hudictl.formats.base_rows import PARQUET, require_format
from hudictl.formats.instants import REPLACECOMMIT
from hudictl.index_workers import File, FooterTask, MergedSlice, Tried
from hudictl.phrases import count_of
from hudictl.table.files.choose import is_any
from hudictl.table.files.slices import Group, StoredFile, group_files, read_together
from hudictl.table.files.sweep import Sweep
from hudictl.table.files.view import committed_without, pending_compactions, visible_slices
from hudictl.table.logs.scan import ScanRule
from hudictl.table.logs.slice_files import slice_files
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline
from hudictl.table.timeline.commits import read_commit, replaced_groups

Step = Callable[[str, int], Progress | None]
"""Begins a step of work on so many files; what it returns is told the completed share."""
Item = TypeVar("Item")
Value = TypeVar("Value")

MISSING = "missing in the index"
STALE = "not in the data"

_READERS = 16
_FOOTERS_OF_TASK = 20


@dataclass(frozen=True)
class IndexDifference:
    """A difference between an index of the metadata table and the data.

    ``partition`` and ``file`` (a base file, or the id of a file group) are those of the data. ``key`` is a record key
    or a column; None if the difference is one of the whole file.
    """

    index: str
    difference: str
    partition: str
    file: str
    key: str | None
    in_index: str | None
    in_data: str | None


@dataclass(frozen=True)
class Comparison:
    """What the comparison of every index needs. ``sample``: look at so many files or file groups; None: at all."""

    table: Table
    metadata: Table
    engine: Engine
    stored: Sweep
    newest: dict[Group, list[StoredFile]]
    sample: int | None
    step: Step
    notes: list[str] = field(default_factory=list)


def newest_files(table: Table, timeline: Timeline, stored: Sweep) -> dict[Group, list[StoredFile]]:
    """The files that a query reads of each file group, in reading order. Raises Unreadable, StorageFailed."""
    replacements = [entry for entry in timeline.having(REPLACECOMMIT) if entry.completed]
    commits = {entry.time: read_commit(table, entry) for entry in replacements}
    replaced = replaced_groups(timeline, commits, commits)
    compactions = pending_compactions(table, timeline, ())
    groups = group_files(stored.select("collect files", is_any))
    slices = visible_slices(table, groups, committed_without(timeline, ()), compactions, replaced)
    return {
        group: [file for entry in reversed(read_together(found)) for file in entry.files]
        for group, found in slices
        if found
    }


def newest_base_files(comparison: Comparison) -> list[StoredFile]:
    """The base files that queries read, as many as the sample wants. Raises Unsupported: other files than Parquet."""
    found = [file for _, files in sorted(comparison.newest.items()) for file in files if file.data.is_base]
    for file in found:
        require_format(file.path, (PARQUET,), "reads the footers of")
    return chosen(found, comparison.sample)


def footer_tasks(
    comparison: Comparison, files: Sequence[StoredFile], columns: frozenset[str] = frozenset()
) -> list[FooterTask]:
    """The footers of some files, in parts."""
    parts = (tuple(File(file.path, file.size or 0) for file in part) for part in cut(files, _FOOTERS_OF_TASK))
    return [FooterTask(comparison.table.storage, part, columns) for part in parts]


def note_stale(comparison: Comparison, index: str, files: int) -> None:
    """Notes the files that an index has entries for, and that are not in storage: no query looks for such a file."""
    if files:
        comparison.notes.append(f"{index}: entries of {count_of(files, 'file')} not in storage; no query uses them")


def cut(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items, so many at a time."""
    return (items[start : start + size] for start in range(0, len(items), size))


def read_slices(
    table: Table, groups: Sequence[Sequence[StoredFile]], scan: ScanRule, notes: list[str]
) -> list[MergedSlice]:
    """What is merged of each of some slices: reads the headers of their logs here, several at a time. Raises as
    ``slice_files``."""
    with ThreadPoolExecutor(_READERS, thread_name_prefix="headers") as pool:
        return list(pool.map(lambda files: slice_files(table, files, scan, notes), groups))


def chosen(items: Sequence[Item], sample: int | None) -> list[Item]:
    """So many of the items, evenly spread; the same ones each time."""
    if sample is None or sample >= len(items):
        return list(items)
    return [items[number * len(items) // sample] for number in range(sample)]


def run(
    engine: Engine, label: str, function: Callable[[Item], Value], items: Sequence[Item], progress: Progress | None
) -> list[Value]:
    """Runs a function of ``index_workers`` on the engine. Raises Unreadable, Unsupported, Conflict: the error of a
    task; StorageFailed, EngineFailed."""
    found: list[Any] = values(engine.map(label, Tried(function), items, progress), "read")
    for value in found:
        if isinstance(value, HudictlError):
            raise value
    return found


def run_in_parts(
    engine: Engine,
    label: str,
    function: Callable[[Item], Value],
    items: Sequence[Item],
    size: int,
    progress: Progress | None,
) -> Iterator[Value]:
    """The same, so many items at a time: no more results are held here. Raises as ``run``."""
    done = 0
    for part in cut(items, size):
        told = None if progress is None else _share(progress, done / len(items), len(part) / len(items))
        yield from run(engine, label, function, part, told)
        done += len(part)


def _share(progress: Progress, done: float, part: float) -> Progress:
    return lambda share: progress(done + part * share)
