"""The second half of ``log verify``: the instants of blocks, the sizes in commits, and whether an incomplete end
belongs to an inflight write."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hudictl import workers
from hudictl.engine.base import Engine
from hudictl.errors import Conflict, Unreadable
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import CLUSTERING, REPLACECOMMIT, Instant
from hudictl.formats.log_checks import HARMLESS, STRAY_BYTES, TRUNCATED_TAIL, Defect
from hudictl.formats.log_mentions import Mention
from hudictl.reports.health.files import ROLLBACK_BLOCK_AHEAD, told_ahead
from hudictl.reports.health.finding import ERROR, WARNING
from hudictl.table.logs.reader import LogFile, in_slices
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.archive import archived_in_order, at_one_time
from hudictl.table.timeline.commits import read_commit

UNKNOWN_INSTANT = "unknown-instant"
OTHER_INSTANT = "other-instant"
OTHER_SIZE = "other-size"

_UNREADABLE = (Mention(None, None, 0, 0, 0),)
"""A log that cannot be read may contain data."""


@dataclass(frozen=True)
class DefectRow:
    """A defect of a log. ``file`` is below ``table``, or the complete path if no table is known. ``index`` and
    ``offset`` are those of the block, None if the whole file is meant."""

    table: str | None
    file: str
    index: int | None
    offset: int | None
    defect: str
    severity: str
    instant: str | None
    what: str


@dataclass(frozen=True)
class LogMentions:
    """A log, and the instants of its blocks."""

    log: LogFile
    mentions: tuple[Mention, ...]


@dataclass(frozen=True)
class LogTimes:
    """A table's timeline when the verification began. ``pending`` are its pending writes; ``first`` and ``last`` are
    its first and last completed writes."""

    table: Table
    timeline: Timeline
    known: frozenset[str]
    pending: frozenset[str]
    first: str
    last: str

    def knows(self, time: str) -> bool:
        return time in self.known or time < self.first


def read_times(table: Table) -> LogTimes:
    """Raises Unreadable: there is no timeline."""
    timeline = load_timeline(table)
    completed = [entry.time for entry in timeline.completed_writes()]
    return LogTimes(
        table,
        timeline,
        frozenset(entry.time for entry in timeline.instants),
        frozenset(entry.time for entry in timeline.writes() if entry.pending),
        min(completed, default=""),
        max(completed, default=""),
    )


def read_commit_or_none(table: Table, instant: Instant, notes: list[str]) -> CommitMetadata:
    """The metadata of a write; empty if its file is damaged (with a note), or gone because it was archived."""
    try:
        return read_commit(table, instant)
    except Conflict:
        return CommitMetadata()
    except Unreadable as error:
        note = f"the files written by {instant} of {table.uri} are not known: {error.message}"
        notes += [note] if note not in notes else []
        return CommitMetadata()


def against_timeline(
    logs: Sequence[LogMentions], times: LogTimes, engine: Engine, notes: list[str]
) -> Iterator[DefectRow]:
    """The defects of one table's logs, by its timeline. Raises StorageFailed, EngineFailed."""
    slices = _Slices({entry.log.uri: entry.mentions for entry in logs}, engine)
    yield from _other_instants(logs, times, notes)
    yield from _unknown_instants(logs, times, slices, notes)
    yield from _blocks_ahead(logs, times, slices)
    yield from _other_sizes(logs, times, notes)


def defect_row(
    log: LogFile,
    defect: str,
    what: str,
    *,
    severity: str = ERROR,
    place: tuple[int, int] | None = None,
    instant: str | None = None,
) -> DefectRow:
    """A row; ``place`` is a block's index and offset."""
    table = log.table.uri if log.table else None
    index, offset = place or (None, None)
    return DefectRow(table, log.path if table else log.uri, index, offset, defect, severity, instant, what)


