"""The second half of ``log verify``: the instants of blocks, the sizes in commits, and whether an incomplete end
belongs to an inflight write."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hudictl import workers
from hudictl.engine.base import Engine
from hudictl.errors import Conflict, Unreadable
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import CLUSTERING, REPLACECOMMIT, Instant
from hudictl.formats.log_checks import HARMLESS, STRAY_BYTES, TRUNCATED_TAIL, Defect
from hudictl.reports.health.files import ROLLBACK_BLOCK_AHEAD, told_ahead
from hudictl.reports.health.finding import ERROR, WARNING
from hudictl.table.archive import archived_in_order, at_one_time
from hudictl.table.commits import read_commit
from hudictl.table.log_reader import LogFile, in_slices
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, load_timeline
from hudictl.workers import Mention

UNKNOWN_INSTANT = "unknown-instant"
OTHER_INSTANT = "other-instant"
OTHER_SIZE = "other-size"


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
    yield from _other_instants(logs, times, notes)
    yield from _unknown_instants(logs, times, engine, notes)
    yield from _blocks_ahead(logs, times, engine)
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
        # A log from before the upgrade to version 8 has the slice's instant in its name; its own commit names it.
        if log.path in written or named in resizes:
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
    logs: Sequence[LogMentions], times: LogTimes, engine: Engine, notes: list[str]
) -> Iterator[DefectRow]:
    """Blocks of instants that are neither active nor archived, and that no later rollback block rolls back."""

    def unknown(mention: Mention) -> bool:
        return mention.target is None and mention.instant is not None and not times.knows(mention.instant)

    instants = {str(mention.instant) for entry in logs for mention in entry.mentions if unknown(mention)}
    known = _archived(times.table, instants, notes)

    def wanted(mention: Mention) -> bool:
        return unknown(mention) and mention.instant not in known

    slices = _in_slices(logs, wanted)
    tasks = [
        workers.BlockTask(members.storage, members.partition, "", "", members.logs, _instants(found))
        for members, found in slices
    ]
    # An unreadable log is a finding of its own.
    results = engine.map("read rollback blocks", workers.find_rollback_blocks, tasks)
    for (_, found), taken_back in zip(slices, results, strict=True):
        for log, mention in found:
            if mention.instant not in (taken_back.value or ()):
                what = (
                    f"the block's instant {mention.instant} is on no timeline, active or archived: readers treat it as "
                    "committed once the active timeline begins after it"
                )
                yield _of_mention(log, mention, UNKNOWN_INSTANT, ERROR, what)


def _instants(found: Sequence[tuple[LogFile, Mention]]) -> tuple[str, ...]:
    return tuple(sorted({str(mention.instant) for _, mention in found}))


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


def _blocks_ahead(logs: Sequence[LogMentions], times: LogTimes, engine: Engine) -> Iterator[DefectRow]:
    """Rollback blocks with a time after the last commit's, below table version 8."""
    if not times.table.rules.later_blocks_hide:
        return

    def ahead(mention: Mention) -> bool:
        return mention.target is not None and (mention.instant or "") > times.last

    slices = _in_slices(logs, ahead)
    results = engine.map("read rollback blocks", workers.command_blocks, [members for members, _ in slices])
    for (_, found), result in zip(slices, results, strict=True):
        hiding = {(path, time): hides for path, time, hides in result.value or ()}
        for log, mention in found:
            time = str(mention.instant)
            severity, what = told_ahead(time, times.last, hiding.get((log.path, time), True))
            yield _of_mention(log, mention, ROLLBACK_BLOCK_AHEAD, severity, what)


def _in_slices(
    logs: Sequence[LogMentions], wanted: Callable[[Mention], bool]
) -> list[tuple[workers.LogTask, list[tuple[LogFile, Mention]]]]:
    """All logs of the slices with wanted mentions, and these mentions."""
    found: dict[str, list[tuple[LogFile, Mention]]] = defaultdict(list)
    for entry in logs:
        for mention in filter(wanted, entry.mentions):
            found[entry.log.uri].append((entry.log, mention))
    slices = []
    for members, asked in in_slices([pairs[0][0] for pairs in found.values()]):
        names = tuple((log.name, log.size) for log in members)
        task = workers.LogTask(members[0].storage, members[0].folder, names)
        slices.append((task, [pair for log in members if log.name in asked for pair in found[log.uri]]))
    return slices


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
