"""Guards on the deletion of the metadata table: readers then list folders, and must see the same rows."""

from collections.abc import Collection, Sequence

from hudictl.errors import Conflict, Refused
from hudictl.formats.instants import COMPACTION
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.formats.releases import V1_0
from hudictl.phrases import command_of, count_of, first_few, quoted, seconds
from hudictl.state.facts import Facts
from hudictl.state.metadata.gap import Gap
from hudictl.state.metadata.indexes import builds_wait_for, is_index_name
from hudictl.state.metadata.undo import MetadataPlan
from hudictl.state.timeline.unfinished import last_indexing
from hudictl.table.files.choose import is_empty
from hudictl.table.metadata.listing import FILES
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline

ALL = "all"
"""Stands for all indexes."""


def no_indexing_is_last(timeline: Timeline) -> None:
    """Raises Refused: Hudi would build the metadata table again while an indexing is the newest completed instant.

    Hudi then gives all its partitions the indexing's time, and registers them although they are empty: reads and
    writes fail (1.0.2), or rows are missing (1.2.0). A restore or rollback is a newer instant itself.
    """
    last = last_indexing(timeline)
    if last is not None:
        raise Refused(
            f"the newest completed instant is {last} indexing: after an indexing, Hudi cannot build the metadata table "
            "again",
            hint="let a writer commit once, one with hoodie.metadata.enable=false if the others fail; then run the "
            "command again",
            instant=last,
        )


def only_indexes(partitions: Collection[str], there: Collection[str]) -> None:
    """Raises Refused: one of the named partitions is the listing of files, or is no partition of a metadata table."""
    for name in partitions:
        if name == FILES:
            raise Refused(
                "the metadata partition `files` cannot be dropped alone: every index depends on it",
                hint="`hudictl metadata drop` without a name drops the whole metadata table",
                partition=name,
            )
        if name not in there and not is_index_name(name):
            indexes = sorted(set(there) - {FILES})
            raise Refused(
                f"{name!r} is no partition of the metadata table",
                hint=f"its indexes are {', '.join(map(quoted, indexes))}" if indexes else "it has no index",
                partition=name,
                indexes=indexes,
            )


def record_index_can_be_built(table: Table, timeline: Timeline, dropped: Collection[str]) -> None:
    """Raises Refused: a record index is dropped, and Hudi could not build it again beside a pending compaction."""
    if not table.rules.builds_indexes_alone or "record_index" not in dropped:
        return
    for instant in timeline.having(COMPACTION):
        if instant.pending:
            raise Refused(
                f"{instant} is pending: Hudi cannot build a record index again beside it, and each write would fail",
                hint=f"let Hudi finish the compaction first; or remove it: `{command_of('rollback', instant.time)}`",
                instant=instant.time,
            )


def index_can_be_built(table: Table, timeline: Timeline) -> None:
    """Raises Refused: an index is dropped, and Hudi would not build it again beside a pending instant."""
    if instant := builds_wait_for(table, timeline):
        raise Refused(
            f"{instant} is pending: beside it Hudi cannot build an index again, and queries would miss the next write",
            hint=f"let Hudi finish it first; or remove it: `{command_of('rollback', instant.time)}`",
            instant=instant.time,
        )


def empty_files(facts: Facts, removed: Collection[str] | None = None) -> list[str]:
    """The empty data files beside which Hudi cannot build the metadata table again: each write fails (0.15.0, 1.2.0;
    1.0.2 only beside an empty base file). Files of pending writes are left out.

    Args:
        removed: the instants that are removed with the metadata table, if so. Then empty logs are deleted below version
            8 (``empty_logs``).
    """
    rules = facts.table.rules
    gone = {entry.time for entry in facts.timeline.writes() if entry.pending}.union(removed or ())
    logs_harm = rules.reads_as != V1_0 and (removed is None or rules.logs_named_by_writer)
    files = (file for file in facts.sweep.select("look for empty files", is_empty) if file.data.instant not in gone)
    return [file.path for file in files if file.data.is_base or logs_harm]


def no_empty_file(facts: Facts, removed: Collection[str] | None = None) -> None:
    """Raises Refused: there are ``empty_files``."""
    empty = empty_files(facts, removed)
    if empty:
        raise Refused(
            f"empty data files ({len(empty):,}): Hudi could not build the metadata table again, and each write would "
            f"fail: {first_few(empty, rest=' and {} more')}",
            hint="they have no rows: roll back failed writes (`hudictl failed-writes clean`), delete orphans "
            "(`hudictl orphans delete`), and move the others out of the table",
            files=empty,
        )


