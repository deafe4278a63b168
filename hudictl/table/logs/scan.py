"""The fate of each block of a log for the table's readers, by the rule of the release of the table's version."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile
from typing import NamedTuple

from hudictl import workers
from hudictl.engine.base import Engine
from hudictl.errors import Unsupported
from hudictl.formats.instants import INITIAL, TIME_FORMAT_DIGITS
from hudictl.formats.log_blocks import COMMAND, COMPACTED_BLOCK_TIMES, CORRUPT, Block, read_blocks
from hudictl.formats.ranges import ReadAt
from hudictl.formats.releases import V0_15, V1_2
from hudictl.table.logs.reader import LogFile, keeping, naming_log
from hudictl.table.table import Table, data_table_of
from hudictl.table.timeline.active import load_timeline, taken_back

VALID = "valid"
ROLLED_BACK = "rolled back"
UNCOMMITTED = "uncommitted"
CORRUPT_FATE = "corrupt"
REPLACED = "replaced"
"""A query reads the block of a log compaction instead (1.2.0; 0.15.0 and 1.0.2 read both)."""
AHEAD = "ahead"
"""A rollback block newer than the last commit: Hudi 0.15.0 stops reading there until a later commit exists."""
HIDDEN = "hidden"
"""After a block that is newer than the last commit (0.15.0)."""
UNKNOWN = "unknown"
"""There is no timeline, or no instant in the block."""


@dataclass(frozen=True, slots=True)
class BlockRef:
    """A block that decides the fate of others: its log's path as shown, its index there, and its instant."""

    file: str
    index: int
    instant: str | None


class Fate(NamedTuple):
    """One of the words above, and the block that decided."""

    name: str
    by: BlockRef | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A block with its place and fate, and the reader of its log."""

    log: LogFile
    index: int
    block: Block
    fate: Fate
    read_at: ReadAt


@dataclass(frozen=True)
class ScanRule:
    """Which blocks the scan of a release uses, by the timelines.

    ``completed`` and ``pending`` are the writes of the active timeline; instants before the first completed one are
    archived. For a metadata table, ``withheld`` are the instants that its data table has not completed, and
    ``admitted`` those that its data table has ended (None: all others), from ``data_first`` on.
    """

    release: str
    completed: frozenset[str]
    pending: frozenset[str]
    first: str
    last: str
    withheld: frozenset[str] = frozenset()
    admitted: frozenset[str] | None = None
    data_first: str = ""

    @property
    def stops(self) -> bool:
        """Whether the scan ends at a block that is newer than the last commit."""
        return self.release == V0_15

    def takes(self, time: str) -> bool:
        """Whether an instant's data and delete blocks count."""
        archived = time < self.first and time not in self.pending
        return (time in self.completed or archived) and time not in self.withheld and self._admits(time)

    def replaces(self, block: Block) -> bool:
        """Whether a block is of a log compaction and replaces others: from 1.1 on; older releases do so only with a
        reader option, which is off by default."""
        compacted = self.release == V1_2 and COMPACTED_BLOCK_TIMES in block.header
        return compacted and self.takes(block.instant or "")

    def _admits(self, time: str) -> bool:
        # A metadata table's own services have instants with a suffix (0.14 and 0.15).
        own = len(time) > TIME_FORMAT_DIGITS or time.startswith(INITIAL)
        return self.admitted is None or own or time < self.data_first or time in self.admitted


def scan_rule(table: Table, data: Table | None = None, ending: Collection[str] = ()) -> ScanRule:
    """The rule of a table, as its timelines are now.

    Args:
        data: the data table, if the table is a metadata table that is not in its place.
        ending: instants of the data table that a pending restore or rollback ends: the rule is that of readers after
            it. They count what the metadata table has of them.

    Raises:
        Unreadable.
    """
    timeline = load_timeline(table)
    completed = frozenset(entry.time for entry in timeline.completed_writes())
    pending = frozenset(entry.time for entry in timeline.writes() if entry.pending)
    rule = ScanRule(table.rules.reads_as, completed, pending, min(completed, default=""), max(completed, default=""))
    data = data or data_table_of(table)
    if data is None:
        return rule
    # For the last instant of a metadata table, readers also count its rollbacks (0.15.0).
    last = max((entry.time for entry in timeline.instants if entry.completed), default="")
    rule = replace(rule, last=last)
    # A metadata table's deltacommit completes before the data table's instant does.
    instants = load_timeline(data)
    ended = frozenset(entry.time for entry in instants.instants if entry.completed)
    # A savepoint that is pending has the time of a completed commit.
    withheld = frozenset(entry.time for entry in instants.instants if entry.pending).difference(ended, ending)
    if not table.rules.metadata_is_vouched_for:
        return replace(rule, withheld=withheld)
    vouched = ended.union(taken_back(data, instants), ending)
    return replace(rule, withheld=withheld, admitted=vouched, data_first=min(ended, default=""))


