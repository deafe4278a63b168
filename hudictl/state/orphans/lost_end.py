"""A timeline that has lost its end: data of instants after its last completed write, which no record explains. Perhaps
``.hoodie`` is an older copy, or was copied before the data."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain

from hudictl.engine.base import Engine
from hudictl.formats.instants import DELTACOMMIT, INDEXING, LOGCOMPACTION, RESTORE, TIME_FORMAT_DIGITS, State
from hudictl.formats.restore import decode_plan
from hudictl.phrases import count_of, first_few
from hudictl.state.facts import Facts
from hudictl.state.files.late_blocks import SliceBlocks, late_blocks
from hudictl.state.orphans.find import find_orphans, without_record
from hudictl.state.orphans.ownership import has_strangers, strange_times
from hudictl.table.files.slices import StoredFile
from hudictl.table.metadata.listing import naming_nothing
from hudictl.table.operations import SERVICE_REMOVE, operations_on
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant


@dataclass(frozen=True)
class LostEnd:
    """``paths`` are the files and ``logs`` of the instants ``times``, which are after the last completed write."""

    last: str
    times: tuple[str, ...]
    paths: tuple[str, ...]
    logs: int

    @property
    def meaning(self) -> str:
        """What seems to be missing, and by what."""
        times = first_few(self.times, most=3, rest=" and {:,} more")
        return (
            f"the newest instants of the timeline seem to be missing: {count_of(len(self.paths), 'file')} with data of "
            f"instants after {self.last or 'its beginning'} ({times}), for example {self.paths[0]}"
        )


def find_lost_end(facts: Facts, engine: Engine) -> LostEnd | None:
    """Looks in the partitions that were listed, and in logs that were changed after the last completed write.

    Raises Unreadable, StorageFailed, EngineFailed.
    """
    timeline, known = facts.timeline, frozenset(entry.time for entry in facts.timeline.instants)
    last = max(timeline.completed_writes(), key=lambda entry: entry.time, default=None)
    file = last.file(State.COMPLETED) if last is not None else None
    since_ms = timeline.modified_ms[file.name] if file is not None else 0
    later = facts.sweep.over("look for later files", partial(has_strangers, known, timeline.last_write))
    found = find_orphans(facts, engine) if later else []
    beyond = (orphan.file for orphan in found if orphan.beyond)
    return lost_end(facts, beyond, blocks_after_last(facts, since_ms + 1))


def lost_end(facts: Facts, beyond: Iterable[StoredFile], blocks: Iterable[SliceBlocks]) -> LostEnd | None:
    """From the orphans after the last completed write, and the blocks after it. Raises as ``without_record``."""
    written = sorted(chain.from_iterable(found.written for found in blocks))
    unknown = without_record(facts, {time for _, time in written}) if written else frozenset()
    logs = {path for path, time in written if time in unknown}
    times, paths = set(unknown), set(logs)
    for file in beyond:
        times.add(file.data.instant)
        paths.add(file.path)
    last = facts.timeline.last_write
    return LostEnd(last, tuple(sorted(times)), tuple(sorted(paths)), len(logs)) if paths else None


def lost_after(facts: Facts, since: str) -> frozenset[str]:
    """The instants within the timeline, after some time, that no record explains although their files are there: the
    archive is cut. Readers treat these files as committed once the timeline begins after them (Hudi 0.15.0 to 1.2.0).
    Raises as ``without_record``; EngineFailed."""
    known = frozenset(entry.time for entry in facts.timeline.instants)
    times = chain.from_iterable(facts.sweep.over("look for lost writes", partial(strange_times, known)))
    return without_record(facts, {time for time in times if since < time < facts.timeline.last_write})


def lost_inside(facts: Facts, metadata: Timeline) -> frozenset[str]:
    """Instants within the timeline that only the metadata table's own has as completed, and no record explains. Older
    ones do no harm: readers treat their files as committed. Raises as ``without_record``."""
    on_timeline = {entry.time for entry in facts.timeline.instants}
    first = min((entry.time for entry in facts.timeline.completed_writes()), default="~")
    known = {
        entry.time
        for entry in metadata.having(DELTACOMMIT)
        if entry.completed and first < entry.time < facts.timeline.last_write
        # Not those of the metadata table's own services: below table version 8 their times are longer.
        if len(entry.time) == TIME_FORMAT_DIGITS and all(file.action != LOGCOMPACTION for file in entry.files)
    }
    gone = known - on_timeline
    # Each plan is a file to read.
    spans = list(_restored(facts)) if gone else []
    gone = {time for time in gone if not any(since < time <= until for since, until in spans)}
    gone -= _of_indexings(facts, gone)
    gone = {time for time in gone if not _is_removed_indexing(facts.table, time)}
    return without_record(facts, gone - naming_nothing(facts.table, gone) if gone else gone)


def _of_indexings(facts: Facts, times: Collection[str]) -> frozenset[str]:
    """Those that an indexing seems to have written: while it runs, it may write to the metadata table at other times
    than its own (Hudi 1.0.2, 1.2.0). Not one that has a data file."""
    spans = [(entry.time, entry.completion_time or "") for entry in facts.timeline.having(INDEXING) if entry.completed]
    between = {time for time in times if any(since < time < until for since, until in spans)}
    if not between or not facts.table.rules.has_completion_times:
        return frozenset()
    known = frozenset(entry.time for entry in facts.timeline.instants)
    return frozenset(between.difference(*facts.sweep.over("look for lost writes", partial(strange_times, known))))


def _is_removed_indexing(table: Table, time: str) -> bool:
    """hudictl removes a pending one without an instant of its own; the metadata table may have its delta commit."""
    removals = operations_on(table.storage, SERVICE_REMOVE, time)
    return any(found.plan.get("action") == INDEXING for found in removals)


def _restored(facts: Facts) -> Iterator[tuple[str, str]]:
    """From the target of each completed restore to its end. A restore takes rollbacks from the timeline, too, and
    itself writes to the metadata table at other times than its own (Hudi 1.0.2, 1.2.0)."""
    for instant in facts.timeline.having(RESTORE):
        file = instant.file(State.REQUESTED)
        if instant.completed and file is not None:
            plan = decode_plan(read_instant(facts.table, file), file.name)
            # Completion times of version 6 can be those of a copy.
            yield plan.target or instant.time, max(instant.time, instant.completion_time or "")


def blocks_after_last(facts: Facts, since_ms: int = 0) -> list[SliceBlocks]:
    """The blocks in logs with a time after the last completed write, below table version 8. ``since_ms``: only of
    slices with a log that was changed since."""
    table, last = facts.table, facts.timeline.last_write
    if table.rules.logs_named_by_writer or table.is_cow:
        return []
    return facts.sweep.over("read logs", partial(late_blocks, table.storage, last, since_ms))
