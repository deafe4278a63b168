"""Positions of records: bitmaps that Hudi wrote, all kinds of containers, and damage."""

import base64
import struct

import pytest

from hudictl.formats.positions import count_positions


def bitmap(*buckets: bytes) -> str:
    """One 32-bit bitmap for each high word from 0 on."""
    words = b"".join(struct.pack("<I", high) + body for high, body in enumerate(buckets))
    return base64.b64encode(struct.pack("<Q", len(buckets)) + words).decode()


def plain(*containers: tuple[int, bytes]) -> bytes:
    """Containers as (how many, their bytes), without runs; offsets are not looked at."""
    heads = b"".join(struct.pack("<HH", key, count - 1) for key, (count, _) in enumerate(containers))
    offsets = bytes(4 * len(containers))
    return struct.pack("<II", 12346, len(containers)) + heads + offsets + b"".join(body for _, body in containers)


def with_runs(*runs: tuple[int, int]) -> bytes:
    """One container of runs as (start, length)."""
    count = sum(length for _, length in runs)
    pairs = b"".join(struct.pack("<HH", start, length - 1) for start, length in runs)
    return struct.pack("<IBHH", 12347, 1, 0, count - 1) + struct.pack("<H", len(runs)) + pairs


ARRAY = (3, struct.pack("<3H", 1, 5, 9))
BITSET = (5000, bytes(8192 - 625) + b"\xff" * 625)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        # Hudi 1.2.0: an array of five, and a run of four.
        ("AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAQAEAAAAAMABwALAA8AEwA=", 5),
        ("AQAAAAAAAAAAAAAAOzAAAAEAAAMAAQAFAAMA", 4),
        (bitmap(), 0),
        (bitmap(plain(ARRAY)), 3),
        (bitmap(plain(ARRAY, BITSET, ARRAY)), 5006),
        (bitmap(with_runs((0, 10), (100, 65_000))), 65_010),
        (bitmap(plain(ARRAY), with_runs((7, 2))), 5),
    ],
)
def test_positions_are_counted(text: str, count: int) -> None:
    assert count_positions(text) == count


@pytest.mark.parametrize(
    "text",
    [
        "not base64!",
        "",
        bitmap(b"\x00\x00\x00\x00"),
        bitmap(plain((4, ARRAY[1] + b"\x09\x00"))),
        bitmap(plain((4999, BITSET[1]))),
        base64.b64encode(base64.b64decode(bitmap(plain(ARRAY))) + b"x").decode(),
        base64.b64encode(struct.pack("<Q", 2**63)).decode(),
        base64.b64encode(struct.pack("<QIII", 1, 0, 12346, 2**32 - 1)).decode(),
        base64.b64encode(2 * (struct.pack("<QI", 2, 0) + plain(ARRAY))).decode(),
    ],
)
def test_what_is_no_bitmap_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 the reason is for eyes
        count_positions(text)


def test_a_bitmap_that_is_cut_anywhere_is_refused() -> None:
    body = base64.b64decode(bitmap(plain(ARRAY), with_runs((7, 2))))
    for length in range(len(body)):
        with pytest.raises(ValueError):  # noqa: PT011 the reason is for eyes
            count_positions(base64.b64encode(body[:length]).decode())
