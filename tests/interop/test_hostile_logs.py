"""Torn and hostile logs: the blocks that hudictl calls valid are those that the real Hudi reads."""

import random
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import Unsupported
from hudictl.formats import log_blocks as fmt
from hudictl.formats.log_blocks import MAGIC, Block, encode_block, encode_rollback_block, read_blocks
from tests import support
from tests.formats import real_files
from tests.formats.log_blocks_support import is_log, reader
from tests.interop.judge import Judge

pytestmark = pytest.mark.hudi

SAMPLES = 200


def logs(version: str) -> list[bytes]:
    """Small real logs of several blocks and kinds, with rollback blocks among them."""
    tables = [(support.LOGS, name) for name in support.log_names(version)]
    found = [
        body
        for folder, name in tables
        for path, body in sorted(real_files.files(version, name, folder).items())
        if is_log(path) and not path.endswith(".cdc") and 0 < len(body) < 20_000
    ]
    block = encode_rollback_block("20250126040936578", "20250126040826878")
    return [first + block + second for first, second in pairwise(found)]


def cut(body: bytes, chance: random.Random) -> bytes:
    return body[: chance.randrange(len(body))]


def flip(body: bytes, chance: random.Random, start: int = 0, length: int = 0) -> bytes:
    at = start + chance.randrange(length or len(body))
    return body[:at] + bytes([body[at] ^ 1 << chance.randrange(8)]) + body[at + 1 :]


def flip_in_front(body: bytes, chance: random.Random) -> bytes:
    return flip(body, chance, chance.choice(offsets(body)), 30)


def garbage(body: bytes, chance: random.Random) -> bytes:
    at = chance.choice([*offsets(body), len(body)])
    return body[:at] + chance.randbytes(chance.randrange(1, 40)) + body[at:]


def length(body: bytes, chance: random.Random) -> bytes:
    value = chance.choice([-1, 0, 1, 31, 2**31 - 1, 2**31, 2**32 + 100, 2**63 - 1, -(2**63)])
    at = chance.choice(offsets(body)) + 6
    return body[:at] + struct.pack(">q", value) + body[at + 8 :]


def magic(body: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(body))
    return body[:at] + MAGIC + body[at:]


def zeros(body: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(body))
    return body[:at] + bytes(min(64, len(body) - at)) + body[at + 64 :]


def torn_then_appended(body: bytes, chance: random.Random) -> bytes:
    return cut(body, chance) + body


def magic_in_content(body: bytes, chance: random.Random) -> bytes:
    inner = encode_block(fmt.AVRO_DATA, {fmt.INSTANT_TIME: "1", fmt.SCHEMA: "{}"}, body)
    return chance.choice((flip(inner, chance), inner)) + body


WAYS = (cut, flip, flip_in_front, garbage, length, magic, zeros, torn_then_appended, magic_in_content)
FIXED = (b"", b"#HUDI#", b"a text file, and not a log at all\n" * 9, bytes(100), MAGIC * 9)


def samples(version: str) -> Iterator[tuple[str, bytes]]:
    """What may happen to a file, at places chosen once for all."""
    chance = random.Random(6)
    whole = logs(version)
    for body in FIXED:
        yield "fixed", body
    for number in range(SAMPLES - len(FIXED)):
        way = WAYS[number % len(WAYS)]
        yield way.__name__, way(chance.choice(whole), chance)


def offsets(body: bytes) -> list[int]:
    return [block.offset for block in read_blocks(reader(body), len(body))]


def ours(body: bytes) -> tuple[list[Block], bool]:
    """The blocks, and whether the file is refused by name."""
    found: list[Block] = []
    try:
        found += read_blocks(reader(body), len(body))
    except Unsupported:
        return found, True
    return found, False


def told(block: Block) -> list[Any]:
    return [block.block_type, dict(block.header), block.content_offset, block.content_length]


def agree(found: list[Block], refused: bool, theirs: dict[str, Any]) -> str:
    """How the two readings relate; fails where a valid block of one is none of the other's."""
    expected = theirs["blocks"]
    if refused:
        # A block of another log format version: Hudi may read it, by rules that nobody has ever written by.
        assert [told(block) for block in found] == expected[: len(found)]
        return "refused by name"
    if not theirs["error"]:
        assert [told(block) for block in found] == expected
        return "the same"
    # Hudi gave up. What it read before is there; but it reads a block's header without looking whether the lengths
    # in it agree, and dies behind it: such a block is corrupt here.
    for number, block in enumerate(expected):
        if number < len(found) and told(found[number]) == block:
            continue
        assert number == len(expected) - 1, "only the last one before Hudi died"
        assert found[number].damage is not None
    return "Hudi gave up"


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_two_hundred_torn_and_hostile_logs_have_the_blocks_that_hudi_reads(
    judge: Callable[[str], Judge], version: str, tmp_path: Path
) -> None:
    """Where Hudi goes on, all blocks are the same; where it gives up, none of those before is lost."""
    bodies = {f".x-0_1.log.{number}_1-0-1": sample for number, sample in enumerate(samples(version), 1)}
    for name, (_, body) in bodies.items():
        (tmp_path / name).write_bytes(body)
    theirs = judge(version).replay(tmp_path)
    outcomes: Counter[tuple[str, str]] = Counter()
    failures = []
    for name, (way, body) in bodies.items():
        try:
            outcomes[way, agree(*ours(body), theirs[name])] += 1
        except AssertionError as error:
            failures.append(f"{name} ({way}): {theirs[name]['error'][:2]}: {error}")
    assert not failures, f"{len(failures)}: {failures[:3]}"
    assert outcomes.total() == SAMPLES
    assert sum(count for (_, how), count in outcomes.items() if how == "the same") > SAMPLES / 2, outcomes
