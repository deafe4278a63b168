"""Restore plans and metadata."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats import avro, restore, rollback
from hudictl.formats.restore import StoredRestorePlan
from hudictl.formats.rollback import InstantInfo, RollbackMetadata, RollbackPartition
from tests.formats import generic, real_files
from tests.formats.rollback_support import INFOS, METADATA, TEXT

REAL = [*real_files.matching(real_files.ending(".restore.requested"))]

# HoodieRestoreMetadata.SCHEMA$ of Hudi 0.15.0, 1.0.2 and 1.2.0, with STRING and ROLLBACK for the parts that recur.
HUDIS_METADATA = """{"type":"record","name":"HoodieRestoreMetadata","namespace":"org.apache.hudi.avro.model","fields":[
{"name":"startRestoreTime","type":STRING},{"name":"timeTakenInMillis","type":"long"},
{"name":"instantsToRollback","type":{"type":"array","items":STRING}},
{"name":"hoodieRestoreMetadata","type":{"type":"map","values":{"type":"array","items":["null",ROLLBACK],
"default":null},"avro.java.string":"String"}},{"name":"version","type":["int","null"],"default":1},
{"name":"restoreInstantInfo","type":{"type":"array","items":"HoodieInstantInfo","default":null},"default":[]}]}"""


@pytest.mark.parametrize("body", [body for _, body in REAL], ids=[label for label, _ in REAL])
def test_real_plans(body: bytes) -> None:
    """The order of the instants is the order of the work; written back, record and schema are the same."""
    plan, record = restore.decode_plan(body, "it"), generic.read(body)
    assert [info.to_avro() for info in plan.instants] == record["instantsToRollback"]
    assert plan.target == record["savepointToRestoreTimestamp"]
    written = restore.encode_plan(plan)
    assert generic.read(written) == record
    assert generic.schema(written) == generic.schema(body)


def test_there_is_a_real_plan_of_each_version() -> None:
    assert [label[:2] for label, _ in REAL] == ["v6", "v8", "v9"]


@pytest.mark.slow
@given(st.builds(StoredRestorePlan, st.lists(INFOS, max_size=5).map(tuple), st.none() | TEXT))
def test_plan_round_trip(plan: StoredRestorePlan) -> None:
    assert restore.decode_plan(restore.encode_plan(plan), "it") == plan


def test_a_plan_of_version_1_has_no_target() -> None:
    """Hudi before 0.12 did not write the field."""
    schema = {**restore.PLAN_SCHEMA, "fields": restore.PLAN_SCHEMA["fields"][:2]}
    body = avro.encode({"instantsToRollback": [{"commitTime": "1", "action": "commit"}], "version": 1}, schema)
    assert restore.decode_plan(body, "it") == StoredRestorePlan((InstantInfo("1", "commit"),), None)


@pytest.mark.slow
@given(TEXT, st.integers(0, 2**63 - 1), st.lists(METADATA, max_size=4, unique_by=lambda entry: entry.target.time))
def test_metadata_is_what_a_reader_expects(start: str, duration: int, rollbacks: list[RollbackMetadata]) -> None:
    """One rollback's result for each instant, in the order of the work."""
    record = generic.read(restore.encode_metadata(start, duration, rollbacks))
    times = [entry.target.time for entry in rollbacks]
    assert (record["startRestoreTime"], record["timeTakenInMillis"], record["version"]) == (start, duration, 1)
    assert record["instantsToRollback"] == times
    assert [entry["commitTime"] for entry in record["restoreInstantInfo"]] == times
    assert set(record["hoodieRestoreMetadata"]) == set(times)
    for entry in rollbacks:
        assert record["hoodieRestoreMetadata"][entry.target.time] == [rollback.metadata_to_avro(entry)]


def test_metadata_schema_is_hudis() -> None:
    """The schema in the written file is the one that Hudi's classes hold, in JSON meaning."""
    inner = json.dumps(avro.record(rollback.METADATA, *rollback.METADATA_FIELDS))
    expected = HUDIS_METADATA.replace("STRING", json.dumps(avro.STRING)).replace("ROLLBACK", inner)
    assert generic.schema(restore.encode_metadata("1", 0, [])) == json.loads(expected)


def test_a_restore_has_worked_in_the_partitions_of_all_its_rollbacks() -> None:
    """Also where Hudi has a null among them."""
    done = [
        RollbackMetadata("3", 1, InstantInfo(time, "commit"), {path: RollbackPartition() for path in paths})
        for time, paths in (("2", ("p", "q")), ("1", ("q", "r")))
    ]
    body = restore.encode_metadata("3", 1, done)
    assert restore.decode_partitions(body, "it") == {"p", "q", "r"}
    record = generic.read(body)
    record["hoodieRestoreMetadata"]["1"].append(None)
    assert restore.decode_partitions(avro.Record(restore.RESTORE_METADATA, record), "it") == {"p", "q", "r"}
