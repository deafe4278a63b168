"""Where the blocks of a log are, without their headers; and a part of a log, without the next header."""

import re

import pytest

from hudictl.errors import Unsupported
from hudictl.formats import log_blocks as fmt
from hudictl.formats.log_blocks import read_blocks
from tests.formats.log_blocks_support import blocks_of, reader, several


@pytest.mark.slow
def test_offsets_are_those_of_the_blocks() -> None:
    """Also of damaged files: cut, or with a bit flipped, at every byte; and both refuse the same ones."""
    body, _ = several()
    flipped = [body[:at] + bytes([body[at] ^ 0x80]) + body[at + 1 :] for at in range(len(body))]
    flipped += [b"garbage" + body]
    refused = 0
    for changed in [*(body[:cut] for cut in range(len(body) + 1)), *flipped]:
        offsets, blocks = fmt.read_offsets(reader(changed), len(changed)), read_blocks(reader(changed), len(changed))
        try:
            expected = [(block.offset, block.end) for block in blocks]
        except Unsupported as error:
            with pytest.raises(Unsupported, match=re.escape(error.message)):
                list(offsets)
            refused += 1
        else:
            assert list(offsets) == expected
    assert refused == 5 * 4


def test_a_part_of_a_file_is_read_and_nothing_of_the_next_header() -> None:
    body, ends = several()
    read = 0

    def read_at(offset: int, length: int) -> bytes:
        nonlocal read
        read = max(read, offset + length)
        return body[offset : offset + length]

    part = list(read_blocks(read_at, len(body), start=ends[0], end=ends[2]))
    assert part == blocks_of(body)[1:3]
    assert read == ends[2] + len(fmt.MAGIC)
