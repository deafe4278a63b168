"""The records of instants, one after the other, for lists: each is read when it is next, and is let go."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, TypeVar

from hudictl.errors import Conflict, HudictlError, StorageFailed, Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats.archived_timeline import ArchivedInstant, check_written
from hudictl.formats.avro import Body
from hudictl.formats.commit_metadata import read_record
from hudictl.formats.instants import Instant, InstantFile, State
from hudictl.reports.timeline import ARCHIVED, Entry, TimelineFilter, instants_shown, times_of
from hudictl.table.table import Table
from hudictl.table.timeline.active import read_instant
from hudictl.table.timeline.archive import archived_files, at_one_time, read_bodies

Fields = Mapping[str, Any]
Row = TypeVar("Row")

NUMBERS: Mapping[str, str] = {
    "records": "numWrites",
    "inserted": "numInserts",
    "updated": "numUpdateWrites",
    "deleted": "numDeletes",
    "errors": "totalWriteErrors",
    "bytes": "totalWriteBytes",
}


@dataclass(frozen=True)
class Recorded:
    """An instant with the fields of its records, as they are written: of the completed file, and of the request. None
    where there is no file, it is empty, it was not asked for, or it is damaged: then ``problem`` says why.

    The UTC columns are None if the table's zone is not known.
    """

    time: str
    action: str
    state: str
    timeline: str
    requested_utc: str | None
    completed_utc: str | None
    duration_ms: int | None
    done: Fields | None = None
    plan: Fields | None = None
    problem: str | None = None


def records_of(
    table: Table,
    wanted: TimelineFilter,
    told: Callable[[Recorded], Row],
    *,
    plans: bool = False,
    chosen: Callable[[Entry], bool] = lambda _: True,
    listed: Sequence[tuple[Entry, str]] | None = None,
) -> Iterator[Row]:
    """What is told of the instants of known actions, one after the other: no records but those of one instant are in
    memory. The timeline is listed at once; what is archived meanwhile is read there.

    Args:
        told: makes of an instant what is kept of it.
        plans: whether requests are read, too; of an archive of layout 1 they are not.
        chosen: the instants that are read at all.
        listed: the wanted instants, if they are listed already.

    Raises:
        Unreadable: the timeline folder is missing; or the archive is damaged, and they were not listed.
    """
    found = at_one_time(lambda: instants_shown(table, wanted)) if listed is None else listed
    shown = [pair for pair in found if chosen(pair[0])]
    for file, members in groupby(
        shown, key=lambda pair: pair[0].file if isinstance(pair[0], ArchivedInstant) else None
    ):
        if file is None:
            for entry, where in members:
                if isinstance(entry, Instant):
                    yield told(_active(table, entry, where, plans))
        else:
            entries = [entry for entry, _ in members if isinstance(entry, ArchivedInstant)]
            yield from _archived(table, entries, told, plans)


def the_one(table: Table, time: str, wanted: TimelineFilter, *, plans: bool = False) -> Recorded | None:
    """The instant of a requested time, with its records, active or archived; None if there is none of these actions
    and states. Raises Unreadable: see ``records_of``."""
    for archived in (False, True):
        at = replace(wanted, since=time, until=time, archived=archived)
        for entry in records_of(table, at, lambda entry: entry if entry.time == time else None, plans=plans):
            if entry is not None:
                return entry
    return None


def _active(table: Table, instant: Instant, where: str, plans: bool) -> Recorded:
    found = _without_records(table, instant, where)
    try:
        done = _fields(table, instant.file(State.COMPLETED))
        return replace(found, done=done, plan=_fields(table, instant.file(State.REQUESTED)) if plans else None)
    except Conflict as error:
        return next(iter(_now_archived(table, instant, plans)), replace(found, problem=error.message))
    except StorageFailed:
        # The file may be whole.
        raise
    except HudictlError as error:
        return replace(found, problem=error.message)


def _fields(table: Table, file: InstantFile | None) -> Fields | None:
    return None if file is None else _decoded(read_instant(table, file), file.name)


def _decoded(body: Body, what: str) -> Fields | None:
    return read_record(body, what).fields if body else None


def _archived(
    table: Table, entries: Sequence[ArchivedInstant], told: Callable[[Recorded], Row], plans: bool
) -> Iterator[Row]:
    bodies = read_bodies(table, entries, plans=plans)
    try:
        read = {entry: told(_of_archive(table, entry, body, plan)) for entry, body, plan in bodies}
    except FileNotFoundError:
        yield from (told(found) for entry in entries for found in _now_archived(table, entry, plans))
        return
    except Unreadable as error:
        yield from (told(replace(_without_records(table, one, ARCHIVED), problem=error.message)) for one in entries)
        return
    # Of layout 1, pending states have records of other kinds, or none.
    yield from (read[one] if one in read else told(_of_archive(table, one, b"", b"")) for one in entries)


def _now_archived(table: Table, instant: Instant | ArchivedInstant, plans: bool) -> list[Recorded]:
    """An instant that has gone from where it was listed. Raises Unreadable."""
    found = [entry for entry in archived_files(table, instant.time) if fmt.order(entry[0]) == fmt.order(instant)]
    last = sorted(found, key=lambda files: files[0].state)[-1:]
    return [_of_archive(table, entry, body, plan if plans else b"") for entry, body, plan in last]


def _of_archive(table: Table, entry: ArchivedInstant, body: Body, plan: Body) -> Recorded:
    found = _without_records(table, entry, ARCHIVED)
    name = f"{entry.time}.{entry.action} in {entry.file}"
    try:
        check_written(entry, body)
        done = _decoded(body, name) if entry.state is State.COMPLETED else None
        return replace(found, done=done, plan=_decoded(plan, name))
    except Unreadable as error:
        return replace(found, problem=error.message)


def _without_records(table: Table, entry: Entry, where: str) -> Recorded:
    return Recorded(entry.time, entry.action, entry.state.name, where, *times_of(table, entry))


def schema_of(entry: Recorded) -> str | None:
    """The table's schema that a completed write leaves, as Avro JSON; None where it says none."""
    more = (entry.done or {}).get("extraMetadata")
    return str(more["schema"]) if isinstance(more, Mapping) and more.get("schema") else None


def sums_of(stats: Collection[Fields]) -> dict[str, int]:
    """Raises Unreadable: a number is none."""
    before = [stat.get("prevCommit") for stat in stats]
    added, unknown = before.count("null"), before.count(None)
    counted = {name: sum(number(stat, key) for stat in stats) for name, key in NUMBERS.items()}
    return {"files_added": added, "files_updated": len(stats) - added - unknown, **counted}


def number(stat: Fields, key: str) -> int:
    value = stat.get(key) or 0
    if type(value) is not int:
        raise Unreadable(f"{key} is no number in a write statistic: {value!r}")
    return value


def by_partition(fields: Fields, key: str) -> Mapping[str, Any]:
    """Lists by partition. Raises Unreadable."""
    value = fields.get(key) or {}
    if not isinstance(value, Mapping) or not all(isinstance(found, list) for found in value.values()):
        raise Unreadable(f"{key} is not what Hudi writes")
    return value
