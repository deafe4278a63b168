"""Whether a base file is complete, by its last bytes: they are missing after a dead writer or an interrupted copy."""

END_BYTES = 8
"""How many bytes of the end are needed."""
_ENDS = (".parquet", ".orc", ".hfile")
# The second one for an encrypted footer.
_PARQUET = (b"PAR1", b"PARE")
_PARQUET_LEAST = 12
_HFILE_VERSIONS = (2, 3)


def has_known_end(name: str) -> bool:
    """Whether the end of such a file is known."""
    return name.endswith(_ENDS)


def problem_at_end(name: str, size: int, end: bytes) -> str:
    """The problem of a base file, by its end; "" if there is none.

    Args:
        size: of the whole file, in bytes.
        end: its last bytes, ``END_BYTES`` of them where there are as many.
    """
    if name.endswith(".parquet"):
        if size < _PARQUET_LEAST or end[-4:] not in _PARQUET:
            return "not a Parquet file (its end is missing)"
        footer = int.from_bytes(end[:4], "little")
        unfit = f"not a Parquet file (its footer of {footer:,} bytes does not fit)"
        return "" if footer <= size - _PARQUET_LEAST else unfit
    if name.endswith(".orc"):
        return "" if end[-4:-1] == b"ORC" and end[-1] < size else "not an ORC file (its end is missing)"
    # The last number is the version; its highest byte is the minor one.
    return "" if int.from_bytes(end[-3:], "big") in _HFILE_VERSIONS else "not an HFile (its end is missing)"
