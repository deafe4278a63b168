"""What is wrong with a log by its bytes: each kind of defect, every cut, every bit."""

import json
import struct
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import StorageFailed
from hudictl.formats import log_checks, log_contents
from hudictl.formats.delete_records import DeleteRecord
from hudictl.formats.hfile import KEY_TAIL
from hudictl.formats.hfile_writer import encode_hfile
from hudictl.formats.log_blocks import (
    AVRO_DATA,
    CDC_DATA,
    COMMAND,
    DELETE,
    HFILE_DATA,
    MAGIC,
    PARQUET_DATA,
    encode_block,
    encode_rollback_block,
    read_blocks,
)
from hudictl.formats.log_checks import BlockCheck, check_blocks
from hudictl.formats.ranges import ReadAt

TIME = "20261121000000000"
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [{"name": "key", "type": "string"}, {"name": "n", "type": ["null", "long"]}],
    }
)
HEADER = {"INSTANT_TIME": TIME, "SCHEMA": SCHEMA}
ROWS = [{"key": "a", "n": 1}, {"key": "b", "n": None}]
CONTENT = log_contents.encode_avro(ROWS, SCHEMA)
DATA = encode_block(AVRO_DATA, HEADER, CONTENT)
DELETES = encode_block(DELETE, {"INSTANT_TIME": TIME}, log_contents.encode_deletes([DeleteRecord("a", "p", None)]))
ROLLBACK = encode_rollback_block(TIME, "20261121000000001")
LOG = DATA + DELETES + ROLLBACK


def reader(body: bytes) -> ReadAt:
    return lambda offset, length: body[offset : offset + length]


def check(body: bytes, archive: bool = False) -> list[BlockCheck]:
    return list(check_blocks(reader(body), len(body), archive=archive))


def defects(body: bytes, archive: bool = False) -> list[tuple[int, int, str]]:
    return [(entry.index, entry.offset, entry.defect) for found in check(body, archive) for entry in found.defects]


def without(key: str) -> dict[str, str]:
    return {name: value for name, value in HEADER.items() if name != key}


def data(content: bytes, header: Mapping[str, str] = HEADER, kind: str = AVRO_DATA) -> bytes:
    return encode_block(kind, header, content)


def test_sound_blocks_are_counted() -> None:
    found = check(LOG)
    assert [entry.records for entry in found] == [2, 1, 0]
    assert [defect for entry in found for defect in entry.defects] == []


HFILE = log_contents.encode_hfile([(row["key"], row) for row in ROWS], SCHEMA)


def descending() -> bytes:
    """An HFile whose last key is smaller than the one before; its first block has no checksum to tell."""
    body = encode_hfile([(b"a", b"\0\0"), (b"b", b"\0\0")], compression="NONE")
    body = body[:24] + b"\0" + body[25:]
    return body.replace(b"\x00\x01b" + KEY_TAIL, b"\x00\x01A" + KEY_TAIL, 1)


def parquet() -> bytes:
    import pyarrow

    return log_contents.encode_parquet(pyarrow.Table.from_pylist(ROWS), codec="none")


def cut_page(content: bytes) -> bytes:
    """The header of the first page is no header."""
    return content[:4] + bytes(24) + content[28:]


ARRAY_OF_THREE = "AQAAAAAAAAAAAAAAOjAAAAEAAAAAAAIAEAAAAAEABQAJAA=="
VERSION_AT = 14