def required_indexes_kept(plan: MetadataPlan, required: Collection[str]) -> None:
    """Raises Refused: an index that the operator requires would be deleted, or does not exist.

    Args:
        required: names of partitions of the metadata table; ALL for all indexes that readers use.
    """
    fates = {entry.partition: entry.reason for entry in plan.partitions}
    there = ", ".join(map(quoted, sorted(fates)))
    for name in sorted(set(required) - {ALL}):
        if name not in fates:
            raise Refused(
                f"{name!r}, which must be kept, is no partition of the metadata table",
                hint=f"its partitions are {there}" if there else "the table has no metadata table",
                partition=name,
            )
    in_use = {entry.partition for entry in plan.partitions if entry.in_use}
    named = in_use if ALL in required else set(required)
    lost = {name: reason for name, reason in fates.items() if reason is not None and name in named}
    for name, reason in lost.items():
        raise Refused(
            f"{name} cannot be kept: {reason}",
            hint="`hudictl metadata partitions` shows over how many commits each index can be kept; without "
            "--require-index the index is deleted",
            partitions=list(lost),
        )


def nothing_running(timeline: Timeline, now_ms: int, idle_ms: int) -> None:
    """Raises Conflict: a pending instant of the metadata table's timeline had activity less than ``idle_ms`` ago."""
    for instant in timeline.instants:
        quiet_ms = timeline.idle_ms(instant, now_ms)
        if instant.pending and quiet_ms < idle_ms:
            raise Conflict(
                f"{instant} of the metadata table may be running: its last activity was {seconds(quiet_ms)} ago",
                hint="stop all writers and table services, then wait; if none runs, lower --idle "
                f"(now {seconds(idle_ms)})",
                instant=instant.time,
            )


def nothing_pending(timeline: Timeline) -> None:
    """Raises Refused: a pending instant of the metadata table's own timeline may need files of an index. Each write
    would fail at a compaction that cannot read them (seen on 0.15.0 and 1.2.0)."""
    for instant in timeline.instants:
        if instant.pending:
            raise Refused(
                f"{instant} of the metadata table is pending: it may need files of an index",
                hint="let writers go on until one ends it, which may take some commits (1.2.0); or drop the whole "
                "metadata table: `hudictl metadata drop`",
                instant=instant.time,
            )


def not_being_built(changed_ms: int, now_ms: int, idle_ms: int) -> None:
    """Raises Conflict: a metadata table without properties, which a writer may be building.

    Args:
        changed_ms: when a file of it was changed last.
    """
    if now_ms - changed_ms < idle_ms:
        raise Conflict(
            f"a writer may be building a new metadata table ({METADATA_TABLE}): its last activity was "
            f"{seconds(now_ms - changed_ms)} ago",
            hint=f"stop all writers, then wait; if none runs, lower --idle (now {seconds(idle_ms)})",
            folder=METADATA_TABLE,
        )


def nothing_lost_unseen(lost: Sequence[str]) -> None:
    """Raises Refused: files that readers require are missing. Queries that use the metadata table fail at them, so that
    somebody notices; those that list folders miss the rows without a word."""
    if lost:
        raise Refused(
            f"{count_of(len(lost), 'required file')} missing on storage, for example {lost[0]}: queries that use the "
            "metadata table fail; without it they would miss the rows without a word",
            hint="put the files back, or restore to a commit that does not need them; --accept-loss drops it anyway",
            files=lost,
        )


_OUT_OF_THE_OTHER = (
    "roll back one instant at a time, the newest first: with Hudi, or with hudictl from table version 8 on. "
    "If Hudi started the pending operation, finish it with Hudi. Before a later restore, move these rows with Hudi "
    "into a partition that is not inside another one"
)


def nothing_lost_or_gained(gap: Gap, nested_hint: str = _OUT_OF_THE_OTHER) -> None:
    """Raises Refused: without the metadata table readers would no longer see a partition, or would see rows of files
    that no completed commit wrote. ``nested_hint``: what to do with a partition that is inside another."""
    for partition, above in gap.hidden.items():
        raise Refused(
            f"partition {partition!r} is inside the partition {above!r}: listings do not find it. Only the metadata "
            "table shows its rows, and this command would delete the metadata table",
            hint=nested_hint,
            partitions=list(gap.hidden),
        )
    for time, files in gap.unfinished.items():
        raise Refused(
            f"{time} is pending, and older than every completed write: without the metadata table readers would treat "
            f"its {count_of(len(files), 'file')} as committed, and would see their rows",
            hint="roll it back first: `hudictl failed-writes clean`",
            instant=time,
            files=[file.path for file in files],
        )
    if gap.unlisted:
        paths = [file.path for file in gap.unlisted]
        raise Refused(
            f"the metadata table does not list {count_of(len(paths), 'file')}: without it readers would see their "
            f"rows: {first_few(paths, rest=' and {} more')}",
            hint="move these files out of the table; if a whole partition is a copy, move all its files. `hudictl "
            "orphans list` shows orphans among them, and `hudictl orphans delete` deletes only proven orphans",
            files=paths,
        )
