"""Plans that were saved as JSON, and are applied later: a new plan is made, and compared with the saved one."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from hudictl.errors import Conflict, Unreadable, Unsupported, UsageError
from hudictl.formats.instants import RESTORE
from hudictl.formats.json_values import parse_json
from hudictl.ops.clean_up.orphans import OrphanPlan
from hudictl.ops.clean_up.service import ServiceRemoval
from hudictl.ops.fingerprint import (
    HEARTBEATS,
    OF_THE_OPERATOR,
    PLACE,
    PLAN_VERSION,
    TO_DELETE,
    UNFINISHED,
    files_digest,
    heartbeats_of,
    options_digest,
    refuse_moved,
)
from hudictl.ops.metadata.drop import DropPlan
from hudictl.ops.restore.plan import RestorePlan
from hudictl.ops.rollback.plan import RollbackPlan
from hudictl.ops.savepoint.plan import SAVEPOINTS, PrunePlan, SavepointDeletion, SavepointPlan
from hudictl.ops.session import Kind
from hudictl.ops.undo.plan import Undo
from hudictl.phrases import count_of, first_few
from hudictl.table.beat_rule import HeartbeatRule
from hudictl.table.operations import Operation, begun_plan, operation_instants, read_operation
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline

_DELETING = (Kind.RESTORE, Kind.ROLLBACK, Kind.ORPHANS_DELETE)
"""The operations whose plans name the files that they delete."""
_APPLIED = (
    *(*_DELETING, Kind.SAVEPOINT_CREATE, Kind.SAVEPOINT_DELETE, Kind.SAVEPOINT_PRUNE),
    *(Kind.SERVICE_REMOVE, Kind.METADATA_DROP),
)
"""The operations whose plans can be saved."""
_PLANNED = ("planned", "nothing to do")
"""The outcomes of a command with --plan."""


@dataclass(frozen=True)
class SavedPlan:
    """The output of a command's ``--plan --output json``. ``files`` are the paths to delete, with those of buckets."""

    kind: Kind
    table: str
    timezone: str | None
    target: str
    options: Mapping[str, object]
    fingerprint: Mapping[str, str]
    files: frozenset[str]

    @property
    def heartbeat_rule(self) -> HeartbeatRule | None:
        """Which heartbeats counted as expired when the plan was made."""
        return heartbeats_of(self.fingerprint)


def decode_saved_plan(body: bytes, what: str) -> SavedPlan:
    """Raises Unreadable: not a plan, or one that was changed; Unsupported: of another plan version; UsageError: of a
    command whose plans cannot be applied, or that had nothing to do."""
    try:
        document = parse_json(body)
        _refuse_another_command(document, what)
        result = document["result"]
        version = result["plan_version"]
        if version != PLAN_VERSION:
            raise Unsupported(
                f"{what} is a plan of version {version}, but this hudictl applies version {PLAN_VERSION} only",
                hint="make a new plan with this hudictl",
            )
        kind = _kind(str(result["operation"]), what)
        deletes = kind in _DELETING
        files = [(str(file["path"]), int(file["bytes"])) for file in (result["files"] if deletes else ())]
        of_buckets = [*map(str, result["hashing_metadata_removed"])] if deletes else []
        saved = SavedPlan(
            kind=kind,
            table=str(document["table"]),
            timezone=None if result["timezone"] is None else str(result["timezone"]),
            target=str(result["target"]),
            options=dict(result["options"]),
            fingerprint=dict(result["fingerprint"]),
            files=frozenset((*(path for path, _ in files), *of_buckets)),
        )
        wrong = next((part for part, value in saved.fingerprint.items() if not isinstance(value, str)), None)
        if wrong is not None:
            raise ValueError(f"{wrong} in its fingerprint is no text")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise Unreadable(
            f"{what} is not a plan: {reason}", hint="make a plan with --plan --output json", file=what
        ) from error
    _refuse_changed_by_hand(saved, files_digest(files, of_buckets), what)
    return saved


def _refuse_another_command(document: Mapping[str, object], what: str) -> None:
    """Raises UsageError."""
    outcome, result = document.get("outcome"), document.get("result")
    if outcome not in _PLANNED or (isinstance(result, Mapping) and "plan_version" in result):
        return
    command = document.get("command")
    if outcome == _PLANNED[0]:
        raise UsageError(
            f"{what} is a plan of {command}, whose plans cannot be applied",
            hint="run the command itself, with --yes instead of --plan",
        )
    raise UsageError(f"{what} is not a plan: {command} had nothing to do")


def _kind(operation: str, what: str) -> Kind:
    found = next((kind for kind in _APPLIED if kind.value == operation), None)
    if found is None:
        raise Unreadable(f"{what} is a plan of {operation!r}, not an operation of hudictl", file=what)
    return found


def _refuse_changed_by_hand(saved: SavedPlan, files: str, what: str) -> None:
    digests = {"options": options_digest(saved.options)}
    if saved.kind in _DELETING:
        digests[TO_DELETE] = files
    if saved.heartbeat_rule is None:
        raise Unreadable(f"{what}: its {HEARTBEATS} were changed by hand", hint="make a new plan", file=what)
    for part, digest in digests.items():
        if saved.fingerprint.get(part) != digest:
            raise Unreadable(f"{what}: its {part} were changed by hand", hint="make a new plan", file=what)


