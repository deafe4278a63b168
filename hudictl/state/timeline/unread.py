"""Files of archived commits that are newer than the timeline's first commit: readers treat them as uncommitted.

Archiving that passes a savepoint makes such commits (hoodie.archive.beyond.savepoint).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from functools import partial
from itertools import chain

from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.instants import State
from hudictl.state.facts import Facts
from hudictl.table.files.slices import Group, base_groups, base_instant, newest
from hudictl.table.files.sweep import Partition
from hudictl.table.timeline.archived_writes import commits_of, writes_after


def archived_later(facts: Facts) -> frozenset[str]:
    """The archived commits after the first one of the timeline. Raises Unreadable."""
    archived = _archived_writes(facts).keys()
    return frozenset(archived - {entry.time for entry in facts.timeline.writes()})


def unread(facts: Facts, archived: Collection[str], removed: Collection[str]) -> list[str]:
    """The paths of base files of such commits that would be the newest of their file groups."""
    done = frozenset(entry.time for entry in facts.timeline.completed_writes() if entry.time not in removed)
    choose = partial(unread_files, done, archived)
    return sorted(chain.from_iterable(facts.sweep.over("look for unread files", choose, written=facts.written.files)))


def unread_files(done: Collection[str], archived: Collection[str], place: Partition[object]) -> list[str] | None:
    """The paths of base files of archived commits that are the newest of their file groups. Replaced groups are left
    out.

    Args:
        done: the completed commits on the timeline.
        archived: other commits.
    """
    replaced = frozenset().union(*(entry.replaced for entry in place.written))
    found = []
    for file_id, entries in base_groups(place.listing):
        last = newest(entries, base_instant, lambda time: time in archived or time in done)
        if last is not None and base_instant(last) in archived and file_id not in replaced:
            found.append(data_path(place.path, last[0][0]))
    return found or None


def passed_over(facts: Facts, archived: Collection[str]) -> list[str]:
    """The paths of base files of archived commits that the next base file of their groups is not based on, but on an
    older one: a writer or a compaction took them for uncommitted, too, and their rows are lost. Raises Unreadable: the
    metadata of an archived commit."""
    there = list(chain.from_iterable(facts.sweep.over("look for archived files", partial(_of_times, archived))))
    if not there:
        return []
    after = _bases(facts, archived)
    # Without a later one, readers themselves decide: see ``unread``.
    based = (
        (path, time, min((one for one in after[group] if one[0] > time), default=("", time)))
        for path, group, time in there
    )
    return sorted(path for path, time, (_, previous) in based if previous < time)


def back_again(facts: Facts, archived: Collection[str]) -> list[str]:
    """The paths of the newest base files of file groups that archived commits have replaced, and the savepoint has
    kept: readers see them beside those that replaced them. Raises Unreadable: as ``passed_over``."""
    commits = _archived_commits(facts, archived)
    replaced: dict[str, set[str]] = defaultdict(set)
    for commit in commits.values():
        for path, ids in commit.replaced.items():
            replaced[path].update(ids)
    if not replaced:
        return []
    completed = [entry.time for entry in facts.timeline.completed_writes()]
    choose = partial(_seen, frozenset(completed), min(completed, default="~"))
    found = facts.sweep.over("look for replaced files", choose, given=replaced.items())
    return sorted(chain.from_iterable(found))


def _of_times(times: Collection[str], place: Partition[object]) -> list[tuple[str, Group, str]] | None:
    """The base files of some instants: path, file group, instant."""
    return [
        (data_path(place.path, entry[0][0]), (place.path, file_id), base_instant(entry))
        for file_id, entries in base_groups(place.listing)
        for entry in entries
        if base_instant(entry) in times
    ] or None


def _seen(done: Collection[str], start: str, place: Partition[set[str]]) -> list[str] | None:
    """The newest base files that readers see of the given file groups, or saw until they were replaced once more."""
    found = []
    for file_id, entries in base_groups(place.listing):
        if file_id in (place.given or ()):
            last = newest(entries, base_instant, lambda time: time in done or time < start)
            found += [] if last is None else [data_path(place.path, last[0][0])]
    return found or None


def _bases(facts: Facts, archived: Collection[str]) -> Mapping[Group, list[tuple[str, str]]]:
    """The base files that writes have based on another: the write's time and the other's, by file group."""
    active = {entry.time: facts.commits[entry.time] for entry in facts.timeline.completed_writes()}
    found: dict[Group, list[tuple[str, str]]] = defaultdict(list)
    for time, commit in {**_archived_commits(facts, archived), **active}.items():
        for path, stats in commit.stats.items():
            for stat in stats:
                data = parse_data_file((stat.path or "").rpartition("/")[2])
                if data is not None and data.is_base and stat.previous:
                    found[path, data.file_id].append((time, stat.previous))
    return found


def _archived_writes(facts: Facts) -> dict[str, ArchivedInstant]:
    """The completed ones after the first commit of the timeline."""
    first = min((entry.time for entry in facts.timeline.completed_writes()), default="~")
    found = writes_after(facts.table, first)
    return {time: entry for time, entry in found.items() if entry.state is State.COMPLETED}


def _archived_commits(facts: Facts, times: Collection[str]) -> dict[str, CommitMetadata]:
    """The metadata of archived commits."""
    if not times:
        return {}
    return commits_of(facts.table, {time: entry for time, entry in _archived_writes(facts).items() if time in times})
