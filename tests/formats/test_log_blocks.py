"""Log blocks: the real files' headers, the written bytes, and every kind of damage."""

import struct
from collections.abc import Iterator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import log_blocks as fmt
from hudictl.formats.log_blocks import Block, encode_block, encode_rollback_block, read_blocks, read_blocks_reverse
from tests.formats import real_files
from tests.formats.log_blocks_support import TARGET, blocks_of, is_log, reader, several

TYPES = [kind for kind in fmt.BLOCK_TYPES if kind != fmt.CORRUPT]
HEADERS = st.dictionaries(st.sampled_from(fmt.HEADER_KEYS), st.text(max_size=30), max_size=5)
BLOCKS = st.lists(st.tuples(st.sampled_from(TYPES), HEADERS, st.binary(max_size=60)), min_size=1, max_size=4)


def own_decode(body: bytes) -> Iterator[tuple[int, dict[int, bytes], bytes]]:
    """(type, header, content) of intact blocks, by the published layout alone."""
    at = 0
    while at < len(body):
        assert body[at : at + 6] == b"#HUDI#"
        size, version, kind, count = struct.unpack_from(">qiii", body, at + 6)
        assert version == 1
        position, header = at + 26, {}
        for _ in range(count):
            key, length = struct.unpack_from(">ii", body, position)
            header[key] = body[position + 8 : position + 8 + length]
            position += 8 + length
        (length,) = struct.unpack_from(">q", body, position)
        content = body[position + 8 : position + 8 + length]
        footer, trailing = struct.unpack_from(">iq", body, position + 8 + length)
        assert (footer, trailing) == (0, size + 6)
        at += 14 + size
        assert at == position + 8 + length + 12
        yield kind, header, content


def test_every_real_log_block() -> None:
    """Headers, content ranges and ends are those that the layout's description gives, for every log of every table."""
    seen = set()
    for label, body in real_files.matching(is_log):
        expected = list(own_decode(body))
        found = blocks_of(body)
        assert len(found) == len(expected), label
        for block, (kind, header, content) in zip(found, expected, strict=True):
            assert block.block_type == fmt.BLOCK_TYPES[kind]
            assert block.header == {fmt.HEADER_KEYS[key]: value.decode() for key, value in header.items()}
            assert body[block.content_offset : block.content_offset + block.content_length] == content
            assert block.rollback_target is None
            seen.add(block.block_type)
        assert found[-1].end == len(body)
    assert seen == set(TYPES) - {fmt.COMMAND}


def test_rollback_block_is_hudis_byte_for_byte() -> None:
    """The worked example of a table that Hudi 0.15 rolled back: 105 bytes (a reader takes the entries in any order)."""
    expected = bytes.fromhex("23485544492300000000000000 5b 00000001 00000000 00000003".replace(" ", ""))
    expected += struct.pack(">ii", 0, 17) + b"20250126040936578"
    expected += struct.pack(">ii", 3, 1) + b"0"
    expected += struct.pack(">ii", 1, 17) + b"20250126040826878"
    expected += struct.pack(">qiq", 0, 0, 97)
    assert encode_rollback_block("20250126040936578", TARGET) == expected
    (block,) = blocks_of(expected)
    assert (block.instant, block.rollback_target, block.end) == ("20250126040936578", TARGET, 105)


@pytest.mark.slow
@given(BLOCKS)
def test_round_trip(parts: list[tuple[str, dict[str, str], bytes]]) -> None:
    """What is written is read back, and an independent decoder agrees."""
    body = b"".join(encode_block(kind, header, content) for kind, header, content in parts)
    found = [
        (block.block_type, dict(block.header), body[block.content_offset : block.content_offset + block.content_length])
        for block in blocks_of(body)
    ]
    assert found == parts
    own = [
        (kind, {fmt.HEADER_KEYS[key]: value.decode() for key, value in h.items()}, c) for kind, h, c in own_decode(body)
    ]
    assert own == [(fmt.BLOCK_TYPES.index(kind), header, content) for kind, header, content in parts]


