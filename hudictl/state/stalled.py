"""Pending cleans and indexings that Hudi neither finishes nor removes: what each means, and the way out."""

from collections.abc import Iterator
from dataclasses import dataclass

from hudictl.errors import Unreadable
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import INDEXING, Instant, State
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.formats.plans import decode_index_plan
from hudictl.phrases import seconds
from hudictl.state.cleans import cleans_without_plan, removal_of
from hudictl.state.unfinished import Way
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, read_instant

CLEAN_WITHOUT_PLAN = "clean-without-plan"
PENDING_INDEXING = "pending-indexing"


@dataclass(frozen=True)
class Stalled:
    """A pending clean or indexing, which is no write. ``name`` is that of its finding, ``at_work`` says why it may be
    running ("" where it is not). ``stops``: writers or cleans of Hudi's may fail at it; ``harmless``: Hudi itself
    removes it. ``remedy`` is empty where no command of hudictl's ends it."""

    name: str
    instant: str
    time: str
    meaning: str
    at_work: str
    stops: bool
    harmless: bool
    remedy: tuple[Way, ...]


def find_stalled(table: Table, timeline: Timeline, now_ms: int, idle_ms: int) -> list[Stalled]:
    """All of them, cleans first.

    Args:
        idle_ms: what did something less than this ago may be running.
    """
    return [*_cleans(table, timeline, now_ms, idle_ms), *_indexings(table, timeline, now_ms, idle_ms)]


def _cleans(table: Table, timeline: Timeline, now_ms: int, idle_ms: int) -> Iterator[Stalled]:
    for entry in cleans_without_plan(table, timeline):
        if entry.dropped:
            meaning = f"a clean without plan: {entry.problem}; the next clean of Hudi 0.15.0 and 1.0.2 removes it, and "
            meaning += "1.2.0 fails at it"
        else:
            # Hudi cleans after the commit (0.15.0 to 1.2.0).
            meaning = f"a clean without plan: {entry.problem}; each clean of Hudi's fails at it, and a writer that "
            meaning += "cleans ends with an error although its commit is there"
        yield Stalled(
            name=CLEAN_WITHOUT_PLAN,
            instant=str(entry.instant),
            time=entry.instant.time,
            meaning=meaning,
            at_work=_active(timeline, entry.instant, now_ms, idle_ms),
            stops=not entry.dropped,
            harmless=entry.dropped,
            remedy=(Way(removal_of(entry.instant), "it is removed; the next clean plans anew"),),
        )


def _indexings(table: Table, timeline: Timeline, now_ms: int, idle_ms: int) -> Iterator[Stalled]:
    for instant in timeline.having(INDEXING):
        if instant.completed:
            continue
        making = partitions_in_the_making(table, instant)
        of = ", ".join(_planned(table, instant)) or "partitions that cannot be read"
        meaning = f"an indexing of {of} has not ended"
        if making:
            # 1.0.2 fails at each write while the partition has no file; 1.2.0 goes on.
            meaning += f", and has begun in the metadata table: Hudi's writers may fail at it; {drop_first(making)}"
        else:
            meaning += ": writers and cleans go on, and the index is not there"
            if instant.state is State.REQUESTED:
                meaning += f"; Hudi's HoodieIndexer executes it (--mode execute --instant-time {instant.time})"
        yield Stalled(
            name=PENDING_INDEXING,
            instant=str(instant),
            time=instant.time,
            meaning=meaning,
            at_work=_active(timeline, instant, now_ms, idle_ms),
            stops=bool(making),
            harmless=False,
            remedy=() if making else (Way(f"hudictl rollback {instant.time}", "it is removed; Hudi can plan it anew"),),
        )


def drop_first(making: tuple[str, ...]) -> str:
    """The way out while partitions are in the making (tried with 1.0.2 and 1.2.0)."""
    names = ",".join(making)
    return (
        f"where no indexer runs, drop {names} with Hudi's HoodieIndexer (--mode dropindex --index-types "
        f"{names.upper()}); then `hudictl rollback` removes the instant"
    )


def partitions_in_the_making(table: Table, instant: Instant) -> tuple[str, ...]:
    """The partitions of the metadata table that a pending indexing has begun: those of its plan that the table's
    properties call inflight, and those with files that it has written."""
    planned = _planned(table, instant)
    begun = [name for name in table.metadata_partitions_inflight if name in planned or not planned]
    return tuple(sorted({*begun, *_written(table, instant.time)}))


def _planned(table: Table, instant: Instant) -> tuple[str, ...]:
    file = instant.file(State.REQUESTED)
    try:
        return tuple(sorted(decode_index_plan(read_instant(table, file), file.name))) if file else ()
    except Unreadable:
        # Told as what it is, with all other files of the timeline.
        return ()


def _written(table: Table, time: str) -> Iterator[str]:
    """Below table version 8 the metadata table's instants carry three digits more."""
    for folder in _folders(table, METADATA_TABLE):
        files = (parse_data_file(entry.name) for entry in table.storage.list(f"{METADATA_TABLE}/{folder}"))
        if any(file is not None and file.instant.startswith(time) for file in files):
            yield folder


def _folders(table: Table, path: str) -> list[str]:
    try:
        return [entry.name for entry in table.storage.list(path) if entry.is_dir and not entry.name.startswith(".")]
    except FileNotFoundError:
        return []


def _active(timeline: Timeline, instant: Instant, now_ms: int, idle_ms: int) -> str:
    quiet_ms = timeline.idle_ms(instant, now_ms)
    return f"it was active {seconds(quiet_ms)} ago, and may be running" if quiet_ms < idle_ms else ""
