"""Parts of files, read on demand."""

import io
from collections.abc import Callable
from typing import Any

ReadAt = Callable[[int, int], bytes]
"""(offset, length) -> the bytes there, fewer only at the end."""


def part(read_at: ReadAt, offset: int, length: int) -> ReadAt:
    """A range of a file, as a file of its own; offset and length are in bytes."""
    return lambda at, wanted: read_at(offset + at, max(0, min(wanted, length - at)))


def as_file(read_at: ReadAt, size: int) -> io.BufferedReader:
    """The same for a library that wants an open file."""
    return io.BufferedReader(_Ranges(read_at, size))


class _Ranges(io.RawIOBase):
    def __init__(self, read_at: ReadAt, size: int) -> None:
        self._read_at = read_at
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        length = max(0, min(len(buffer), self._size - self._position))
        body = self._read_at(self._position, length) if length else b""
        buffer[: len(body)] = body
        self._position += len(body)
        return len(body)
