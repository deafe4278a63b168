"""The active timeline, and the only writer of instant files."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING

from hudictl.errors import Conflict, Refused, StorageFailed, Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats.instants import Instant, InstantFile, State
from hudictl.formats.layouts import META, other_layout
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.phrases import command_of
from hudictl.storage import FileStatus, entries_of, read_whole
from hudictl.table.table import Table
from hudictl.table.timeline.file_times import NotKept, not_kept

if TYPE_CHECKING:
    from hudictl.formats.avro import Body
    from hudictl.formats.rollback import StoredRollbackPlan

# What decodes Avro is imported where a plan is read: a list of instants, and its completion, need none.
_SHORT_WAIT_MS = 1000
_REPEATED = timedelta(hours=2)

SeenFile = tuple[str, int, int]
"""An instant's file by its name, size in bytes, and modification time in epoch milliseconds."""


@dataclass(frozen=True)
class Timeline:
    """Instants sorted by requested time; files of unknown actions separately; sizes and times by file name.

    ``not_kept``: files that have not the times of their writers. The completion time of their instants is then the
    requested time.
    """

    instants: tuple[Instant, ...]
    unknown: tuple[InstantFile, ...]
    sizes: dict[str, int]
    modified_ms: dict[str, int]
    not_kept: NotKept | None = None

    def having(self, *actions: str) -> Iterator[Instant]:
        """The instants of some actions."""
        return (instant for instant in self.instants if instant.action in actions)

    def writes(self) -> list[Instant]:
        """Hudi's write timeline: what a restore removes."""
        return [instant for instant in self.instants if instant.is_write]

    def completed_writes(self) -> list[Instant]:
        return [instant for instant in self.instants if instant.is_write and instant.completed]

    @cached_property
    def last_write(self) -> str:
        """The requested time of the newest completed write; "" if there is none."""
        return max((entry.time for entry in self.completed_writes()), default="")

    def find(self, time: str, *actions: str) -> Instant | None:
        """The instant with a requested time and one of the actions."""
        return next((entry for entry in self._by_time.get(time, ()) if entry.action in actions), None)

    @cached_property
    def _by_time(self) -> Mapping[str, Sequence[Instant]]:
        """There can be thousands of failed writes, each of which is looked for again and again."""
        return {time: tuple(found) for time, found in groupby(self.instants, key=lambda entry: entry.time)}

    def at(self, time: str) -> Instant | None:
        """The instant with a requested time, a pending one first; never a savepoint, which has its commit's time."""
        found = [entry for entry in self.instants if entry.time == time and entry.action != fmt.SAVEPOINT]
        return min(found, key=lambda entry: entry.state, default=None)

    def savepoints(self) -> list[Instant]:
        """Completed savepoints; their time is that of the savepointed commit."""
        return [instant for instant in self.having(fmt.SAVEPOINT) if instant.completed]

    def last_time(self) -> str:
        """The greatest time on the timeline, requested or completed; "" on an empty one."""
        return max((max(entry.time, entry.completion_time or "") for entry in self.instants), default="")

    def without(self, times: Collection[str | None]) -> "Timeline":
        """The timeline without the instants of some times."""
        return replace(self, instants=tuple(entry for entry in self.instants if entry.time not in times))

    def seen(self, file: InstantFile) -> SeenFile:
        """By which a file is known again, while nobody writes it anew."""
        return file.name, self.sizes[file.name], self.modified_ms[file.name]

    def idle_ms(self, instant: Instant, now_ms: int) -> int:
        """Milliseconds since a file of the instant changed."""
        return now_ms - max(self.modified_ms[file.name] for file in instant.files)


