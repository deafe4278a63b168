"""Operation records under ``.hoodie/.hudictl/operations``: who changed the table, with which plan and which outcome."""

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime, timezone
from typing import Any, TypeVar

from hudictl import __version__
from hudictl.errors import Findings, HudictlError, Interrupted, StorageFailed, Unreadable, vanished
from hudictl.formats.decode import decode
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import OPERATIONS
from hudictl.formats.limits import RECORD_BYTES
from hudictl.secrets import masked
from hudictl.storage import Storage, entries_of, read_whole

SERVICE_REMOVE = "remove table service"
"""The kind of operation that removes a pending clean or indexing."""
LATER_WRITES = "later_writes"
"""Key of a restore's plan: the writes that appeared while it ran, and are removed with it."""
_SCHEMA_VERSION = 1
_NAME = re.compile(r"([0-9]+)\.json\Z")
Report = TypeVar("Report")


@dataclass(frozen=True)
class BegunOptions:
    """The options with which a restore or rollback was begun, as far as a later command goes by them."""

    rule: str | None = None
    delete_later_savepoints: bool = False
    discard_rollbacks: bool = False
    keep_plan: bool = False
    keep_backup: bool = False
    metadata: str | None = None
    require_index: tuple[str, ...] = ()
    table_type: str | None = None


@dataclass(frozen=True)
class BegunInstant:
    """An instant that a restore or rollback removes; with a completion time if readers saw it."""

    time: str
    action: str
    files: int
    bytes: int
    operation: str = ""
    completion_time: str | None = None


@dataclass(frozen=True)
class BegunPlan:
    """The plan of a restore or rollback that was begun, as far as a later command goes by it. ``completed``: readers
    saw the instant of a rollback; None for a restore. ``resumes``: another program has requested it."""

    options: BegunOptions = BegunOptions()
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    instants: tuple[BegunInstant, ...] = ()
    completed: bool | None = None
    resumes: str | None = None
    later_writes: tuple[str, ...] = ()
    savepoints_deleted: tuple[str, ...] = ()
    cleans_discarded: tuple[str, ...] = ()
    rollbacks_discarded: tuple[str, ...] = ()
    rollbacks_removed: tuple[str, ...] = ()
    metadata_table: str | None = None
    indexes_kept: tuple[str, ...] = ()
    indexes_lost: tuple[str, ...] = ()
    checkpoint: Mapping[str, str | None] | None = None
    table_type_before: str | None = None


@dataclass(frozen=True)
class Attempt:
    """One command that executed an operation. Times are UTC, in ISO 8601; without an end the process died."""

    command: str
    user: str
    host: str
    pid: int
    version: str
    started_at: str
    ended_at: str | None = None
    exit_code: int | None = None
    message: str = ""
    report: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Operation:
    """A requested operation. ``instant`` is a restore's own; for other operations it is their start time."""

    instant: str
    operation: str
    target: str
    plan: Mapping[str, Any]
    attempts: tuple[Attempt, ...] = ()

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]


def last_operation_on(storage: Storage, operation: str, target: str) -> str | None:
    """The time of the last operation of a kind on an instant; None if there was none."""
    return next((found.instant for found in operations_on(storage, operation, target)), None)


def operations_on(storage: Storage, operation: str, target: str) -> Iterator[Operation]:
    """The operations of a kind on an instant, newest first."""
    for time in reversed(operation_instants(storage)):
        # The time of a record is later than its target. A damaged record proves nothing.
        with suppress(Unreadable):
            found = read_operation(storage, time) if time > target else None
            if found is not None and (found.operation, found.target) == (operation, target):
                yield found


def recorded(
    storage: Storage, operation: Operation, command: str, work: Callable[[], Report], secrets: Collection[str] = ()
) -> Report:
    """``recorded_all`` for one operation."""
    (report,) = recorded_all(storage, (operation,), command, lambda: (work(),), secrets)
    return report