def block_defect(log: LogFile, defect: Defect, times: LogTimes | None) -> DefectRow:
    """The row of a defect inside a block; harmless defects, and those of inflight writes, are warnings."""
    severity, what = ERROR, defect.what
    if defect.defect in HARMLESS:
        severity = WARNING
    elif times is not None and defect.defect in (TRUNCATED_TAIL, STRAY_BYTES) and _in_flight(log, defect, times):
        severity, what = WARNING, f"{what}; perhaps its write was still running: verify again when no write is running"
    place = (defect.index, defect.offset)
    return defect_row(log, defect.defect, what, severity=severity, place=place, instant=defect.instant)


def _in_flight(log: LogFile, defect: Defect, times: LogTimes) -> bool:
    """Whether an incomplete end may belong to a write that has not ended."""
    if log.archive or log.data is None:
        return False
    if times.table.rules.logs_named_by_writer:
        return log.data.instant in times.pending
    return defect.instant in times.pending if defect.instant else bool(times.pending)


def _of_mention(log: LogFile, mention: Mention, defect: str, severity: str, what: str) -> DefectRow:
    place = (mention.index, mention.offset)
    return defect_row(log, defect, what, severity=severity, place=place, instant=mention.instant)


def _other_instants(logs: Sequence[LogMentions], times: LogTimes, notes: list[str]) -> Iterator[DefectRow]:
    """From table version 8 on a log's name carries the instant that wrote its blocks."""
    if not times.table.rules.logs_named_by_writer:
        return
    found = [
        (entry.log, entry.log.data.instant if entry.log.data else None, mention)
        for entry in logs
        for mention in entry.mentions
    ]
    found = [one for one in found if one[1] and one[2].target is None and one[2].instant not in (one[1], None)]
    written = _written_sizes(times, {mention.instant for _, _, mention in found}, notes)
    # A clustering writes no logs: logs with its instant are in the new buckets of a resize, from other writes.
    resizes = {entry.time for entry in times.timeline.having(CLUSTERING, REPLACECOMMIT)}
    for log, named, mention in found:
        # A log from before the upgrade to version 8 has the slice's older instant in its name; its own commit, which
        # may be archived, names it.
        archived = mention.instant not in times.known and str(named) < str(mention.instant)
        if log.path in written or named in resizes or archived:
            continue
        severity = WARNING if str(named) < times.first else ERROR
        yield _of_mention(
            log,
            mention,
            OTHER_INSTANT,
            severity,
            f"a block of {mention.instant} is in a log of another instant, {named}",
        )


def _unknown_instants(
    logs: Sequence[LogMentions], times: LogTimes, slices: "_Slices", notes: list[str]
) -> Iterator[DefectRow]:
    """Blocks of instants that are neither active nor archived, and that no later rollback block rolls back."""

    def unknown(mention: Mention) -> bool:
        return mention.target is None and mention.instant is not None and not times.knows(mention.instant)

    instants = {str(mention.instant) for entry in logs for mention in entry.mentions if unknown(mention)}
    known = _archived(times.table, instants, notes)

    def wanted(mention: Mention) -> bool:
        return unknown(mention) and mention.instant not in known

    for found, members in slices.having(logs, wanted):
        for log, mention in found:
            if not _rolled_back(str(mention.instant), members):
                what = (
                    f"the block's instant {mention.instant} is on no timeline, active or archived: readers treat it as "
                    "committed once the active timeline begins after it"
                )
                yield _of_mention(log, mention, UNKNOWN_INSTANT, ERROR, what)


def _archived(table: Table, times: Collection[str], notes: list[str]) -> frozenset[str]:
    """The given instants that are in the archive."""
    if not times:
        return frozenset()
    try:
        found = at_one_time(lambda: [entry.time for entry in archived_in_order(table, min(times), max(times))])
    except Unreadable as error:
        notes.append(f"the archived instants of {table.uri} cannot be determined: {error.message}")
        return frozenset()
    return frozenset(found).intersection(times)


def _blocks_ahead(logs: Sequence[LogMentions], times: LogTimes, slices: "_Slices") -> Iterator[DefectRow]:
    """Rollback blocks with a time after the last commit's, below table version 8."""
    if not times.table.rules.later_blocks_hide:
        return

    def ahead(mention: Mention) -> bool:
        return mention.target is not None and (mention.instant or "") > times.last

    for found, members in slices.having(logs, ahead):
        for log, mention in found:
            time = str(mention.instant)
            severity, what = told_ahead(time, times.last, _data_follows(log, time, members))
            yield _of_mention(log, mention, ROLLBACK_BLOCK_AHEAD, severity, what)


