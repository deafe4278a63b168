"""Plans that were saved as JSON, and are applied later: planned anew, and compared with what was saved."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hudictl.errors import Conflict, Unreadable, Unsupported
from hudictl.formats.instants import RESTORE
from hudictl.ops.fingerprint import PLAN_VERSION, files_digest, options_digest, refuse_moved
from hudictl.ops.orphans import OrphanPlan
from hudictl.ops.restore.plan import RestorePlan
from hudictl.ops.rollback.plan import RollbackPlan
from hudictl.ops.savepoint.plan import SavepointDeletion, SavepointPlan
from hudictl.ops.session import Kind
from hudictl.ops.undo.plan import Removal
from hudictl.phrases import first_few
from hudictl.table.operations import Operation, operation_instants, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline import load_timeline

_DELETING = (Kind.RESTORE, Kind.ROLLBACK, Kind.ORPHANS_DELETE)
"""The operations whose plans name the files that they delete."""
_APPLIED = (*_DELETING, Kind.SAVEPOINT_CREATE, Kind.SAVEPOINT_DELETE)
"""The operations whose plans can be saved."""


@dataclass(frozen=True)
class SavedPlan:
    """What a command's ``--plan --output json`` has written. ``files`` are the paths that it would delete."""

    kind: Kind
    table: str
    timezone: str | None
    target: str
    options: Mapping[str, Any]
    fingerprint: Mapping[str, str]
    files: frozenset[str]


def decode_saved_plan(body: bytes, what: str) -> SavedPlan:
    """Raises Unreadable: no plan, or one that was changed by hand; Unsupported: of another version of hudictl."""
    try:
        document = json.loads(body)
        result = document["result"]
        version = result["plan_version"]
        if version != PLAN_VERSION:
            raise Unsupported(
                f"{what} is a plan of version {version}, and this hudictl applies version {PLAN_VERSION}",
                hint="make the plan anew with this hudictl",
            )
        kind = _kind(str(result["operation"]), what)
        listed = result["files"] if kind in _DELETING else ()
        files = [(str(file["path"]), int(file["bytes"])) for file in listed]
        saved = SavedPlan(
            kind=kind,
            table=str(document["table"]),
            timezone=None if result["timezone"] is None else str(result["timezone"]),
            target=str(result["target"]),
            options=dict(result["options"]),
            fingerprint=dict(result["fingerprint"]),
            files=frozenset(path for path, _ in files),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise Unreadable(
            f"{what} is no plan: {reason}", hint="a plan is what --plan --output json prints", file=what
        ) from error
    _refuse_changed_by_hand(saved, files, what)
    return saved


def _kind(operation: str, what: str) -> Kind:
    found = next((kind for kind in _APPLIED if kind.value == operation), None)
    if found is None:
        raise Unreadable(f"{what} is a plan of {operation!r}, which is no operation", file=what)
    return found


def _refuse_changed_by_hand(saved: SavedPlan, files: Sequence[tuple[str, int]], what: str) -> None:
    digests = {"options": options_digest(saved.options)}
    if saved.kind in _DELETING:
        digests["files to delete"] = files_digest(files)
    for part, digest in digests.items():
        if saved.fingerprint.get(part) != digest:
            raise Unreadable(f"{what}: its {part} were changed by hand", hint="make the plan anew", file=what)


def check_restore(table: Table, saved: SavedPlan, plan: RestorePlan) -> str | None:
    """Whether a restore, planned anew, is the one that was saved.

    Returns:
        What to say where it is done already; None where it can go on.

    Raises:
        Conflict: the table has moved; the message says what.
    """
    applied = _applied(table, saved)
    if plan.nothing_to_do:
        return f"restored to {saved.target} already" + (f", as restore {applied}" if applied else "")
    if applied:
        raise Conflict(
            f"the plan was applied already, as restore {applied}, and the table has been written to since",
            hint="make a new plan, if these writes are to go too",
            restore=applied,
        )
    _check_same(table, saved, plan.resumes, plan.fingerprint, plan.removals)
    return None


def check_rollback(table: Table, saved: SavedPlan, plan: RollbackPlan) -> None:
    """Raises Conflict: a rollback, planned anew, is not the one that was saved; the message says what has moved."""
    _check_same(table, saved, plan.resumes, plan.fingerprint, (plan.removal,))


def check_savepoint(_table: Table, saved: SavedPlan, plan: SavepointPlan | SavepointDeletion) -> None:
    """Raises Conflict: a savepoint's creation or deletion, planned anew, is not the one that was saved; where that is
    done already, nothing is compared."""
    done = plan.exists if isinstance(plan, SavepointPlan) else not plan.exists
    if not done:
        refuse_moved(saved.fingerprint, plan.fingerprint)


def _check_same(
    table: Table, saved: SavedPlan, pending: str | None, fingerprint: Mapping[str, str], removals: Sequence[Removal]
) -> None:
    """Raises Conflict: what the plan rests on has moved, unless the pending operation is the plan's own; or more files
    would be deleted than it names."""
    begun = read_operation(table.storage, pending) if pending else None
    if begun is None or not _applies(begun, saved):
        refuse_moved(_without_files(saved.fingerprint), _without_files(fingerprint))
    _refuse_grown(saved, {file.path for removal in removals for file in removal.files})


def check_orphans(_table: Table, saved: SavedPlan, plan: OrphanPlan) -> None:
    """Raises Conflict: the table has moved, or there are more orphans than when the plan was made."""
    if plan.orphans:
        refuse_moved(_without_files(saved.fingerprint), _without_files(plan.fingerprint))
        _refuse_grown(saved, {orphan.file.path for orphan in plan.orphans})


def _refuse_grown(saved: SavedPlan, paths: Collection[str]) -> None:
    grown = sorted(set(paths) - saved.files)
    if grown:
        raise Conflict(
            f"{len(grown)} files would be deleted that are not in the plan: {first_few(grown)}",
            hint="make the plan anew, and look at it",
            files=grown,
        )


def _applied(table: Table, saved: SavedPlan) -> str | None:
    """The completed restore that has applied the plan."""
    completed = {entry.time for entry in load_timeline(table).having(RESTORE) if entry.completed}
    for time in operation_instants(table.storage):
        if time in completed:
            operation = read_operation(table.storage, time)
            if operation is not None and _applies(operation, saved):
                return time
    return None


def _applies(operation: Operation, saved: SavedPlan) -> bool:
    return _without_files(operation.plan.get("fingerprint", {})) == _without_files(saved.fingerprint)


def _without_files(fingerprint: Mapping[str, str]) -> dict[str, str]:
    # They may have become fewer; whether there are more is looked at one by one.
    return {key: value for key, value in fingerprint.items() if key != "files to delete"}
