"""Contents of log blocks: the real ones decoded and encoded to the same bytes, and every kind of damage."""

import io
import json
import struct
import tracemalloc
from collections import Counter
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import fastavro
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import log_blocks as fmt
from hudictl.formats import log_contents
from hudictl.formats.delete_records import DeleteRecord, OrderingValue, decode_delete_list, encode_delete_list
from hudictl.formats.log_blocks import Block, encode_block
from tests.formats import real_files
from tests.formats.log_blocks_support import blocks_of, is_log, reader

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "R",
        "fields": [
            {"name": "id", "type": ["null", "long"]},
            {"name": "val", "type": ["null", "string"]},
            {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
            {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
            {
                "name": "sum",
                "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}],
            },
        ],
    }
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.none() | st.integers(-(2**63), 2**63 - 1),
            "val": st.none() | st.text(max_size=20),
            "day": st.none() | st.dates(),
            "at": st.none() | st.datetimes(timezones=st.just(timezone.utc)),
            "sum": st.none() | st.decimals(-10_000, 10_000, places=2),
        }
    ),
    max_size=5,
)
RAW = {
    "BooleanWrapper": st.booleans(),
    "IntWrapper": st.integers(-(2**31), 2**31 - 1),
    "LongWrapper": st.integers(-(2**63), 2**63 - 1),
    "FloatWrapper": st.floats(width=32, allow_nan=False),
    "DoubleWrapper": st.floats(allow_nan=False),
    "BytesWrapper": st.binary(max_size=9),
    "StringWrapper": st.text(max_size=9),
    "DateWrapper": st.integers(-(2**31), 2**31 - 1),
    "DecimalWrapper": st.binary(min_size=1, max_size=9),
    "TimeMicrosWrapper": st.integers(0, 2**40),
    "TimestampMicrosWrapper": st.integers(-(2**63), 2**63 - 1),
}
SINGLE = st.one_of(*(st.builds(OrderingValue, st.just(name), values) for name, values in RAW.items()))
DAY = st.builds(OrderingValue, st.just("LocalDateWrapper"), RAW["DateWrapper"])
SEVERAL = st.builds(OrderingValue, st.just("ArrayWrapper"), st.lists(st.none() | SINGLE | DAY, max_size=3).map(tuple))
DELETES = st.lists(
    st.builds(
        DeleteRecord, st.none() | st.text(max_size=9), st.none() | st.text(max_size=9), st.none() | SINGLE | SEVERAL
    ),
    max_size=4,
)


def one_block(kind: str, content: bytes, schema: str = SCHEMA) -> tuple[Block, bytes]:
    body = encode_block(kind, {fmt.INSTANT_TIME: "20260101000000000", fmt.SCHEMA: schema}, content)
    (block,) = blocks_of(body)
    return block, body


def rows_of(block: Block, body: bytes, *, raw: bool = False) -> list[dict[str, Any]]:
    return list(log_contents.read_records(block, reader(body), raw=raw))


@pytest.mark.slow
def test_every_real_block_decodes_to_the_number_of_records_that_it_says() -> None:
    """And Avro, CDC and delete contents are encoded to the same bytes again."""
    seen: Counter[str] = Counter()
    for label, body in real_files.matching(is_log):
        for block in blocks_of(body):
            content = body[block.content_offset : block.content_offset + block.content_length]
            count = log_contents.record_count(block, reader(body))
            seen[block.block_type] += 1
            if block.block_type == fmt.DELETE:
                deletes = log_contents.read_deletes(block, reader(body))
                assert len(deletes) == count, label
                assert log_contents.encode_deletes(deletes) == content, label
                continue
            rows = rows_of(block, body)
            assert len(rows) == count, label
            if block.block_type in (fmt.AVRO_DATA, fmt.CDC_DATA):
                assert log_contents.encode_avro(rows, block.header[fmt.SCHEMA]) == content, label
    assert set(seen) == {fmt.DELETE, *log_contents.DATA_BLOCKS}


