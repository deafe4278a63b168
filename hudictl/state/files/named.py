"""What valid records name: files that must be kept, instants that later writes use, the table's partitions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hudictl.formats.file_names import data_path
from hudictl.formats.instants import CLUSTERING, COMPACTION, LOGCOMPACTION, REPLACECOMMIT, State
from hudictl.state.files.needed import taken_by_clean
from hudictl.state.files.savepoints import savepointed_names
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.state.timeline.service_plans import service_files
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.written import WrittenFiles, built_on, writers_of
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, pending_rollbacks


@dataclass(frozen=True)
class Named:
    """What records name of some files. ``files`` maps the path of each named one to one such record. ``built_on`` are
    those of their instants on whose files completed writes are based. ``partitions`` are all in completed writes."""

    files: Mapping[str, str]
    built_on: frozenset[str]
    partitions: frozenset[str]


def read_named(table: Table, timeline: Timeline, written: WrittenFiles, files: Iterable[StoredFile]) -> Named:
    """What completed writes, savepoints and pending plans of the active timeline name of some files.

    Args:
        written: what completed writes name.

    Raises:
        Unreadable: a savepoint, or the plan of a clean or of a table service: it could name any file.
        StorageFailed, EngineFailed.
    """
    names: dict[str, set[str]] = defaultdict(set)
    times = set()
    for file in files:
        names[file.partition].add(file.data.name)
        times.add(file.data.instant)
    found = {data_path(path, name): by for path, name, by in _planned(table, timeline) if name in names.get(path, ())}
    found |= {path: f"the commit {time}" for path, time in writers_of(written.files, names).items()}
    for time, partition, saved in savepointed_names(table, timeline):
        if partition in names:
            common = names[partition].intersection(saved)
            found |= {data_path(partition, name): f"the savepoint {time}" for name in common}
    return Named(found, built_on(written.files, times), written.partitions)


def _planned(table: Table, timeline: Timeline) -> Iterator[tuple[str, str, str]]:
    """The files that pending plans name: partition path, name, and the plan."""
    for instant in timeline.instants:
        request = instant.file(State.REQUESTED)
        if instant.completed or request is None or not timeline.sizes[request.name]:
            continue
        if instant.action in (COMPACTION, LOGCOMPACTION, CLUSTERING, REPLACECOMMIT):
            for partition, name in service_files(table, instant):
                yield partition, name, f"the pending {instant.action} {instant.time}"

    for instant in pending_cleans(timeline):
        for partition, names in taken_by_clean(table, timeline, instant).items():
            yield from ((partition, name, f"the pending clean {instant.time}") for name in names)

    for instant, plan in pending_rollbacks(table, timeline):
        for task in plan.requests if plan else ():
            for path in (*task.files, *task.logs):
                yield task.partition, path.rpartition("/")[2], f"the pending rollback {instant.time}"
