"""The files of an instant, and the partitions in which it may have some: those in its own records."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.commit_metadata import CommitMetadata
from hudictl.formats.instants import Instant
from hudictl.formats.rollback import StoredRollbackPlan
from hudictl.state.facts import Facts, Signs
from hudictl.state.files.savepoints import savepointed_partitions
from hudictl.state.timeline.service_plans import service_groups, service_of
from hudictl.table.files.sweep import other_table
from hudictl.table.metadata.listing import read_known
from hudictl.table.metadata.place import NOT_ASKED
from hudictl.table.table import Table
from hudictl.table.timeline.commits import Commits, read_commit
from hudictl.table.writers.markers import MarkerFolder, look_at_markers, marker_folders


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
    found = own_files(facts.table, facts.signs, facts.commits, removed, backup)
    if all(own.complete for own in found.values()):
        return {time: own.partitions for time, own in found.items()}
    known = known_partitions(facts)
    return {time: own.partitions if own.complete else own.partitions | known for time, own in found.items()}


@dataclass(frozen=True)
class OwnFiles:
    """An instant's own records, and what they name: only there may files with its name be deleted, and files with
    another's (see ``borrowed_logs``).

    ``commits`` are its completed metadata, also that of an un-published instant; ``markers`` its markers; ``rollbacks``
    the stored plans of its rollbacks; ``planned`` the partitions in the plan of a pending table service. ``completed``:
    its metadata is there, and names partitions. ``damaged``: its profile cannot be read.
    """

    commits: Sequence[CommitMetadata] = ()
    markers: MarkerFolder | None = None
    rollbacks: Sequence[StoredRollbackPlan] = ()
    planned: frozenset[str] = frozenset()
    completed: bool = False
    damaged: bool = False

    @property
    def partitions(self) -> frozenset[str]:
        marked = {marker.partition for marker in self.markers.markers} if self.markers else ()
        rolled_back = {request.partition for plan in self.rollbacks for request in plan.requests}
        written = (commit.stats for commit in self.commits)
        return self.planned.union(marked, rolled_back, *written, *(commit.replaced for commit in self.commits))

    @property
    def files(self) -> Iterator[tuple[str, str]]:
        """Each file by partition path and name. Of a table service they are only those that it has begun to write."""
        for commit in self.commits:
            paths = ((stat.path or "").rpartition("/") for stats in commit.stats.values() for stat in stats)
            yield from ((partition, name) for partition, _, name in paths if name)
        if self.markers is not None:
            yield from ((marker.partition, marker.name) for marker in self.markers.markers)
        for plan in self.rollbacks:
            yield from plan.files

    @property
    def complete(self) -> bool:
        """Whether it can have files in no other partitions."""
        partial = self.markers is not None and bool(self.markers.partial)
        return self.completed or (bool(self.partitions) and not partial and not self.damaged)


def own_files(
    table: Table, signs: Signs, commits: Commits, removed: Mapping[str, Instant | None], backup: Commits
) -> dict[str, OwnFiles]:
    """The own records of each removed instant. Arguments as in ``partitions_of``."""
    marked = set(marker_folders(table))
    found: dict[str, OwnFiles] = {}
    for time, instant in removed.items():
        told = [known[time] for known in (commits, backup) if time in known]
        markers = look_at_markers(table, time) if time in marked else None
        plans = [entry.plan for entry in signs.rollbacks if entry.plan is not None and entry.target == time]
        # A write of nothing names none: one that has lost its statistics cannot be told from it.
        names = time not in commits or bool(commits[time].stats or commits[time].replaced)
        completed = instant is not None and instant.completed and names
        planned, damaged = _planned(table, instant), _has_damaged_profile(table, instant)
        found[time] = OwnFiles(told, markers, plans, planned, completed, damaged)
    return found


def _planned(table: Table, instant: Instant | None) -> frozenset[str]:
    # A writer may have died while it wrote its plan.
    with suppress(Unreadable):
        if instant is not None and instant.pending and service_of(table, instant) is not None:
            return frozenset(partition for partition, _ in service_groups(table, instant))
    return frozenset()


def _has_damaged_profile(table: Table, instant: Instant | None) -> bool:
    if instant is not None and instant.pending:
        try:
            read_commit(table, instant)
        except Unreadable:
            return True
    return False


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
