"""Repairs of a table: of what ``check`` finds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudictl.library import changes
from hudictl.library.opened import IDLE_MS, Opened
from hudictl.library.options import several

if TYPE_CHECKING:
    from hudictl.library.change import TableChange
    from hudictl.ops.repair.plan import RepairPlan, RepairResult
    from hudictl.ops.set_property import PropertyPlan


@dataclass(frozen=True)
class Repairs:
    """What mends damaged files. What was there goes into quarantine: ``HudiTable.undo`` takes a repair back.

    ``idle_ms``: an instant with activity less than this ago may be running.
    """

    table: Opened

    def quarantine(self, instant: str, idle_ms: int = IDLE_MS) -> "TableChange[RepairPlan, RepairResult]":
        """The damaged files of an instant."""
        return changes.quarantine(instant, idle_ms).of(self.table)

    def archive(self, idle_ms: int = IDLE_MS) -> "TableChange[RepairPlan, RepairResult]":
        """The damaged files of the archived timeline."""
        return changes.archive_repair(idle_ms).of(self.table)

    def properties(
        self, values: Mapping[str, str] | None = None, idle_ms: int = IDLE_MS
    ) -> "TableChange[RepairPlan, RepairResult]":
        """A damaged or missing hoodie.properties: of a table that was opened with ``salvage``. ``values``: properties
        that nothing else proves."""
        return changes.properties_repair(values or {}, idle_ms).of(self.table)

    def unschedule(
        self, compaction: str, groups: Sequence[str], idle_ms: int = IDLE_MS
    ) -> "TableChange[RepairPlan, RepairResult]":
        """Operations out of a requested compaction, by PARTITION/FILE_ID. The whole of it: ``HudiTable.rollback``."""
        return changes.unscheduling(compaction, several(groups), idle_ms).of(self.table)

    def prune(
        self, clustering: str, files: Sequence[str] = (), idle_ms: int = IDLE_MS
    ) -> "TableChange[RepairPlan, RepairResult]":
        """Input groups out of a requested clustering: those that cannot be run, or must not be; or those with some
        files."""
        return changes.pruning(clustering, several(files), idle_ms).of(self.table)

    def set_properties(
        self,
        values: Mapping[str, str],
        *,
        unset: Sequence[str] = (),
        dangerous: Sequence[str] = (),
        idle_ms: int = IDLE_MS,
    ) -> "TableChange[PropertyPlan, PropertyPlan]":
        """A change of hoodie.properties. ``dangerous``: those that give the data another meaning, as most do."""
        from hudictl.ops.set_property import PropertyOptions

        options = PropertyOptions(values, tuple(several(unset)), tuple(several(dangerous)), idle_ms)
        return changes.set_properties(options).of(self.table)
