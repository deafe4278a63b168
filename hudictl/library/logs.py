"""Log files: their blocks, their records, and what is wrong with them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hudictl.errors import Unreadable, Unsupported, UsageError
from hudictl.library.options import several
from hudictl.library.rows import Rows, noted
from hudictl.table.logs.paths import find_logs, folders_among
from hudictl.table.logs.reader import LogFile

if TYPE_CHECKING:
    from hudictl.engine.base import Engine, Progress
    from hudictl.library.opened import Opened
    from hudictl.reports.logs.blocks import BlockRow, LogSelection
    from hudictl.reports.logs.records import RecordRow
    from hudictl.reports.logs.verify import Verified


@dataclass(frozen=True, eq=False)
class LogFiles:
    """Some log files; ``notes`` say what could not be determined about them. ``folders`` are whole partitions, of which
    only ``merged`` reads. ``owner``: the table that they were chosen from."""

    files: Sequence[LogFile]
    notes: list[str] = field(default_factory=list)
    folders: Sequence[LogFile] = ()
    owner: "Opened | None" = field(default=None, repr=False)

    @property
    def table(self) -> str | None:
        """The base path of the one table that all lie in."""
        tables = {log.table.uri if log.table else None for log in (*self.files, *self.folders)}
        return tables.pop() if len(tables) == 1 else None

    @property
    def bytes(self) -> int:
        """The size of all."""
        return sum(log.size for log in self.files)

    def blocks(self) -> "Rows[BlockRow]":
        """Each block, from its header: type, position, instant, and whether readers use it."""
        from hudictl.reports.logs.blocks import BlockRow, inspect_logs

        return Rows(BlockRow, lambda: inspect_logs(self.files, self.notes), self.notes)

    def records(
        self,
        keys: Sequence[str] = (),
        columns: Sequence[str] = (),
        damaged: "list[Unreadable | Unsupported] | None" = None,
    ) -> "Rows[RecordRow]":
        """The records, block by block; a deleted key is a row, too. Without ``keys`` all, without ``columns`` all.

        Args:
            damaged: gets what could not be read; without it, the first is raised behind the last row.
        """
        from hudictl.reports.logs.records import RecordRow, Wanted, record_rows

        wanted = Wanted(frozenset(several(keys)), tuple(several(columns)))

        def look() -> Iterator[RecordRow]:
            found: list[Unreadable | Unsupported] = [] if damaged is None else damaged
            yield from record_rows(self.files, wanted, self.notes, found)
            if found and damaged is None:
                raise found[0]

        return Rows(RecordRow, look, self.notes)

    def merged(
        self, keys: Sequence[str] = (), columns: Sequence[str] = (), as_of: str | None = None
    ) -> "Rows[RecordRow]":
        """The records of the newest file slices, merged as a query reads them, now or as of an instant."""
        from hudictl.reports.logs.merged import merged_rows, slices_of
        from hudictl.reports.logs.records import RecordRow, Wanted

        wanted = Wanted(frozenset(several(keys)), tuple(several(columns)))

        def look(notes: list[str]) -> Iterator[RecordRow]:
            for found in slices_of(self.files, self.folders, as_of, notes):
                yield from merged_rows(found, wanted, notes)

        return noted(RecordRow, look)

    def verify(self, engine: "Engine | None" = None, progress: "Progress | None" = None) -> "Verified":
        """Decodes every block, and compares them with the timeline: a row for each defect.

        Args:
            engine: What reads them. By default the table's, or threads of this process.
            progress: Is told of the share that is done.
        """
        from hudictl.engine.local import LocalEngine
        from hudictl.reports.logs.verify import verify_logs

        engine = engine or (self.owner.engine if self.owner else LocalEngine())
        return verify_logs(self.files, engine, self.notes, progress)


def logs_at(
    paths: Sequence[str],
    storage_options: Mapping[str, str] | None = None,
    timezone: str | None = None,
    *,
    partitions: bool = False,
) -> LogFiles:
    """The logs at some paths: files, folders or patterns. Their table is the nearest one above them.

    Args:
        partitions: a folder is a whole partition, and base files count, for ``merged``.

    Raises NotFound: a path does not exist, or has no logs.
    """
    folders, files = folders_among(paths, storage_options, timezone) if partitions else ([], list(paths))
    return LogFiles(*find_logs(files, storage_options, timezone), folders)


def logs_of(table: "Opened", selection: "LogSelection | None" = None) -> LogFiles:
    """The logs of a table: by partition, file group or instant; or all, also of its metadata table and archive."""
    from hudictl.reports.logs.blocks import select_logs
    from hudictl.reports.logs.verify import logs_of_table

    notes: list[str] = []
    if selection is not None:
        return LogFiles(select_logs(table.core, selection, table.engine), notes, owner=table)
    return LogFiles(logs_of_table(table.core, table.engine, notes), notes, owner=table)


def logs_in(
    table: "Opened", paths: Sequence[str], partition: str | None, file_id: str | None, instant: str | None
) -> LogFiles:
    """The logs at some paths below a table, or some of a table, or all. Raises UsageError: both are asked for."""
    from hudictl.reports.logs.blocks import LogSelection

    chosen = LogSelection(partition, file_id, instant)
    if not paths:
        return logs_of(table, None if chosen == LogSelection() else chosen)
    if chosen != LogSelection():
        raise UsageError("paths exclude partition, file_id and instant")
    found = logs_at([f"{table.core.uri}/{path}" for path in paths], table.access.storage_options, table.access.timezone)
    return replace(found, owner=table)
