"""The real Hudi reads every kind of block that hudictl writes, in its own tables, and merges them."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from hudictl.formats import hfile, log_blocks, log_contents
from hudictl.formats.delete_records import INT, DeleteRecord, OrderingValue
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.log_blocks import Block, ReadAt, encode_block, encode_rollback_block, read_blocks
from hudictl.formats.ranges import as_file, part
from hudictl.table.file_view import StoredFile
from hudictl.table.log_writer import LogTarget, write_logs
from hudictl.table.table import Table, open_table
from hudictl.table.timeline import load_timeline
from tests import support
from tests.interop import make_logs
from tests.interop.judge import RELEASES, Judge
from tests.ops.helpers import drop

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]


def logs_of(table: Table) -> list[StoredFile]:
    """All logs of a table, without those of its metadata table, in Hudi's order."""
    base = Path(table.storage.absolute(""))
    found = []
    for path in base.rglob(".*.log.*"):
        folder, data = path.parent.relative_to(base), parse_data_file(path.name)
        if data is not None and ".hoodie" not in folder.parts:
            found.append(StoredFile("" if folder == Path() else folder.as_posix(), data, path.stat().st_size))
    return sorted(found, key=lambda file: (file.group, file.data.log_order))


def blocks_of(table: Table, file: StoredFile) -> list[tuple[Block, ReadAt]]:
    read_at = partial(table.storage.read, file.path)
    return [(block, read_at) for block in read_blocks(read_at, file.size or 0, strict=True)]


def again(block: Block, read_at: ReadAt) -> bytes:
    """A block decoded and encoded."""
    return encode_block(block.block_type, block.header, content_of(block, read_at))


def content_of(block: Block, read_at: ReadAt) -> bytes:
    kind, schema = block.block_type, block.header.get(log_blocks.SCHEMA, "")
    if kind == log_blocks.COMMAND:
        return b""
    if kind == log_blocks.DELETE:
        return log_contents.encode_deletes(log_contents.read_deletes(block, read_at))
    content = part(read_at, block.content_offset, block.content_length)
    if kind == log_blocks.PARQUET_DATA:
        return log_contents.encode_parquet(parquet.read_table(as_file(content, block.content_length)))
    rows = list(log_contents.read_records(block, read_at))
    if kind == log_blocks.HFILE_DATA:
        keys = [key.decode() for key, _ in hfile.read_entries(content, block.content_length)]
        return log_contents.encode_hfile(list(zip(keys, rows, strict=True)), schema)
    return log_contents.encode_avro(rows, schema)


def write_again(table: Table) -> list[StoredFile]:
    """Puts hudictl's files in the place of all of a table's logs, by the same names."""
    files = logs_of(table)
    contents = {file.path: [again(*block) for block in blocks_of(table, file)] for file in files}
    instants = {file.path: {block.instant for block, _ in blocks_of(table, file)} for file in files}
    for file in files:
        drop(Path(table.storage.absolute(file.path)))
    for file in files:
        data = file.data
        (instant,) = instants[file.path]
        target = LogTarget(file.partition, data.file_id, data.instant, str(instant), data.cdc)
        (written,) = write_logs(table, target, contents[file.path], write_token=data.write_token)
        assert written.path == file.path
    return files


