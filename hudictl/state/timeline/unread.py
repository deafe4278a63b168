"""Files of archived commits that are newer than the timeline's first commit: readers treat them as uncommitted.

Archiving that passes a savepoint makes such commits (hoodie.archive.beyond.savepoint).
"""

from collections.abc import Collection
from functools import partial
from itertools import chain

from hudictl.formats.file_names import data_path
from hudictl.formats.instants import WRITE_ACTIONS, State
from hudictl.state.facts import Facts
from hudictl.table.files.slices import base_groups, base_instant, newest
from hudictl.table.files.sweep import Partition
from hudictl.table.timeline.archive import archived_after


def archived_later(facts: Facts) -> frozenset[str]:
    """The archived commits after the first one of the timeline. Raises Unreadable."""
    timeline = facts.timeline
    first = min((entry.time for entry in timeline.completed_writes()), default="~")
    ended = archived_after(facts.table, first)
    archived = {entry.time for entry in ended if entry.action in WRITE_ACTIONS and entry.state is State.COMPLETED}
    return frozenset(archived - {entry.time for entry in timeline.writes()})


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