@pytest.mark.parametrize(
    ("kind", "command", "target"),
    [(fmt.COMMAND, "1", None), (fmt.COMMAND, "0", TARGET), (fmt.DELETE, "0", None), (fmt.AVRO_DATA, "0", None)],
)
def test_only_a_rollback_command_takes_something_back(kind: str, command: str, target: str | None) -> None:
    header = {fmt.COMMAND_BLOCK_TYPE: command, fmt.TARGET_INSTANT_TIME: TARGET}
    (block,) = blocks_of(encode_block(kind, header, b""))
    assert block.rollback_target == target


def test_a_header_key_of_a_later_release_is_kept() -> None:
    """Hudi's old readers die of it; here the block stays readable."""
    body = bytearray(encode_rollback_block(TARGET, TARGET))
    assert body[22:30] == struct.pack(">ii", 3, 0), "count, then the first entry's key"
    body[26:30] = struct.pack(">i", 77)
    (block,) = blocks_of(bytes(body))
    assert block.header["UNKNOWN_77"] == TARGET
    assert block.rollback_target == TARGET


@pytest.mark.parametrize("schema", [10, 16 * 1024, 16 * 1024 + 1, 100_000, 300_000])
def test_a_header_longer_than_the_first_read(schema: int) -> None:
    """A metadata table's schema fills many reads; contents are never read."""
    header = {fmt.SCHEMA: "s" * schema, fmt.INSTANT_TIME: TARGET}
    content = b"c" * 2_000_000
    body = encode_block(fmt.AVRO_DATA, header, content) + encode_rollback_block(TARGET, TARGET)
    read = 0

    def read_at(offset: int, length: int) -> bytes:
        nonlocal read
        read += length
        return body[offset : offset + length]

    first, second = read_blocks(read_at, len(body))
    assert first.header == header
    assert first.content_length == len(content)
    assert second.rollback_target == TARGET
    assert read < 8 * schema + 100_000


def signature(block: Block) -> tuple[str, int, int, tuple[tuple[str, str], ...]]:
    return block.block_type, block.offset, block.end, tuple(sorted(block.header.items()))


def assert_in_order(found: list[Block], size: int) -> None:
    """Blocks follow each other without a gap up to the end of the file, so that nothing is passed over."""
    position = 0
    for block in found:
        assert position == block.offset < block.end <= size
        position = block.end
    assert size - position < 6


def test_cut_at_every_byte() -> None:
    """A crashed writer's file: every whole block is still there, the rest is at most one corrupt block."""
    body, ends = several()
    whole = [signature(block) for block in blocks_of(body)]
    for cut in range(len(body) + 1):
        found = blocks_of(body[:cut])
        kept = sum(end <= cut for end in ends)
        assert [signature(block) for block in found[:kept]] == whole[:kept], cut
        rest = cut - (ends[kept - 1] if kept else 0)
        assert [block.block_type for block in found[kept:]] == ([fmt.CORRUPT] if rest >= 6 else []), cut
        assert_in_order(found, cut)


@pytest.mark.parametrize("bit", range(8))
def test_a_flipped_bit_anywhere(bit: int) -> None:
    """No exception, no endless loop, and every block apart from the damaged one is still there.

    Damage in a magic also costs the block before it: Hudi's test asks for a magic behind each block.
    """
    body, ends = several()
    whole = [signature(block) for block in blocks_of(body)]
    starts = (0, *ends[:-1])
    versions = {start + delta for start in starts for delta in range(14, 18)}
    for position in sorted({*range(len(body))} - versions):
        damaged = bytearray(body)
        damaged[position] ^= 1 << bit
        found = blocks_of(bytes(damaged))
        hit = next(index for index, end in enumerate(ends) if position < end)
        before = max(0, hit - 1) if position < starts[hit] + 6 else hit
        signatures = [signature(block) for block in found]
        assert signatures[:before] == whole[:before], position
        after = whole[hit + 1 :]
        assert signatures[len(signatures) - len(after) :] == after, position
        assert_in_order(found, len(body))


