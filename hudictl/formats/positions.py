"""How many positions a RECORD_POSITIONS header holds: a 64-bit roaring bitmap in its portable form, in base64.

Counting needs no library: a library for one number would have to be installed on every Spark executor.
"""

import base64
import struct

# https://github.com/RoaringBitmap/RoaringFormatSpec: the cookies of bitmaps without and with containers of runs.
_PLAIN, _WITH_RUNS = 12346, 12347
_LARGEST_ARRAY = 4096
_BITSET_BYTES = 8192
_FEW_CONTAINERS = 4
"""A bitmap with runs has no offsets below so many containers."""


def count_positions(text: str) -> int:
    """Counts the positions. Raises ValueError: no such bitmap, or one whose own counts disagree."""
    source = _Bytes(base64.b64decode(text, validate=True))
    (buckets,) = source.take("<Q")
    count, last = 0, -1
    for _ in range(buckets):
        (high,) = source.take("<I")
        if high <= last:
            raise ValueError("its 32-bit bitmaps are not in ascending order")
        last = high
        count += _count_bitmap(source)
    if source.left:
        raise ValueError(f"{source.left} extra bytes after the bitmap")
    return count


class _Bytes:
    """Bytes that are taken from the front."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._position = 0

    @property
    def left(self) -> int:
        return len(self._body) - self._position

    def take(self, form: str) -> tuple[int, ...]:
        return struct.unpack(form, self.raw(struct.calcsize(form)))

    def raw(self, length: int) -> bytes:
        if length > self.left:
            raise ValueError("the bitmap is cut off")
        self._position += length
        return self._body[self._position - length : self._position]


def _count_bitmap(source: _Bytes) -> int:
    """One 32-bit bitmap: a cookie, which containers are runs, keys with counts, offsets, containers."""
    (cookie,) = source.take("<I")
    runs = b""
    if cookie & 0xFFFF == _WITH_RUNS:
        containers = (cookie >> 16) + 1
        runs = source.raw((containers + 7) // 8)
    elif cookie == _PLAIN:
        (containers,) = source.take("<I")
    else:
        raise ValueError(f"{cookie} is not the beginning of a roaring bitmap")
    heads = source.raw(4 * containers)
    if not runs or containers >= _FEW_CONTAINERS:
        source.raw(4 * containers)
    total, last = 0, -1
    for number, (key, less_one) in enumerate(struct.iter_unpack("<HH", heads)):
        is_run = bool(runs) and bool(runs[number // 8] >> number % 8 & 1)
        if key <= last or _count_container(source, is_run, less_one + 1) != less_one + 1:
            raise ValueError("a container contradicts its own header")
        last = key
        total += less_one + 1
    return total


def _count_container(source: _Bytes, is_run: bool, said: int) -> int:
    if is_run:
        (runs,) = source.take("<H")
        lengths = source.take(f"<{2 * runs}H")[1::2]
        return sum(lengths) + runs
    if said > _LARGEST_ARRAY:
        return int.from_bytes(source.raw(_BITSET_BYTES), "little").bit_count()
    return len(set(source.take(f"<{said}H")))
