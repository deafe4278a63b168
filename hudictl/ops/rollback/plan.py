"""A rollback's plan, as data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from hudictl.formats.instants import State
from hudictl.ops.undo.plan import Removal
from hudictl.state.writers import DEFAULT_IDLE_MS
from hudictl.table.file_view import StoredFile
from hudictl.table.heartbeats import DEFAULT_RULE, HeartbeatRule
from hudictl.workers import BlockTask


class MetadataStep(Enum):
    """What becomes of the metadata table where one instant is rolled back."""

    KEEP = "kept"
    ROLL_BACK = "rolled back"
    DELETE = "deleted"


@dataclass(frozen=True)
class RollbackOptions:
    """How a rollback is asked for.

    ``keep_plan``: a pending compaction or clustering goes back to requested; ``idle_ms``: how long a pending write
    without heartbeat must have been silent to count as dead; ``interval_ms`` and ``misses``: see ``HeartbeatRule``; the
    others as in ``RestoreOptions``.
    """

    keep_plan: bool = False
    idle_ms: int = DEFAULT_IDLE_MS
    interval_ms: int = DEFAULT_RULE.interval_ms
    misses: int = DEFAULT_RULE.misses
    settle_s: float = 2.0
    grace_s: float = 0.0
    keep_backup: bool = False

    @property
    def rule(self) -> HeartbeatRule:
        return HeartbeatRule(self.interval_ms, self.misses)


@dataclass(frozen=True)
class RollbackPlan:
    """A rollback of one instant.

    ``rollback`` is the pending rollback that the plan goes on with, ``begun`` whether it is inflight; ``superseded``
    are other pending rollbacks of the instant. ``completed``: readers see the instant, so that what they need without
    it must be there (``needed``; ``cleans`` and ``bare`` as in ``RestorePlan``). ``last_sign_ms``: when a pending
    instant's writer last gave a sign of life. ``timeline`` is what the plan rests on.
    """

    table: str
    table_version: int
    target: str
    options: RollbackOptions
    rollback: str | None
    begun: bool
    superseded: tuple[str, ...]
    removal: Removal
    completed: bool
    metadata_table: MetadataStep
    indexes: tuple[str, ...]
    cleans: Mapping[str, int]
    bare: tuple[str, ...]
    needed: Mapping[str, StoredFile]
    blocks: tuple[BlockTask, ...]
    last_sign_ms: int
    timeline: frozenset[str]
    fingerprint: Mapping[str, str]

    @property
    def nothing_to_do(self) -> bool:
        """The plan of a table service that nobody has begun stays as it is."""
        instant = self.removal.instant
        begun = self.rollback or self.superseded or self.removal.files
        return self.options.keep_plan and not begun and instant is not None and instant.state is State.REQUESTED

    @property
    def summary(self) -> dict[str, Any]:
        """The plan for the operation's record; the files are named in the rollback's own metadata."""
        return {
            "options": asdict(self.options),
            "fingerprint": dict(self.fingerprint),
            "action": self.removal.action,
            "completed": self.completed,
            "files": len(self.removal.files),
            "bytes": self.removal.size,
            "rollback_blocks": len(self.removal.blocks),
            "metadata_table": self.metadata_table.value,
            "cleans_discarded": list(self.cleans),
            "indexes_lost": list(self.indexes),
        }
