"""What valid records name: files that must be kept, instants that later writes use, the table's partitions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hudictl.formats.file_names import data_path
from hudictl.formats.instants import CLUSTERING, COMPACTION, LOGCOMPACTION, REPLACECOMMIT, State
from hudictl.state.cleans import pending_cleans
from hudictl.state.needed import taken_by_clean
from hudictl.state.savepoints import savepointed_files
from hudictl.state.services import service_files
from hudictl.table.commits import Commits
from hudictl.table.table import Table
from hudictl.table.timeline import Timeline, pending_rollbacks


@dataclass(frozen=True)
class Named:
    """``files`` maps a path to one record that names it. ``built_on`` are the instants on whose files completed writes
    are based. ``partitions`` are those in completed writes."""

    files: Mapping[str, str]
    built_on: frozenset[str]
    partitions: frozenset[str]


def read_named(table: Table, timeline: Timeline, commits: Commits) -> Named:
    """What completed writes, savepoints and pending plans of the active timeline name.

    Args:
        commits: a write without an entry here names nothing.

    Raises:
        Unreadable: a savepoint, or the plan of a clean or of a table service: it could name any file.
    """
    files = dict(_planned(table, timeline))
    built_on: set[str | None] = set()
    partitions: set[str] = set()
    for instant in timeline.completed_writes():
        if instant.time in commits:
            for partition, stats in commits[instant.time].stats.items():
                partitions.add(partition)
                built_on |= {stat.previous for stat in stats}
                files |= {stat.path: f"the commit {instant.time}" for stat in stats if stat.path}
    files |= {path: f"the savepoint {time}" for path, time in savepointed_files(table, timeline).items()}
    return Named(files, frozenset(time for time in built_on if time not in (None, "null")), frozenset(partitions))


def _planned(table: Table, timeline: Timeline) -> Iterator[tuple[str, str]]:
    """The files that pending plans name: by path, with the plan."""
    for instant in timeline.instants:
        request = instant.file(State.REQUESTED)
        if instant.completed or request is None or not timeline.sizes[request.name]:
            continue
        if instant.action in (COMPACTION, LOGCOMPACTION, CLUSTERING, REPLACECOMMIT):
            for partition, name in service_files(table, instant):
                yield data_path(partition, name), f"the pending {instant.action} {instant.time}"

    for instant in pending_cleans(timeline):
        for partition, names in taken_by_clean(table, timeline, instant).items():
            yield from ((data_path(partition, name), f"the pending clean {instant.time}") for name in names)

    for instant, plan in pending_rollbacks(table, timeline):
        for task in plan.requests if plan else ():
            for path in (*task.files, *task.logs):
                yield (
                    data_path(task.partition, path.rpartition("/")[2]),
                    f"the pending rollback {instant.time}",
                )
