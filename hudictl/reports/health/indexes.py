"""Findings of ``check`` on the indexes in the metadata table."""

import re
from collections.abc import Iterator
from math import ceil

from hudictl.errors import Unreadable
from hudictl.formats.index_records import RECORD_INDEX
from hudictl.formats.instants import RESTORE, State, parse_instant_file
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.formats.releases import V1_2
from hudictl.phrases import count_of
from hudictl.reports.health.finding import ERROR, INFO, MADE_ANEW, WARNING, Finding, Look, Skipped, named
from hudictl.state.metadata.indexes import built_by_indexing, completions, partition_instants
from hudictl.state.metadata.undo import OF_FILES
from hudictl.table.metadata.definitions import check_definitions, defined_names, is_defined
from hudictl.table.metadata.listing import merged_slices, without_slice
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.operations import begun_plan, read_operation
from hudictl.table.settings import (
    RECORD_INDEX_BYTES,
    RECORD_INDEX_GROWTH,
    RECORD_INDEX_LEAST,
    RECORD_INDEX_MOST,
    Settings,
)
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline, taken_back

_OF_TABLE = re.compile(r"record-index-\d+-\d+")
_RECORD_BYTES = 48
"""The record size with which Hudi's writers compute the size of a record index."""
_SLACK = 1.5
"""Between two compactions a file group may exceed its intended size by this factor."""
_BUILT_AT = re.compile(r"(\d{17})0[1-9]\d")
"""The instant by which Hudi 0.15.0 builds a partition: the newest completed one of the table, and a number from 010."""


def definitions(look: Look) -> Iterator[Finding]:
    """Index definitions that are missing or damaged."""
    try:
        check_definitions(look.facts.table)
    except Unreadable as error:
        meaning = (
            f"{error.message}: in Hudi 1.0.2 and 1.2.0 all queries fail, or all queries with a WHERE condition. A "
            "backup of the file can be put back. Without one, what cannot be read of it goes with the metadata table: "
            "the next writer builds its indexes again, without those of CREATE INDEX"
        )
        yield Finding("index-definitions-damaged", ERROR, str(error.fields["file"]), meaning, (MADE_ANEW,))


def slices(look: Look) -> Iterator[Finding]:
    """Listed indexes without what readers read of them. Raises Unreadable."""
    metadata = look.metadata
    for index in look.facts.table.indexes if metadata is not None else ():
        if metadata is not None and (problem := without_slice(metadata, index)):
            meaning = f"{problem}: queries and writes with this index fail, or miss rows"
            yield Finding("index-without-slice", ERROR, f"{METADATA_TABLE}/{index}", meaning, (MADE_ANEW,))


def waiting(look: Look) -> Iterator[Finding]:
    """Indexes that a restore has deleted, that no write builds again, and that are empty if made before one."""
    table, timeline = look.facts.table, look.facts.timeline
    restore = max((entry.time for entry in timeline.having(RESTORE) if entry.completed), default="")
    if restore <= look.last or table.rules.reads_as != V1_2:
        return
    lost = begun_plan(read_operation(table.storage, restore)).indexes_lost
    # The next write builds again what still has a definition.
    there = defined_names(table).union(table.indexes)
    if names := [name for name in lost if is_defined(name) and name not in there]:
        meaning = (
            f"the restore {restore} has deleted {named(names)}. Create them again (CREATE INDEX) after the next write "
            "only: before it, Hudi 1.2.0 leaves them empty, and queries and writes with them fail"
        )
        yield Finding("index-waits", INFO, restore, meaning)


def holding_removed(look: Look) -> Iterator[Finding]:
    """Indexes that were built while an instant was completed that was rolled back later.

    Only with proof: an index that is younger than an instant may still have been built before its completion. Not of
    indexes whose entries belong to one file each: the removed instant's files are gone.
    """
    table, timeline = look.facts.table, look.facts.signs.timeline
    metadata = open_metadata_table(table) if table.indexes else None
    if metadata is None:
        return
    back = {time: what.rpartition(" ")[2] for time, what in taken_back(table, timeline).items()}
    removed = {time: by for time, by in back.items() if not _completed(timeline, time)}
    if not removed:
        return
    by_key = set(table.indexes).difference(OF_FILES)
    instants = {name: times for name, times in partition_instants(metadata).items() if name in by_key}
    if metadata.rules.has_completion_times:
        held = _by_completion(table, timeline, metadata, instants, removed)
    else:
        held = {
            name: removed.keys() & {built[1] for time in times if (built := _BUILT_AT.fullmatch(time))}
            for name, times in instants.items()
        }
    for partition, times in held.items():
        if times:
            meaning = (
                f"instants completed when this index was built, and rolled back later: {named(sorted(times))}. "
                "Queries with this index miss rows, or return too many. Writers with this index may write keys twice. "
                "Drop the index with Hudi (DROP INDEX, or one write with the index disabled), then create it again"
            )
            yield Finding("index-holds-removed-instant", ERROR, f"{METADATA_TABLE}/{partition}", meaning)


