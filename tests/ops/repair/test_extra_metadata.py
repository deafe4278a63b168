"""What proves the schema of a write that is made again, and what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from hudictl.errors import Refused
from hudictl.formats import commit_metadata
from hudictl.formats.instants import State
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, drop
from tests.ops.repair.quarantine_support import again, completed, damage, plan, schema

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
EVOLVED = {"max_column_id": 1, "version_id": 20260101000000000, "type": "record", "fields": []}
OLDER = EVOLVED | {"version_id": 0}


def edit(file: Path, change: Mapping[str, Any]) -> None:
    """Other fields in a commit."""
    body = file.read_bytes()
    damage(file, commit_metadata.encode_as(body, {**commit_metadata.read_record(body, "it").fields, **change}))


def extra(body: bytes) -> dict[str, str]:
    return dict(commit_metadata.read_record(body, "it").fields["extraMetadata"])


def add_extra(file: Path, **more: str) -> None:
    edit(file, {"extraMetadata": {**extra(file.read_bytes()), **more}})


def refused(copy: Copy, time: str, match: str) -> None:
    damage(completed(copy, time), b"")
    with pytest.raises(Refused, match=match):
        plan(copy, time)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_the_columns_of_a_partial_update_are_not_those_of_the_table(version: str, tmp_path: Path) -> None:
    copy = Copy(version, "partial", support.unpack_logs(version, "partial", tmp_path))
    _, other, last = copy.commits
    before, made = again(copy, last)
    assert schema(made) == schema(before)
    damage(completed(copy, last), b"")
    assert any(line.startswith("its schema") for line in plan(copy, last).guessed)
    # Its block has columns that may be null, and the write before it has none.
    refused(copy, other, "other columns than the schema of the write beside it")


def rewrite(copy: Copy, time: str, **more: object) -> None:
    """The base files of a write, as Hudi's row writer leaves them: without an Avro schema; with more columns."""
    for file in copy.path.rglob(f"*_{time}.parquet"):
        table = parquet.read_table(file, partitioning=None).replace_schema_metadata()
        for name, value in more.items():
            table = table.append_column(name, pyarrow.array([value] * table.num_rows))
        parquet.write_table(table, file)


@VERSIONS
def test_a_file_without_avro_schema_has_the_columns_of_the_write_beside_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    last = copy.commits[-1]
    rewrite(copy, last)
    before, made = again(copy, last)
    assert schema(made) == schema(before)
    rewrite(copy, last, more="new")
    refused(copy, last, "other columns than the schema of the write beside it")


@VERSIONS
def test_a_column_of_another_type_is_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    last = copy.commits[-1]
    for file in copy.path.rglob(f"*_{last}.parquet"):
        table = parquet.read_table(file, partitioning=None).replace_schema_metadata()
        at = table.column_names.index("ts")
        parquet.write_table(table.set_column(at, "ts", table.column("ts").cast(pyarrow.float64())), file)
    refused(copy, last, "other columns than the schema of the write beside it")


@VERSIONS
def test_the_schema_of_a_table_service_is_not_that_of_a_write(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    *_, before, last = copy.commits
    rewrite(copy, last)
    changed = json.loads(extra(completed(copy, before).read_bytes())["schema"])
    add_extra(completed(copy, before), schema=json.dumps(changed | {"fields": changed["fields"][:-1]}))
    edit(completed(copy, before), {"operationType": "COMPACT"})
    sound, made = again(copy, last)
    assert schema(made) == schema(sound)


@VERSIONS
def test_the_flag_of_a_deleted_row_is_a_column_of_the_table(version: str, tmp_path: Path) -> None:
    copy = Copy(version, "several_blocks", support.unpack_logs(version, "several_blocks", tmp_path))
    for time in copy.commits:
        before, made = again(copy, time)
        assert schema(made) == schema(before)


@VERSIONS
def test_a_change_of_the_schema_is_refused(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    last = copy.commits[-1]
    (instant,) = [entry for entry in load_timeline(copy.table).completed_writes() if entry.time == last]
    inflight = instant.file(State.INFLIGHT)
    assert inflight is not None
    edit(copy.timeline / inflight.name, {"operationType": "ALTER_SCHEMA"})
    refused(copy, last, "it has changed the schema")


@VERSIONS
def test_without_a_file_both_writes_beside_it_must_have_one_schema(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    first, middle, *_, last = copy.commits
    for time in (middle, last):
        for file in copy.path.rglob(f"*_{time}.parquet"):
            drop(file)
    before, made = again(copy, middle)
    assert schema(made) == schema(before)
    changed = json.loads(extra(completed(copy, first).read_bytes())["schema"])
    add_extra(completed(copy, first), schema=json.dumps(changed | {"fields": changed["fields"][:-1]}))
    refused(copy, middle, "no file of it names its schema")
    refused(copy, last, "no file of it names its schema")


def keep(copy: Copy, time: str, *schemas: object) -> None:
    """What Hudi keeps of a write with schema evolution, beside the timeline."""
    folder = copy.path / ".hoodie/.schema"
    folder.mkdir(exist_ok=True)
    done = f"{time}_{time}" if copy.table.rules.has_completion_times else time
    (folder / f"{done}.schemacommit").write_text(json.dumps({"schemas": schemas}))


@VERSIONS
def test_an_evolved_schema_is_that_of_the_write_before(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    *_, before, last = copy.commits
    stored = json.dumps(EVOLVED)
    add_extra(completed(copy, before), latest_schema=stored)
    add_extra(completed(copy, last), latest_schema=stored)
    keep(copy, last, OLDER, EVOLVED)
    sound, made = again(copy, last)
    assert extra(made)["latest_schema"] == stored
    assert schema(made) == schema(sound)


@VERSIONS
@pytest.mark.parametrize("why", ["it has kept none", "it has kept another", "the write before has none", "damaged"])
def test_an_evolved_schema_that_nothing_proves_is_refused(unpack: Unpack, version: str, why: str) -> None:
    copy = unpack(version, "cow_part")
    *_, before, last = copy.commits
    if why != "the write before has none":
        add_extra(completed(copy, before), latest_schema=json.dumps(EVOLVED))
    if why == "damaged":
        keep(copy, last, "no schema")
    elif why != "it has kept none":
        keep(copy, last, EVOLVED if why == "the write before has none" else EVOLVED | {"max_column_id": 2})
    refused(copy, last, "nothing proves its evolved schema")


@VERSIONS
@pytest.mark.parametrize("key", ["schema", "latest_schema"])
def test_a_schema_that_is_none_proves_nothing(unpack: Unpack, version: str, key: str) -> None:
    copy = unpack(version, "cow_part")
    *_, before, last = copy.commits
    add_extra(completed(copy, before), **{key: "{ no schema"})
    refused(copy, last, "a schema in its files, or in the write beside it, is none")


@VERSIONS
def test_what_writers_keep_in_other_commits_is_lost(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    *_, before, last = copy.commits
    add_extra(completed(copy, before), _hudi_streaming_sink_checkpoint="7")
    damage(completed(copy, last), b"")
    (line,) = plan(copy, last).lost
    assert line.endswith("_hudi_streaming_sink_checkpoint")


@VERSIONS
def test_a_log_compaction_is_one(version: str, tmp_path: Path) -> None:
    copy = Copy(version, "log_compacted", support.unpack_logs(version, "log_compacted", tmp_path))
    for time in copy.commits:
        old, new = (commit_metadata.read_record(body, "it").fields for body in again(copy, time))
        assert [new[key] for key in ("operationType", "compacted")] == [
            old[key] for key in ("operationType", "compacted")
        ]