KINDS: dict[str, tuple[bytes, str]] = {
    "cut": (DATA[:-1], log_checks.TRUNCATED_TAIL),
    "bytes at the end": (DATA + b"#HU", log_checks.STRAY_BYTES),
    "six bytes at the end": (DATA + b"123456", log_checks.CORRUPT_BLOCK),
    "reverse pointer": (DATA[:-1] + b"\xff", log_checks.BAD_TRAILING_LENGTH),
    "a length beyond four bytes": (DATA[:6] + b"\1" + DATA[7:], log_checks.BAD_LENGTH),
    "deletes of the future": (
        encode_block(DELETE, {"INSTANT_TIME": TIME}, struct.pack(">ii", 4, 1) + b"x"),
        log_checks.NOT_DECODED,
    ),
    "no UTF-8": (data(CONTENT, HEADER | {"IS_PARTIAL": "\u00e9"}).replace(b"\xc3\xa9", b"\xff\xa9"), "bad-header"),
    "magic": (b"x" + DATA[1:], log_checks.CORRUPT_BLOCK),
    "text": (b"this is no log", log_checks.CORRUPT_BLOCK),
    "before 2018": (b"HUDI" + bytes(40), log_checks.UNKNOWN_FORMAT),
    "version": (DATA[:VERSION_AT] + b"\0\0\0\2" + DATA[VERSION_AT + 4 :], log_checks.UNKNOWN_FORMAT),
    "no instant": (data(CONTENT, without("INSTANT_TIME")), log_checks.BAD_HEADER),
    "no schema": (data(CONTENT, without("SCHEMA")), log_checks.BAD_HEADER),
    "a delete without instant": (encode_block(DELETE, {}, log_contents.encode_deletes([])), log_checks.BAD_HEADER),
    "no time": (data(CONTENT, HEADER | {"INSTANT_TIME": "yesterday"}), log_checks.BAD_HEADER),
    "no schema of a record": (data(CONTENT, HEADER | {"SCHEMA": '"int"'}), log_checks.BAD_HEADER),
    "unknown key": (data(CONTENT, HEADER | {"UNKNOWN_77": "x"}), log_checks.BAD_HEADER),
    "no target": (
        encode_block(COMMAND, {"INSTANT_TIME": TIME, "COMMAND_BLOCK_TYPE": "0"}, b""),
        log_checks.NO_TARGET,
    ),
    "another command": (encode_block(COMMAND, {"INSTANT_TIME": TIME, "COMMAND_BLOCK_TYPE": "7"}, b""), "bad-header"),
    "a command's content": (
        encode_block(COMMAND, {"INSTANT_TIME": TIME, "COMMAND_BLOCK_TYPE": "0", "TARGET_INSTANT_TIME": TIME}, b"x"),
        log_checks.UNDECODABLE,
    ),
    "record": (data(CONTENT.replace(b"\x02a", b"\x7fa")), log_checks.UNDECODABLE),
    "too many records": (data(struct.pack(">ii", 3, 1) + CONTENT[8:]), log_checks.UNDECODABLE),
    "too few records": (data(struct.pack(">ii", 3, 3) + CONTENT[8:]), log_checks.UNDECODABLE),
    "changes": (data(CONTENT[:-1], kind=CDC_DATA), log_checks.UNDECODABLE),
    "content version": (data(struct.pack(">i", 9) + CONTENT[4:]), log_checks.CONTENT_VERSION),
    "deletes": (
        encode_block(DELETE, {"INSTANT_TIME": TIME}, struct.pack(">ii", 3, 2) + b"\x02\x00"),
        log_checks.UNDECODABLE,
    ),
    "deletes by Kryo": (
        encode_block(DELETE, {"INSTANT_TIME": TIME}, struct.pack(">ii", 2, 1) + b"x"),
        log_checks.NOT_DECODED,
    ),
    "keys of an HFile": (data(descending(), kind=HFILE_DATA), log_checks.UNDECODABLE),
    "HFile": (data(HFILE[:-1] + b"\x09", kind=HFILE_DATA), log_checks.NOT_DECODED),
    "Parquet": (data(parquet()[:-1], kind=PARQUET_DATA), log_checks.UNDECODABLE),
    "page of Parquet": (data(cut_page(parquet()), kind=PARQUET_DATA), log_checks.UNDECODABLE),
    "positions": (data(CONTENT, HEADER | {"RECORD_POSITIONS": "AAAA"}), log_checks.BAD_POSITIONS),
    "number of positions": (data(CONTENT, HEADER | {"RECORD_POSITIONS": ARRAY_OF_THREE}), log_checks.BAD_POSITIONS),
}


@pytest.mark.parametrize("name", KINDS)
def test_each_defect_is_told_with_its_place(name: str) -> None:
    """And what stands before it and behind it is read."""
    body, defect = KINDS[name]
    at = len(DATA) if name == "bytes at the end" else 0
    assert [entry[1:] for entry in defects(body)[:1]] == [(at, defect)]
    if name in ("before 2018", "version"):
        return
    index = 2 if name == "bytes at the end" else 1
    before = defects(ROLLBACK + body)
    assert (index, len(ROLLBACK) + at, defect) in before or name in ("magic", "text")
    if name not in ("bytes at the end", "six bytes at the end", "cut"):
        assert check(body + DELETES)[-1].records == 1


def test_a_replacement_character_is_utf_8() -> None:
    assert defects(data(CONTENT, HEADER | {"IS_PARTIAL": "\N{REPLACEMENT CHARACTER}"})) == []


