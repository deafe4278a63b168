"""What table services, rollbacks and restores have done, or will do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from hudictl.library import changes
from hudictl.library.opened import IDLE_MS, Opened, Times
from hudictl.library.rows import Rows, noted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hudictl.library.change import TableChange
    from hudictl.ops.clean_up.service import ServiceRemoval
    from hudictl.ops.restore.leftovers import Leftovers
    from hudictl.ops.rollback.discard import Discard
    from hudictl.reports.service_files import ServiceFile
    from hudictl.reports.services import CleanRow, ClusteringRow, CompactionRow, IndexingRow, RestoreRow, RollbackRow
    from hudictl.reports.timeline import TimelineFilter
    from hudictl.state.services.plan_problems import PlanProblem
    from hudictl.table.table import Table

Row = TypeVar("Row")


@dataclass(frozen=True)
class TableServices:
    """The instants of table services, rollbacks and restores, and their files."""

    table: Opened

    def cleans(self, **times: "Unpack[Times]") -> "Rows[CleanRow]":
        """The cleans; of a pending one what it waits for, as in the next five lists."""
        from hudictl.reports.services import CleanRow

        return self._service(CleanRow, "clean", times)

    def compactions(self, **times: "Unpack[Times]") -> "Rows[CompactionRow]":
        """The compactions and log compactions."""
        from hudictl.reports.services import CompactionRow

        return self._service(CompactionRow, "compaction", times)

    def clusterings(self, **times: "Unpack[Times]") -> "Rows[ClusteringRow]":
        """The clusterings."""
        from hudictl.reports.services import ClusteringRow

        return self._service(ClusteringRow, "clustering", times)

    def indexings(self, **times: "Unpack[Times]") -> "Rows[IndexingRow]":
        """The indexings."""
        from hudictl.reports.services import IndexingRow

        return self._service(IndexingRow, "indexing", times)

    def rollbacks(self, **times: "Unpack[Times]") -> "Rows[RollbackRow]":
        """The rollbacks."""
        from hudictl.reports.services import RollbackRow

        return self._service(RollbackRow, "rollback", times)

    def restores(self, **times: "Unpack[Times]") -> "Rows[RestoreRow]":
        """The restores."""
        from hudictl.reports.services import RestoreRow

        return self._service(RestoreRow, "restore", times)

    def _service(self, row_type: type[Row], name: str, times: Times) -> Rows[Row]:
        from hudictl.reports.services import SERVICES, service_rows

        def look(table: "Table", wanted: "TimelineFilter") -> "Iterator[Row]":
            # The table of kinds has the type.
            return service_rows(table, SERVICES[name], wanted)  # type: ignore[return-value]

        return self.table.by_time(row_type, look, times)

    def files(self, service: str, instant: str) -> "Rows[ServiceFile]":
        """The files of a clean, compaction, clustering, indexing, rollback or restore: what its plan names, or what it
        has done with them. The notes say what each file is to it.

        Raises Refused: there is no such instant.
        """
        from hudictl.reports.service_files import ServiceFile, role_lines, service_files
        from hudictl.reports.services import diagnosed, service_instant

        def look(notes: list[str]) -> Sequence[ServiceFile]:
            entry = service_instant(self.table.core, service, instant)
            rows = service_files(self.table.core, service, entry, lambda: self.table.engine)
            said = diagnosed(self.table.core)(entry)
            notes[:] = [*([f"{entry.state}: {said}"] if said else []), *role_lines(rows)]
            return rows

        return noted(ServiceFile, look)

    def validate_compaction(self, instant: str) -> "Rows[PlanProblem]":
        """What is wrong with the plan of a pending compaction or log compaction; no rows if nothing is.

        Raises Refused: there is no such pending instant; Unreadable: its plan is lost.
        """
        from hudictl.reports.services import compaction_problems
        from hudictl.state.services.plan_problems import PlanProblem

        return Rows(PlanProblem, lambda: compaction_problems(self.table.core, self.table.engine, instant))

    def remove(
        self, instant: str, idle_ms: int = IDLE_MS, *, discard: bool = False
    ) -> "TableChange[ServiceRemoval, ServiceRemoval]":
        """The removal of a pending clean whose plan is unreadable or would delete required files, or of an indexing
        that has not started in the metadata table. Pending compactions and clusterings: ``HudiTable.rollback``.

        Args:
            discard: also a clean that Hudi could finish.
        """
        from hudictl.ops.clean_up.service import ServiceOptions

        return changes.service_removal(instant, ServiceOptions(idle_ms, discard)).of(self.table)

    def discard_rollbacks(self, idle_ms: int = IDLE_MS) -> "TableChange[Discard, Discard]":
        """The removal of pending rollbacks of completed commits, which stay: else the next writer rolls them back."""
        return changes.discard_rollbacks(idle_ms).of(self.table)

    def remove_leftovers(self, idle_ms: int = IDLE_MS) -> "TableChange[Leftovers, Leftovers]":
        """The removal of what restores and rollbacks that have ended, or died, have left."""
        return changes.leftovers(idle_ms).of(self.table)
