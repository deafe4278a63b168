"""The function of ``hudictl record`` that may run on a Spark executor; see ``workers``."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from hudictl.errors import Unsupported
from hudictl.formats.file_names import base_format
from hudictl.formats.log_blocks import AVRO_DATA, DELETE, HFILE_DATA, PARQUET_DATA, read_blocks
from hudictl.formats.ranges import ReadAt
from hudictl.index_workers import File, Record, naming, reader_of
from hudictl.storage import Storage

COMMIT_TIME = "_hoodie_commit_time"


@dataclass(frozen=True, slots=True)
class KeyTask:
    """The files in which a record is looked for: base files, and logs without change data. ``column`` has the keys."""

    storage: Storage
    files: tuple[File, ...]
    key: str
    column: str


class Version(NamedTuple):
    """A row with the key, or the key in a delete block. The number and instant of the block are None in base files."""

    file: str
    block: int | None
    instant: str | None
    deleted: bool
    row: Record

    @property
    def made_by(self) -> str | None:
        """The instant that made the version; None in base files without Hudi's own columns."""
        return self.row.get(COMMIT_TIME) or self.instant


def versions_of(task: KeyTask) -> list[Version]:
    """The versions of a record in some files, whether readers count them or not.

    Raises:
        Unreadable: damaged.
        Unsupported: base files that hudictl does not read; keys that are neither text nor whole numbers.
        FileNotFoundError, StorageFailed.
    """
    found: list[Version] = []
    for file in task.files:
        with naming(file):
            read_at = reader_of(task.storage, file)
            found += (_of_base if base_format(file.path) else _of_log)(task, file, read_at)
    return found


def _of_base(task: KeyTask, file: File, read_at: ReadAt) -> Iterator[Version]:
    from hudictl.formats.base_rows import PARQUET, read_rows
    from hudictl.formats.bloom_filters import may_have_key
    from hudictl.formats.parquet_footers import own_entries, read_footer

    if base_format(file.path) == PARQUET and not may_have_key(own_entries(read_footer(read_at, file.size)), task.key):
        return
    for row in read_rows(file.path, read_at, file.size, [task.column, COMMIT_TIME]):
        if _is_of(task, row):
            yield Version(file.path, None, None, False, row)


def _of_log(task: KeyTask, file: File, read_at: ReadAt) -> Iterator[Version]:
    from hudictl.formats.log_contents import read_deletes, read_records

    for number, block in enumerate(read_blocks(read_at, file.size)):
        if block.block_type == DELETE:
            keys = (deleted.record_key for deleted in read_deletes(block, read_at))
            yield from (Version(file.path, number, block.instant, True, {}) for key in keys if key == task.key)
        elif block.block_type in (AVRO_DATA, HFILE_DATA, PARQUET_DATA):
            for row in read_records(block, read_at):
                if _is_of(task, row):
                    deleted = row.get("_hoodie_is_deleted") is True or row.get("_hoodie_operation") == "D"
                    yield Version(file.path, number, block.instant, deleted, row)


def _is_of(task: KeyTask, row: Record) -> bool:
    key = row.get(task.column)
    if type(key) not in (str, int):
        raise Unsupported(f"the column {task.column} has neither text nor whole numbers: hudictl finds no keys in it")
    return str(key) == task.key
