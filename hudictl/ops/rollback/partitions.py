"""The partitions that the rollback of an instant must list, and the empty logs in them that go with it."""

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from hudictl.formats.instants import Instant
from hudictl.ops.metadata.keep import unrecorded
from hudictl.ops.metadata.treat import set_aside_by
from hudictl.ops.session import Session
from hudictl.ops.undo.planning import empty_logs
from hudictl.state.facts import Facts, Signs, read_facts
from hudictl.state.files.instant_files import own_files
from hudictl.state.writers.activity import at_work_beside, may_be_writing
from hudictl.table.files.slices import StoredFile
from hudictl.table.metadata.place import NOT_ASKED, Known
from hudictl.table.table import Table
from hudictl.table.timeline.commits import Commits
from hudictl.table.writers.markers import look_at_markers


def listed_facts(
    session: Session,
    signs: Signs,
    removed: Mapping[str, Instant | None],
    backup: Commits = MappingProxyType({}),
    listed: Mapping[str, frozenset[str]] = MappingProxyType({}),
    *,
    known: Known = NOT_ASKED,
    whole: bool = False,
) -> Facts:
    """The facts from the partitions in which a rollback can change something, and those in which a process may be
    writing beside it.

    In other partitions nothing is deleted in any case: see ``partitions_of``. All are listed where a record may be
    incomplete, and on merge on read below table version 8: there empty logs of other writes are deleted, too.

    The profile of a failed write may be cut. It names nothing then: of a target, all partitions are listed. Those of
    others decide nothing; two cut ones would keep each other from being rolled back.

    Args:
        removed: the targets by their times; None for one that is already removed.
        backup: the metadata of un-published instants.
        listed: the partitions that the metadata table's record of a target names; none are those of an empty commit.
        known: as in ``read_facts``.
        whole: all partitions are compared with the metadata table.

    Raises:
        Unreadable, Conflict, StorageFailed, EngineFailed.
    """

    def choose(commits: Commits) -> frozenset[str] | None:
        return None if whole else _to_list(session.table, signs, commits, removed, backup, listed)

    note = session.monitor.note
    return read_facts(
        session.table, session.engine, signs, note, removed=removed, profiles_ok=True, known=known, choose=choose
    )


def _to_list(
    table: Table,
    signs: Signs,
    commits: Commits,
    removed: Mapping[str, Instant | None],
    backup: Commits,
    listed: Mapping[str, frozenset[str]],
) -> frozenset[str] | None:
    """The partitions to list; None for all. Arguments as in ``listed_facts``."""
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


def own_empty_logs(
    facts: Facts, targets: Collection[str], rollbacks: Iterable[str], idle_ms: int, *, others_dead: bool
) -> list[StoredFile]:
    """The empty logs of dead writers (below table version 8), if no other process may be writing: some stores show no
    size while a file is being written.

    Args:
        rollbacks: earlier ones, which may have died at a block of their own.
        others_dead: a guard has seen that no other write had activity for ``--idle``. The metadata table is deleted
            then, and Hudi 0.15.0 makes none of a table that has an empty log.
    """
    table = facts.table
    if table.rules.logs_named_by_writer or table.is_cow:
        return []
    if not others_dead and may_be_writing(table, facts.signs, targets):
        return []
    folders = (look_at_markers(table, time) for time in (*targets, *rollbacks))
    begun = {marker.path for folder in folders if folder is not None for marker in folder.markers}
    return empty_logs(facts, begun, idle_ms)


def takes_metadata_table(table: Table, rollbacks: Collection[str]) -> bool:
    """Whether one of some pending rollbacks has taken the metadata table out of use. Raises Unreadable,
    StorageFailed."""
    return set_aside_by(table, rollbacks) is not None or unrecorded(table, rollbacks) is not None