@pytest.mark.slow
def test_damage_in_a_real_archive_log() -> None:
    """The same with six real blocks of 15 kB, the largest headers there are: bits flipped all over, and cuts."""
    found = real_files.files("v6", "cow_cleaned")
    body = found[".hoodie/archived/.commits_.archive.3_1-0-1"]
    whole = [signature(block) for block in blocks_of(body)]
    ends = [end for _, _, end, _ in whole]
    assert len(whole) == 6
    structure = {start + delta for start in (0, *ends) for delta in (*range(-30, 40),)}
    versions = {start + delta for start in (0, *ends) for delta in range(14, 18)}
    for position in sorted(({*range(0, len(body), 331), *structure} & {*range(len(body))}) - versions):
        damaged = bytearray(body)
        damaged[position] ^= 0x80
        intact = sum(end + 6 <= position for end in ends)
        assert [signature(block) for block in blocks_of(bytes(damaged))][:intact] == whole[:intact]
        kept = sum(end <= position for end in ends)
        assert [signature(block) for block in blocks_of(body[:position])][:kept] == whole[:kept]


@pytest.mark.slow
@given(BLOCKS, st.binary(max_size=40), st.data())
def test_garbage_between_blocks(
    parts: list[tuple[str, dict[str, str], bytes]], garbage: bytes, data: st.DataObject
) -> None:
    """Any bytes put in anywhere: no exception, and reading ends. But for the sign of the oldest logs at its start."""
    body = b"".join(encode_block(kind, header, content) for kind, header, content in parts)
    at = data.draw(st.integers(0, len(body)))
    body = body[:at] + garbage + body[at:]
    assume(not body.startswith(b"HUDI"))
    assert_in_order(blocks_of(body), len(body))


@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_few_bytes_behind_the_last_block_are_ignored(length: int) -> None:
    """As in Hudi: fewer than a magic's six."""
    body = encode_rollback_block(TARGET, TARGET)
    (block,) = blocks_of(body + b"#HUDI"[:length])
    assert block.rollback_target == TARGET


def test_six_bytes_behind_the_last_block_make_it_corrupt() -> None:
    """As in Hudi: the block is intact, but its readers skip it, and so must the tool that judges what they see."""
    (block,) = blocks_of(encode_rollback_block(TARGET, TARGET) + b"garbage")
    assert block.block_type == fmt.CORRUPT


@pytest.mark.parametrize("size", [-1, 0, 31, 2**31, 2**63 - 1, -(2**63)])
def test_an_absurd_block_size(size: int) -> None:
    """One corrupt block, and the next block is found behind it."""
    good = encode_rollback_block(TARGET, TARGET)
    bad = good[:6] + struct.pack(">q", size) + good[14:]
    corrupt, block = blocks_of(bad + good)
    assert (corrupt.block_type, corrupt.content_offset, corrupt.end) == (fmt.CORRUPT, 6, len(bad))
    assert block.rollback_target == TARGET


@pytest.mark.parametrize("short", range(8))
def test_the_search_for_the_next_block_crosses_its_windows(short: int) -> None:
    """A magic that lies across the border of two read windows of a MiB is found."""
    good = encode_rollback_block(TARGET, TARGET)
    garbage = b"\0" * (1024 * 1024 - short)
    corrupt, block = blocks_of(garbage + good)
    assert (corrupt.offset, corrupt.end) == (0, len(garbage))
    assert block.rollback_target == TARGET


@pytest.mark.parametrize("body", [b"", b"#HUDI"])
def test_a_file_too_short_for_a_block(body: bytes) -> None:
    assert blocks_of(body) == []


