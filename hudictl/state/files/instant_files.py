"""The partitions in which an instant may have files: those in its own records."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import Instant
from hudictl.state.facts import Facts, Signs
from hudictl.state.files.savepoints import savepointed_partitions
from hudictl.state.timeline.service_plans import service_groups, service_of
from hudictl.table.files.sweep import other_table
from hudictl.table.metadata.listing import read_known
from hudictl.table.metadata.place import NOT_ASKED
from hudictl.table.table import Table
from hudictl.table.timeline.commits import Commits
from hudictl.table.writers.markers import look_at_markers, marker_folders


def partitions_of(facts: Facts, removed: Mapping[str, Instant | None], backup: Commits) -> dict[str, frozenset[str]]:
    """The partitions in the records of each removed instant: write statistics, replaced file groups, markers, the plan
    of a table service, a stored rollback.

    An instant without records, or with only a part of its markers, may have files in every partition that any record
    of this table names. A file with the instant's name in another folder is a copy, or another table's: it is kept.

    Args:
        removed: the instants to remove; None for one that no longer exists.
        backup: the metadata of un-published instants.

    Raises:
        Unreadable: a savepoint.
    """
    found = own_partitions(facts.table, facts.signs, facts.commits, removed, backup)
    if all(own.complete for own in found.values()):
        return {time: own.partitions for time, own in found.items()}
    known = known_partitions(facts)
    return {time: own.partitions if own.complete else own.partitions | known for time, own in found.items()}


@dataclass(frozen=True)
class Own:
    """The partitions in an instant's own records; ``complete``: it can have files in no others."""

    partitions: frozenset[str]
    complete: bool


def own_partitions(
    table: Table, signs: Signs, commits: Commits, removed: Mapping[str, Instant | None], backup: Commits
) -> dict[str, Own]:
    """The partitions in the own records of each removed instant. Arguments as in ``partitions_of``."""
    marked = set(marker_folders(table))
    found: dict[str, Own] = {}
    for time, instant in removed.items():
        own = set(_own(table, signs, (commits, backup), time, instant))
        markers = look_at_markers(table, time) if time in marked else None
        own |= {marker.partition for marker in markers.markers} if markers else set()
        told = instant is not None and instant.completed and commits.get(time) != CommitMetadata()
        found[time] = Own(frozenset(own), told or (bool(own) and not (markers is not None and markers.partial)))
    return found


def partitions_in_tables(facts: Facts, owners: Mapping[str, Collection[str]]) -> dict[str, str]:
    """The partitions in records of the table that are inside another table below the base path, each with the folder
    of that table.

    Args:
        owners: the result of ``partitions_of``.
    """
    if not facts.sweep.tables:
        return {}
    named = facts.partitions.union(*owners.values())
    named |= facts.known.listing.filled if facts.known.listing is not None else frozenset()
    return {path: table for path in named if (table := other_table(path, facts.sweep)) is not None}


def known_partitions(facts: Facts) -> frozenset[str]:
    """The partitions in any record of the table: commits, rollbacks, savepoints, the metadata table.

    Raises Unreadable: a savepoint.
    """
    known = {*facts.partitions, *facts.replaced_in}
    for rollback in facts.signs.rollbacks:
        known.update(request.partition for request in (rollback.plan.requests if rollback.plan else ()))
    known |= savepointed_partitions(facts.table, facts.timeline)
    # A damaged or unknown metadata table adds nothing.
    with suppress(Unsupported):
        told = read_known(facts.table, facts.sweep.engine) if facts.known is NOT_ASKED else facts.known
        known |= told.partitions
    return frozenset(known)


def _own(table: Table, signs: Signs, told: Iterable[Commits], time: str, instant: Instant | None) -> Iterator[str]:
    for commits in told:
        commit = commits.get(time, CommitMetadata())
        yield from commit.stats
        yield from commit.replaced
    for rollback in signs.rollbacks:
        if rollback.plan is not None and rollback.target == time:
            yield from (request.partition for request in rollback.plan.requests)
    # A writer may have died while it wrote its plan.
    with suppress(Unreadable):
        if instant is not None and instant.pending and service_of(table, instant) is not None:
            yield from (partition for partition, _ in service_groups(table, instant))
