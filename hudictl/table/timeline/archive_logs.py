"""The logs of an archive of layout 1, any of which may have an incomplete end.

Hudi's archiver (0.15.0) writes its log, and deletes the instants' files after closing it. So an archiver that died
while writing has removed nothing from the timeline. Hudi ignores the incomplete end, and the next archiver writes these
instants into its own log. The incomplete log is kept forever. hudictl accepts it if all instants that it must have had
are on the timeline or in a complete log. An incomplete log whose lost instants are named nowhere looks the same as that
of a dead archiver.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats import archived_timeline as fmt
from hudictl.formats import commit_metadata
from hudictl.formats.archived_timeline import ArchivedInstant, TornLog
from hudictl.formats.avro import Body
from hudictl.formats.commit_metadata import CommitMetadata, previous_of
from hudictl.formats.instants import ROLLBACK, WRITE_ACTIONS, State
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.storage import entries_of, read_whole
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline, named_by, taken_back
from hudictl.table.timeline.commits import load_commits


@dataclass(frozen=True, slots=True)
class Logs:
    """The instants in the logs, including complete records of incomplete ends, and the names of incomplete logs."""

    archived: tuple[ArchivedInstant, ...]
    torn: tuple[str, ...]


def read_logs(table: Table) -> Logs:
    """The instants of all logs. Raises FileNotFoundError: a writer wrote or merged the archive meanwhile; Unreadable: a
    log is damaged before its end, or instants may be lost with its end."""
    names = _names(table)
    found = {name: _whole(_body(table, name), name) for name in names}
    if None not in found.values():
        return Logs(_instants(found), ())
    # Before the logs: a running archiver removes instants from the timeline after its log is complete.
    timeline = load_timeline(table)
    bodies = {name: _body(table, name) for name, instants in found.items() if instants is None}
    found |= {name: _whole(body, name) for name, body in bodies.items()}
    torn = {name: fmt.decode_torn_log(body, name) for name, body in bodies.items() if found[name] is None}
    whole = _instants(found)
    if torn and (lost := _lost(table, timeline, torn, whole)):
        if _names(table) != names:
            raise FileNotFoundError("a log that was not there yet")
        name, instants = next(iter(lost.items()))
        raise Unreadable(
            f"{name} is incomplete, and its instant {instants[0]} is neither active nor in another log",
            hint="copy the file back from a backup; or `hudictl archive repair`: its plan says what is lost",
            file=name,
            instants=instants,
        )
    return Logs((*whole, *(entry for log in torn.values() for entry in (*log.whole, *log.records))), tuple(torn))


def readable_logs(table: Table) -> tuple[ArchivedInstant, ...]:
    """The instants of the whole logs, whatever the others are. Raises FileNotFoundError: as ``read_logs``."""
    return _instants({name: _whole(_body(table, name), name) for name in _names(table)})


@dataclass(frozen=True, slots=True)
class MendedLog:
    """A damaged log: why it cannot be read; the ``left`` records that can, and a log of them (none: b""). ``lost`` are
    the instants that it is known to have had, and that are nowhere else; ``whole``: it had no others."""

    name: str
    problem: str
    left: int
    body: bytes
    lost: tuple[str, ...]
    whole: bool


def mend_logs(table: Table, timeline: Timeline) -> tuple[frozenset[str], list[MendedLog]]:
    """The times of all instants that can be read in the logs, and the damaged ones: also those with an incomplete end
    by which nothing is lost. Raises FileNotFoundError."""
    bodies = {name: _body(table, name) for name in _names(table)}
    damaged = {name: body for name, body in bodies.items() if _whole(body, name) is None}
    schemas = {schema for body in bodies.values() for schema in fmt.schemas_of(body)} if damaged else ()
    left = {name: fmt.log_mended(body, name, schemas) for name, body in damaged.items()}
    own = {name: tuple(fmt.decode_log(left[name][0] if name in left else body, name)) for name, body in bodies.items()}
    torn = {name: TornLog(own[name], (), _begun_in(body, name)) for name, body in damaged.items()}
    lost = _lost(table, timeline, torn, _instants(own)) if torn else {}
    return frozenset(entry.time for entry in _instants(own)), [
        MendedLog(name, _problem(body, name), len(own[name]), left[name][0], tuple(lost.get(name, ())), left[name][1])
        for name, body in damaged.items()
    ]


def _begun_in(body: bytes, name: str) -> str | None:
    try:
        return fmt.decode_torn_log(body, name).begun
    except Unreadable:
        return None


def _problem(body: bytes, name: str) -> str:
    try:
        return "" if [*fmt.decode_log(body, name)] else f"{name} is empty"
    except Unreadable as error:
        return error.message


def log_bodies(table: Table, entries: Iterable[ArchivedInstant]) -> Iterator[tuple[ArchivedInstant, Body]]:
    """The files of archived instants; b"" is an empty one. Raises FileNotFoundError: a writer merged the archive
    meanwhile; Unreadable."""
    by_log = defaultdict(list)
    for entry in entries:
        if entry.record:
            by_log[entry.file].append((entry, entry.record))
    for name, places in by_log.items():
        start = min(record.offset for _, record in places)
        # One request, instead of one for each record.
        length = max(record.offset + record.length for _, record in places) - start
        body = table.storage.read(f"{table.layout.archive}/{name}", start, length)
        for entry, record in places:
            offset = record.offset - start
            yield entry, fmt.decode_log_record(body[offset : offset + record.length], record, name)


def _names(table: Table) -> list[str]:
    entries = entries_of(table.storage, table.layout.archive)
    return [entry.name for entry in entries if not entry.is_dir and fmt.is_archive_log(entry.name)]


def _body(table: Table, name: str) -> bytes:
    return read_whole(table.storage, f"{table.layout.archive}/{name}", INSTANT_BYTES)


def _whole(body: bytes, name: str) -> tuple[ArchivedInstant, ...] | None:
    """The instants of a complete log; None if its end is incomplete, or it is empty."""
    try:
        # An archiver that dies at once leaves an empty file.
        return tuple(fmt.decode_log(body, name)) if body else None
    except Unreadable:
        return None


def _instants(found: Mapping[str, tuple[ArchivedInstant, ...] | None]) -> tuple[ArchivedInstant, ...]:
    return tuple(entry for instants in found.values() for entry in instants or ())


def _lost(
    table: Table, timeline: Timeline, torn: Mapping[str, TornLog], whole: Sequence[ArchivedInstant]
) -> dict[str, list[str]]:
    """The instants that incomplete logs must have had, and that are neither active nor in a complete log: those named
    in the log, and those on which later writes are based, because the log may name none."""
    kept = {(entry.time, entry.action, entry.state) for entry in whole}
    kept |= {(file.time, file.action, file.state) for instant in timeline.instants for file in instant.files}
    times = {time for time, _, _ in kept}
    commits = [*load_commits(table, timeline).values()]
    missing = {}
    for name, log in torn.items():
        # All records: on the stores that hudictl writes, each archiving run begins its own log.
        own = [*log.whole, *log.records]
        named = {entry.time for entry in own if (entry.time, entry.action, entry.state) not in kept}
        begun = {log.begun} if log.begun is not None else set()
        before, behind = _writes_around(name, log.whole, whole)
        based = {time for time in previous_of([*commits, *_commits(table, behind)]) if time > before}
        missing[name] = named | (begun | based) - times
    gone = _taken_back(table, timeline, whole) if any(missing.values()) else set()
    return {name: sorted(instants - gone) for name, instants in missing.items() if instants - gone}


def _writes_around(
    name: str, own: Iterable[ArchivedInstant], whole: Iterable[ArchivedInstant]
) -> tuple[str, list[ArchivedInstant]]:
    """The last write that was archived before an incomplete end, and the writes of the next log with writes."""
    number = fmt.log_number(name)
    archived = (*own, *whole)
    writes = [entry for entry in archived if entry.action in WRITE_ACTIONS and entry.state is State.COMPLETED]
    before = [entry.time for entry in writes if entry.file == name or fmt.log_number(entry.file) < number]
    behind = [entry for entry in writes if entry.file != name and fmt.log_number(entry.file) >= number]
    following = min((fmt.log_number(entry.file) for entry in behind), default=number)
    return max(before, default=""), [entry for entry in behind if fmt.log_number(entry.file) == following]


def _commits(table: Table, writes: Iterable[ArchivedInstant]) -> list[CommitMetadata]:
    return [commit_metadata.decode(body, f"{entry.time} in {entry.file}") for entry, body in log_bodies(table, writes)]


def _taken_back(table: Table, timeline: Timeline, whole: Iterable[ArchivedInstant]) -> set[str]:
    """The rolled-back instants, including those of archived rollbacks (restores are never archived)."""
    found = set(taken_back(table, timeline))
    done = [entry for entry in whole if entry.action == ROLLBACK and entry.state is State.COMPLETED]
    for entry, body in log_bodies(table, done):
        found |= named_by(body, ROLLBACK, entry.time).keys()
    return found
