"""``file history``: what instants did with a file group, or with one file (checked on Hudi 0.15.0 to 1.2.0)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hudictl.errors import NotFound, Unreadable
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import CLEAN, RESTORE, ROLLBACK, SAVEPOINT, WRITE_ACTIONS
from hudictl.reports.record_files import TOLD, name_of, reads
from hudictl.reports.records import Fields, Recorded, by_partition, records_of, sums_of
from hudictl.reports.timeline import TimelineFilter, instants_readable, tell_damaged
from hudictl.table.files.view import partition_named
from hudictl.table.table import Table

_ACTIONS = (*WRITE_ACTIONS, CLEAN, ROLLBACK, RESTORE, SAVEPOINT)
REPLACED, WRITTEN, DELETED = "replaced", "written", "deleted"


@dataclass(frozen=True)
class FileEvent:
    """What an instant did with a file, or with all of its file group.

    ``event`` is written, replaced, read (by a compaction or clustering), deleted, not deleted, rollback block (in this
    log) or saved (by a savepoint); of a plan: to read, to delete, or gets a rollback block. ``file`` is None if all of
    the file group, or of the partition, is meant. ``target`` is the instant that a rollback or restore removes.
    ``begins``: it is the first file of its file group. The archive of layout 1 does not say what was read.
    """

    time: str
    action: str
    state: str
    timeline: str
    completed_utc: str | None
    operation: str | None = None
    event: str | None = None
    partition: str | None = None
    file: str | None = None
    bytes: int | None = None
    records: int | None = None
    begins: bool | None = None
    target: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Wanted:
    """A file group, or with a ``name`` one file of it. ``partition`` is None if it is not known."""

    partition: str | None
    file_id: str
    name: str | None

    def means(self, partition: str | None, file: str | None) -> bool:
        """Whether a file is meant, or may be: without name, all of a partition is."""
        if self.partition not in (None, partition) or file is None or self.file_id not in file:
            return file is None and self.partition in (None, partition)
        data = parse_data_file(file)
        return data is not None and data.file_id == self.file_id and self.name in (None, file)


def wanted_file(table: Table, said: str, partition: str | None) -> Wanted:
    """What a typed file id, file name, or path of a file stands for: below the table, or whole."""
    path = said.removeprefix(f"{table.uri}/").removeprefix(f"{table.uri.removeprefix('file://')}/")
    folder, _, name = path.rpartition("/")
    data = parse_data_file(name)
    where = folder if partition is None and "/" in said else partition
    place = None if where is None else partition_named(where)
    return Wanted(place, name, None) if data is None else Wanted(place, data.file_id, name)


def file_history(table: Table, wanted: Wanted, instants: TimelineFilter, notes: list[str]) -> Iterator[FileEvent]:
    """The events in the order of the instants; ``notes`` gets what to say of those that are not there. Records are read
    one after the other. An instant with damaged records is among them: it may have done anything.

    Raises NotFound: no instant of all of them names it; Unreadable: the timeline folder is missing; see
    ``tell_damaged``.
    """
    found, first = list[FileEvent](), "~"
    asked = replace(instants, actions=_ACTIONS)
    shown, damaged = instants_readable(table, asked)
    read = records_of(table, asked, lambda entry: (entry.time, [*_events(entry, wanted)]), plans=True, listed=shown)
    for time, events in read:
        first = min(first, time)
        found += events
    # A clean that deletes all of a partition names none of its files.
    partitions = {event.partition for event in found if event.file or event.event == REPLACED} | {wanted.partition}
    found = [event for event in found if event.problem or event.partition in partitions - {None}]
    data = parse_data_file(wanted.name or "")
    whole = any(event.begins for event in found) if data is None else first <= data.instant
    cut = f"The archive begins with {first}: what happened before is not recorded."
    note = cut if instants.archived else "Older instants may be archived: --archived includes them."
    if not found and not damaged and not instants.since and instants.until == "~":
        raise NotFound(f"no instant names the file {wanted.name or wanted.file_id}", hint=note)
    notes[:] = [] if damaged or whole or instants.since or first == "~" else [note]
    yield from found
    tell_damaged(damaged)


def _events(entry: Recorded, wanted: Wanted) -> Iterator[FileEvent]:
    done = entry.done or {}
    operation = str(done["operationType"]) if done.get("operationType") not in (None, "UNKNOWN") else None
    event = FileEvent(entry.time, entry.action, entry.state, entry.timeline, entry.completed_utc, operation)
    try:
        if entry.problem is not None:
            raise Unreadable(entry.problem)
        yield from [replace(event, **columns) for columns in _told(entry, done, wanted)]
    except (Unreadable, AttributeError, KeyError, TypeError, ValueError) as error:
        yield replace(event, problem=entry.problem or f"it is not what Hudi writes: {error}")


def _told(entry: Recorded, done: Fields, wanted: Wanted) -> Iterator[dict[str, Any]]:
    for target, partition, file, event in TOLD.get(entry.action, reads)(entry):
        if wanted.means(partition, file):
            yield {"event": event, "partition": partition, "file": file, "target": target}
    for partition, stats in by_partition(done, "partitionToWriteStats").items():
        for stat in stats:
            sums = sums_of([stat])
            begins = sums["files_added"] == 1
            files = {stat.get("path"): {"bytes": sums["bytes"], "records": sums["records"], "begins": begins}}
            files |= {path: {"bytes": int(size)} for path, size in (stat.get("cdcStats") or {}).items()}
            for path, columns in files.items():
                if path and wanted.means(partition, name_of(path)):
                    yield {"event": WRITTEN, "partition": partition, "file": name_of(path), **columns}
    for partition, ids in by_partition(done, "partitionToReplaceFileIds").items():
        if wanted.file_id in ids and wanted.partition in (None, partition):
            yield {"event": REPLACED, "partition": partition}
