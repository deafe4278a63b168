"""What is wrong with the plan of a pending compaction or clustering: why it fails, or loses rows."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from hudictl import workers
from hudictl.engine.work import read_each
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import CLUSTERING, COMPACTION, Instant
from hudictl.phrases import count_of
from hudictl.state.facts import Facts
from hudictl.state.timeline.overwritten import groups_undone
from hudictl.state.timeline.service_plans import service_files, service_groups, service_of
from hudictl.table.files.slices import Group, StoredFile, file_slices, group_files
from hudictl.table.files.view import committed_without
from hudictl.table.timeline.commits import replaced_groups


@dataclass(frozen=True)
class PlanProblem:
    """A file group in a plan that cannot be run, or must not be. ``file`` is the one that is meant, if one is.
    ``also_in`` is another pending instant that has planned with it."""

    partition: str
    file_group: str
    file: str | None
    problem: str
    also_in: str | None = None


def plan_problems(facts: Facts, instant: Instant) -> list[PlanProblem]:
    """All of a pending compaction, log compaction or clustering, by file group.

    Raises Unreadable: a plan, or the metadata of a commit; StorageFailed, EngineFailed.
    """
    files, groups = service_files(facts.table, instant), service_groups(facts.table, instant)
    members = group_files(facts.sweep.of_groups(groups))
    stored = {(file.partition, file.data.name): file for some in members.values() for file in some}
    looks: list[Callable[[], Iterator[PlanProblem]]] = [
        lambda: _inputs(facts, files, groups, stored),
        lambda: _second_plans(facts, instant, groups),
    ]
    if service_of(facts.table, instant) == CLUSTERING:
        looks.append(lambda: _overwritten(facts, instant))
    else:
        looks.append(lambda: _replaced(facts, groups))
    if instant.action == COMPACTION:
        looks.append(lambda: _outside(facts, instant, files, members))
    found = dict.fromkeys(problem for look in looks for problem in look())
    return sorted(found, key=lambda one: (one.partition, one.file_group, one.file or "", one.problem))


def rows_in(facts: Facts, logs: Collection[StoredFile]) -> int:
    """The records in some logs, by the statistics of the writes on the timeline. Raises Unreadable."""
    records = _records_by_log(facts, {file.group for file in logs})
    return sum(records[file.path] for file in logs)


def _inputs(
    facts: Facts,
    files: Collection[tuple[str, str]],
    groups: Collection[Group],
    stored: Mapping[tuple[str, str], StoredFile],
) -> Iterator[PlanProblem]:
    """Files that are missing, or end as no such file does."""
    there = []
    for partition, name in sorted(files):
        path, file = data_path(partition, name), stored.get((partition, name))
        # The listing is not complete: it leaves out folders of other tables.
        found = file.size if file else getattr(facts.table.storage.stat(path), "size", None)
        own = (one for where, one in groups if where == partition and name.lstrip(".").startswith(one))
        group = next(own, "")
        if found is None:
            yield PlanProblem(partition, group, name, "missing on storage: every run fails")
        elif found:
            there.append((partition, group, name, found))
        else:
            yield PlanProblem(partition, group, name, "empty")
    by_path = {data_path(partition, name): (partition, group, name) for partition, group, name, _ in there}
    alone = ([(data_path(partition, name), size)] for partition, _, name, size in there)
    for ends in read_each(partial(workers.damaged_ends, facts.table.storage), alone):
        for path, problem in ends:
            yield PlanProblem(*by_path[path], problem)


def _second_plans(facts: Facts, instant: Instant, groups: Collection[Group]) -> Iterator[PlanProblem]:
    for other in facts.timeline.writes():
        if other.pending and other.time != instant.time and service_of(facts.table, other) is not None:
            for partition, one in service_groups(facts.table, other).intersection(groups):
                yield PlanProblem(partition, one, None, f"also in the plan of {other}", other.time)


def _replaced(facts: Facts, groups: Collection[Group]) -> Iterator[PlanProblem]:
    times = {entry.time for entry in facts.timeline.completed_writes()}
    for partition, one in replaced_groups(facts.timeline, facts.commits, times).intersection(groups):
        yield PlanProblem(partition, one, None, "replaced by a later commit: readers skip what it writes")


def _overwritten(facts: Facts, instant: Instant) -> Iterator[PlanProblem]:
    undone = groups_undone(facts.table, facts.commits, instant, facts.timeline.completed_writes())
    for time, groups in undone.items():
        for partition, one in groups:
            yield PlanProblem(partition, one, None, f"changed by {time} since: its run brings the rows of before back")


def _outside(
    facts: Facts, instant: Instant, files: Collection[tuple[str, str]], members: Mapping[Group, list[StoredFile]]
) -> Iterator[PlanProblem]:
    """Logs with rows in the slices that a compaction reads, which its plan does not name: readers skip them once it has
    run."""
    committed = committed_without(facts.timeline, {instant.time})
    records = _records_by_log(facts, members)
    for group, some in members.items():
        slices = file_slices(facts.table.rules, some, committed, instant.time)
        before = [entry for entry in slices if not entry.pending and entry.key < instant.time][:1]
        for log in (log for entry in before for log in entry.logs):
            if records[log.path] and (log.partition, log.data.name) not in files:
                rows = count_of(records[log.path], "record")
                yield PlanProblem(*group, log.data.name, f"not in the plan: its run loses {rows}")


def _records_by_log(facts: Facts, groups: Collection[Group]) -> Mapping[str, int]:
    """The records that writes on the timeline have put into the logs of some file groups, by path."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for partition, one in groups:
        wanted[partition].add(one)
    found: Counter[str] = Counter()
    for write in facts.timeline.completed_writes():
        for partition in wanted.keys() & facts.commits[write.time].stats.keys():
            for stat in facts.commits[write.time].stats[partition]:
                if stat.path and stat.file_id in wanted[partition]:
                    found[stat.path] += stat.records + stat.deletes
    return found
