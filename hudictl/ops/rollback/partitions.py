"""The partitions that the rollback of an instant must list."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from hudictl.formats.instants import Instant
from hudictl.ops.metadata.keep import unrecorded
from hudictl.ops.metadata.treat import set_aside_by
from hudictl.state.facts import Signs
from hudictl.state.files.instant_files import own_files
from hudictl.state.writers.activity import at_work_beside
from hudictl.table.table import Table
from hudictl.table.timeline.commits import Commits
from hudictl.table.writers.markers import look_at_markers


def partitions_to_list(
    table: Table,
    signs: Signs,
    commits: Commits,
    removed: Mapping[str, Instant | None],
    backup: Commits,
    listed: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> frozenset[str] | None:
    """The partitions in which a rollback can change something, and those in which a process may be writing beside it;
    None for all.

    In other partitions nothing is deleted in any case: see ``partitions_of``. All are listed where a record may be
    incomplete, and on merge on read below table version 8: there empty logs of other writes are deleted, too.

    Args:
        removed: the targets by their times; None for one that is already removed.
        backup: the metadata of un-published instants.
        listed: the partitions that the metadata table's record of a target names; none are those of an empty commit.

    Raises:
        Unreadable, StorageFailed.
    """
    if table.rules.needs_rollback_blocks and not table.is_cow:
        return None
    own = own_files(table, signs, commits, removed, backup)
    writers: list[Instant] = []
    for time, instant in removed.items():
        # Of an un-published commit all is known, and its markers are gone.
        if instant is not None and time not in backup:
            writers += [instant] if instant.pending else at_work_beside(table, signs.timeline, time)
    marked = _marked(table, writers)
    if marked is None or not all(entry.complete or listed.get(time) == frozenset() for time, entry in own.items()):
        return None
    return marked.union(*listed.values(), *(entry.partitions for entry in own.values()))


def _marked(table: Table, writers: Iterable[Instant]) -> frozenset[str] | None:
    """The partitions in the markers of some writes; None where a write may have no marker for a file."""
    folders = [look_at_markers(table, writer.time) for writer in writers]
    if any(folder is None or folder.partial for folder in folders):
        return None
    return frozenset(marker.partition for folder in folders if folder is not None for marker in folder.markers)


def takes_metadata_table(table: Table, rollbacks: Collection[str]) -> bool:
    """Whether one of some pending rollbacks has taken the metadata table out of use. Raises Unreadable,
    StorageFailed."""
    return set_aside_by(table, rollbacks) is not None or unrecorded(table, rollbacks) is not None