def test_a_real_parquet_block_is_encoded_with_the_same_content() -> None:
    body = next(body for label, body in real_files.matching(is_log, "v9") if "mor_parquet_logs/p" in label)
    block = next(block for block in blocks_of(body) if block.block_type == fmt.PARQUET_DATA)
    table = parquet.read_table(io.BytesIO(body[block.content_offset : block.content_offset + block.content_length]))
    again, other = one_block(fmt.PARQUET_DATA, log_contents.encode_parquet(table))
    assert rows_of(again, other) == rows_of(block, body) != []


def test_a_real_hfile_block_is_encoded_with_the_same_content() -> None:
    """The keys are in the rows again, and blanked in the values."""
    for label, body in real_files.matching(lambda path: is_log(path) and ".hoodie/metadata/files" in path, "v9"):
        for block in blocks_of(body):
            if block.block_type == fmt.HFILE_DATA:
                rows = rows_of(block, body)
                content = log_contents.encode_hfile([(row["key"], row) for row in rows], block.header[fmt.SCHEMA])
                again, other = one_block(fmt.HFILE_DATA, content, block.header[fmt.SCHEMA])
                assert rows_of(again, other) == rows, label
                assert all(row["key"] for row in rows)


@pytest.mark.slow
@given(ROWS)
def test_avro_rows_round_trip(rows: list[dict[str, Any]]) -> None:
    block, body = one_block(fmt.AVRO_DATA, log_contents.encode_avro(rows, SCHEMA))
    assert rows_of(block, body) == rows
    assert log_contents.record_count(block, reader(body)) == len(rows)
    content = log_contents.encode_avro(rows_of(block, body, raw=True), SCHEMA)
    assert content == body[block.content_offset : block.content_offset + block.content_length]


def test_raw_rows_are_as_on_disk() -> None:
    row = {
        "id": 1,
        "val": "x",
        "day": date(1970, 1, 3),
        "at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc),
        "sum": Decimal("2.56"),
    }
    block, body = one_block(fmt.CDC_DATA, log_contents.encode_avro([row], SCHEMA))
    assert rows_of(block, body) == [row]
    assert rows_of(block, body, raw=True) == [{"id": 1, "val": "x", "day": 2, "at": 1_000_000, "sum": b"\x01\x00"}]


def test_a_date_that_python_cannot_hold_is_shown_as_on_disk() -> None:
    """Its neighbours are not touched, nor are the record's other values."""
    rows: list[dict[str, Any]] = [{"day": 10**8, "at": 5, "sum": Decimal("2.56")}, {"day": 1, "at": 2**62}]
    block, body = one_block(fmt.AVRO_DATA, log_contents.encode_avro(rows, SCHEMA))
    first, second = rows_of(block, body)
    assert (first["day"], first["at"], first["sum"]) == (10**8, EPOCH + timedelta(microseconds=5), Decimal("2.56"))
    assert (second["day"], second["at"]) == (date(1970, 1, 2), 2**62)


@pytest.mark.parametrize(
    ("kind", "number", "other"),
    [
        (pyarrow.date32(), 10**8, date(1970, 1, 6)),
        (pyarrow.timestamp("us", "UTC"), 2**62, EPOCH + timedelta(microseconds=5)),
        (pyarrow.timestamp("ms"), -(2**60), datetime(1970, 1, 1, 0, 0, 0, 5000)),
    ],
)
def test_a_time_in_parquet_that_python_cannot_hold_is_shown_as_on_disk(
    kind: pyarrow.DataType, number: int, other: object
) -> None:
    """Also within other values; its neighbours are not touched."""
    times = pyarrow.array([number, 5, None], kind)
    lists = pyarrow.ListArray.from_arrays([0, 2, 3, 3], times)
    maps = pyarrow.MapArray.from_arrays([0, 2, 2, 3], ["a", "b", "c"], times)
    table = pyarrow.table({"t": times, "l": lists, "m": maps, "s": pyarrow.StructArray.from_arrays([times], ["t"])})
    content = log_contents.encode_parquet(table.append_column("v", [["x", "y", "z"]]))
    assert list(log_contents.read_parquet(reader(content), len(content))) == [
        {"t": number, "l": [number, other], "m": [("a", number), ("b", other)], "s": {"t": number}, "v": "x"},
        {"t": other, "l": [None], "m": [], "s": {"t": other}, "v": "y"},
        {"t": None, "l": [], "m": [("c", None)], "s": {"t": None}, "v": "z"},
    ]


