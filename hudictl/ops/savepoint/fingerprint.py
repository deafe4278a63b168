"""The fingerprint of a savepoint plan."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict

from hudictl.formats.instants import Instant
from hudictl.ops.fingerprint import body_digest, listed, names_digest, table_fingerprint
from hudictl.ops.savepoint.plan import PruneOptions, SavepointOptions
from hudictl.state.writers.activity import at_work
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline

TO_DELETE = "savepoints to delete"


def savepoint_fingerprint(
    table: Table, timeline: Timeline, commit: Instant, options: SavepointOptions, files: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """A savepoint on a commit, with the names of its files by partition. Older writes that are pending may become part
    of the commit's table, and are not in it."""
    older = (entry.time for entry in at_work(timeline) if entry.time < commit.time)
    return {
        **table_fingerprint(table, asdict(options)),
        "commit": f"{commit} {body_digest(table, commit)}",
        "files": names_digest(files),
        "older pending writes": listed(older),
    }


def deletion_fingerprint(table: Table, saved: Instant | None) -> dict[str, str]:
    """A savepoint to delete."""
    return {**table_fingerprint(table, {}), "savepoint": f"{saved} {body_digest(table, saved)}"}


def prune_fingerprint(
    table: Table, options: PruneOptions, kept: Collection[str], deleted: Iterable[str]
) -> dict[str, str]:
    """The savepoints to keep and to delete, also of an earlier prune that died. What of them has files does not count:
    a clean may go on meanwhile."""
    return {**table_fingerprint(table, asdict(options)), "savepoints to keep": listed(kept), TO_DELETE: listed(deleted)}