def load_timeline(table: Table, before: Timeline | None = None) -> Timeline:
    """Lists the timeline folder once. Raises Unreadable: there is no such folder.

    Args:
        before: what was loaded before of the same table: it is returned if no instant's file has changed, for a long
            timeline takes much longer to make than to list.
    """
    listed = _listed(table)
    if before is not None and _is_as_before(table, listed, before):
        return before
    files = _parsed(table, listed)
    instants = fmt.group_instants(file for file in files if file.known)
    sizes = {entry.name: entry.size for entry in listed}
    modified_ms = {entry.name: entry.modified_ms for entry in listed}
    for name in sizes.keys() - {file.name for file in files}:
        del sizes[name], modified_ms[name]
    # Of a metadata table the requests are made when the data is written: long after the times in their names.
    told = table.rules.has_completion_times or f"/{META}/" in table.uri
    lost = None if told else not_kept(instants, modified_ms)
    if lost is not None:
        instants = tuple(_by_request(entry) if entry.time in lost.times else entry for entry in instants)
    return Timeline(
        instants,
        tuple(file for file in files if not file.known),
        sizes,
        modified_ms,
        lost,
    )


def _is_as_before(table: Table, listed: Sequence[FileStatus], before: Timeline) -> bool:
    known = 0
    for name, _, size, modified_ms in listed:
        if name in before.sizes:
            if before.sizes[name] != size or before.modified_ms[name] != modified_ms:
                return False
            known += 1
        elif fmt.parse_instant_file(name, table.layout.version) is not None:
            return False
    # One from which instants were left out has the sizes of their files all the same.
    whole = sum(len(entry.files) for entry in before.instants) + len(before.unknown)
    return known == len(before.sizes) == whole


def _by_request(instant: Instant) -> Instant:
    return instant._replace(completion_time=instant.time) if instant.completed else instant


def timeline_in_order(table: Table, *, newest_first: bool = False) -> Iterator[Instant | InstantFile]:
    """The instants of the active timeline, and its files of unknown actions, sorted by ``order``. The folder is listed
    once; then what is not asked for costs nothing more: a timeline can have very many instants.

    Raises Unreadable: there is no such folder.
    """
    for _, entries in groupby(sorted(_listed(table), key=_time_of, reverse=newest_first), key=_time_of):
        files = _parsed(table, entries)
        found: list[Instant | InstantFile] = [*fmt.group_instants(file for file in files if file.known)]
        found += (file for file in files if not file.known)
        yield from sorted(found, key=fmt.order, reverse=newest_first)


def _listed(table: Table) -> list[FileStatus]:
    folder = table.layout.timeline
    try:
        return [entry for entry in table.storage.list(folder) if not entry.is_dir]
    except FileNotFoundError as error:
        raise Unreadable(f"the timeline folder {folder} is missing", file=folder) from error


def moved_instant(table: Table) -> str:
    """The path of an instant's file in the folder of the other layout; "" if there is none. An upgrade or downgrade
    moves them one by one, and changes the properties last (1.2.0). Raises StorageFailed."""
    layout = other_layout(table.properties, table.layout)
    for entry in entries_of(table.storage, layout.timeline):
        if not entry.is_dir and fmt.parse_instant_file(entry.name, layout.version) is not None:
            return f"{layout.timeline}/{entry.name}"
    return ""


def _time_of(entry: FileStatus) -> str:
    return fmt.time_in_name(entry.name)


def _parsed(table: Table, entries: Iterable[FileStatus]) -> list[InstantFile]:
    """Those that are instants' files, in the given order."""
    version, files = table.layout.version, []
    # No calls of more functions here: a timeline has very many.
    for entry in entries:
        file = fmt.parse_instant_file(entry.name, version)
        if file is None:
            continue
        if file.state is State.COMPLETED and file.completion_time is None and file.known:
            # Layout 1 (and a legacy file in layout 2) has the modification time as completion time, as in Hudi 1.x.
            moment = datetime.fromtimestamp(entry.modified_ms / 1000, table.zone)
            file = file._replace(completion_time=fmt.format_time(moment))
        files.append(file)
    return files


def read_instant(table: Table, file: InstantFile) -> bytes:
    """The body of an instant's file. Raises Conflict: it disappeared after the listing."""
    try:
        return read_whole(table.storage, f"{table.layout.timeline}/{file.name}", INSTANT_BYTES)
    except FileNotFoundError as error:
        raise Conflict(
            f"{file.name} disappeared from the timeline while it was read",
            hint="a writer or another operator is active; run the command again",
            file=file.name,
        ) from error


