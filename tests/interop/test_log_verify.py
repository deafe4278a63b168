"""What ``log verify`` says of damaged logs, and what the real Hudi reads in them."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hudictl.formats.log_blocks import Block, read_blocks
from hudictl.formats.log_checks import check_blocks
from tests import support
from tests.interop.judge import RELEASES, Judge, JudgeError
from tests.interop.make_logs import log_files

pytestmark = pytest.mark.hudi

HIDDEN_FROM_HUDI = {
    # Less than a magic is the end of the file.
    "three bytes more",
    # It passes over the version of a content, and takes 32 of the 64 bits of a block's size.
    "content version",
    "block size beyond 32 bits",
}
"""Where Hudi reads the log as if it were whole; nobody else need do so, and no release writes them."""


@dataclass(frozen=True)
class Sample:
    """A log with one damage."""

    name: str
    body: bytes


def reader(body: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, length: body[offset : offset + length]


def flipped(body: bytes, offset: int, bit: int = 0) -> bytes:
    return body[:offset] + bytes([body[offset] ^ 1 << bit]) + body[offset + 1 :]


def put_int(body: bytes, offset: int, value: int) -> bytes:
    return body[:offset] + struct.pack(">i", value) + body[offset + 4 :]


def samples(body: bytes) -> Iterator[Sample]:
    """Damages of a log of several blocks, whose first one is of Avro."""
    blocks = list(read_blocks(reader(body), len(body)))
    first, last = blocks[0], blocks[-1]
    yield Sample("whole", body)
    yield Sample("cut between blocks", body[: first.end])
    yield Sample("cut in a magic", body[: last.offset + 3])
    yield Sample("cut behind a magic", body[: last.offset + 6])
    yield Sample("cut in a header", body[: last.offset + 40])
    yield Sample("cut at the end", body[:-1])
    yield Sample("three bytes more", body + b"#HU")
    yield Sample("nine bytes more", body + b"123456789")
    yield Sample("three bytes between blocks", body[: first.end] + b"#HU" + body[first.end :])
    yield Sample("first magic", flipped(body, 0))
    yield Sample("second magic", flipped(body, blocks[1].offset))
    yield Sample("block size", flipped(body, first.offset + 13, 3))
    yield Sample("block size beyond 32 bits", flipped(body, first.offset + 8))
    yield Sample("format version", put_int(body, blocks[1].offset + 14, 2))
    yield Sample("block type", put_int(body, blocks[1].offset + 18, 77))
    yield Sample("number of header keys", put_int(body, first.offset + 22, 70_000))
    yield Sample("header key", put_int(body, first.offset + 26, 77))
    yield Sample("content version", put_int(body, first.content_offset, 9))
    yield Sample("more records", put_int(body, first.content_offset + 4, count_of(body, first) + 1))
    yield Sample("fewer records", put_int(body, first.content_offset + 4, count_of(body, first) - 1))
    yield Sample("record length", put_int(body, first.content_offset + 8, 1))
    yield Sample("record of two GiB", put_int(body, first.content_offset + 8, 2**31 - 1))
    yield Sample("text in a record", flipped(body, first.content_offset + 14))
    yield Sample("footer", put_int(body, first.end - 12, 5))
    yield Sample("trailing length", flipped(body, first.end - 1))


def count_of(body: bytes, block: Block) -> int:
    return int(struct.unpack_from(">i", body, block.content_offset + 4)[0])


def counts(body: bytes) -> list[list[object]]:
    """What hudictl decodes: [type, number of records] of each block."""
    return [[found.block.block_type, found.records] for found in check_blocks(reader(body), len(body)) if found.block]


def hudis_counts(hudi: Judge, file: Path) -> list[list[object]] | None:
    """The same by Hudi; None where it fails."""
    try:
        return [[block["type"], len(block["records"] or ())] for block in hudi.log_records(file)]
    except JudgeError:
        return None


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_sound_logs_are_read_and_others_are_not(judge: Callable[[str], Judge], tmp_path: Path, version: str) -> None:
    """A log without defects gives Hudi the same blocks and records; one with defects fails there, or loses some."""
    hudi, base = judge(version), support.unpack_logs(version, "several_blocks", tmp_path)
    whole = log_files(base)[0].read_bytes()
    seen = set()
    for number, sample in enumerate(samples(whole)):
        file = tmp_path / f"{number}.log"
        file.write_bytes(sample.body)
        read = hudis_counts(hudi, file)
        found = {
            defect.defect for entry in check_blocks(reader(sample.body), len(sample.body)) for defect in entry.defects
        }
        if not found:
            assert read == counts(sample.body), sample.name
        elif sample.name in HIDDEN_FROM_HUDI:
            assert read == counts(whole), sample.name
        else:
            assert read != counts(whole), sample.name
        seen |= found
    assert seen >= {
        "truncated-tail",
        "stray-bytes",
        "corrupt-block",
        "bad-trailing-length",
        "undecodable",
        "bad-header",
    }
