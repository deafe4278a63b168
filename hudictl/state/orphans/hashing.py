"""What instants that were rolled back have left for the buckets: Hudi's own rollbacks and restores leave it."""

from hudictl.engine.base import Engine
from hudictl.table.files.hashing import INITIAL, HashingFile, hashing_files
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, taken_back
from hudictl.table.timeline.archive import archived_after


def left_hashing(table: Table, timeline: Timeline, engine: Engine) -> tuple[HashingFile, ...]:
    """The files of instants that are on no timeline, and later than the active timeline's first write. Raises
    Unreadable, StorageFailed, EngineFailed."""
    first = min((entry.time for entry in timeline.writes()), default="~")
    files = [file for file in hashing_files(table, engine) if file.instant != INITIAL and file.instant > first]
    known = {entry.time for entry in timeline.instants}
    if not {file.instant for file in files} - known:
        return ()
    # A writer may archive beyond a savepoint: then archived instants are later than the timeline's first.
    known |= {entry.time for entry in archived_after(table, first)}
    return tuple(file for file in files if file.instant not in known)


def proved_left(table: Table, timeline: Timeline, engine: Engine) -> tuple[HashingFile, ...]:
    """Of those, what a completed rollback or restore on the timeline names. Raises as ``left_hashing``."""
    files = left_hashing(table, timeline, engine)
    gone = taken_back(table, timeline) if files else {}
    return tuple(file for file in files if file.instant in gone)