def recorded_all(
    storage: Storage,
    operations: Sequence[Operation],
    command: str,
    work: Callable[[], Sequence[Report]],
    secrets: Collection[str] = (),
) -> Sequence[Report]:
    """Does the work between two writes of each operation's record; a resumed operation gets one more attempt.

    Args:
        command: the command line.
        work: returns a dataclass for each operation, which becomes the attempt's report.
        secrets: texts that must not get into the record.

    Raises:
        whatever the work raises; StorageFailed: a record could not be written, and nothing was done.
    """
    import socket

    attempt = Attempt(command, current_user(), socket.gethostname(), os.getpid(), __version__, _now())
    running = [_record_begin(storage, operation, attempt, secrets) for operation in operations]
    try:
        reports = work()
    except (Exception, KeyboardInterrupt) as failure:
        error = vanished(failure) if isinstance(failure, FileNotFoundError) else failure
        code = Interrupted.exit_code if isinstance(error, KeyboardInterrupt) else getattr(error, "exit_code", 1)
        message = error.message if isinstance(error, HudictlError) else f"{type(error).__name__}: {error}"
        done = error.report if isinstance(error, Findings) else None
        found = asdict(done) if done is not None else None
        ended = replace(attempt, ended_at=_now(), exit_code=code, message=message, report=found)
        for operation in running:
            _end(storage, operation, ended, secrets)
        raise
    for operation, report in zip(running, reports, strict=True):
        ended = replace(attempt, ended_at=_now(), exit_code=0, report=asdict(report))  # type: ignore[call-overload]
        _end(storage, operation, ended, secrets)
    return reports


def _record_begin(storage: Storage, operation: Operation, attempt: Attempt, secrets: Collection[str]) -> Operation:
    begun = read_operation(storage, operation.instant)
    operation = replace(_went_on(begun, operation), attempts=(*(begun.attempts if begun else ()), attempt))
    write = storage.replace if begun else storage.create
    write(operation_path(operation.instant), _encode(operation, secrets))
    return operation


def _went_on(begun: Operation | None, operation: Operation) -> Operation:
    """The record of a continued operation: the first request, with the writes that are removed since then."""
    if begun is None:
        return operation
    later = {key: operation.plan[key] for key in (LATER_WRITES,) if operation.plan.get(key)}
    return replace(begun, plan={**begun.plan, **later})


def read_operation(storage: Storage, instant: str) -> Operation | None:
    """The record of an operation; None if there is none. Raises Unreadable."""
    if _NAME.match(f"{instant}.json") is None:
        return None
    try:
        body = read_whole(storage, operation_path(instant), RECORD_BYTES)
    except FileNotFoundError:
        return None
    try:
        value = parse_json(body)
        version = value.pop("schema_version")
        operation = decode(Operation, value)
        if version != _SCHEMA_VERSION or not operation.attempts:
            raise ValueError(f"schema version {version}, {len(operation.attempts)} attempts")
        return operation
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        path = operation_path(instant)
        raise Unreadable(
            f"{path} is not an operation record: {error}", hint="move this file out of the table", file=path
        ) from error


def begun_plan(operation: Operation | None) -> BegunPlan:
    """What the record of a restore or rollback says of its plan; nothing without a record. Raises Unreadable."""
    if operation is None:
        return BegunPlan()
    try:
        options = _known(BegunOptions, operation.plan.get("options", {}))
        return decode(BegunPlan, _known(BegunPlan, {**operation.plan, "options": options}))
    except (ValueError, TypeError, AttributeError) as error:
        path = operation_path(operation.instant)
        raise Unreadable(
            f"the plan in {path} is damaged: {error}", hint="move this file out of the table", file=path
        ) from error


def _known(kind: type[BegunPlan | BegunOptions], value: Mapping[str, Any]) -> dict[str, Any]:
    return {entry.name: found for entry in fields(kind) if (found := value.get(entry.name)) is not None}


def is_recorded(storage: Storage, instant: str) -> bool:
    """Whether hudictl has begun the operation of an instant."""
    return storage.stat(operation_path(instant)) is not None


def operation_instants(storage: Storage) -> list[str]:
    """The instants of all recorded operations, oldest first."""
    entries = entries_of(storage, OPERATIONS)
    return [match[1] for entry in entries if (match := _NAME.match(entry.name))]


def operation_path(instant: str) -> str:
    """The path of an operation's record."""
    return f"{OPERATIONS}/{instant}.json"


def current_user() -> str:
    """The operating system's user."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _end(storage: Storage, operation: Operation, attempt: Attempt, secrets: Collection[str]) -> None:
    # The outcome is valid even if a full disk prevents its record.
    with suppress(StorageFailed):
        ended = replace(operation, attempts=(*operation.attempts[:-1], attempt))
        storage.replace(operation_path(operation.instant), _encode(ended, secrets))


def _encode(operation: Operation, secrets: Collection[str]) -> bytes:
    return masked(json.dumps({"schema_version": _SCHEMA_VERSION, **asdict(operation)}, indent=2), secrets).encode()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")
