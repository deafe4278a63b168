"""``timeline quarantine``: files of an instant that cannot be read make room for what the others prove."""

from collections.abc import Callable, Mapping

from hudictl.errors import NotFound, Refused
from hudictl.formats import clean, plans
from hudictl.formats.file_names import data_path
from hudictl.formats.instants import INDEXING, State
from hudictl.ops.guards import liveness
from hudictl.ops.repair.plan import FileRepair, RepairPlan
from hudictl.ops.session import Kind, Session
from hudictl.phrases import command_of
from hudictl.state.facts import read_signs
from hudictl.state.timeline.damaged import Damaged, Way, damaged_files, first_half
from hudictl.state.writable import known_timeline, writable_table
from hudictl.storage import Folders
from hudictl.table.files.sweep import sweep
from hudictl.table.table import Table
from hudictl.table.timeline.active import read_instant


def plan_quarantine(session: Session, time: str, idle_ms: int) -> RepairPlan:
    """Plans to mend the damaged files of an instant. Changes nothing; every guard has passed.

    Raises:
        NotFound: there is no such instant.
        Refused: nothing proves what a file said.
        Conflict: a writer or table service may be running.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table = session.table
    writable_table(table, session.locking)
    signs = read_signs(table)
    known_timeline(table, signs.timeline)
    at = [instant for instant in signs.timeline.instants if instant.time == time]
    if not at:
        raise NotFound(
            f"there is no instant {time} on the active timeline", hint="`hudictl check` names what is damaged"
        )
    found = [entry for instant in at for entry in damaged_files(table, signs.timeline, instant)]
    if found:
        liveness.nothing_at_work(table, session.engine, signs, session.locking, idle_ms)
    files = tuple(_repair(session, entry, signs.timeline.modified_ms) for entry in found)
    return RepairPlan(Kind.QUARANTINE, time, files, session.lock, guessed=_guessed(table, files))


def _repair(session: Session, found: Damaged, modified_ms: Mapping[str, int]) -> FileRepair:
    """Raises Refused."""
    if found.way is None:
        raise Refused(
            f"{found.problem}: nothing proves what it said",
            hint=f"put {found.file.name} back from a backup, or `{command_of('rollback', found.file.time)}`",
            file=found.file.name,
        )
    table = session.table
    bodies: Mapping[Way, Callable[[], bytes]] = {
        Way.DOUBLED: lambda: first_half(found.body),
        Way.UNUSED: lambda: b"",
        Way.FROM_PLAN: lambda: _from_plan(session, found),
    }
    path = f"{table.layout.timeline}/{found.file.name}"
    # Without completion times in the names, readers of Hudi 1.x take the file's own.
    kept = None if table.rules.has_completion_times else modified_ms[found.file.name]
    return FileRepair(path, (found.problem, found.way.value), bodies[found.way](), kept)


def _from_plan(session: Session, found: Damaged) -> bytes:
    """Raises Unreadable."""
    table, request = session.table, found.instant.file(State.REQUESTED)
    if request is None:
        return b""
    body = read_instant(table, request)
    if found.file.action == INDEXING:
        return plans.encode_index_metadata(body, request.name)
    planned = clean.decode_plan(body, request.name).files
    absent = set(sweep(table, session.engine, planned).absent(planned))
    left = {path: [name for name in names if data_path(path, name) not in absent] for path, names in planned.items()}
    return clean.encode_metadata(found.file.time, body, request.name, left)


def _guessed(table: Table, files: tuple[FileRepair, ...]) -> tuple[str, ...]:
    loses = [file.path for file in files if file.modified_ms is not None]
    if not loses or isinstance(table.storage, Folders):
        return ()
    return (f"{loses[0].rpartition('/')[2]} gets the time of now: the store cannot keep that of a file",)