@pytest.mark.parametrize("body", [b"HUDI" + b"\0" * 60, b"HUDI#HUDI#"])
def test_a_file_of_before_version_1_is_refused_by_name(body: bytes) -> None:
    with pytest.raises(Unsupported, match="older than log format version 1"):
        blocks_of(body)


@pytest.mark.parametrize("version", [0, 2, 257, -1])
def test_an_unknown_format_version_is_refused_by_name(version: int) -> None:
    """Hudi would read such a block; what is before it has come."""
    good = encode_rollback_block(TARGET, TARGET)
    other = good[:14] + struct.pack(">i", version) + good[18:]
    reading = read_blocks(reader(good + other + good), 3 * len(good))
    assert next(reading).rollback_target == TARGET
    with pytest.raises(Unsupported, match=f"byte 105: log format version {version}:"):
        next(reading)


@pytest.mark.parametrize("first", [b"HUDI" + bytes(60), b""], ids=["before version 1", "version 2"])
def test_other_formats_can_be_passed_over(first: bytes) -> None:
    """As damage, which has no header; what is behind it comes."""
    good = encode_rollback_block(TARGET, TARGET)
    other = good[:14] + struct.pack(">i", 2) + good[18:]
    body = first + other + good
    found = list(read_blocks(reader(body), len(body), any_format=True))
    assert [block.rollback_target for block in found] == [None] * (len(found) - 1) + [TARGET]
    assert [block.end for block in found[:-1]] == ([len(first)] if first else []) + [len(first + other)]
    assert all(block.block_type == fmt.CORRUPT and "log format version" in str(block.damage) for block in found[:-1])


@pytest.mark.parametrize("kind", [2, 7, -1])
def test_a_block_of_an_unknown_type_is_passed_over_by_its_length(kind: int) -> None:
    """Its lengths agree, so that a magic in its content is not taken for a block."""
    good = encode_rollback_block(TARGET, TARGET)
    inner = encode_block(fmt.AVRO_DATA, {}, good)
    other = inner[:18] + struct.pack(">i", kind) + inner[22:]
    first, second, third = blocks_of(good + other + good)
    assert (second.block_type, second.damage) == (fmt.CORRUPT, f"block type {kind} is not known")
    assert (first.end, second.end - second.offset, third.rollback_target) == (105, len(other), TARGET)


def test_every_corrupt_block_says_why() -> None:
    good = encode_rollback_block(TARGET, TARGET)
    cases = {
        "cut off: 100 bytes of a block of 105": good[:100],
        "cut off: 9 bytes of a block": good[:9],
        "no block begins here": b"a text file, not a log",
        "a block cannot have a length of -1": good[:6] + struct.pack(">q", -1) + good[14:],
        "the length at its end is 98, not 97": good[:-1] + bytes([98]),
        "the data after it is not a block": good + b"garbage",
        "a header or footer cannot have 1000000 keys": good[:22] + struct.pack(">i", 1_000_000) + good[26:],
        "a header value of 2147483647 bytes does not fit": good[:30] + struct.pack(">i", 2**31 - 1) + good[34:],
        "a content of -1 bytes does not fit": good[:85] + struct.pack(">q", -1) + good[93:],
        "a content of 1 bytes does not fit": good[:85] + struct.pack(">q", 1) + good[93:],
        "4 extra bytes after its footer": good[:6]
        + struct.pack(">q", 95)
        + good[14:97]
        + bytes(4)
        + struct.pack(">q", 101),
    }
    for damage, body in cases.items():
        block = blocks_of(body)[0]
        assert (block.block_type, block.damage, block.format_version) == (fmt.CORRUPT, damage, None)
        with pytest.raises(Unreadable, match=r"^byte 0: "):
            list(read_blocks(reader(body), len(body), strict=True))


