"""Avro containers of one record: what damaged bytes lead to, for every record that hudictl reads."""

import io
import json
import zlib
from collections.abc import Callable
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable
from hudictl.formats import avro, clean, commit_metadata, plans, restore, rollback, savepoint
from tests.formats import real_files

SYNC = 16
Decoder = Callable[[bytes, str], Any]
# (decoder, end of the path of its files)
RECORDS: dict[str, tuple[Decoder, str]] = {
    "savepoint": (savepoint.decode, ".savepoint"),
    "rollback plan": (rollback.decode_plan, ".rollback.requested"),
    "restore plan": (restore.decode_plan, ".restore.requested"),
    "cleaner plan": (clean.decode_plan, ".clean.requested"),
    "clean metadata": (clean.decode_metadata, ".clean"),
    "compaction plan": (plans.decode_compaction_groups, ".compaction.requested"),
    "commit metadata": (commit_metadata.decode, ".commit"),
    "replace metadata": (commit_metadata.decode, ".replacecommit"),
}


def sample(kind: str) -> bytes:
    """The smallest real file of a kind; from table version 9, where all of them are Avro."""
    found = real_files.matching(real_files.ending(RECORDS[kind][1]), "v9")
    return min((body for _, body in found if body), key=len)


@pytest.mark.parametrize("kind", RECORDS)
def test_cut_at_any_byte(kind: str) -> None:
    """A file that was not written to its end is unreadable (empty commit metadata aside), never a shorter truth."""
    decode, body = RECORDS[kind][0], sample(kind)
    assert decode(body, "whole") is not None
    first = 1 if "metadata" in kind and decode is commit_metadata.decode else 0
    for cut in {*range(first, len(body) - SYNC, 7), *range(len(body) - 40, len(body) - SYNC)}:
        with pytest.raises(Unreadable) as caught:
            decode(body[:cut], "the file")
        assert caught.value.fields["file"] == "the file"


@pytest.mark.parametrize("missing", [1, SYNC - 1, SYNC])
def test_cut_in_the_last_marker(missing: int) -> None:
    """The record is whole, but Java's reader checks the marker behind it: to Hudi the file is damaged."""
    with pytest.raises(Unreadable):
        rollback.decode_plan(sample("rollback plan")[:-missing], "the file")


@pytest.mark.slow
@pytest.mark.parametrize("kind", RECORDS)
def test_a_flipped_bit(kind: str) -> None:
    """Whatever the bytes, the answer is a value or Unreadable."""
    decode, body = RECORDS[kind][0], sample(kind)
    for position in range(0, len(body), 3):
        damaged = bytearray(body)
        damaged[position] ^= 1 << position % 8
        assert outcome(decode, bytes(damaged)) is not None


@pytest.mark.parametrize("kind", RECORDS)
@given(body=st.binary(min_size=1, max_size=60))
def test_arbitrary_bytes(kind: str, body: bytes) -> None:
    """No Avro, or an Avro magic with nonsense behind it."""
    for damaged in (body, avro.MAGIC + body):
        with pytest.raises(Unreadable):
            RECORDS[kind][0](damaged, "the file")


@pytest.mark.parametrize(
    "kind", [kind for kind, (decode, _) in RECORDS.items() if decode is not commit_metadata.decode]
)
def test_another_records_file(kind: str) -> None:
    """An Avro file of the wrong kind is told by the record's name, and both names are in the message."""
    other = sample("savepoint" if kind != "savepoint" else "clean metadata")
    with pytest.raises(Unreadable, match=r"holds the Avro record Hoodie\w+, expected Hoodie\w+"):
        RECORDS[kind][0](other, "the file")


@pytest.mark.parametrize(
    "kind", [kind for kind, (decode, _) in RECORDS.items() if decode is not commit_metadata.decode]
)
def test_an_empty_file(kind: str) -> None:
    """Hudi leaves such ones behind after a crash; they hold no plan and no metadata."""
    with pytest.raises(Unreadable, match="is empty"):
        RECORDS[kind][0](b"", "the file")


@pytest.mark.parametrize("kind", ["savepoint", "rollback plan", "restore plan", "clean metadata", "compaction plan"])
def test_a_record_without_fields(kind: str) -> None:
    """Right name, no field: older writers lack some, and a file that lacks what is needed is unreadable, not a bug."""
    reader = fastavro.reader(io.BytesIO(sample(kind)))
    assert isinstance(reader.writer_schema, dict)
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": reader.writer_schema["name"], "fields": []}, [{}])
    allowed = [restore.StoredRestorePlan((), None), frozenset()]
    assert outcome(RECORDS[kind][0], out.getvalue()) in ["unreadable", *allowed]


def outcome(decode: Decoder, body: bytes) -> Any:
    """The value, or that there is none."""
    try:
        return decode(body, "the file")
    except Unreadable:
        return "unreadable"


def test_a_container_without_a_record() -> None:
    """The header alone, which a crash between header and block leaves."""
    out = io.BytesIO()
    fastavro.writer(out, savepoint.SCHEMA, [])
    with pytest.raises(Unreadable, match="holds no record HoodieSavepointMetadata"):
        savepoint.decode(out.getvalue(), "the file")


