"""Whether a savepoint can be restored now."""

from dataclasses import dataclass, replace

from hudictl.errors import HudictlError
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.session import Session
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.files.savepoint_files import unprotected, ways_back
from hudictl.state.files.savepoints import find_saved
from hudictl.state.timeline.dropped import dropped_partitions, told_dropped
from hudictl.state.timeline.targets import find_commit
from hudictl.table.files.saved import SavedFiles
from hudictl.table.metadata.listing import read_known
from hudictl.table.timeline.active import load_timeline


@dataclass(frozen=True)
class Restorable:
    """Whether a savepoint can be restored now; ``reason`` is the guard's message if not. ``unprotected`` are files
    required by its commit that it does not name: a clean may delete them. ``threat`` says that a clean will delete its
    files in dropped partitions. ``hint`` is the guard's, too. ``later_savepoints`` are those that a restore to it
    deletes. ``taken_back`` are instants that the savepoint names, and a rollback or restore has removed since: their
    files are not required."""

    instant: str
    restorable: bool
    reason: str
    file_count: int
    bytes: int
    unprotected: tuple[str, ...] = ()
    threat: str = ""
    hint: str = ""
    later_savepoints: tuple[str, ...] = ()
    taken_back: tuple[str, ...] = ()


def verify_savepoint(session: Session, instant: str, options: RestoreOptions, *, named: bool = True) -> Restorable:
    """Whether a restore to the savepoint would pass every guard now. Later savepoints do not hinder it: that is a
    question of the operator's will, behind which a lost file would not be seen. Raises Refused: there is no such
    savepoint.

    Args:
        named: also look whether it names all files that its commit requires, in a second listing.
    """
    saved = find_saved(session.table, load_timeline(session.table), session.engine, instant)
    try:
        plan = plan_restore(session, instant, replace(options, delete_later_savepoints=True))
    except HudictlError as error:
        if error.exit_code in (1, 15, 16):
            raise
        return Restorable(instant, False, error.message, 0, 0, hint=error.hint)
    dropped = dropped_partitions(session.table, load_timeline(session.table), session.engine, saved.files.partitions)
    threat = told_dropped(dropped, saved.files.names_in(dropped))
    bare = _unprotected(session, instant, saved.files) if named else ()
    needed = plan.undo.files_needed, plan.undo.bytes_needed
    gone = tuple(sorted(plan.undo.case.view.unbound - plan.undo.removed))
    return Restorable(instant, True, "", *needed, bare, threat, "", plan.savepoints_deleted, gone)


def _unprotected(session: Session, instant: str, named: SavedFiles) -> tuple[str, ...]:
    signs = read_signs(session.table)
    known = read_known(session.table, session.engine)
    facts = read_facts(session.table, session.engine, signs, savepointed=named.partitions, known=known)
    ways = ways_back(facts, find_commit(session.table, signs.timeline, instant), named)
    return tuple(unprotected(facts, ways))
