"""What the tests of log blocks share with others."""

from collections.abc import Callable
from functools import cache

from hudictl.formats.log_blocks import Block, encode_rollback_block, read_blocks
from tests.formats import real_files

TARGET = "20250126040826878"


def reader(body: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, length: body[offset : offset + length]


def blocks_of(body: bytes) -> list[Block]:
    return list(read_blocks(reader(body), len(body)))


def is_log(path: str) -> bool:
    return ".log." in path and "/.temp/" not in path


@cache
def smallest(version: str, name: str, suffix: str = "") -> bytes:
    """The smallest real log file of a table."""
    found = real_files.files(version, name)
    return min((body for path, body in found.items() if is_log(path) and path.endswith(suffix)), key=len)


@cache
def several() -> tuple[bytes, tuple[int, ...]]:
    """A log of four real blocks and a rollback block (a log is a plain concatenation), and where each ends."""
    parts = [
        smallest("v6", "mor_part"),
        smallest("v6", "cow_cdc"),
        encode_rollback_block(TARGET, TARGET),
        smallest("v9", "mor_part"),
        smallest("v8", "mor_part"),
    ]
    ends = tuple(sum(map(len, parts[: count + 1])) for count in range(len(parts)))
    return b"".join(parts), ends
