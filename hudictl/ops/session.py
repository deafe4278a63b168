"""What an operation works with, and the one way in which it changes a table: hold, look again, record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar

from hudictl.engine.base import Engine
from hudictl.table.locks.config import LockConfig, Locking, lock_config
from hudictl.table.locks.hold import Hold, hold
from hudictl.table.operations import Operation, recorded
from hudictl.table.table import Table


class Kind(Enum):
    """What is done to a table; the value stands in plans, records and sentences."""

    RESTORE = "restore"
    ROLLBACK = "rollback"
    SAVEPOINT_CREATE = "savepoint create"
    SAVEPOINT_DELETE = "savepoint delete"
    ORPHANS_DELETE = "orphans delete"
    HEARTBEAT_DELETE = "heartbeat delete"
    MARKER_DELETE = "marker delete"
    WITHDRAW_RESTORE = "withdraw restore"
    REMOVE_LEFTOVERS = "remove leftovers"
    DISCARD_ROLLBACKS = "discard rollbacks"
    SERVICE_REMOVE = "remove table service"


class Monitor(Protocol):
    """Called between steps, never inside one."""

    def step(self, name: str) -> None:
        """A step begins. Raises Interrupted where the operator asked to stop."""

    def check(self) -> None:
        """Called while waiting. Raises Interrupted where the operator asked to stop."""

    def note(self, text: str) -> None:
        """Something worth a line in the post-mortem: what was read or written."""


class Silent:
    """Tells nothing and never stops."""

    def step(self, name: str) -> None:
        return None

    def check(self) -> None:
        return None

    def note(self, text: str) -> None:
        return None


@dataclass(frozen=True)
class Session:
    """One command at work on a table.

    ``engine`` lists and deletes data files; ``command`` is the command line, for the record and for whoever meets the
    claim or the lock; ``locking`` is what the operator says of the writers' locks; ``timezone`` the table's zone as the
    operator gave it, which a saved plan keeps.
    """

    table: Table
    engine: Engine
    monitor: Monitor
    command: str
    locking: Locking
    timezone: str | None = None

    @property
    def lock(self) -> LockConfig:
        """The lock of the table's writers. Raises UsageError: a setting is missing, or cannot be taken."""
        return lock_config(self.table, self.locking)


class Run(Protocol):
    """An operation that may begin, after the second look; ``time`` names its record."""

    @property
    def time(self) -> str: ...


AnyRun = TypeVar("AnyRun", bound=Run)
Report = TypeVar("Report")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Begun(Generic[Found]):
    """An operation of one step that may begin: what it holds, its time, and what the second look has found."""

    held: Hold
    time: str
    found: Found


def changing(
    session: Session,
    kind: Kind,
    target: str,
    plan: Mapping[str, Any],
    *,
    look: Callable[[Hold], AnyRun],
    work: Callable[[AnyRun], Report],
) -> Report:
    """Holds the table, looks again, then works between two writes of the operation's record.

    Args:
        target: what the record says that it is about.
        plan: the plan as the record keeps it.
        look: every guard once more, now that no other hudictl can come in between.
        work: changes the table; returns a dataclass, which the record keeps.

    Raises:
        Conflict: somebody else acts now; whatever ``look`` and ``work`` raise.
        Unsupported, UsageError, Refused, StorageFailed, Interrupted.
    """
    with hold(session.table, session.command, session.monitor, session.locking) as held:
        session.monitor.step("check again")
        run = look(held)
        operation = Operation(run.time, kind.value, target, plan)
        return recorded(session.table.storage, operation, session.command, lambda: work(run))