@pytest.mark.slow
@given(DELETES)
def test_deletes_round_trip(records: list[DeleteRecord]) -> None:
    assert decode_delete_list(encode_delete_list(records)) == records
    block, body = one_block(fmt.DELETE, log_contents.encode_deletes(records))
    assert log_contents.read_deletes(block, reader(body)) == records
    assert log_contents.record_count(block, reader(body)) == len(records)


def test_the_worked_example_of_a_delete() -> None:
    """One delete with key k, partition p and ordering int 0, byte for byte as Hudi writes it."""
    record = DeleteRecord("k", "p", OrderingValue("IntWrapper", 0))
    assert encode_delete_list([record]) == bytes.fromhex("02 02026b 020270 0400 00")
    assert not record.has_ordering
    assert not DeleteRecord("k", "p", None).has_ordering
    assert DeleteRecord("k", "p", OrderingValue("LongWrapper", 0)).has_ordering


def test_an_array_of_deletes_in_pieces_is_read() -> None:
    """Avro allows it, with negative counts; no release of Hudi writes it, so only the count stays unknown."""
    single = encode_delete_list([DeleteRecord("k", "p", None)])[1:-1]
    payload = b"\x01" + bytes([len(single) << 1]) + single + b"\x02" + single + b"\x00"
    block, body = one_block(fmt.DELETE, struct.pack(">ii", 3, len(payload)) + payload)
    assert log_contents.read_deletes(block, reader(body)) == [DeleteRecord("k", "p", None)] * 2
    assert log_contents.record_count(block, reader(body)) is None


def test_a_command_block_has_no_records() -> None:
    block, body = one_block(fmt.COMMAND, b"")
    assert log_contents.record_count(block, reader(body)) == 0


def test_records_larger_than_a_window_and_across_its_edge() -> None:
    rows = [{"id": number, "val": "x" * size} for number, size in enumerate((3_000_000, 3_000_000, 9_000_000, 5, 5))]
    block, body = one_block(fmt.AVRO_DATA, log_contents.encode_avro(rows, SCHEMA))
    asked = []

    def read_at(offset: int, length: int) -> bytes:
        asked.append(length)
        return body[offset : offset + length]

    assert [len(row["val"]) for row in log_contents.read_records(block, read_at)] == [
        3_000_000,
        3_000_000,
        9_000_000,
        5,
        5,
    ]
    assert max(asked) < 10_000_000


GOOD = log_contents.encode_avro([{"id": 1, "val": "one"}, {"id": 2, "val": "two"}], SCHEMA)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "unpack"),
        (struct.pack(">ii", 3, -1), "cannot have -1 records"),
        (struct.pack(">ii", 3, 3) + GOOD[8:], "unpack"),
        (struct.pack(">ii", 3, 1) + GOOD[8:], "extra bytes after the last record"),
        (struct.pack(">iii", 3, 1, 2**31 - 1) + GOOD[12:], "a record of 2147483647 bytes does not fit"),
        (struct.pack(">iii", 3, 1, -5) + GOOD[12:], "a record of -5 bytes does not fit"),
        (struct.pack(">iii", 3, 1, 9) + b"\0" * 9, "a record of 9 bytes ends after 5"),
    ],
)
def test_damaged_avro_contents_are_named(content: bytes, reason: str) -> None:
    block, body = one_block(fmt.AVRO_DATA, content)
    with pytest.raises(Unreadable, match=reason) as caught:
        rows_of(block, body)
    assert caught.value.message.startswith("the AVRO_DATA_BLOCK at byte 0 cannot be decoded: ")


