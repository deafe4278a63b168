"""Any bytes as a log, a content or a schema."""

import json
from collections.abc import Callable, Iterator
from contextlib import suppress

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import log_blocks, log_contents
from hudictl.formats.log_blocks import Block, encode_block, read_blocks, read_blocks_reverse, read_offsets
from tests.fuzz.file import Bytes

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "key", "type": ["null", "string"]},
            {"name": "id", "type": "long"},
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
            {"name": "sum", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
            {
                "name": "tags",
                "type": {"type": "map", "values": {"type": "array", "items": ["null", "double", "string"]}},
            },
        ],
    }
)


def log_file(body: bytes) -> None:
    """Blocks follow each other up to the end; each is decoded or named; strict and reverse reading agree with it."""
    file = Bytes(body)
    blocks: list[Block] = []
    with suppress(Unsupported):
        blocks += read_blocks(file.read_at, len(body))
        assert len(body) - (blocks[-1].end if blocks else 0) < len(log_blocks.MAGIC)
    assert [block.offset for block in blocks] == [0, *(block.end for block in blocks)][: len(blocks)]
    with suppress(Unsupported):
        assert list(read_offsets(file.read_at, len(body))) == [(block.offset, block.end) for block in blocks]
    for block in blocks:
        assert block.offset < block.end <= len(body)
        assert block.offset <= block.content_offset <= block.content_offset + block.content_length <= block.end
        assert (block.damage is None) == (block.block_type != log_blocks.CORRUPT)
        content(block, file)
    sound = [block for block in blocks if block.damage is None]
    strict = list(until_error(read_blocks(file.read_at, len(body), strict=True)))
    assert strict == first_sound(blocks)[: len(strict)]
    backwards = list(until_error(read_blocks_reverse(file.read_at, len(body))))
    if blocks and len(sound) == len(blocks) and blocks[-1].end == len(body):
        assert [block.offset for block in backwards] == [block.offset for block in blocks[::-1]]


def first_sound(blocks: list[Block]) -> list[Block]:
    """The blocks before the first damage."""
    damaged = [number for number, block in enumerate(blocks) if block.damage is not None]
    return blocks[: damaged[0]] if damaged else blocks


def until_error(blocks: Iterator[Block]) -> Iterator[Block]:
    with suppress(Unreadable, Unsupported):
        yield from blocks


def content(block: Block, file: Bytes) -> None:
    """A content is decoded, or refused with a reason; what decodes is encoded to something that reads the same."""
    with suppress(Unreadable, Unsupported):
        log_contents.record_count(block, file.read_at)
    if block.block_type == log_blocks.DELETE:
        with suppress(Unreadable, Unsupported):
            deletes = log_contents.read_deletes(block, file.read_at)
            again = encode_block(log_blocks.DELETE, {}, log_contents.encode_deletes(deletes))
            (other,) = read_blocks(Bytes(again).read_at, len(again))
            assert repr(log_contents.read_deletes(other, Bytes(again).read_at)) == repr(deletes)
    if block.block_type in log_contents.DATA_BLOCKS:
        with suppress(Unreadable, Unsupported):
            for _ in log_contents.read_records(block, file.read_at):
                pass


def content_of(kind: str) -> Callable[[bytes], None]:
    """The bytes as the content of an intact block."""

    def target(body: bytes) -> None:
        log_file(encode_block(kind, {log_blocks.INSTANT_TIME: "1", log_blocks.SCHEMA: SCHEMA}, body))

    return target


def schema(body: bytes) -> None:
    """The first line as the schema of a block, the rest as its one record."""
    text, _, record = body.partition(b"\n")
    header = {log_blocks.SCHEMA: text.decode("utf-8", "replace")}
    framed = b"\0\0\0\3\0\0\0\1" + len(record).to_bytes(4, "big") + record
    log_file(encode_block(log_blocks.AVRO_DATA, header, framed))


TARGETS: tuple[Callable[[bytes], None], ...] = (
    log_file,
    content_of(log_blocks.AVRO_DATA),
    content_of(log_blocks.DELETE),
    content_of(log_blocks.HFILE_DATA),
    content_of(log_blocks.PARQUET_DATA),
    schema,
)
