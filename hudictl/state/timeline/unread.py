"""Files of archived commits that are newer than the timeline's first commit: readers treat them as uncommitted.

Archiving that passes a savepoint makes such commits (hoodie.archive.beyond.savepoint).
"""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain
from typing import Any

from hudictl.formats.file_names import data_path
from hudictl.formats.instants import WRITE_ACTIONS, State
from hudictl.state.facts import Facts
from hudictl.table.files.slices import base_groups
from hudictl.table.timeline.archive import archived_after
from hudictl.workers import Packed


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
    return sorted(chain.from_iterable(facts.sweep.over("look for unread files", choose, facts.written.files)))


def unread_files(
    done: Collection[str], archived: Collection[str], path: str, listing: Packed | None, given: Sequence[Any]
) -> list[str] | None:
    """The paths of base files of archived commits that are the newest of their file groups. Replaced groups are left
    out.

    Args:
        done: the completed commits on the timeline.
        archived: other commits.
        given: what writes name in the partition; may be None.
    """
    replaced = frozenset().union(*(entry.replaced for entry in given[0] or ()))
    found = []
    for file_id, entries in base_groups(listing):
        files = [match for match, _, _ in entries if match[3] in archived or match[3] in done]
        newest = max(files, key=lambda match: match[3], default=None)
        if newest is not None and newest[3] in archived and file_id not in replaced:
            found.append(data_path(path, newest[0]))
    return found or None
