"""Whether a base file is complete, by its last bytes: they are missing after a dead writer or an interrupted copy."""

import struct

from hudictl.formats.file_names import BASE_FORMATS

END_BYTES = 40
"""How many bytes of the end are needed."""
_ENDS = tuple(BASE_FORMATS)
ENCRYPTED = b"PARE"
"""The end of a Parquet file with an encrypted footer."""
_PARQUET = (b"PAR1", ENCRYPTED)
_PARQUET_LEAST = 12
_HFILE_VERSIONS = (2, 3)
_LANCE = struct.Struct("<QQQIIHH4s")
"""The positions of the columns' metadata, of the table of these, and of the table of global buffers; how many buffers
and columns; the version; the magic bytes."""
_LANCE_ENTRY = 16
"""The bytes of an entry in either table."""


def has_known_end(name: str) -> bool:
    """Whether the end of such a file is known."""
    return name.endswith(_ENDS)


def problem_at_end(name: str, size: int, end: bytes) -> str:
    """The problem of a base file or a log, by its end; "" if there is none.

    Args:
        size: of the whole file, in bytes.
        end: its last bytes, ``END_BYTES`` of them where there are as many.
    """
    if not has_known_end(name):
        return "" if any(end) else "a log that ends with zeros, as after a crash of its host"
    if name.endswith(".parquet"):
        if size < _PARQUET_LEAST or end[-4:] not in _PARQUET:
            return "not a Parquet file (its end is missing)"
        footer = int.from_bytes(end[-8:-4], "little")
        unfit = f"not a Parquet file (its footer of {footer:,} bytes does not fit)"
        return "" if footer <= size - _PARQUET_LEAST else unfit
    if name.endswith(".orc"):
        return "" if end[-4:-1] == b"ORC" and end[-1] < size else "not an ORC file (its end is missing)"
    if name.endswith(".lance"):
        return _problem_of_lance(size, end[-_LANCE.size :])
    # The last number is the version; its highest byte is the minor one. A file of HBase (0.15.0) that lacks its last
    # three bytes passes: it ends as a file of Hudi's own writer does.
    return "" if int.from_bytes(end[-3:], "big") in _HFILE_VERSIONS else "not an HFile (its end is missing)"


def _problem_of_lance(size: int, end: bytes) -> str:
    """By the footer of Lance's file format 2 (seen on lance-core 4.0.0, which Hudi 1.2.0 uses)."""
    if end[-4:] != b"LANC" or len(end) < _LANCE.size:
        return "not a Lance file (its end is missing)"
    columns, column_table, buffer_table, buffers, count, *_ = _LANCE.unpack(end)
    fits = (
        columns <= column_table
        and column_table + count * _LANCE_ENTRY <= buffer_table
        and buffer_table + buffers * _LANCE_ENTRY <= size - _LANCE.size
    )
    return "" if fits else "not a Lance file (its footer does not fit)"
