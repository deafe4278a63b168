"""Logs that the real Hudi made, against what the real Hudi itself reads in them."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from hudictl.formats import log_blocks as fmt
from hudictl.formats import log_contents
from hudictl.formats.delete_records import DeleteRecord, OrderingValue
from hudictl.formats.log_blocks import Block
from tests import support
from tests.formats import real_files
from tests.formats.log_blocks_support import blocks_of, reader

JAVA = {
    "java.lang.Boolean": "BooleanWrapper",
    "java.lang.Integer": "IntWrapper",
    "java.lang.Long": "LongWrapper",
    "java.lang.Float": "FloatWrapper",
    "java.lang.Double": "DoubleWrapper",
    "java.lang.String": "StringWrapper",
}


@cache
def golden(version: str) -> list[tuple[str, Block, bytes, dict[str, Any]]]:
    """Each block of tests/logs, with the file's bytes and what Hudi says of it."""
    found = []
    for name, table in support.log_facts(version).items():
        files = real_files.files(version, name, support.LOGS)
        for path, blocks in table["logs"].items():
            own = blocks_of(files[path])
            assert len(own) == len(blocks), f"{name}/{path}"
            found += [(f"{name}/{path}", mine, files[path], theirs) for mine, theirs in zip(own, blocks, strict=True)]
    return found


def printed(value: Any) -> Any:
    """As Avro prints a raw value: bytes as Latin-1 characters."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, dict):
        return {key: printed(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [printed(entry) for entry in value]
    if isinstance(value, tuple):
        return printed(value[1])
    return value


def close(ours: Any, theirs: Any) -> bool:
    """Equal, but for the digits of a float that Java prints."""
    if isinstance(ours, str) and isinstance(theirs, list):  # a fixed, which Avro prints as signed bytes
        return ours.encode("latin-1") == bytes(entry % 256 for entry in theirs)
    if isinstance(ours, float) and isinstance(theirs, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-6)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(close(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return bool(ours == theirs)


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_every_log_of_every_table_has_the_blocks_and_records_that_hudi_reads(version: str) -> None:
    """Data tables, metadata tables and archives."""
    total = 0
    for name, logs in support.log_counts(version).items():
        files = real_files.files(version, name)
        for path, blocks in logs.items():
            for block, (kind, instant, count) in zip(blocks_of(files[path]), blocks, strict=True):
                label = f"{name}/{path} at {block.offset}"
                assert (block.block_type, block.instant) == (kind, instant), label
                assert decoded(block, files[path]) == (count or 0), label
                assert log_contents.record_count(block, reader(files[path])) == (count or 0), label
                total += 1
    assert total > 200


def decoded(block: Block, body: bytes) -> int:
    if block.block_type == fmt.DELETE:
        return len(log_contents.read_deletes(block, reader(body)))
    if block.block_type in log_contents.DATA_BLOCKS:
        return sum(1 for _ in log_contents.read_records(block, reader(body)))
    return 0


@pytest.mark.parametrize("version", support.VERSIONS)
def test_headers_and_content_ranges_are_those_that_hudi_sees(version: str) -> None:
    seen: Counter[str] = Counter()
    for label, block, _, theirs in golden(version):
        assert block.block_type == theirs["type"], label
        assert block.header == theirs["header"], label
        assert block.footer == theirs["footer"] == {}, label
        assert (block.content_offset, block.content_length) == (theirs["content_offset"], theirs["content_bytes"]), (
            label
        )
        seen[block.block_type] += 1
        seen.update([*block.header])
    assert set(seen) >= {*log_contents.DATA_BLOCKS, fmt.DELETE, fmt.COMPACTED_BLOCK_TIMES}
    if version == "v6":
        assert seen[fmt.COMMAND]
    else:
        assert seen[fmt.RECORD_POSITIONS]
        assert seen[fmt.IS_PARTIAL]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_records_are_those_that_hudi_reads_value_by_value(version: str) -> None:
    """Of Parquet the keys: Hudi prints it as Avro, with other words for times."""
    seen: Counter[str] = Counter()
    for label, block, body, theirs in golden(version):
        if block.block_type not in log_contents.DATA_BLOCKS:
            continue
        rows = [printed(row) for row in log_contents.read_records(block, reader(body), raw=True)]
        expected = theirs["records"]
        if block.block_type == fmt.PARQUET_DATA:
            rows = [row["_hoodie_record_key"] for row in rows]
            expected = [row["_hoodie_record_key"] for row in expected]
        assert close(rows, expected), f"{label}: {rows} {expected}"
        seen[block.block_type] += len(rows)
    assert all(seen[kind] for kind in log_contents.DATA_BLOCKS)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_contents_are_encoded_to_the_same_bytes(version: str) -> None:
    """Avro, CDC, delete and command blocks; the whole block with its header, too."""
    for label, block, body, _ in golden(version):
        content = body[block.content_offset : block.content_offset + block.content_length]
        if block.block_type == fmt.DELETE:
            content = log_contents.encode_deletes(log_contents.read_deletes(block, reader(body)))
        elif block.block_type in (fmt.AVRO_DATA, fmt.CDC_DATA):
            rows = list(log_contents.read_records(block, reader(body), raw=True))
            content = log_contents.encode_avro(rows, block.header[fmt.SCHEMA])
        assert fmt.encode_block(block.block_type, block.header, content) == body[block.offset : block.end], label


def java_orderings(record: DeleteRecord) -> Iterator[tuple[str, str]]:
    """What of an ordering value can be told without knowing how Java prints dates and decimals."""
    ordering = record.ordering
    values = ordering.value if ordering is not None and ordering.type == "ArrayWrapper" else (ordering,)
    for value in values:
        if isinstance(value, OrderingValue) and value.type in JAVA.values():
            text = json.dumps(value.value) if isinstance(value.value, bool) else str(value.value)
            yield value.type, text


@pytest.mark.parametrize("version", support.VERSIONS)
def test_deletes_are_those_that_hudi_reads(version: str) -> None:
    kinds = set()
    for label, block, body, theirs in golden(version):
        if block.block_type != fmt.DELETE:
            continue
        deletes = log_contents.read_deletes(block, reader(body))
        keys = [(entry["recordKey"], entry["partitionPath"]) for entry in theirs["records"]]
        assert [(delete.record_key, delete.partition_path) for delete in deletes] == keys, label
        for delete, entry in zip(deletes, theirs["records"], strict=True):
            kinds.add(delete.ordering.type if delete.ordering else None)
            told = list(zip(entry["ordering"][::2], entry["ordering"][1::2], strict=True))
            expected = [(JAVA[kind], text) for kind, text in told if kind in JAVA]
            assert [(kind, number(text)) for kind, text in java_orderings(delete)] == [
                (kind, number(text)) for kind, text in expected
            ], label
    assert len(kinds) > 6


def number(text: str) -> Any:
    """1.0E300 and 1e+300 are one."""
    try:
        return float(text)
    except ValueError:
        return text
