"""Pending cleans and indexings that Hudi neither finishes nor removes: what each means, and how to end it."""

from collections.abc import Iterator
from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import INDEXING, RESTORE, Instant, State
from hudictl.formats.layouts import HEARTBEATS, META, METADATA_TABLE
from hudictl.formats.plans import decode_index_plan
from hudictl.formats.releases import V1_2
from hudictl.phrases import command_of, quoted
from hudictl.state.timeline.clean_plans import cleans_without_plan, removal_of
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.unfinished import lately_active
from hudictl.storage import FileStatus, entries_of
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant

CLEAN_WITHOUT_PLAN = "clean-without-plan"
PENDING_INDEXING = "pending-indexing"


@dataclass(frozen=True)
class Stalled:
    """A pending clean or indexing (not a write). ``name`` is the name of its finding. ``at_work`` says why it may be
    running; "" if it is not. ``stops``: Hudi's writers or cleans may fail on it. ``harmless``: Hudi itself removes it.
    ``remedy`` is empty if no hudictl command ends it."""

    name: str
    instant: str
    time: str
    meaning: str
    at_work: str
    stops: bool
    harmless: bool
    remedy: tuple[Remedy, ...]


def find_stalled(table: Table, timeline: Timeline, now_ms: int, idle_ms: int) -> list[Stalled]:
    """All of them, cleans first.

    Args:
        idle_ms: an instant with activity less than this ago may be running.
    """
    return [*_cleans(table, timeline, now_ms, idle_ms), *_indexings(table, timeline, now_ms, idle_ms)]


def _cleans(table: Table, timeline: Timeline, now_ms: int, idle_ms: int) -> Iterator[Stalled]:
    for entry in cleans_without_plan(table, timeline):
        if entry.dropped:
            meaning = f"a clean without plan: {entry.problem}; the next clean of Hudi 0.15.0 or 1.0.2 removes it; "
            meaning += "1.2.0 fails on it"
        else:
            # Hudi cleans after the commit (0.15.0 to 1.2.0).
            meaning = f"a clean without plan: {entry.problem}; every clean of Hudi fails on it. A writer with "
            meaning += "automatic cleaning ends with an error after its commit is completed"
        yield Stalled(
            name=CLEAN_WITHOUT_PLAN,
            instant=str(entry.instant),
            time=entry.instant.time,
            meaning=meaning,
            at_work=lately_active(timeline.idle_ms(entry.instant, now_ms), idle_ms),
            stops=not entry.dropped,
            harmless=entry.dropped,
            remedy=(Remedy(removal_of(entry.instant), "it is removed; the next clean makes a new plan"),),
        )


def outlived(table: Table, timeline: Timeline, restore: str) -> tuple[str, ...]:
    """The pending indexings from before a restore that must not be executed any more. Of one, HoodieIndexer may make an
    empty index, and each write fails then; after a restore of Hudi's own, too (1.2.0; not 1.0.2)."""
    indexings = timeline.having(INDEXING) if table.rules.reads_as == V1_2 else ()
    return tuple(entry.time for entry in indexings if entry.pending and entry.time < restore)


def _indexings(table: Table, timeline: Timeline, now_ms: int, idle_ms: int) -> Iterator[Stalled]:
    restore = max((entry.time for entry in timeline.having(RESTORE) if entry.completed), default="")
    late = outlived(table, timeline, restore)
    for instant in timeline.having(INDEXING):
        if instant.completed:
            continue
        making = partitions_in_the_making(table, instant)
        bare = [name for name in making if not _data_files(table, name)]
        meaning = f"an indexing of {', '.join(_planned(table, instant)) or 'unknown partitions'} has not ended"
        if bare:
            meaning += f"; {', '.join(bare)} of the metadata table has no file yet: every writer of Hudi 1.0.2 fails "
            meaning += "on it; of 0.15.0, every writer with this index enabled"
        elif making:
            meaning += f"; it has started in the metadata table ({', '.join(making)})"
        else:
            meaning += f"; writers and cleans still work, but {what_is_built(table, instant)}"
        if making:
            meaning += f"; {drop_first(making)}"
        elif instant.time in late:
            meaning += f". Do not let Hudi's HoodieIndexer execute it: it is older than the restore {restore}, and the "
            meaning += "index may end up empty. Then each write fails. Hudi can plan it again"
        elif instant.state is State.REQUESTED:
            meaning += f"; Hudi's HoodieIndexer can execute it (--mode execute --instant-time {instant.time})"
        yield Stalled(
            name=PENDING_INDEXING,
            instant=str(instant),
            time=instant.time,
            meaning=meaning,
            at_work=lately_active(now_ms - _indexed_ms(table, timeline, instant), idle_ms),
            stops=bool(bare) or instant.time in late,
            harmless=False,
            remedy=()
            if making
            else (Remedy(command_of("rollback", instant.time), "removes it; Hudi can plan it again"),),
        )