def _rolled_back(instant: str, members: Sequence[LogMentions]) -> bool:
    """Whether a rollback block follows the last other block of an instant."""
    last = _last_place(members, lambda _, mention: mention.target is None and mention.instant == instant)
    return _last_place(members, lambda _, mention: mention.target == instant) > last


def _data_follows(log: LogFile, time: str, members: Sequence[LogMentions]) -> bool:
    """Whether data or delete blocks follow the rollback blocks of a time in a log."""
    own = _last_place(
        members, lambda uri, mention: uri == log.uri and mention.target is not None and mention.instant == time
    )
    return _last_place(members, lambda _, mention: mention.target is None) > own


def _last_place(members: Sequence[LogMentions], wanted: Callable[[str, Mention], bool]) -> tuple[int, int]:
    """The number of the log and the index of the last wanted block of a slice; before all others if there is none."""
    places = (
        (number, mention.last)
        for number, member in enumerate(members)
        for mention in member.mentions
        if wanted(member.log.uri, mention)
    )
    return max(places, default=(-1, -1))


class _Slices:
    """The slices of logs. The mentions of logs that were verified are known; others are read when they are needed."""

    def __init__(self, known: dict[str, tuple[Mention, ...]], engine: Engine) -> None:
        self._known = known
        self._engine = engine

    def having(
        self, logs: Sequence[LogMentions], wanted: Callable[[Mention], bool]
    ) -> list[tuple[list[tuple[LogFile, Mention]], list[LogMentions]]]:
        """The wanted mentions of each slice that has some, and all logs of the slice in reading order."""
        found: dict[str, list[tuple[LogFile, Mention]]] = defaultdict(list)
        for entry in logs:
            for mention in filter(wanted, entry.mentions):
                found[entry.log.uri].append((entry.log, mention))
        slices = list(in_slices([pairs[0][0] for pairs in found.values()]))
        self._read(log for members, _ in slices for log in members if log.uri not in self._known)
        return [
            (
                [pair for log in members if log.name in asked for pair in found[log.uri]],
                [LogMentions(log, self._known[log.uri]) for log in members],
            )
            for members, asked in slices
        ]

    def _read(self, logs: Iterable[LogFile]) -> None:
        others = list(logs)
        tasks = [workers.PieceTask(log.storage, log.path, log.size, log.archive, 0, log.size) for log in others]
        results = self._engine.map("read rollback blocks", workers.find_mentions, tasks)
        for log, result in zip(others, results, strict=True):
            self._known[log.uri] = _UNREADABLE if result.value is None else result.value


def _other_sizes(logs: Sequence[LogMentions], times: LogTimes, notes: list[str]) -> Iterator[DefectRow]:
    """Logs whose size differs from the write statistics of their commits."""
    named = {entry.log.data.instant for entry in logs if entry.log.data}
    written = named.union(mention.instant for entry in logs for mention in entry.mentions)
    sizes = _written_sizes(times, written, notes)
    for log in (entry.log for entry in logs):
        wrote = sizes.get(log.path, log.size)
        # Below version 8 a later write or a rollback may append to it.
        if log.size < wrote or (log.size > wrote and not times.table.rules.logs_grow):
            yield defect_row(log, OTHER_SIZE, f"it has {log.size:,} bytes, but its commit recorded {wrote:,}")


def _written_sizes(times: LogTimes, instants: Collection[str | None], notes: list[str]) -> Mapping[str, int]:
    """The largest size that completed writes name for each path."""
    sizes: dict[str, int] = {}
    for instant in times.timeline.completed_writes():
        if instant.time in instants:
            for stats in read_commit_or_none(times.table, instant, notes).stats.values():
                for stat in stats:
                    if stat.path is not None:
                        sizes[stat.path] = max(stat.file_bytes, sizes.get(stat.path, 0))
    return sizes
