"""Which base files of a partition cleaning should have deleted by its settings. The engine runs ``overdue`` where the
partition is listed."""

from collections import Counter
from dataclasses import dataclass

from hudictl.table.files.decoded import names_of
from hudictl.table.files.slices import base_groups
from hudictl.table.files.sweep import Partition


@dataclass(frozen=True, slots=True)
class Kept:
    """What cleaning keeps of each file group: so many ``versions``; without a number, all of the commits from ``since``
    on, and the newest version before them. Only files of ``completed`` commits, and of those before ``first``, count.
    """

    versions: int
    since: str
    completed: frozenset[str]
    first: str


def overdue(kept: Kept, place: Partition[object]) -> Counter[str] | None:
    """How many base files are overdue, by the instant in their names; those in savepoints are kept."""
    spared = names_of(place.saved)
    found: Counter[str] = Counter()
    for _, entries in base_groups(place.listing):
        matches = [match for match, _, _ in entries if match[3] in kept.completed or match[3] < kept.first]
        matches.sort(key=lambda match: match[3])
        if kept.versions:
            older = matches[: max(len(matches) - kept.versions, 0)]
        else:
            older = [match for match in matches if match[3] < kept.since][:-1]
        found.update(match[3] for match in older if match[0] not in spared)
    return found or None
