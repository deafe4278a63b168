"""The data files of a table."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from hudictl.errors import Unreadable
from hudictl.library import changes
from hudictl.library.opened import Opened, Row, Times
from hudictl.library.options import refuse_value, several
from hudictl.library.rows import Rows, noted
from hudictl.table.settings import SMALL_FILE_LIMIT

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hudictl.library.change import TableChange
    from hudictl.ops.repair.plan import RepairPlan, RepairResult
    from hudictl.reports.file_explain import FileExplained
    from hudictl.reports.file_history import FileEvent
    from hudictl.reports.logs.slices import SliceRow
    from hudictl.reports.stats import SizeRow
    from hudictl.state.orphans.find import OrphanRow


@dataclass(frozen=True)
class DataFiles:
    """The history of data files, why each is there, and how large they are."""

    table: Opened

    def history(self, file: str, partition: str | None = None, **times: "Unpack[Times]") -> "Rows[FileEvent]":
        """What instants did with a file group (its id) or with one file (its name or path)."""
        from hudictl.reports.file_history import FileEvent, file_history, wanted_file

        def look(notes: list[str]) -> Iterator[FileEvent]:
            wanted = wanted_file(self.table.core, file, partition)
            return file_history(self.table.core, wanted, self.table.instants(**times), notes)

        return noted(FileEvent, look)

    def explain(self, file: str, partition: str | None = None) -> "FileExplained":
        """The parts of a data file's name, why it is there, and whether it may be deleted."""
        from hudictl.reports.file_explain import explain_file
        from hudictl.reports.file_history import wanted_file

        return explain_file(self.table.core, self.table.engine, wanted_file(self.table.core, file, partition))

    def sizes(
        self,
        by: Literal["partition", "commit"] = "partition",
        of: Literal["slices", "files"] = "slices",
        small_file_limit: int = SMALL_FILE_LIMIT,
    ) -> "Rows[SizeRow]":
        """The sizes, in bytes, of the newest file slices, or of all files, and the total."""
        from hudictl.reports.stats import SizeRow, size_rows

        refuse_value("by", by)
        refuse_value("of", of)
        table = self.table
        look = partial(size_rows, table.core, by=by, of=of, small_file_limit=small_file_limit)
        return Rows(SizeRow, _telling(lambda damaged: look(engine=table.engine, damaged=damaged)))

    def skew(self) -> "Rows[SizeRow]":
        """How unequal the partitions are, the worst first."""
        from hudictl.reports.stats import SizeRow, skew_rows

        table = self.table
        look = _telling(lambda damaged: skew_rows(table.core, table.engine, SMALL_FILE_LIMIT, damaged))
        return Rows(SizeRow, look)

    def repair_metafiles(self, partitions: Sequence[str] = ()) -> "TableChange[RepairPlan, RepairResult]":
        """The metafiles of partitions (all, or some), written again where they are missing or damaged."""
        return changes.metafile_repair(several(partitions)).of(self.table)

    def orphans(self) -> "Rows[OrphanRow]":
        """The data files without an instant, by path."""
        from hudictl.state.facts import read_facts, read_signs
        from hudictl.state.orphans.find import OrphanRow, find_orphans

        def look() -> list[OrphanRow]:
            facts = read_facts(self.table.core, self.table.engine, read_signs(self.table.core), self.table.access.note)
            return [entry.row for entry in find_orphans(facts, self.table.engine)]

        return Rows(OrphanRow, look)


def slices_of(table: Opened, partition: str | None, as_of: str | None) -> "Rows[SliceRow]":
    """The file slices of all file groups, or of those of a partition."""
    from hudictl.reports.as_of import tell_what_is_gone
    from hudictl.reports.logs.slices import SliceRow, files_of_partition, files_of_table, slice_rows
    from hudictl.table.timeline.active import load_timeline

    notes: list[str] = []

    def look(damaged: list[Unreadable]) -> list[SliceRow]:
        timeline = load_timeline(table.core)
        tell_what_is_gone(table.core, timeline, as_of, notes)
        if partition is None:
            files = files_of_table(table.core, timeline, table.engine, damaged=damaged)
        else:
            files = files_of_partition(table.core, partition)
        return slice_rows(table.core, files, timeline, as_of)

    return Rows(SliceRow, _telling(look), notes)


def _telling(look: Callable[[list[Unreadable]], Iterable[Row]]) -> Callable[[], Iterator[Row]]:
    """Rows in spite of commits that cannot be read. Raises Unreadable behind the last one: which."""

    def rows() -> Iterator[Row]:
        damaged: list[Unreadable] = []
        yield from look(damaged)
        if damaged:
            message = f"partitions without a metafile may be missing: {damaged[0].message}"
            raise Unreadable(message, hint="`hudictl check` shows what is damaged", **damaged[0].fields)

    return rows