def record_index(look: Look) -> Iterator[Finding | Skipped]:
    """A record index that is too small for the table: the number of its file groups was fixed when it was built."""
    metadata = look.metadata if RECORD_INDEX in look.facts.table.indexes else None
    if metadata is None:
        return
    missing = look.settings.missing(RECORD_INDEX_BYTES)
    if missing:
        yield Skipped("record-index-small", f"not given: {', '.join(missing)}")
        return
    sizes = {
        files[0].data.file_id: sum(file.size or 0 for file in files) for files in merged_slices(metadata, RECORD_INDEX)
    }
    most = look.settings.number(RECORD_INDEX_BYTES)
    largest = max(sizes, key=lambda group: sizes[group], default="")
    wanted = record_index_groups(sum(sizes.values()), look.settings)
    # A partitioned index counts its file groups for each partition, but their names do not show the partition reliably.
    counted = all(map(_OF_TABLE.fullmatch, sizes))
    if sizes and (sizes[largest] > _SLACK * most or (counted and len(sizes) < wanted / 2)):
        meaning = (
            f"the index has {count_of(len(sizes), 'file group')} for {sum(sizes.values()):,} bytes; the largest "
            f"({largest}) has {sizes[largest]:,} bytes. With {RECORD_INDEX_BYTES.key}={most} Hudi would now create "
            f"{wanted:,} file groups. Lookups and writes become slower and slower: drop the index with Hudi, then "
            "create it again"
        )
        yield Finding("record-index-small", WARNING, f"{METADATA_TABLE}/{RECORD_INDEX}", meaning)


def record_index_groups(size: int, settings: Settings) -> int:
    """How many file groups Hudi would create for a record index of this size (0.15.0, 1.0.2, 1.2.0)."""
    least, most = settings.number(RECORD_INDEX_LEAST), settings.number(RECORD_INDEX_MOST)
    expected = ceil(size // _RECORD_BYTES * settings.fraction(RECORD_INDEX_GROWTH))
    return max(min(expected // max(settings.number(RECORD_INDEX_BYTES) // _RECORD_BYTES, 1), most), least, 1)


def _completed(timeline: Timeline, time: str) -> bool:
    return any(entry.time == time and entry.is_write and entry.completed for entry in timeline.instants)


def _by_completion(
    table: Table,
    timeline: Timeline,
    metadata: Table,
    instants: dict[str, frozenset[str]],
    removed: dict[str, str],
) -> dict[str, set[str]]:
    """The removed instants that each partition holds."""
    completed = completions(metadata, load_timeline(metadata), {time for times in instants.values() for time in times})
    indexed = built_by_indexing(table, timeline)
    was_completed = {time: _was_completed(table, time, by) for time, by in removed.items()}
    held = {}
    for partition, times in instants.items():
        born = min((completed[time] for time in times if time in completed), default="")
        if any(time not in completed and time < born for time in times):
            # The index may be older than its known files.
            continue
        begun, ended, until = indexed.get(partition, ("~", "", ""))
        by_indexer = begun < born < ended
        held[partition] = {
            time
            for time, by in removed.items()
            if born < by and ((by_indexer and time <= until) or (was_completed[time] or "~") < born)
        }
    return held


def _was_completed(table: Table, time: str, rollback: str) -> str | None:
    """The completion time of an instant that hudictl has rolled back; None if it is not recorded."""
    try:
        operation = read_operation(table.storage, rollback)
    except Unreadable:
        return None
    words = str((operation.plan if operation else {}).get("fingerprint", {}).get(f"instant {time}", "")).split()
    file = parse_instant_file(words[-1], table.layout.version) if len(words) > 1 else None
    return file.completion_time if file is not None and file.state is State.COMPLETED else None
