"""What executors do for repairs. They import this module: it imports nothing that reads a table."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from hudictl import workers
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.log_blocks import DELETE, IS_PARTIAL, SCHEMA
from hudictl.storage import Storage


class Written(NamedTuple):
    """What a data file says of the write that made it: its rows and deletes, and the Avro schemas that it names.

    ``parts`` are those of blocks that may have fewer columns than the write: of partial updates, and of deletes.
    ``columns`` are those of a Parquet file that names no Avro schema, as Hudi's row writer leaves it.
    """

    path: str
    rows: int = 0
    schemas: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    columns: Mapping[str, str] | None = None
    deletes: int = 0


def written_by(storage: Storage, time: str, files: Sequence[tuple[str, str, int]]) -> list[Written]:
    """What some data files (partition, name, size in bytes) say of a write.

    Raises Unreadable: the footer of a base file; StorageFailed, FileNotFoundError.
    """
    return [_written(storage, time, *file) for file in files]


def _written(storage: Storage, time: str, partition: str, name: str, size: int) -> Written:
    path, data = data_path(partition, name), parse_data_file(name)
    if data is not None and data.is_base:
        if name.endswith(".orc"):
            from hudictl.formats.base_rows import orc_schema

            schema = orc_schema(partial(storage.read, path), size)
            return Written(path, schemas=(schema,) if schema else ())
        if not name.endswith(".parquet"):
            return Written(path)
        from hudictl.formats.parquet_footers import own_columns, own_entries, read_footer

        footer = read_footer(partial(storage.read, path), size)
        if schema := own_entries(footer).get("parquet.avro.schema", ""):
            return Written(path, footer.num_rows, (schema,))
        return Written(path, footer.num_rows, columns=own_columns(footer))
    from hudictl.formats.log_contents import record_count

    blocks = [block for _, block in workers.blocks_of(storage, partition, ((name, size),)) if block.instant == time]
    headers = [
        (block.header[SCHEMA], block.block_type == DELETE or block.header.get(IS_PARTIAL) == "true")
        for block in blocks
        if SCHEMA in block.header
    ]
    counts = [(record_count(block, partial(storage.read, path)) or 0, block.block_type == DELETE) for block in blocks]
    rows, deletes = (sum(count for count, deletes in counts if deletes is kind) for kind in (False, True))
    whole, parts = (tuple(dict.fromkeys(text for text, part in headers if part is kind)) for kind in (False, True))
    return Written(path, rows, schemas=whole, parts=parts, deletes=deletes)