def drop_first(making: tuple[str, ...]) -> str:
    """How to end an indexing that has begun to build partitions (tried with 0.15.0, 1.0.2 and 1.2.0)."""
    names = ",".join(making)
    return (
        f"if no indexer is running, drop {quoted(names)} with Hudi's HoodieIndexer (--mode dropindex --index-types "
        f"{quoted(names.upper())}); then roll the instant back with hudictl"
    )


def partitions_in_the_making(table: Table, instant: Instant) -> tuple[str, ...]:
    """The partitions of the metadata table that a pending indexing has begun to build: those in its plan that are
    inflight in the table's properties, and those with files that it has written."""
    planned = _planned(table, instant)
    begun = [name for name in table.metadata_partitions_inflight if name in planned or not planned]
    return tuple(sorted({*begun, *_written(table, instant.time)}))


def what_is_built(table: Table, instant: Instant) -> str:
    """What the metadata table has of a pending indexing that has written nothing under its own time: CREATE INDEX
    builds under another one, and later writes do (1.2.0)."""
    planned = _planned(table, instant)
    used = [name for name in planned if name in table.metadata_partitions]
    if used:
        return f"{', '.join(used)} is in use: other writes have built it"
    bare = [name for name in planned if _data_files(table, name)]
    return f"readers do not use the files in {', '.join(bare)}" if bare else "the index is not built"


def _planned(table: Table, instant: Instant) -> tuple[str, ...]:
    file = instant.file(State.REQUESTED)
    try:
        return tuple(sorted(decode_index_plan(read_instant(table, file), file.name))) if file else ()
    except Unreadable:
        # Reported by itself, with all other files of the timeline.
        return ()


def _written(table: Table, time: str) -> Iterator[str]:
    """Below table version 8 the metadata table's instants have three more digits."""
    for folder in entries_of(table.storage, METADATA_TABLE):
        hidden = folder.name.startswith(".")
        if folder.is_dir and not hidden and any(_of(time, file) for file in _data_files(table, folder.name)):
            yield folder.name


def _of(time: str, file: FileStatus) -> bool:
    data = parse_data_file(file.name)
    return data is not None and data.instant.startswith(time)


def _data_files(table: Table, partition: str) -> list[FileStatus]:
    entries = entries_of(table.storage, f"{METADATA_TABLE}/{partition}")
    return [entry for entry in entries if parse_data_file(entry.name) is not None]


def _indexed_ms(table: Table, timeline: Timeline, instant: Instant) -> int:
    """The time of an indexing's last activity: on the timeline, in the metadata table, or by a heartbeat."""
    own = [timeline.modified_ms[file.name] for file in instant.files]
    metadata = f"{METADATA_TABLE}/{META}"
    for folder in (HEARTBEATS, f"{METADATA_TABLE}/{HEARTBEATS}", metadata, f"{metadata}/timeline"):
        own += [entry.modified_ms for entry in entries_of(table.storage, folder) if entry.name.startswith(instant.time)]
    for partition in partitions_in_the_making(table, instant):
        own += [file.modified_ms for file in _data_files(table, partition) if _of(instant.time, file)]
    return max(own)