def test_records_before_the_damage_come() -> None:
    damaged = GOOD[:-6] + b"\xff" * 6
    block, body = one_block(fmt.AVRO_DATA, damaged)
    reading = log_contents.read_records(block, reader(body))
    assert next(reading)["val"] == "one"
    with pytest.raises(Unreadable):
        next(reading)


@pytest.mark.parametrize("longer", range(25, 42))
def test_a_block_whose_header_is_longer_than_the_one_before_is_counted(longer: int) -> None:
    """Of a large log one request has the header before and a few bytes: sometimes only a part of the count."""
    schema = '{"type": "record", "name": "R", "fields": [{"name": "val", "type": "string"}]}'
    content = log_contents.encode_avro([{"val": "x" * 50}] * 700, schema)
    deletes = log_contents.encode_deletes([DeleteRecord(f"{number:060}", "", None) for number in range(700)])
    body = b"".join(
        encode_block(kind, {fmt.INSTANT_TIME: "20260101000000000", fmt.SCHEMA: schema + " " * spaces}, of)
        for kind, of in ((fmt.AVRO_DATA, content), (fmt.DELETE, deletes))
        for spaces in (0, 0, longer)
    )
    assert [log_contents.record_count(block, reader(body)) for block in blocks_of(body)] == [700] * 6


def test_a_data_block_without_schema_is_named() -> None:
    body = encode_block(fmt.AVRO_DATA, {}, GOOD)
    (block,) = blocks_of(body)
    with pytest.raises(Unreadable, match="no SCHEMA in its header"):
        rows_of(block, body)


@pytest.mark.parametrize(("length", "behind"), [(0, b"x"), (1, b""), (-1, b""), (1, b"x")])
def test_a_delete_block_whose_length_is_not_its_payloads_is_damaged(length: int, behind: bytes) -> None:
    payload = encode_delete_list([DeleteRecord("k", "p", None)])
    block, body = one_block(fmt.DELETE, struct.pack(">ii", 3, len(payload) + length) + payload + behind)
    with pytest.raises(Unreadable, match="the DELETE_BLOCK at byte 0 cannot be decoded"):
        log_contents.read_deletes(block, reader(body))


def test_a_parquet_block_with_fewer_rows_than_its_footer_counts_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    block, body = one_block(fmt.PARQUET_DATA, log_contents.encode_parquet(pyarrow.table({"id": [1, 2]})))
    assert log_contents.count_records(block, reader(body)) == 2
    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", lambda self, rows: iter(()))
    with pytest.raises(Unreadable, match="counts 2 rows, but the file has 0"):
        log_contents.count_records(block, reader(body))


def test_other_bytes_in_a_parquet_page_than_its_checksum_is_of_are_damage() -> None:
    """They would be another value."""
    out = io.BytesIO()
    table = pyarrow.table({"id": [7_777_777]})
    parquet.write_table(
        table, out, compression="none", use_dictionary=False, write_statistics=False, write_page_checksum=True
    )
    content, value = out.getvalue(), struct.pack("<q", 7_777_777)
    assert content.count(value) == 1
    block, body = one_block(fmt.PARQUET_DATA, content)
    assert log_contents.count_records(block, reader(body)) == 1
    block, body = one_block(fmt.PARQUET_DATA, content.replace(value, struct.pack("<q", 7_777_778)))
    with pytest.raises(Unreadable, match="CRC checksum verification failed"):
        log_contents.count_records(block, reader(body))