def judged_blocks(
    logs: Sequence[LogFile],
    asked: Collection[str],
    rule: ScanRule | None,
    foreign: Callable[[Unsupported], object] | None = None,
) -> Iterator[Judged]:
    """The blocks of some logs of a slice, with their fates, in reading order. Headers only are read, and not kept.

    Args:
        logs: all logs of the slice, in reading order: a later log may roll back blocks of an earlier one.
        asked: the names of the logs whose blocks are wanted.
        rule: None if the timeline is not known.
        foreign: gets the error of each log of another format version; its blocks before that are returned.

    Raises:
        Unsupported: such a log, without ``foreign``.
        Conflict: a log disappeared meanwhile.
        StorageFailed.
    """
    if rule is None or not rule.stops:
        # Only later blocks affect a block then.
        logs = list(dropwhile(lambda log: log.name not in asked, logs))
    readers = keeping(logs)
    marks = _marks(logs, readers, rule)
    for number, log in enumerate(logs):
        if log.name in asked:
            try:
                for index, block in numbered_blocks(log, readers[log.name]):
                    fate = Fate(VALID) if log.archive and block.block_type != CORRUPT else None
                    yield Judged(log, index, block, fate or marks.fate((number, index), block, rule), readers[log.name])
            except Unsupported as error:
                if foreign is None:
                    raise
                foreign(error)


_Position = tuple[int, int]


@dataclass(frozen=True)
class _Marks:
    """The blocks of a slice that decide the fate of others: rollback blocks by target, blocks of log compactions by the
    replaced instants, and the block where a scan ends; each with its place."""

    rollbacks: Mapping[str, Sequence[tuple[_Position, BlockRef]]]
    compactions: Mapping[str, tuple[_Position, BlockRef]]
    stop: tuple[_Position, BlockRef] | None

    def fate(self, place: _Position, block: Block, rule: ScanRule | None) -> Fate:
        if block.block_type == CORRUPT:
            return Fate(CORRUPT_FATE)
        if block.instant is None:
            return Fate(UNKNOWN)
        if block.block_type == COMMAND:
            return self._of_command(place, block)
        rollback = _first_behind(self.rollbacks.get(block.instant, ()), place)
        if rollback is not None:
            return Fate(ROLLED_BACK, rollback)
        if rule is None:
            return Fate(UNKNOWN)
        if not rule.takes(block.instant):
            return Fate(UNCOMMITTED)
        if self.stop is not None and self.stop[0] < place:
            return Fate(HIDDEN, self.stop[1])
        compaction = self.compactions.get(block.instant)
        if compaction is not None and place < compaction[0]:
            return Fate(REPLACED, compaction[1])
        return Fate(VALID)

    def _of_command(self, place: _Position, block: Block) -> Fate:
        if block.rollback_target is None:
            return Fate(UNKNOWN)
        if self.stop is not None and self.stop[0] <= place:
            return Fate(AHEAD) if self.stop[0] == place else Fate(HIDDEN, self.stop[1])
        return Fate(VALID)


def _marks(logs: Sequence[LogFile], readers: Mapping[str, ReadAt], rule: ScanRule | None) -> _Marks:
    rollbacks: dict[str, list[tuple[_Position, BlockRef]]] = defaultdict(list)
    compactions: list[tuple[_Position, BlockRef, list[str]]] = []
    stop = None
    for place, log, block in _walk(logs, readers):
        found = (place, BlockRef(log.shown, place[1], block.instant))
        if rule is not None and rule.stops and block.block_type != CORRUPT and (block.instant or "") > rule.last:
            stop = found
            break
        if block.rollback_target is not None:
            rollbacks[block.rollback_target].append(found)
        elif rule is not None and rule.replaces(block):
            compactions.append((*found, block.header[COMPACTED_BLOCK_TIMES].split(",")))
    replaced: dict[str, tuple[_Position, BlockRef]] = {}
    for place, ref, times in reversed(compactions):
        if _first_behind(rollbacks.get(ref.instant or "", ()), place) is None:
            # A log compaction of a log compaction replaces both.
            winner = replaced.get(ref.instant or "", (place, ref))
            for time in times:
                replaced.setdefault(time, winner)
    return _Marks(rollbacks, replaced, stop)


def _walk(logs: Sequence[LogFile], readers: Mapping[str, ReadAt]) -> Iterator[tuple[_Position, LogFile, Block]]:
    for number, log in enumerate(logs):
        if not log.archive:
            # Blocks in another format are refused only when they are wanted, after the blocks before them.
            for index, block in enumerate(read_blocks(readers[log.name], log.size, any_format=True)):
                yield (number, index), log, block


def numbered_blocks(log: LogFile, read_at: ReadAt) -> Iterator[tuple[int, Block]]:
    """The blocks of a log with their indexes. Raises Unsupported: it is of another format version; Conflict,
    StorageFailed."""
    with naming_log(log, Unsupported):
        yield from enumerate(read_blocks(read_at, log.size))


def cut_logs(engine: Engine, whole: Sequence[workers.PieceTask]) -> list[tuple[int, workers.PieceTask]]:
    """The pieces in which some logs are read, largest first, each with the number of its log: large logs are cut at
    blocks, by reading their lengths. Raises EngineFailed."""
    large = [number for number, task in enumerate(whole) if task.size > workers.PIECE_BYTES]
    cut = dict(zip(large, engine.map("find blocks", workers.cut_log, [whole[number] for number in large]), strict=True))
    pieces: list[tuple[int, workers.PieceTask]] = []
    for number, task in enumerate(whole):
        # The task that reads an unreadable log as one piece reports it.
        found = cut[number].value if number in cut else None
        pieces += [(number, piece) for piece in found or [task]]
    return sorted(pieces, key=lambda entry: entry[1].start - entry[1].end)


def _first_behind(blocks: Sequence[tuple[_Position, BlockRef]], place: _Position) -> BlockRef | None:
    number = bisect_right(blocks, place, key=lambda entry: entry[0])
    return blocks[number][1] if number < len(blocks) else None
