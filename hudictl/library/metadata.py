"""The metadata table."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudictl.library import changes
from hudictl.library.opened import Opened
from hudictl.library.options import several
from hudictl.library.rows import Rows, noted

if TYPE_CHECKING:
    from hudictl.library.change import TableChange
    from hudictl.ops.metadata.drop import DropOptions, DropPlan, DropResult
    from hudictl.reports.indexes.view import IndexDifference
    from hudictl.reports.metadata_files import ListedFile, ListedPartition
    from hudictl.reports.metadata_lookup import ColumnStatsRow, LookupRow
    from hudictl.reports.metadata_stats import PartitionStats
    from hudictl.reports.metadata_table import Difference
    from hudictl.table.metadata.listing import Listing


@dataclass(frozen=True)
class MetadataTable:
    """The metadata table of a table."""

    table: Opened

    def unused(self) -> str | None:
        """Why readers do not use it; None if they do."""
        from hudictl.table.metadata.listing import listing_table

        if listing_table(self.table.core) is not None:
            return None
        if "files" in self.table.core.metadata_partitions:
            return "hoodie.properties names a metadata table, but it does not exist: readers list folders"
        return "no metadata table is in use: readers list folders"

    def partitions(self) -> "Rows[PartitionStats]":
        """The partitions of the metadata table: size, last compaction, and how many commits could be removed. Where
        there is none, a note says so."""
        from hudictl.reports.metadata_stats import PartitionStats, partition_stats

        def look(notes: list[str]) -> Sequence[PartitionStats]:
            rows = partition_stats(self.table.core)
            if rows is None:
                notes[:] = filter(None, [self.unused()])
            return rows or ()

        return noted(PartitionStats, look)

    def listed_partitions(self) -> "Rows[ListedPartition]":
        """The partitions of the table, as the metadata table lists them. A note says why there are none."""
        from hudictl.reports.metadata_files import ListedPartition, listed_partitions

        return noted(ListedPartition, lambda notes: listed_partitions(self._listing(notes) or {}))

    def listed_files(self, partition: str) -> "Rows[ListedFile]":
        """The files of a partition, as the metadata table lists them. Raises NotFound: it lists no such partition."""
        from hudictl.reports.metadata_files import ListedFile, listed_files

        def look(notes: list[str]) -> Sequence[ListedFile]:
            listing = self._listing(notes)
            return () if listing is None else listed_files(listing, partition)

        return noted(ListedFile, look)

    def _listing(self, notes: list[str]) -> "Listing | None":
        from hudictl.table.metadata.listing import listing_table, read_listing

        notes.clear()
        used = listing_table(self.table.core)
        if used is None:
            notes[:] = filter(None, [self.unused()])
        return None if used is None else read_listing(used, notes)

    def columns(self, file: str) -> "Rows[ColumnStatsRow]":
        """The statistics of each column of a data file (its path below the table), by the index column_stats.

        Raises NotFound: readers have no such index, or it has nothing of the file.
        """
        from hudictl.reports.metadata_lookup import ColumnStatsRow, column_rows

        return noted(ColumnStatsRow, lambda notes: column_rows(self.table.core, file, notes))

    def lookup(self, keys: Sequence[str]) -> "Rows[LookupRow]":
        """The partition and file group of record keys, by the record index.

        Raises NotFound: readers have no such index.
        """
        from hudictl.reports.metadata_lookup import LookupRow, lookup_rows

        return noted(LookupRow, lambda notes: lookup_rows(self.table.core, several(keys), notes))

    def verify(self) -> "Rows[Difference]":
        """The differences between the metadata table and storage. Where readers do not use it, a note says so."""
        from hudictl.reports.metadata_table import Difference, verify_listing

        table = self.table

        def look(notes: list[str]) -> Sequence[Difference]:
            notes[:] = filter(None, [self.unused()])
            return () if notes else verify_listing(table.core, table.engine, notes, table.access.note)

        return noted(Difference, look)

    def verify_indexes(self, sample: int | None = None) -> "tuple[Rows[IndexDifference], Sequence[str]]":
        """The differences between the indexes and the newest file slices, and the names of the indexes that were
        compared. The notes have those that were not.

        Args:
            sample: look only at so many base files or file groups.
        """
        from hudictl.reports.indexes.verify import verify_indexes
        from hudictl.reports.indexes.view import IndexDifference
        from hudictl.table.metadata.listing import listing_table

        notes: list[str] = []
        table, used = self.table, listing_table(self.table.core)
        if used is None or not table.core.indexes:
            notes[:] = filter(None, [self.unused()])
            return Rows(IndexDifference, lambda: (), notes), ()
        step = table.access.counted
        found = verify_indexes(table.core, used, table.engine, notes, sample=sample, step=step)
        return Rows(IndexDifference, lambda: found.rows, notes), found.compared

    def drop(self, options: "DropOptions | None" = None) -> "TableChange[DropPlan, DropResult]":
        """The drop of the metadata table, or of the indexes in ``DropOptions(partitions=("record_index",))``. The next
        write of Hudi builds again what is configured."""
        from hudictl.ops.metadata.drop import DropOptions

        return changes.metadata_drop(self.table.keeping(options or DropOptions())).of(self.table)