def empty_result(timeline: Timeline, instant: Instant) -> InstantFile | None:
    """The empty completed file of a restore or rollback, which is not really completed.

    Hudi (seen on 1.0.2) creates the file before it writes it, and died in between. Its own readers fail on such a
    result when they use the metadata table.
    """
    file = instant.file(State.COMPLETED)
    return file if file is not None and not timeline.sizes[file.name] else None


def empty_commits(timeline: Timeline) -> list[InstantFile]:
    """The empty completed files of commits, which do not name the written files."""
    files = (instant.file(State.COMPLETED) for instant in timeline.completed_writes())
    named = (file for file in files if file is not None and file.action in fmt.COMMIT_ACTIONS)
    return [file for file in named if not timeline.sizes[file.name]]


def drop_empty_result(table: Table, time: str, action: str) -> None:
    """Deletes the empty result, if there is one: a continued restore or rollback writes another."""
    timeline = load_timeline(table)
    instant = timeline.find(time, action)
    file = empty_result(timeline, instant) if instant else None
    if file is not None:
        delete_instant_files(table, [file])


def pending_rollbacks(
    table: Table, timeline: Timeline, seen: "Mapping[SeenFile, StoredRollbackPlan]" = MappingProxyType({})
) -> "list[tuple[Instant, StoredRollbackPlan | None]]":
    """Rollbacks that are not completed, with their plans; None if there is no readable plan.

    Args:
        seen: the plans in files that were read before; a file is not read again while it is as it was.
    """
    from hudictl.formats.rollback import decode_plan

    found: list[tuple[Instant, StoredRollbackPlan | None]] = []
    for instant in timeline.having(fmt.ROLLBACK):
        file = instant.file(State.REQUESTED)
        if instant.completed and not empty_result(timeline, instant):
            continue
        try:
            plan = seen.get(timeline.seen(file)) if file else None
            if plan is None and file:
                plan = decode_plan(read_instant(table, file), file.name)
        except Unreadable:
            plan = None
        if plan is not None or instant.pending:
            found.append((instant, plan))
    return found


def taken_back(table: Table, timeline: Timeline) -> dict[str, str]:
    """The instants that completed rollbacks and restores have rolled back, each with that rollback or restore."""
    found: dict[str, str] = {}
    for instant in timeline.having(fmt.RESTORE, fmt.ROLLBACK):
        # A restore's request names all instants; the result of a resumed one names only those of its last attempt.
        file = instant.file(State.REQUESTED if instant.action == fmt.RESTORE else State.COMPLETED)
        if instant.completed and file is not None:
            found |= named_by(read_instant(table, file), instant.action, instant.time)
    return found


def named_by(body: "Body", action: str, time: str) -> dict[str, str]:
    """The instants in one restore's request or rollback's result, each with that restore or rollback."""
    from hudictl.formats import restore, rollback

    what = f"the {action} {time}"
    try:
        if action == fmt.RESTORE:
            return {info.time: what for info in restore.decode_plan(body, what).instants}
        return dict.fromkeys(rollback.decode_taken_back(body, what), what)
    except Unreadable:
        # It proves nothing then; the other records decide.
        return {}


def create_instant_file(
    table: Table, time: str, action: str, state: State, body: bytes = b"", completion_time: str | None = None
) -> str:
    """Creates an instant's file exclusively; an existing file with the same body counts as success.

    Returns:
        The file's name.

    Raises:
        Conflict: the file exists with another body.
    """
    name = fmt.instant_file_name(time, action, state, table.layout.version, completion_time)
    path = f"{table.layout.timeline}/{name}"
    try:
        table.storage.create(path, body)
    except FileExistsError as error:
        if table.storage.read(path, 0, len(body) + 1) != body:
            raise Conflict(f"{name} already exists with other content", file=name) from error
    return name


