"""Records by their keys."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hudictl.library.opened import Opened, Times
from hudictl.library.options import refuse_value
from hudictl.library.rows import Rows, noted

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hudictl.reports.record_duplicates import DuplicateRecord
    from hudictl.reports.record_versions import FoundRecord, RecordVersion


@dataclass(frozen=True)
class Records:
    """The records of a table, by their ``_hoodie_record_key``."""

    table: Opened

    def find(self, key: str, partition: str | None = None, as_of: str | None = None) -> "Rows[FoundRecord]":
        """The files that have the newest version of a record, by its ``_hoodie_record_key``."""
        from hudictl.reports.record_versions import FoundRecord, found_rows

        refuse_value("key", key)
        table = self.table
        look = partial(found_rows, table.core, key, partition, as_of)
        return noted(FoundRecord, lambda notes: look(table.engine, notes))

    def history(self, key: str, partition: str | None = None, **times: "Unpack[Times]") -> "Rows[RecordVersion]":
        """The versions of a record that files still have."""
        from hudictl.reports.record_versions import RecordVersion, version_rows

        refuse_value("key", key)
        table = self.table
        look = partial(version_rows, table.core, key, partition)
        return noted(RecordVersion, lambda notes: look(table.instants(**times), table.engine, notes))

    def duplicates(
        self, partition: str | None = None, as_of: str | None = None, *, everywhere: bool = False
    ) -> "Rows[DuplicateRecord]":
        """The records with a key that queries read twice in a partition; ``everywhere``: in the table."""
        from hudictl.reports.record_duplicates import DuplicateRecord, duplicate_rows

        table = self.table
        look = partial(duplicate_rows, table.core, partition, as_of, everywhere)
        return noted(DuplicateRecord, lambda notes: look(table.engine, notes))
