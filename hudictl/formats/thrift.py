"""Thrift's compact protocol, in which Parquet has its footer and the headers of its pages: for what must be known of a
damaged file before pyarrow, which ends the process on some of them (26.0.1), decodes it."""

import io
from typing import Any

Struct = dict[int, Any]

GROUPS, COLUMNS, METADATA = 4, 1, 3
"""The numbers of fields of Parquet's: in the footer, in a row group, in a column."""

_BOOLEANS, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LIST, _STRUCT = (1, 2), 3, (4, 5, 6), 7, 8, 9, 12


def read_struct(source: io.BytesIO, levels: int = 10) -> Struct:
    """A struct of Thrift's compact protocol: its values by the numbers of the fields. Where the bytes end it raises
    IndexError."""
    found: Struct = {}
    number = 0
    while head := _byte(source):
        number = number + (head >> 4) if head >> 4 else _integer(source)
        kind = head & 15
        found[number] = kind == _BOOLEANS[0] if kind in _BOOLEANS else _value(source, kind, levels)
    return found


def _value(source: io.BytesIO, kind: int, levels: int) -> Any:
    if kind in _INTEGERS:
        return _integer(source)
    if kind == _BINARY:
        return _bytes(source, _varint(source))
    if kind == _DOUBLE:
        return _bytes(source, 8)
    if kind == _BYTE or kind in _BOOLEANS:
        return _byte(source)
    if kind == _STRUCT and levels:
        return read_struct(source, levels - 1)
    if kind == _LIST and levels:
        head = _byte(source)
        count = head >> 4 if head >> 4 < 15 else _varint(source)
        return [_value(source, head & 15, levels - 1) for _ in range(count)]
    raise ValueError(f"a value of the type {kind}")


def _integer(source: io.BytesIO) -> int:
    value = _varint(source)
    return (value >> 1) ^ -(value & 1)


def _varint(source: io.BytesIO) -> int:
    value = shift = 0
    while (byte := _byte(source)) & 128:
        value |= (byte & 127) << shift
        shift += 7
        if shift > 63:
            raise ValueError("an integer of more than 64 bits")
    return value | byte << shift


def _byte(source: io.BytesIO) -> int:
    return _bytes(source, 1)[0]


def _bytes(source: io.BytesIO, count: int) -> bytes:
    found = source.read(count)
    # Else a list of very many values would need no bytes.
    if len(found) < count:
        raise IndexError(f"{count:,} bytes are missing")
    return found