def comparable(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Blocks as Hudi reads them, without the sizes of what is compressed."""
    compressed = (log_blocks.PARQUET_DATA, log_blocks.HFILE_DATA)
    return [block | {"content_bytes": 0} if block["type"] in compressed else block for block in blocks]


@pytest.mark.parametrize("version", RELEASES)
def test_hudi_reads_in_every_log_that_hudictl_has_written_again_what_it_read_before(
    judge: Judges, tmp_path: Path, version: str
) -> None:
    """Data of all Avro types in Avro, Parquet and HFile, change data, deletes with each kind of ordering value, positions,
    partial updates, compacted logs and rollbacks; the queries, too, have the same rows or end in the same error."""
    hudi, kinds = judge(version), set()
    for name, facts in support.log_facts(version).items():
        # Only 0.15 on HDFS puts several instants into one file: hudictl appends to none.
        if name == "appended":
            continue
        base = support.unpack_logs(version, name, tmp_path)
        for file in write_again(open_table(str(base))):
            found = hudi.log_records(base / file.path)
            assert comparable(found) == comparable(facts["logs"][file.path]), (name, file.path)
            kinds |= {block["type"] for block in found}
        expected, state = facts["state"], make_logs.state(hudi, base)
        if "error" in expected:
            assert state["error"][-1] == expected["error"][-1], name
        else:
            assert state == expected, name
    # Only version 6 rolls back with blocks.
    assert kinds == set(log_blocks.BLOCK_TYPES) - {log_blocks.CORRUPT} - (
        {log_blocks.COMMAND} if version != "v6" else set()
    )


@pytest.mark.parametrize("version", RELEASES)
def test_hudi_reads_through_a_metadata_table_whose_logs_hudictl_has_written_again(
    judge: Judges, tmp_path: Path, version: str
) -> None:
    """Its HFile blocks tell the readers which files there are."""
    hudi, base = judge(version), support.unpack(version, "mor_part", tmp_path)
    before = hudi.both_rows(base)
    assert write_again(open_table(str(base / ".hoodie/metadata")))
    assert hudi.both_rows(base) == before
    assert hudi.files(base) == hudi.files(base, metadata=False)


def alive(table: Table, ids: set[int]) -> tuple[StoredFile, dict[str, Any], dict[str, Any], str]:
    """A log of the last commit, two rows of its slice that queries see, and their schema."""
    last = max(entry.time for entry in load_timeline(table).completed_writes())
    logs = logs_of(table)
    for file in logs:
        if last not in {block.instant for block, _ in blocks_of(table, file)}:
            continue
        for other in (other for other in logs if other.group == file.group):
            for block, read_at in blocks_of(table, other):
                if block.block_type == log_blocks.AVRO_DATA:
                    rows = [row for row in log_contents.read_records(block, read_at) if row["id"] in ids]
                    if len(rows) >= 2:
                        return file, rows[0], rows[1], block.header[log_blocks.SCHEMA]
    raise AssertionError("no such log")


def encoded(kind: str, row: dict[str, Any], schema: str) -> bytes:
    if kind == log_blocks.PARQUET_DATA:
        return log_contents.encode_parquet(pyarrow.Table.from_pylist([row]))
    if kind == log_blocks.HFILE_DATA:
        return log_contents.encode_hfile([(row["_hoodie_record_key"], row)], schema)
    return log_contents.encode_avro([row], schema)


@pytest.mark.parametrize("kind", [log_blocks.AVRO_DATA, log_blocks.PARQUET_DATA, log_blocks.HFILE_DATA])
@pytest.mark.parametrize("version", RELEASES)
def test_queries_see_an_upsert_and_a_delete_in_a_log_of_a_commit_until_a_block_rolls_it_back(
    judge: Judges, tmp_path: Path, version: str, kind: str
) -> None:
    hudi, base = judge(version), support.unpack(version, "mor_part", tmp_path)
    table = open_table(str(base))
    before = {row[0]: row for row in hudi.read(base, metadata=False)}
    file, changed, deleted, schema = alive(table, set(before))
    last = max(entry.time for entry in load_timeline(table).completed_writes())
    target = LogTarget(file.partition, file.data.file_id, file.data.instant, last)
    header = {log_blocks.INSTANT_TIME: last, log_blocks.SCHEMA: schema}
    row = changed | {"val": "by hudictl", "ts": 9_999_999, "_hoodie_commit_time": last}
    gone = DeleteRecord(deleted["_hoodie_record_key"], file.partition, OrderingValue(INT, 0))
    data = encode_block(kind, header, encoded(kind, row, schema))
    (written,) = write_logs(
        table, target, [data + encode_block(log_blocks.DELETE, header, log_contents.encode_deletes([gone]))]
    )
    assert written.data.version == file.data.version + 1

    def now() -> dict[int, list[Any]]:
        return {row[0]: row for row in hudi.read(base, metadata=False)}

    expected = before | {row["id"]: [row["id"], 9_999_999, "by hudictl"]}
    del expected[deleted["id"]]
    assert now() == expected
    write_logs(table, target, [encode_rollback_block(last, last)])
    after = now()
    assert [after[row["id"]] for row in (changed, deleted)] == [before[row["id"]] for row in (changed, deleted)]
