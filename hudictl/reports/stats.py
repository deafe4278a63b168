"""``stats``: how large file slices and files are, and how much they differ."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from typing import NamedTuple

from hudictl.engine.base import Engine
from hudictl.errors import Unreadable
from hudictl.formats.file_names import data_path
from hudictl.reports.logs.slices import SliceRow, files_of_table, slice_rows
from hudictl.table.files.slices import StoredFile
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.commits import read_commit

TOTAL = "total"


@dataclass(frozen=True)
class SizeRow:
    """How large the newest file slices of a partition or a commit (``of``) are, or its files. ``skew``:
    how many times larger the largest is than the median of all. ``records``: those of the base files; None if there are
    logs, or if the commit of one is archived. ``small_percent`` of them are below the small-file limit. Percentiles are
    those of Hudi's procedure. ``total``: the last row, which is that of all others, also of those not shown."""

    of: str
    count: int
    bytes: int
    bytes_percent: float | None
    records: int | None
    records_percent: float | None
    skew: float | None
    small_percent: float | None
    min_bytes: int
    p10_bytes: int
    p50_bytes: int
    p90_bytes: int
    p95_bytes: int
    p99_bytes: int
    max_bytes: int
    mean_bytes: int
    std_dev_bytes: int
    total: bool


class _Sized(NamedTuple):
    """A file group as queries read it, or a file. ``base`` is the path of its base file, if there are no logs."""

    partition: str
    commit: str
    base: str | None
    bytes: int


def size_rows(
    table: Table, engine: Engine, by: str, of: str, small_file_limit: int, damaged: list[Unreadable] | None = None
) -> list[SizeRow]:
    """The sizes by partition, or by commit, newest first; nothing of an empty table.

    Args:
        by: "partition", or "commit": the base instant of a slice, the instant in the name of a file.
        of: "slices": the newest ones; "files": all data files on storage.
        small_file_limit: in bytes.
        damaged: see ``files_of_table``; the records of such commits' files are not known.

    Raises Unreadable: the timeline, a commit, or the archive; StorageFailed, EngineFailed.
    """
    timeline = load_timeline(table)
    files = files_of_table(table, timeline, engine, damaged=damaged)
    found = [*map(_file, files)] if of == "files" else [*_newest(slice_rows(table, files, timeline, None))]
    records = _records(table, timeline, {each.base: each.commit for each in found if each.base is not None})
    parts: dict[str, list[_Sized]] = defaultdict(list)
    for each in found:
        parts[each.partition if by == "partition" else each.commit].append(each)
    rows: list[SizeRow] = []
    # The total is made first: each share is one of it.
    for name, part in ((TOTAL, found), *sorted(parts.items(), reverse=by == "commit")) if found else ():
        sizes, counts = sorted(each.bytes for each in part), [records.get(each.base) for each in part]
        known = None if None in counts else sum(filter(None, counts))
        p10, p50, p90, p95, p99 = (percentile(sizes, share) for share in (0.10, 0.50, 0.90, 0.95, 0.99))
        mean = sum(sizes) / len(sizes)
        row = SizeRow(
            of=name,
            count=len(sizes),
            bytes=sum(sizes),
            bytes_percent=_ratio(100 * sum(sizes), rows[0].bytes if rows else sum(sizes)),
            records=known,
            records_percent=_ratio(100 * (known or 0), rows[0].records if rows else known),
            skew=_ratio(sizes[-1], rows[0].p50_bytes if rows else p50),
            small_percent=_ratio(100 * sum(size < small_file_limit for size in sizes), len(sizes)),
            min_bytes=sizes[0],
            p10_bytes=p10,
            p50_bytes=p50,
            p90_bytes=p90,
            p95_bytes=p95,
            p99_bytes=p99,
            max_bytes=sizes[-1],
            mean_bytes=round(mean),
            std_dev_bytes=round(sqrt(sum((size - mean) ** 2 for size in sizes) / max(1, len(sizes) - 1))),
            total=not rows,
        )
        rows.append(row)
    return rows[1:] + rows[:1]


def skew_rows(
    table: Table, engine: Engine, small_file_limit: int, damaged: list[Unreadable] | None = None
) -> list[SizeRow]:
    """The newest file slices by partition, the worst first, without the total. Raises as ``size_rows``."""
    rows = size_rows(table, engine, "partition", "slices", small_file_limit, damaged)[:-1]
    return sorted(rows, key=lambda row: row.max_bytes, reverse=True)


def newest_sizes(table: Table, files: Sequence[StoredFile], timeline: Timeline) -> Iterator[int]:
    """The sizes of the newest file slices of some files, as queries read them. Raises Unreadable."""
    return (found.bytes for found in _newest(slice_rows(table, files, timeline, None)))


def percentile(ordered: Sequence[int], share: float) -> int:
    """Of at least one value, sorted: as the library counts it that Hudi's procedures use (0.15.0 to 1.2.0)."""
    place = share * (len(ordered) + 1)
    lower, upper = (ordered[min(max(int(place) + step, 0), len(ordered) - 1)] for step in (-1, 0))
    return round(lower + (place - int(place)) * (upper - lower))


def _file(file: StoredFile) -> _Sized:
    return _Sized(file.partition, file.data.instant, file.path if file.data.is_base else None, file.size or 0)


def _newest(rows: Iterable[SliceRow]) -> Iterator[_Sized]:
    """Of each file group the newest slice, with the one before if a pending compaction has opened it."""
    for (partition, _), (newest, *older) in groupby(rows, key=lambda row: (row.partition, row.file_id)):
        slices = [newest, *older[:1]] if newest.opened_by_compaction else [newest]
        last, sizes = slices[-1], [row.base_bytes or 0 for row in slices]
        # Change logs are not merged.
        logs = [log.bytes for row in slices for log in row.logs if not log.name.endswith(".cdc")]
        base = data_path(partition, last.base_file) if last.base_file and not logs else None
        yield _Sized(partition, last.base_instant, base, sum(sizes) + sum(logs))


def _records(table: Table, timeline: Timeline, bases: Mapping[str | None, str]) -> dict[str | None, int]:
    """The records of base files, by path, as the commits tell that wrote them, and that are on the timeline."""
    times = frozenset(bases.values())
    found: dict[str | None, int] = {}
    for entry in timeline.completed_writes():
        # Whoever listed the files has said which commits cannot be read.
        with suppress(Unreadable):
            stats = read_commit(table, entry).stats.values() if entry.time in times else ()
            found |= {stat.path: stat.records for each in stats for stat in each if stat.path in bases}
    return found


def _ratio(part: int, whole: int | None) -> float | None:
    return round(part / whole, 2) if whole else None