def replace_savepoint(table: Table, time: str, body: bytes) -> str:
    """Replaces the body of a completed savepoint: readers see the old one or the new one.

    Returns:
        The file's name.

    Raises:
        Conflict: it is gone.
    """
    found = load_timeline(table).find(time, fmt.SAVEPOINT)
    file = found.file(State.COMPLETED) if found else None
    if file is None:
        raise Conflict(f"the savepoint {time} was deleted meanwhile", instant=time)
    table.storage.replace(f"{table.layout.timeline}/{file.name}", body)
    return file.name


def replace_request(table: Table, instant: Instant, body: bytes) -> None:
    """Puts a plan in the place of the lost one of a pending table service."""
    name = fmt.instant_file_name(instant.time, instant.action, State.REQUESTED, table.layout.version)
    table.storage.replace(f"{table.layout.timeline}/{name}", body)


def delete_instant_files(table: Table, files: Sequence[InstantFile]) -> None:
    """Deletes files in the given order, one after the other; an absent one is no error.

    Raises StorageFailed: the first file that cannot be deleted; later ones are kept.
    """
    for file in files:
        (outcome,) = table.storage.delete([f"{table.layout.timeline}/{file.name}"])
        if outcome.error is not None:
            raise StorageFailed(f"cannot delete {file.name}: {outcome.error}", path=outcome.path)
        # Each step is durable before the next one, also after a power failure.
        table.storage.sync(table.layout.timeline)


def delete_instant(table: Table, instant: Instant | None) -> None:
    """Deletes an instant's files in Hudi's order, so that what remains after a crash still has its plan; None is no
    error. Raises as ``delete_instant_files``."""
    if instant is not None:
        delete_instant_files(table, tuple(reversed(instant.files)))


def refuse_future(table: Table, timeline: Timeline, named: str = "the timeline") -> None:
    """Raises Refused: the timeline's last time is ahead of this host's clock, as after a change of time zone. The same
    millisecond, or a clock that differs by less than a second, is waited for."""
    now = instant_now(table)
    last = timeline.last_time()
    soon, until = fmt.time_plus_ms(now, _SHORT_WAIT_MS), time.monotonic() + _SHORT_WAIT_MS / 1000
    while now <= last < soon and time.monotonic() < until:
        time.sleep(0.001)
        now = instant_now(table)
    if last >= now:
        writes = [entry.time for entry in timeline.completed_writes() if last in (entry.time, entry.completion_time)]
        way = f"; `{command_of('rollback', writes[0])}`, or a restore before it, removes it" if writes else ""
        way = wait_for(table, last) or way
        raise Refused(
            f"the last instant of {named}, {last}, is not earlier than this host's time {now}",
            hint=f"instant times are in the writers' zone: set --timezone to that zone, or correct the clock{way}",
            last_time=last,
            now=now,
        )


def wait_for(table: Table, time: str) -> str:
    """What helps where the clock shows a time soon, as it has gone back; "" where it has not: when summer time ends, an
    hour comes twice, and nothing is wrong."""
    now = datetime.now(timezone.utc)
    here, before = (moment.astimezone(table.zone).replace(tzinfo=None) for moment in (now, now - _REPEATED))
    soon = here - before < _REPEATED and time < fmt.format_time(here + _REPEATED)
    return f", or wait until the clock shows {time}: an hour comes twice when summer time ends" if soon else ""


def new_instant_time(table: Table, timeline: Timeline) -> str:
    """Now, as an instant time in the table's zone.

    Raises:
        Refused: the timeline is ahead of the clock. A time derived from the timeline instead would hide the commits
            of the next writers.
    """
    refuse_future(table, timeline)
    return instant_now(table)


def instant_now(table: Table) -> str:
    """The clock as an instant time."""
    return fmt.format_time(datetime.now(timezone.utc).astimezone(table.zone))


def completion_now(table: Table, requested: str) -> str:
    """The clock as a completion time; never before the requested time, which may be from another zone."""
    return max(instant_now(table), requested)
