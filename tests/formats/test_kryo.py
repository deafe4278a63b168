"""Delete blocks of Hudi before 0.14: contents that its releases made (by ``make_kryo.py``), and damaged ones."""

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, datetime, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats.delete_records import DeleteRecord, OrderingValue
from hudictl.formats.kryo import decode_deletes
from hudictl.formats.log_blocks import DELETE, encode_block, read_blocks
from hudictl.formats.log_contents import read_deletes

FOLDER = Path(__file__).parent.parent / "logs/kryo"
RELEASES = sorted(path.stem for path in FOLDER.glob("*.json"))
INSTANT = {"INSTANT_TIME": "20220304050607000"}


def micros(text: str) -> int:
    moment = datetime.fromisoformat(f"{text}00+00:00" if "." in text else f"{text}+00:00")
    return int((moment - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds() * 1000) * 1000


def days(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


def unscaled(text: str) -> bytes:
    value = int(Fraction(text) * 10**15)
    return value.to_bytes((value if value >= 0 else ~value).bit_length() // 8 + 1, "big", signed=True)


MEANING: dict[str, tuple[str, Callable[[str], Any]]] = {
    "java.lang.Integer": ("IntWrapper", int),
    "java.lang.Long": ("LongWrapper", int),
    "java.lang.Float": ("FloatWrapper", float),
    "java.lang.Double": ("DoubleWrapper", lambda text: float(text.replace("Infinity", "inf"))),
    "java.lang.Boolean": ("BooleanWrapper", lambda text: text == "true"),
    "java.lang.String": ("StringWrapper", str),
    "org.apache.avro.util.Utf8": ("StringWrapper", str),
    "java.math.BigDecimal": ("DecimalWrapper", unscaled),
    "java.sql.Date": ("DateWrapper", days),
    "java.time.LocalDate": ("DateWrapper", days),
    "java.sql.Timestamp": ("TimestampMicrosWrapper", micros),
}


def real(*names: str) -> Iterator[tuple[str, str, bytes, list[list[str]]]]:
    """(release, case, content, records as Java said them)."""
    for release in RELEASES:
        for name, case in json.loads((FOLDER / f"{release}.json").read_text())["cases"].items():
            if not names or name in names:
                yield release, name, bytes.fromhex(case["content"]), case["records"]


def expected(record: list[str], version: int) -> DeleteRecord:
    key, partition, java_class, text = record
    ordering = OrderingValue("IntWrapper", 0) if version == 1 else None
    if java_class:
        kind, meaning = MEANING[java_class]
        ordering = OrderingValue(kind, meaning(text))
    return DeleteRecord(key, None if partition == "null" else partition, ordering)


def decode(content: bytes) -> list[DeleteRecord]:
    version, length = struct.unpack_from(">ii", content)
    assert length == len(content) - 8
    return decode_deletes(content[8:], version)


def in_a_block(content: bytes) -> list[DeleteRecord]:
    body = encode_block(DELETE, INSTANT, content)
    read_at = lambda offset, length: body[offset : offset + length]  # noqa: E731
    (block,) = read_blocks(read_at, len(body))
    return read_deletes(block, read_at)


@pytest.mark.parametrize("release", RELEASES)
def test_every_content_of_a_release_is_what_was_put_in(release: str) -> None:
    """Of all types of ordering values that hudictl reads, with objects that several records share."""
    for found, name, content, records in real():
        if found == release and name != "unknown":
            (version,) = struct.unpack_from(">i", content)
            assert version == (1 if release.startswith("0.10") else 2)
            assert decode(content) == [expected(record, version) for record in records], name


def test_blocks_with_them_are_read_as_newer_ones() -> None:
    for _, _, content, _ in real("mixed", "int"):
        assert in_a_block(content) == decode(content)


def test_an_ordering_value_of_another_class_is_refused_by_name() -> None:
    cases = list(real("unknown"))
    assert len(cases) == 3
    for _, _, content, _ in cases:
        with pytest.raises(Unsupported, match=r"java\.time\.Instant"):
            decode(content)
        with pytest.raises(Unsupported, match=r"java\.time\.Instant"):
            in_a_block(content)


@pytest.mark.parametrize(
    ("text", "scale", "kept"),
    [
        ("0", 15, True),
        ("1.5", 17, True),
        ("-1.5", 18, True),
        ("0.0000000000000015", 16, False),
        ("1.5", -(2**31), False),
        ("1.5", 2**31 - 1, False),
    ],
)
def test_a_decimal_comes_exactly_or_is_refused(text: str, scale: int, kept: bool) -> None:
    """10 to the power of what a few bytes say would be all the memory there is."""
    (content,) = (content for release, _, content, _ in real("decimal") if release == "0.13.1")
    at = content.index(b"BigDecima\xec") + len("BigDecimal") + 1
    assert content[at : at + 3] == b"\x02\x00\x00"
    digits = int(Fraction(text) * 10 ** min(abs(scale), 20)).to_bytes(10, "big", signed=True)
    other = content[8:at] + varint(len(digits) + 1) + digits + varint(scale << 1 ^ scale >> 31) + content[at + 3 :]
    if kept:
        assert decode_deletes(other, 2)[0].ordering == OrderingValue("DecimalWrapper", unscaled(text))
        return
    with pytest.raises(Unsupported, match=f"scale {scale}:"):
        decode_deletes(other, 2)


def varint(value: int) -> bytes:
    out = []
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def test_a_length_that_the_payload_does_not_have_is_damage() -> None:
    """Whatever number of records, characters or bytes is said: no more is taken than there is."""
    (content,) = (content for release, _, content, _ in real("none") if release == "0.13.1")
    assert content.endswith(b"\x01\x01")
    for payload in (content[8:-1] + varint(2**31 - 1), content[8:-1] + b"\xff\xff\xff\xff\x7f", content[8:] + b"\x00"):
        with pytest.raises(ValueError, match=r"cut off|extra bytes"):
            decode_deletes(payload, 2)


@pytest.mark.slow
def test_every_cut_is_damage_and_no_flipped_bit_does_more() -> None:
    """A cut is told; a flipped bit gives another key or value, or an error that hudictl raises on purpose."""
    for _, _, content, _ in real("mixed", "utf8", "local date", "int"):
        version, payload = content[3], content[8:]
        for length in range(len(payload)):
            with pytest.raises((ValueError, Unsupported), match=r"\w"):
                decode_deletes(payload[:length], version)
        for position in range(len(payload)):
            flipped = payload[:position] + bytes([payload[position] ^ 1 << position % 8]) + payload[position + 1 :]
            harmless(flipped, version)


@pytest.mark.slow
@given(st.binary(max_size=200), st.sampled_from(list(real("mixed", "utf8", "string"))), st.data())
def test_any_bytes_anywhere_end_in_records_or_a_named_error(
    noise: bytes, case: tuple[str, str, bytes, list[list[str]]], data: st.DataObject
) -> None:
    content = case[2]
    at = data.draw(st.integers(8, len(content)))
    replaced = data.draw(st.integers(0, 8))
    harmless(content[8:at] + noise + content[at + replaced :], content[3])
    harmless(noise, content[3])


def harmless(payload: bytes, version: int) -> None:
    with suppress(ValueError, Unsupported):
        assert len(decode_deletes(payload, version)) <= len(payload)


def test_damage_in_a_block_is_unreadable() -> None:
    (content,) = (content for release, _, content, _ in real("int") if release == "0.13.1")
    with pytest.raises(Unreadable, match="DELETE_BLOCK at byte 0 cannot be decoded"):
        in_a_block(content[:4] + struct.pack(">i", len(content) - 9) + content[8:-1])