@pytest.mark.parametrize("version", [0, 4, -1])
def test_an_unknown_version_of_a_delete_block_is_refused_by_name(version: int) -> None:
    block, body = one_block(fmt.DELETE, struct.pack(">ii", version, 1) + b"\0")
    with pytest.raises(Unsupported, match=f"content version {version}"):
        log_contents.read_deletes(block, reader(body))


@pytest.mark.slow
def test_every_cut_and_every_flipped_bit_of_a_content_ends_in_records_or_a_named_error() -> None:
    """No other exception: Avro, delete, Parquet and HFile."""
    hfile_schema = json.dumps({"type": "record", "name": "K", "fields": [{"name": "key", "type": "string"}]})
    out = io.BytesIO()
    parquet.write_table(pyarrow.table({"id": [1, 2], "val": ["a", None]}), out)
    contents = [
        (fmt.AVRO_DATA, SCHEMA, GOOD),
        (fmt.DELETE, SCHEMA, log_contents.encode_deletes([DeleteRecord("k", "p", OrderingValue("LongWrapper", 7))])),
        (fmt.HFILE_DATA, hfile_schema, log_contents.encode_hfile([("a", {}), ("b", {})], hfile_schema)),
        (fmt.PARQUET_DATA, SCHEMA, out.getvalue()),
    ]
    for kind, schema, content in contents:
        step = 1 if len(content) < 200 else 7
        damaged = [content[:cut] for cut in range(0, len(content), step)]
        damaged += [
            content[:at] + bytes([content[at] ^ 1 << bit]) + content[at + 1 :]
            for at in range(0, len(content), step)
            for bit in (0, 3, 7)
        ]
        for entry in damaged:
            block, body = one_block(kind, entry, schema)
            with suppress(Unreadable, Unsupported):
                log_contents.record_count(block, reader(body))
            with suppress(Unreadable, Unsupported):
                if kind == fmt.DELETE:
                    log_contents.read_deletes(block, reader(body))
                else:
                    rows_of(block, body)


def test_a_row_that_does_not_fit_is_named() -> None:
    with pytest.raises(ValueError, match="does not fit the schema"):
        log_contents.encode_avro([{"id": "one"}], SCHEMA)


def test_another_avro_library_call_reads_what_is_written() -> None:
    """By the layout alone: version, count, and each record behind its length."""
    version, count, length = struct.unpack_from(">iii", GOOD)
    assert (version, count) == (3, 2)
    first = fastavro.schemaless_reader(io.BytesIO(GOOD[12 : 12 + length]), json.loads(SCHEMA), None)
    assert isinstance(first, dict)
    assert first["val"] == "one"


def test_no_length_in_a_file_makes_its_reader_allocate() -> None:
    """Counts and lengths of two gigabytes: what is held stays small."""
    huge = struct.pack(">i", 2**31 - 1)
    keys = encode_block(fmt.AVRO_DATA, {fmt.SCHEMA: SCHEMA}, GOOD)
    at = keys.index(GOOD)
    bodies = [
        keys[:position] + huge + keys[position + 4 :] for position in (10, 22, 26, 30, at - 4, at, at + 4, at + 8)
    ]
    field = {"name": "a", "type": {"type": "array", "items": "long"}}
    arrays = json.dumps({"type": "record", "name": "R", "fields": [field]})
    many = b"\xfe\xff\xff\xff\x0f" + b"\x02"
    bodies.append(one_block(fmt.AVRO_DATA, struct.pack(">iii", 3, 1, len(many)) + many, arrays)[1])
    bodies.append(one_block(fmt.DELETE, struct.pack(">ii", 3, len(many)) + many)[1])
    tracemalloc.start()
    try:
        for body in bodies:
            tracemalloc.reset_peak()
            for block in blocks_of(body):
                with suppress(Unreadable, Unsupported):
                    log_contents.record_count(block, reader(body))
                with suppress(Unreadable, Unsupported):
                    log_contents.count_records(block, reader(body))
            assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