def test_stray_bytes_cost_a_block_once_something_is_appended() -> None:
    """As Hudi reads on, too: what follows the block before them is no block."""
    assert defects(DATA + b"#HU" + DELETES) == [(0, 0, log_checks.CORRUPT_BLOCK)]


def test_blocks_of_the_archive_have_no_instant() -> None:
    body = data(CONTENT, without("INSTANT_TIME"))
    assert defects(body, archive=True) == []
    assert defects(data(CONTENT, {}), archive=True) == [(0, 0, log_checks.BAD_HEADER)]


def test_a_damaged_record_is_told_by_its_number() -> None:
    (found,) = check(data(CONTENT.replace(b"\x02b", b"\x7fb")))
    assert found.defects[0].what.endswith("after 1 readable records")


def test_keys_of_an_hfile_that_do_not_ascend_are_told() -> None:
    (found,) = check(data(descending(), kind=HFILE_DATA))
    assert "keys are not in ascending order" in found.defects[0].what


def test_a_footer_is_told() -> None:
    """Two entries that no release writes."""
    entry = struct.pack(">iii", 1, 0, 1) + b"x"
    length = len(ROLLBACK) - 14 + len(entry) - 4
    body = MAGIC + struct.pack(">q", length) + ROLLBACK[14:-12] + entry + struct.pack(">q", length + 6)
    assert defects(body) == [(0, 0, log_checks.BAD_HEADER)]


def test_a_torn_block_tells_its_instant() -> None:
    """As far as its header goes that far."""
    found = check(DATA + DELETES[:60])[-1].defects[0]
    assert (found.defect, found.instant) == (log_checks.TRUNCATED_TAIL, TIME)
    assert check(DATA + DELETES[:30])[-1].defects[0].instant is None


def test_every_cut_is_found() -> None:
    """But those between two blocks: by its bytes that is a whole log."""
    ends = [0, len(DATA), len(DATA) + len(DELETES)]
    for size in range(len(LOG)):
        found = defects(LOG[:size])
        begin = max(end for end in ends if end <= size)
        if size in ends:
            assert found == []
        else:
            defect = log_checks.STRAY_BYTES if size - begin < len(MAGIC) else log_checks.TRUNCATED_TAIL
            assert found == [(ends.index(begin), begin, defect)]


def values_of(body: bytes) -> set[int]:
    """The offsets in values of headers and in contents: what a value is instead of another, no length tells."""
    found: set[int] = set()
    for block in read_blocks(reader(body), len(body)):
        position = block.offset + 26
        for value in block.header.values():
            found |= set(range(position + 8, position + 8 + len(value)))
            position += 8 + len(value)
        found |= set(range(block.content_offset, block.content_offset + block.content_length))
    return found


def test_a_flipped_bit_in_any_byte_is_found_but_in_values() -> None:
    harmless = values_of(LOG)
    for offset in range(len(LOG)):
        body = bytearray(LOG)
        body[offset] ^= 1 << offset % 8
        assert defects(bytes(body)) or offset in harmless, offset


def test_a_piece_of_a_log_is_its_blocks() -> None:
    at = len(DATA)
    (found,) = check_blocks(reader(LOG), len(LOG), start=at, end=at + len(DELETES), first=1)
    assert (found.index, found.records) == (1, 1)


@pytest.mark.parametrize("error", [StorageFailed("no connection"), ModuleNotFoundError("pyarrow"), FileNotFoundError()])
def test_what_keeps_from_decoding_is_no_damage(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(log_contents, "_avro_rows", fail)
    with pytest.raises(type(error)):
        check(DATA)


@given(st.binary(max_size=200), st.integers(0, len(LOG)), st.integers(0, 40))
def test_no_bytes_are_too_much(junk: bytes, at: int, dropped: int) -> None:
    """Whatever stands in a log: rows, no exception, and each block within the file."""
    body = LOG[:at] + junk + LOG[at + dropped :]
    for found in check(body):
        assert found.block is None or 0 <= found.block.offset <= found.block.end <= len(body)
        assert all(defect.defect and defect.what for defect in found.defects)


@pytest.mark.slow
@given(st.binary(max_size=300))
def test_no_content_is_too_much(content: bytes) -> None:
    for kind in (AVRO_DATA, CDC_DATA, DELETE, HFILE_DATA, PARQUET_DATA):
        (found,) = check(data(content, kind=kind))
        assert found.block is not None
