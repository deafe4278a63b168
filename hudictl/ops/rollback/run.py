"""Rollbacks that run together, and what each has done."""

from dataclasses import dataclass, replace
from functools import cached_property

from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.ops.session import Monitor, Session
from hudictl.ops.undo.afterwards import Consumers, Moment
from hudictl.ops.undo.plan import KeptRow, Undo
from hudictl.state.facts import Signs
from hudictl.state.files.catalog import NO_GAP, CatalogGap
from hudictl.state.metadata.record import KeptMetadata
from hudictl.state.timeline.checkpoints import StreamerCheckpoint
from hudictl.table.locks.hold import Hold
from hudictl.table.table import Table


@dataclass(frozen=True)
class One:
    """One rollback: ``time`` is its own instant. ``kept`` is the metadata table, if it is set aside."""

    plan: RollbackPlan
    time: str
    kept: KeptMetadata | None = None


@dataclass(frozen=True)
class RollbackRun:
    """Rollbacks that run together: they were planned together. ``signs`` were read at the last look at all guards."""

    session: Session
    held: Hold
    each: tuple[One, ...]
    signs: Signs

    @cached_property
    def undo(self) -> Undo:
        """What all of them undo: what is done once for all is in the first plan."""
        return replace(self.each[0].plan.undo, removals=tuple(one.plan.removal for one in self.each))

    @property
    def times(self) -> tuple[str, ...]:
        return tuple(one.time for one in self.each)

    @property
    def ended(self) -> tuple[str, ...]:
        """All rollbacks that end with it: also those that it supersedes."""
        return tuple(time for one in self.each for time in (one.time, *one.plan.rollbacks_superseded))

    @property
    def targets(self) -> frozenset[str]:
        return frozenset(one.plan.target for one in self.each)

    @property
    def options(self) -> RollbackOptions:
        """Those of all."""
        return self.each[0].plan.options

    @property
    def table(self) -> Table:
        return self.session.table

    @property
    def monitor(self) -> Monitor:
        return self.session.monitor


@dataclass(frozen=True)
class RollbackResult:
    """What a rollback has done; ``plan_kept``: the instant is requested again, not removed. ``metadata_table``:
    "kept" if nothing of it had to change; the others are as in ``RestoreResult``.
    ``files_kept``: as in the plan, of this instant.
    ``catalog``: what a Hive or Glue catalog lists wrongly now. ``undo``: as in ``RestoreResult``; of rollbacks that ran
    together, all of them. The others are those of ``Afterwards``."""

    rollback: str
    target: str
    plan_kept: bool
    files_deleted: int
    bytes_deleted: int
    rollback_blocks: int
    metadata_table: str
    duration_ms: int
    files_kept: tuple[KeptRow, ...] = ()
    indexes_kept: tuple[str, ...] = ()
    metadata_table_given_up: str | None = None
    catalog: CatalogGap = NO_GAP
    head: Moment | None = None
    checkpoint: StreamerCheckpoint | None = None
    consumers: Consumers | None = None
    undo: str | None = None
