"""The archived timeline, read."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from typing import TypeVar

from hudictl.errors import Unreadable
from hudictl.formats import archived_timeline as fmt
from hudictl.formats import clean
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.avro import Body
from hudictl.formats.base_files import END_BYTES, problem_at_end
from hudictl.formats.instants import CLEAN, WRITE_ACTIONS, State, order
from hudictl.formats.limits import RECORD_BYTES
from hudictl.formats.ranges import ReadAt
from hudictl.storage import entries_of, read_whole
from hudictl.table.table import Table
from hudictl.table.timeline.archive_logs import log_bodies, read_logs, readable_logs

Value = TypeVar("Value")

Ranges = Mapping[str, tuple[str, str]]
"""The smallest and the largest requested time in each file of the archive."""

_ATTEMPTS = 3


def at_one_time(read: Callable[[], Value]) -> Value:
    """Reads the archive in one consistent state. A writer may compact or clean it meanwhile: if a file disappears, it
    is read again. Raises Unreadable: a file that the archive names is missing each time."""
    for attempt in range(_ATTEMPTS):
        try:
            return read()
        except FileNotFoundError as error:
            if attempt == _ATTEMPTS - 1:
                name = str(error.filename or error).rpartition("/")[2]
                raise Unreadable(
                    f"the archive names a file that does not exist: {name}",
                    hint="put the file back from a backup; `hudictl check` names the command, if one mends it",
                    file=name,
                ) from error
    raise AssertionError


def archived_after(table: Table, time: str) -> list[ArchivedInstant]:
    """The archived instants with a requested time after the given one. Raises Unreadable: a damaged file."""
    # Whatever the files are named: an upgrade to version 8 names one after the first and the last instant of the logs,
    # which are not in the order of time (seen with 1.0.2).
    return at_one_time(lambda: [entry for entry in _read(table, after=time) if entry.time > time])


def archived_among(table: Table, times: Collection[str]) -> list[ArchivedInstant]:
    """The archived instants with some requested times. Raises Unreadable: a damaged file."""
    return at_one_time(lambda: [entry for entry in _read(table) if entry.time in times])


def archived_writes_after(table: Table, time: str) -> list[str]:
    """The times of archived writes after the given one, sorted: they cannot be un-published. Raises Unreadable."""
    return sorted({entry.time for entry in archived_after(table, time) if entry.action in WRITE_ACTIONS})


def check_archive_ends(table: Table) -> None:
    """Whether the live files of an archive of layout 2 are there, and end as Parquet does. No instants are read.

    Raises Unreadable.
    """

    def check() -> None:
        for name in archive_files(table):
            size = _size(table, name)
            end = _reader(table, name)(max(0, size - END_BYTES), min(size, END_BYTES)) if size else b""
            problem = problem_at_end(name, size, end)
            if problem:
                raise Unreadable(f"{table.layout.archive}/{name} is {problem}", file=name)

    at_one_time(check)


def torn_logs(table: Table) -> Sequence[str]:
    """The logs of an archive of layout 1 with an incomplete end, by which nothing is lost.

    Raises Unreadable: one is damaged in another way.
    """
    return () if table.rules.archive_is_lsm else at_one_time(lambda: read_logs(table).torn)


def archived_in_order(
    table: Table,
    since: str = "",
    until: str = "~",
    *,
    newest_first: bool = False,
    ranges: Ranges | None = None,
    damaged: list[Unreadable] | None = None,
) -> Iterator[ArchivedInstant]:
    """Archived instants from one requested time to another, both included, sorted by time and action.

    In layout 2 each file is opened only when its instants are next: stopping early saves the other reads. Each instant
    is returned once, in its last state.

    Args:
        ranges: as from ``archive_ranges``, where they are known already.
        damaged: gets an error for each damaged file, whose instants are left out.

    Raises:
        FileNotFoundError: see ``at_one_time``.
        Unreadable: a damaged file, without ``damaged``.
    """
    if not table.rules.archive_is_lsm:
        try:
            found: Sequence[ArchivedInstant] = read_logs(table).archived
        except Unreadable as error:
            keep_or_raise(error, damaged)
            found = readable_logs(table)
        yield from _once((entry for entry in found if since <= entry.time <= until), newest_first)
        return
    ranges = archive_ranges(table) if ranges is None else ranges
    wanted = [name for name, (first, last) in ranges.items() if first <= until and since <= last]
    # The first instant to expect from a file: its oldest one, or its newest one with newest_first.
    files = sorted(wanted, key=lambda name: ranges[name][newest_first], reverse=newest_first)
    edges = [ranges[name][newest_first] for name in files[1:]]
    held: list[ArchivedInstant] = []
    for name, edge in zip_longest(files, edges):
        try:
            held += (entry for entry in _decode_lsm(table, name) if since <= entry.time <= until)
        except Unreadable as error:
            keep_or_raise(error, damaged)
        waiting = [
            entry for entry in held if edge is not None and (entry.time <= edge if newest_first else entry.time >= edge)
        ]
        yield from _once(set(held).difference(waiting), newest_first)
        held = waiting


def keep_or_raise(error: Unreadable, damaged: list[Unreadable] | None) -> None:
    """Adds an error to those that are told behind the last row. Raises it where nobody collects them."""
    if damaged is None:
        raise error
    damaged.append(error)


def newest_archived(table: Table, ranges: Ranges) -> str:
    """A time after which nothing is archived: "" if nothing is, "~" where it is not known without reading it all."""
    return max((last for _, last in ranges.values()), default="") if table.rules.archive_is_lsm else "~"


def names_tell_ranges(table: Table) -> bool:
    """Whether the names of the archive's files say which times they hold. An upgrade from version 6 names them by the
    first and the last record of an old log, where cleans may be before older commits; a later merge keeps such ends.

    1.0.2 writes that such a table was of version 8 from the beginning. But no release changes the archive's folder.
    """
    initial = table.properties.get("hoodie.table.initial.version", "")
    folder = table.properties.get("hoodie.archivelog.folder")
    return initial.isdigit() and int(initial) >= 8 and folder == table.layout.archive.rpartition("/")[2]


def archive_ranges(table: Table, files: Sequence[str] | None = None) -> Ranges:
    """The smallest and the largest requested time in each live file of an archive of layout 2. Where names do not tell
    them, the end of each file is read.

    Raises FileNotFoundError: see ``at_one_time``.
    """
    names = archive_files(table) if files is None else files
    told = names_tell_ranges(table)
    return {name: (fmt.lsm_range(name) if told else _ends(table, name)) or ("", "~") for name in names}


def _ends(table: Table, name: str) -> tuple[str, str] | None:
    # Whoever needs the times of a damaged file reads it, and says so.
    with suppress(Unreadable):
        return fmt.lsm_ends(_reader(table, name), _size(table, name), name)
    return None


def archived_files(table: Table, time: str) -> list[tuple[ArchivedInstant, Body, Body]]:
    """The archived files of the instants of one time, as from ``read_bodies``. Raises Unreadable."""

    def read() -> list[tuple[ArchivedInstant, Body, Body]]:
        entries = _read(table, [time])
        return list(read_bodies(table, [entry for entry in entries if entry.time == time], plans=True))

    return at_one_time(read)


def archived_completions(table: Table, times: Collection[str]) -> dict[str, str]:
    """The completion times of archived writes (layout 2), as far as the archive has them, by requested time. Raises
    Unreadable: a damaged file."""

    def read() -> dict[str, str]:
        return {
            entry.time: entry.completion_time
            for entry in _read(table, times)
            if entry.time in times and entry.action in WRITE_ACTIONS and entry.completion_time
        }

    return at_one_time(read)


def archived_cleans(table: Table, after: str) -> list[Mapping[str, frozenset[str]]]:
    """The file names that archived cleans have deleted, by partition path; only cleans that completed after a time.

    The archive's file names show the requested times, not the completion times. So every file is opened; in layout 2
    only the columns that identify the instants are read, where a row group may have such ones, and the bodies of these
    cleans.

    Raises Unreadable: a damaged file, or the metadata of such a clean.
    """

    def read() -> list[Mapping[str, frozenset[str]]]:
        cleans = [entry for entry in _read(table, after=after) if entry.action == CLEAN]
        late = {
            entry.time
            for entry in cleans
            if entry.state is State.COMPLETED and max(entry.time, entry.completion_time or "~") > after
        }
        taken: dict[str, Mapping[str, frozenset[str]]] = {}
        for entry, metadata, plan in read_bodies(table, [entry for entry in cleans if entry.time in late], plans=True):
            what = f"the clean {entry.time} in {entry.file}"
            fmt.check_written(entry, metadata)
            if metadata and entry.state is State.COMPLETED:
                taken[entry.time] = clean.decode_metadata(metadata, what).deleted
            elif body := plan or metadata:
                # A clean without a result counts with the files in its plan.
                taken.setdefault(entry.time, clean.decode_plan(body, what).files)
        return list(taken.values())

    return at_one_time(read)


def read_bodies(
    table: Table, entries: Iterable[ArchivedInstant], *, plans: bool
) -> Iterator[tuple[ArchivedInstant, Body, Body]]:
    """The files of archived instants, as they come: each with its own body and (layout 2) its plan's; b"" is an empty
    one.

    Args:
        plans: whether plans are read; otherwise they are empty.

    Raises:
        FileNotFoundError: a writer compacted or cleaned the archive meanwhile.
        Unreadable.
    """
    if not table.rules.archive_is_lsm:
        yield from ((entry, body, b"") for entry, body in log_bodies(table, entries))
        return
    by_file: dict[str, list[ArchivedInstant]] = defaultdict(list)
    for entry in entries:
        by_file[entry.file].append(entry)
    for name, members in by_file.items():
        of = {(entry.time, entry.action): entry for entry in members}
        found = fmt.decode_lsm_bodies(_reader(table, name), _size(table, name), name, of.keys(), plans=plans)
        yield from ((of[key], body, plan) for key, body, plan in found)


def _read(table: Table, times: Collection[str] | None = None, after: str = "") -> Iterator[ArchivedInstant]:
    """The archive's instants, from files that may have some requested times (log files have no range); of layout 2
    perhaps without such as were requested and completed up to a time."""
    if not table.rules.archive_is_lsm:
        yield from read_logs(table).archived
        return
    files = archive_files(table)
    ranges = {} if times is None else archive_ranges(table, files)
    for name in files:
        if times is None or any(ranges[name][0] <= time <= ranges[name][1] for time in times):
            yield from _decode_lsm(table, name, after)


def _decode_lsm(table: Table, name: str, after: str = "") -> Iterator[ArchivedInstant]:
    return fmt.lsm_instants(_reader(table, name), _size(table, name), name, after)


def _once(entries: Iterable[ArchivedInstant], newest_first: bool) -> list[ArchivedInstant]:
    """One entry for each instant, in its last state, sorted."""
    last: dict[tuple[str, str], ArchivedInstant] = {}
    for entry in entries:
        key = order(entry)
        if key not in last or entry.state > last[key].state:
            last[key] = entry
    return [last[key] for key in sorted(last, reverse=newest_first)]


def archive_files(table: Table) -> list[str]:
    """The names of the live files of an archive of layout 2; none of layout 1. Raises FileNotFoundError: the current
    manifest."""
    if not table.rules.archive_is_lsm:
        return []
    folder = table.layout.archive
    names = [entry.name for entry in entries_of(table.storage, folder) if not entry.is_dir]
    version = max((fmt.manifest_version(name) or 0 for name in names), default=0)
    if fmt.VERSION_FILE in names:
        # Without this manifest Hudi uses no other one: 1.0.2 reads nothing then, 1.2.0 archives nothing.
        declared = read_whole(table.storage, f"{folder}/{fmt.VERSION_FILE}", RECORD_BYTES).strip()
        version = int(declared) if declared.isdigit() else version
    if not version:
        return []
    manifest = fmt.manifest_name(version)
    return fmt.decode_manifest(read_whole(table.storage, f"{folder}/{manifest}", RECORD_BYTES), manifest)


def _reader(table: Table, name: str) -> ReadAt:
    path = f"{table.layout.archive}/{name}"
    return lambda offset, length: table.storage.read(path, offset, length)


def _size(table: Table, name: str) -> int:
    status = table.storage.stat(f"{table.layout.archive}/{name}")
    if status is None:
        raise FileNotFoundError(name)
    return status.size
