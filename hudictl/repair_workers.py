"""What executors do for repairs. They import this module: it imports nothing that reads a table."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from hudictl import workers
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.log_blocks import SCHEMA
from hudictl.storage import Storage


class Written(NamedTuple):
    """What a data file says of the write that made it: its rows (0 for a log), and its Avro schema, "" if it has
    none."""

    path: str
    rows: int
    schema: str


def written_by(storage: Storage, time: str, files: Sequence[tuple[str, str, int]]) -> list[Written]:
    """What some data files (partition, name, size in bytes) say of a write.

    Raises Unreadable: the footer of a Parquet file; StorageFailed, FileNotFoundError.
    """
    return [_written(storage, time, *file) for file in files]


def _written(storage: Storage, time: str, partition: str, name: str, size: int) -> Written:
    path, data = data_path(partition, name), parse_data_file(name)
    if data is not None and data.is_base:
        if not name.endswith(".parquet"):
            return Written(path, 0, "")
        from hudictl.formats.parquet_footers import own_entries, read_footer

        footer = read_footer(partial(storage.read, path), size)
        return Written(path, footer.num_rows, own_entries(footer).get("parquet.avro.schema", ""))
    blocks = workers.blocks_of(storage, partition, ((name, size),))
    schemas = (block.header[SCHEMA] for _, block in blocks if block.instant == time and SCHEMA in block.header)
    return Written(path, 0, next(schemas, ""))