def refuse_another_place(saved: SavedPlan) -> None:
    """Raises Conflict: the table that the plan names is not the one that it was made for."""
    made_for = saved.fingerprint.get(PLACE)
    if made_for != saved.table:
        raise Conflict(
            f"the plan names the table {saved.table}, but was made for {made_for or 'an unknown one'}",
            hint="make a new plan; with -t the plan is applied to another path",
        )


def check_restore(table: Table, saved: SavedPlan, plan: RestorePlan) -> str | None:
    """Whether the new plan of a restore is the saved one.

    Returns:
        A message if the restore is already done; None if it can be executed.

    Raises:
        Conflict: the table has changed; the message says how.
    """
    applied = _applied(table, saved)
    if plan.nothing_to_do:
        return f"already restored to {saved.target}" + (f" by restore {applied}" if applied else "")
    if applied:
        raise Conflict(
            f"the plan was already applied by restore {applied}, and the table has been written since",
            hint="to remove these later writes too, make a new plan",
            restore=applied,
        )
    _check_same(table, saved, plan.resumes, plan.fingerprint, plan.undo)
    return None


def check_rollback(table: Table, saved: SavedPlan, plan: RollbackPlan) -> None:
    """Raises Conflict: the new plan of a rollback is not the saved one; the message says what has changed."""
    _check_same(table, saved, plan.resumes, plan.fingerprint, plan.undo)


def check_facts(_table: Table, saved: SavedPlan, plan: SavepointPlan | SavepointDeletion | DropPlan) -> None:
    """Raises Conflict: the new plan is not the saved one. If it is already done, nothing is compared."""
    if not plan.nothing_to_do:
        refuse_moved(saved.fingerprint, plan.fingerprint)


def check_prune(_table: Table, saved: SavedPlan, plan: PrunePlan) -> None:
    """Raises Conflict: other savepoints would be kept, or one deleted that the saved plan does not name. Fewer may be
    left to delete, after a first try that died."""
    if not plan.nothing_to_do:
        before, now = ({**found, SAVEPOINTS: ""} for found in (saved.fingerprint, plan.fingerprint))
        refuse_moved(before, now)
        going = (*plan.savepoints_to_delete, *plan.unfinished)
        refuse_grown(saved.fingerprint.get(SAVEPOINTS, "").split(", "), going, "savepoint")


def check_service_removal(_table: Table, saved: SavedPlan, plan: ServiceRemoval) -> None:
    """Raises Conflict: the new plan of a clean's or indexing's removal is not the saved one."""
    refuse_moved(saved.fingerprint, plan.fingerprint)


def _check_same(
    table: Table, saved: SavedPlan, pending: str | None, fingerprint: Mapping[str, str], undo: Undo
) -> None:
    """Raises Conflict: a fact of the saved plan has changed, unless the pending operation was begun by this plan; or
    files would be deleted that it does not name."""
    if pending is None or not _has_begun(table, pending, saved):
        refuse_moved(_without_files(saved.fingerprint), _without_files(fingerprint))
    refuse_grown(saved.files, {*(file.path for file in undo.files), *undo.hashing_metadata_removed})


def check_orphans(table: Table, saved: SavedPlan, plan: OrphanPlan) -> None:
    """Raises Conflict: the table has changed, or there are orphans, files of buckets or dead deletions to finish that
    the plan does not name. Where only the rest of its own execution is left, the metadata table has changed by it."""
    if plan.orphans or plan.hashing:
        refuse_moved(_without_files(saved.fingerprint), _without_files(plan.fingerprint))
    refuse_grown(saved.files, {*(orphan.file.path for orphan in plan.orphans), *plan.hashing_metadata_removed})
    others = (time for time in plan.unfinished if not _has_begun(table, time, saved))
    refuse_grown(saved.fingerprint.get(UNFINISHED, "").split(", "), others, "earlier deletion")


def refuse_grown(planned: Collection[str], paths: Iterable[str], noun: str = "file") -> None:
    """Raises Conflict: more files, or whatever the noun says, would be deleted than a plan has named."""
    grown = sorted(set(paths) - set(planned))
    if grown:
        raise Conflict(
            f"{count_of(len(grown), noun)} to delete, but not in the plan: {first_few(grown)}",
            hint="make a new plan, and read it",
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


def _has_begun(table: Table, time: str, saved: SavedPlan) -> bool:
    """Whether an operation was begun by the plan. Raises Unreadable."""
    operation = read_operation(table.storage, time)
    return operation is not None and _applies(operation, saved)


def _applies(operation: Operation, saved: SavedPlan) -> bool:
    facts = (_without_files(entry) for entry in (begun_plan(operation).fingerprint, saved.fingerprint))
    begun, planned = ({key: value for key, value in entry.items() if key not in OF_THE_OPERATOR} for entry in facts)
    return begun == planned


def _without_files(fingerprint: Mapping[str, str]) -> dict[str, str]:
    # The files to delete may have become fewer; ``refuse_grown`` finds added ones.
    return {key: value for key, value in fingerprint.items() if key not in (TO_DELETE, UNFINISHED)}
