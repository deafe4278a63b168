"""Thrift's compact protocol: what ends before its values is damaged, however many it announces."""

import io

import pytest

from hudictl.formats.thrift import read_struct

LONG = b"\xff\xff\xff\xff\x7f"
"""34,359,738,367."""


@pytest.mark.parametrize("kind", [1, 3, 5, 7, 8, 9, 12])
def test_a_list_of_more_values_than_there_are_bytes_ends_at_once(kind: int) -> None:
    """Of each type: a value that takes no bytes at the end would be read for hours."""
    with pytest.raises((IndexError, ValueError)):
        read_struct(io.BytesIO(b"\x19" + bytes([0xF0 | kind]) + LONG + b"\x01\x02"))


def test_a_text_that_is_longer_than_the_rest_is_damaged() -> None:
    assert read_struct(io.BytesIO(b"\x18\x02ab\x00")) == {1: b"ab"}
    with pytest.raises(IndexError):
        read_struct(io.BytesIO(b"\x18\x03ab"))