@pytest.mark.slow
def test_a_header_that_costs_more_than_any_real_one_is_damage() -> None:
    """It is not read: each byte would cost seven in memory."""
    most = 16 * 1024 * 1024
    for sizes, damage in (
        ((most - 8,), None),
        ((most - 7,), f"a header value of {most - 7} bytes does not fit"),
        ((most // 2, most // 2), f"a header value of {most // 2} bytes does not fit"),
    ):
        header = {key: "x" * size for key, size in zip((fmt.SCHEMA, fmt.RECORD_POSITIONS), sizes, strict=False)}
        body = encode_block(fmt.AVRO_DATA, header, b"") + encode_rollback_block(TARGET, TARGET)
        lengths: list[int] = []

        def read_at(offset: int, length: int, body: bytes = body, lengths: list[int] = lengths) -> bytes:
            lengths.append(length)
            return body[offset : offset + length]

        first, second = read_blocks(read_at, len(body))
        assert (first.damage, second.rollback_target) == (damage, TARGET)
        assert (sum(lengths) > most) is (damage is None)


def test_the_upper_bytes_of_a_length_do_not_count() -> None:
    """As in Hudi, which reads such a block; a strict reader does not."""
    good = encode_rollback_block(TARGET, TARGET)
    for at in (6, 85):
        odd = good[:at] + b"\x01" + good[at + 1 :]
        (block,) = blocks_of(odd)
        assert (block.end, block.content_length, block.rollback_target) == (105, 0, TARGET)
        with pytest.raises(Unreadable, match=r"7205759403792\d+"):
            list(read_blocks(reader(odd), len(odd), strict=True))


def test_a_strict_reader_does_not_pass_over_bytes_at_the_end() -> None:
    body = encode_rollback_block(TARGET, TARGET)
    assert len(list(read_blocks(reader(body), len(body), strict=True))) == 1
    with pytest.raises(Unreadable, match="byte 105: 3 bytes that belong to no block"):
        list(read_blocks(reader(body + b"abc"), len(body) + 3, strict=True))


def test_reverse_reading_visits_the_same_blocks() -> None:
    for label, body in real_files.matching(is_log):
        backwards = list(read_blocks_reverse(reader(body), len(body)))
        assert [signature(block) for block in backwards[::-1]] == [signature(b) for b in blocks_of(body)], label
    body, ends = several()
    assert [block.end for block in read_blocks_reverse(reader(body), len(body))] == list(ends[::-1])


def test_reverse_reading_ends_at_damage() -> None:
    """There is no way around it in this direction; what lies behind it has come."""
    body, ends = several()
    for cut in range(1, len(body)):
        reading = read_blocks_reverse(reader(body[:cut]), cut)
        if cut in ends:
            assert next(reading).end == cut
        else:
            with pytest.raises(Unreadable, match=f"byte {cut}: no block ends there"):
                next(reading)
    damaged = bytearray(body)
    damaged[ends[2] - 1] ^= 1
    reading = read_blocks_reverse(reader(bytes(damaged)), len(body))
    assert [next(reading).end, next(reading).end] == [ends[4], ends[3]]
    with pytest.raises(Unreadable, match=f"byte {ends[2]}"):
        next(reading)


def test_a_footer_is_read() -> None:
    """No release writes one (the map is always empty), and the layout has it."""
    good = encode_block(fmt.AVRO_DATA, {fmt.INSTANT_TIME: TARGET}, b"rows")
    footer = struct.pack(">iii", 1, 9, 3) + b"abc"
    out = good[14:-12] + footer
    body = fmt.MAGIC + struct.pack(">q", len(out) + 8) + out + struct.pack(">q", len(out) + 14)
    (block,) = blocks_of(body)
    assert (block.footer, block.content_length, block.damage) == ({"UNKNOWN_9": "abc"}, 4, None)


def test_every_real_header_is_encoded_to_the_same_bytes() -> None:
    for label, body in real_files.matching(is_log):
        again = b"".join(
            encode_block(b.block_type, b.header, body[b.content_offset : b.content_offset + b.content_length])
            for b in blocks_of(body)
        )
        assert again == body, label


def test_an_unknown_header_key_is_encoded_to_the_same_bytes() -> None:
    body = encode_block(fmt.AVRO_DATA, {"UNKNOWN_77": "x", fmt.INSTANT_TIME: TARGET, "UNKNOWN_-3": "y"}, b"")
    (block,) = blocks_of(body)
    assert encode_block(block.block_type, block.header, b"") == body


class Sparse:
    """A file of large blocks whose contents are nowhere: it counts what is asked for, and stays small."""

    def __init__(self, blocks: int, content: int, header: int) -> None:
        whole = encode_block(fmt.AVRO_DATA, {fmt.INSTANT_TIME: TARGET, fmt.SCHEMA: "s" * header}, b"")
        length = len(whole) - 14 + content
        self.head = fmt.MAGIC + struct.pack(">q", length) + whole[14:-20] + struct.pack(">q", content)
        self.tail = bytes(4) + struct.pack(">q", length + 6)
        self.block = length + 14
        self.size = blocks * self.block
        self.requests = self.bytes = 0

    def read_at(self, offset: int, length: int) -> bytes:
        self.requests += 1
        self.bytes += length
        out = bytearray()
        while len(out) < length:
            at = (offset + len(out)) % self.block
            if at < len(self.head):
                piece = self.head[at:]
            elif at < self.block - len(self.tail):
                piece = bytes(min(self.block - len(self.tail) - at, length - len(out)))
            else:
                piece = self.tail[at - self.block :]
            out += piece[: length - len(out)]
        return bytes(out)


@pytest.mark.parametrize("header", [200, 900, 5000])
def test_a_gibibyte_of_a_thousand_blocks_is_inspected_by_less_than_a_hundredth_of_its_bytes(header: int) -> None:
    file = Sparse(1024, 2**20, header)
    assert file.size > 2**30
    found = list(read_blocks(file.read_at, file.size))
    assert [block.damage for block in found] == [None] * 1024
    assert file.bytes < file.size / 100
    assert file.requests < 1030


def test_a_file_of_more_than_two_gibibytes() -> None:
    file = Sparse(50, 100_000_000, 900)
    assert file.size > 2 * 2**31
    assert sum(block.content_length for block in read_blocks(file.read_at, file.size)) == 5_000_000_000
    assert next(read_blocks_reverse(file.read_at, file.size)).end == file.size


@pytest.mark.slow
def test_small_blocks_share_requests() -> None:
    file = Sparse(10_000, 100, 100)
    assert len(list(read_blocks(file.read_at, file.size))) == 10_000
    assert file.requests < file.size / 30_000
    assert file.bytes < 1.1 * file.size


@pytest.mark.slow
def test_many_magics_in_a_damaged_file_cost_a_small_read_each() -> None:
    """Each is looked at, as Hudi does; none has the whole rest of the file read again."""
    body = (fmt.MAGIC + struct.pack(">q", 50)) * 20_000
    read = 0

    def read_at(offset: int, length: int) -> bytes:
        nonlocal read
        read += min(length, len(body) - offset)
        return body[offset : offset + length]

    found = list(read_blocks(read_at, len(body)))
    assert len(found) == 20_000
    assert read < 5 * len(body)


def test_the_beginning_of_a_block_that_was_never_ended() -> None:
    """Cut anywhere: its header is there, or not yet; and the whole block, or another one behind, is something else."""
    header = {fmt.SCHEMA: "schema", fmt.INSTANT_TIME: "20261121000000000"}
    block = fmt.encode_block(fmt.AVRO_DATA, header, b"content")
    complete = block.index(b"20261121000000000") + 17
    for cut in range(len(block)):
        found, at = fmt.read_torn(block[:cut])
        assert (found, at) == ((header, complete) if cut >= complete else ({}, 0)), cut
    for other in (block, block + b"#HU", block[:-1] + block, b"HUDI", b"\0", block[:20] + b"\7" * 8):
        with pytest.raises(Unreadable):
            fmt.read_torn(other)
