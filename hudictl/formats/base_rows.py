"""The rows of base files, in the formats that hudictl reads: Parquet and ORC."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hudictl.errors import Unsupported
from hudictl.formats.file_names import base_format
from hudictl.formats.log_contents import Row, batch_rows, decoding, read_parquet
from hudictl.formats.ranges import ReadAt, as_file

if TYPE_CHECKING:
    import pyarrow

PARQUET, ORC = "Parquet", "ORC"
RECORD_KEY = "_hoodie_record_key"
META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    RECORD_KEY,
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
"""Hudi's own columns, before those of the table."""
_BATCH_ROWS = 4096


def require_format(name: str, formats: Sequence[str], use: str) -> None:
    """Raises Unsupported: a base file of another format than these; ``use``: what hudictl does with these alone."""
    form = base_format(name)
    if form not in formats:
        kind = {"": "of an unknown format", ORC: "an ORC file", "HFile": "an HFile"}.get(form, f"a {form} file")
        raise Unsupported(
            f"{name} is {kind}: hudictl {use} {' and '.join(formats)} base files only",
            hint="commands that go by names and records work on this table: restore, rollback, savepoint, check",
            file=name,
        )


def require_rows(name: str) -> None:
    """Raises Unsupported: hudictl cannot read the rows of such a base file."""
    require_format(name, (PARQUET, ORC), "reads the rows of")


def read_rows(name: str, read_at: ReadAt, size: int, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """The rows of a base file, some thousands at a time; maps come as pairs.

    Args:
        name: its name or path, with the extension of its format.
        columns: read only these, as far as the file has them.

    Raises:
        Unreadable.
        Unsupported: another format than Parquet and ORC; a timestamp in ORC.
    """
    require_rows(name)
    if base_format(name) == PARQUET:
        yield from read_parquet(read_at, size, columns)
        return
    with decoding("the ORC file"):
        yield from _orc_rows(read_at, size, columns)


def orc_schema(read_at: ReadAt, size: int) -> str:
    """The Avro schema that Hudi has left in an ORC file; "" if there is none. Raises Unreadable."""
    from pyarrow import orc

    with decoding("the ORC file"):
        entries = orc.ORCFile(as_file(read_at, size)).schema.metadata or {}
        return str(entries.get(b"orc.avro.schema", b""), "utf-8")


def _orc_rows(read_at: ReadAt, size: int, columns: Sequence[str] | None) -> Iterator[Row]:
    from pyarrow import orc

    file = orc.ORCFile(as_file(read_at, size))
    fields = [field for field in file.schema if columns is None or field.name in columns]
    for field in fields:
        if _has_timestamp(field.type):
            # ORC keeps the wall clock of the writer's time zone, and pyarrow does not say which zone that was.
            raise Unsupported(f"the column {field.name} is a timestamp: hudictl does not read timestamps in ORC")
    for number in range(file.nstripes):
        stripe = file.read_stripe(number, [field.name for field in fields])
        for start in range(0, stripe.num_rows, _BATCH_ROWS):
            yield from batch_rows(stripe.slice(start, _BATCH_ROWS))


def _has_timestamp(kind: "pyarrow.DataType") -> bool:
    from pyarrow import types

    return types.is_timestamp(kind) or any(_has_timestamp(kind.field(at).type) for at in range(kind.num_fields))
