"""Whether a base file is whole, by its last bytes: what a writer that died, or a copy that was cut, has not written."""

END_BYTES = 8
"""How much of the end tells."""
_ENDS = (".parquet", ".orc", ".hfile")
# The second where the footer is encrypted.
_PARQUET = (b"PAR1", b"PARE")
_PARQUET_LEAST = 12
_HFILE_VERSIONS = (2, 3)


def has_known_end(name: str) -> bool:
    """Whether the end of such a file is known."""
    return name.endswith(_ENDS)


def problem_at_end(name: str, size: int, end: bytes) -> str:
    """What is wrong with a base file whose end is known; "" where nothing is.

    Args:
        size: of the whole file, in bytes.
        end: its last bytes, ``END_BYTES`` of them where there are as many.
    """
    if name.endswith(".parquet"):
        if size < _PARQUET_LEAST or end[-4:] not in _PARQUET:
            return "no parquet: its end is not there"
        footer = int.from_bytes(end[:4], "little")
        return "" if footer <= size - _PARQUET_LEAST else f"no parquet: its footer of {footer:,} bytes does not fit"
    if name.endswith(".orc"):
        return "" if end[-4:-1] == b"ORC" and end[-1] < size else "no ORC: its end is not there"
    # The last number is the version; its highest byte is the minor one.
    return "" if int.from_bytes(end[-3:], "big") in _HFILE_VERSIONS else "no HFile: its end is not there"