def test_a_compressed_container() -> None:
    """Other writers compress; Hudi's readers take it, and so does this one."""
    body = sample("savepoint")
    reader = fastavro.reader(io.BytesIO(body))
    out = io.BytesIO()
    fastavro.writer(out, savepoint.SCHEMA, list(reader), codec="deflate")
    assert savepoint.decode(out.getvalue(), "the file") == savepoint.decode(body, "the file")


@pytest.mark.parametrize("kind", RECORDS)
def test_any_container_reads_as_fastavro_reads_it(kind: str) -> None:
    """Also one that Hudi does not write: of several records, of several blocks, or compressed."""
    schema = json.loads(fastavro.reader(io.BytesIO(sample(kind))).metadata["avro.schema"])
    bodies = [body for _, body in real_files.matching(real_files.ending(RECORDS[kind][1]), "v9") if body]
    records = [next(iter(fastavro.reader(io.BytesIO(body)))) for body in bodies]
    assert [avro.read_record(body, "it").fields for body in bodies] == records
    for codec, interval in (("null", 1), ("deflate", 1), ("null", 1_000_000)):
        out = io.BytesIO()
        fastavro.writer(out, schema, records[:2] * 2, codec=codec, sync_interval=interval)
        assert avro.read_record(out.getvalue(), "it").fields == records[0]


def test_what_is_behind_the_last_marker_is_read() -> None:
    """It is a damaged block: the file is unreadable."""
    body = sample("rollback plan")
    for more in (b"x", body[-SYNC:], bytes(SYNC)):
        with pytest.raises(Unreadable):
            rollback.decode_plan(body + more, "the file")


def long(value: int) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, "long", value)
    return out.getvalue()


def container(data: bytes, *fields: Any, records: int = 1, length: int | None = None, codec: str = "null") -> bytes:
    """A file of one block, whatever its numbers say."""
    schema = json.dumps({"type": "record", "name": "HoodieRollbackPlan", "fields": list(fields)})
    meta = long(2)
    for text in ("avro.schema", schema, "avro.codec", codec):
        meta += long(len(text)) + text.encode()
    block = long(records) + long(len(data) if length is None else length) + data
    return avro.MAGIC + meta + long(0) + bytes(SYNC) + block + bytes(SYNC)


def deflated(data: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflate.compress(data) + deflate.flush()


TEXT = {"name": "x", "type": "string"}
NULLS = {"name": "x", "type": {"type": "array", "items": "null"}}
ITSELF = {"name": "x", "type": ["null", "HoodieRollbackPlan"]}
MANY = 1 << 40


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (container(long(MANY) + long(0), NULLS), "an array whose elements take 0 bytes"),
        (container(b"", records=MANY), "cannot have 1099511627776 records"),
        (container(b"", records=-1), "cannot have -1 records"),
        (container(long(0), TEXT, length=-4), "a block of -4 bytes does not fit"),
        (container(long(0), TEXT, length=MANY), "a block of 1099511627776 bytes does not fit"),
        (container(b"\2" * 100_000 + b"\0", ITSELF), "contains itself"),
        (container(long(MANY) + b"abc", TEXT), "cannot be read as Avro"),
        (container(long(-3) + b"abc", TEXT), "cannot be read as Avro"),
        (container(deflated(long(100 << 20) + bytes(100 << 20)), TEXT, codec="deflate"), "more than 16,777,216 bytes"),
        (container(b"abc", TEXT, codec="deflate"), "cannot be read as Avro"),
        (container(long(0), TEXT, codec="zstandard"), "does not know the codec"),
        (container(long(0) + b"x", TEXT), "extra bytes after the last record"),
    ],
    ids=range(12),
)
def test_a_file_that_would_cost_more_than_its_bytes_is_damaged(body: bytes, reason: str) -> None:
    """Some of these have kept a decoder busy for ever, filled the memory, or overflowed the stack."""
    with pytest.raises(Unreadable, match=reason):
        rollback.decode_plan(body, "the file")
    with pytest.raises(Unreadable, match=reason):
        commit_metadata.decode(body, "the file")


@pytest.mark.slow
@given(st.dictionaries(st.text(), st.lists(st.text(), max_size=5), max_size=20), st.text(), st.integers(0, 1 << 60))
def test_no_limit_refuses_what_hudictl_or_hudi_writes(files: dict[str, list[str]], name: str, at_ms: int) -> None:
    partitions = {path: {"partitionPath": path, "savepointDataFile": names} for path, names in files.items()}
    fields = {"savepointedBy": name, "savepointedAt": at_ms, "comments": name, "partitionMetadata": partitions}
    body = avro.encode(fields | {"version": 1}, savepoint.SCHEMA)
    assert avro.read_record(body, "it") == avro.Record("HoodieSavepointMetadata", fields | {"version": 1})
    assert avro.encode_like(body, fields | {"version": 1})[:-SYNC].startswith(body[:100])


def test_another_marker_behind_the_record_is_damage() -> None:
    body = sample("rollback plan")
    with pytest.raises(Unreadable, match="the marker after a block is another one"):
        rollback.decode_plan(body[:-1] + bytes([body[-1] ^ 1]), "the file")
