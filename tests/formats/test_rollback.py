"""Rollback plans and metadata."""

import json

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable
from hudictl.formats import avro, log_blocks, rollback
from hudictl.formats.rollback import (
    InstantInfo,
    RollbackMetadata,
    RollbackPartition,
    RollbackRequest,
    StoredRollbackPlan,
)
from tests.formats import generic, real_files
from tests.formats.rollback_support import METADATA, NAMES, SIZES, TEXT

REAL = [*real_files.matching(real_files.ending(".rollback.requested"))]
PLANS = st.builds(
    StoredRollbackPlan,
    st.builds(InstantInfo, st.text("0123456789", min_size=1, max_size=20), TEXT),
    st.lists(st.builds(RollbackRequest, TEXT, NAMES, TEXT, TEXT, SIZES), max_size=4).map(tuple),
)


@pytest.mark.parametrize("body", [body for _, body in REAL], ids=[label for label, _ in REAL])
def test_real_plans(body: bytes) -> None:
    """Read whole, and written back as the same record under the same schema (Hudi resumes from what is written)."""
    plan, record = rollback.decode_plan(body, "it"), generic.read(body)
    assert plan.target == InstantInfo(*record["instantToRollback"].values())
    assert [request.partition for request in plan.requests] == [
        request["partitionPath"] for request in record["RollbackRequests"]
    ]
    assert {path for request in plan.requests for path in request.files} == {
        path for request in record["RollbackRequests"] for path in request["filesToBeDeleted"]
    }
    written = rollback.encode_plan(plan)
    assert generic.schema(written) == generic.schema(body)
    again = generic.read(written)
    for request in again["RollbackRequests"]:
        # Where nothing is to be done there, Hudi writes null or an empty value; it reads both alike.
        (real,) = [
            entry
            for entry in record["RollbackRequests"]
            if (entry["partitionPath"], entry["filesToBeDeleted"], entry["fileId"] or "")
            == (request["partitionPath"], request["filesToBeDeleted"], request["fileId"])
        ]
        assert request["logBlocksToBeDeleted"] == (real["logBlocksToBeDeleted"] or {})
        assert request["latestBaseInstant"] == (real["latestBaseInstant"] or "")
    assert (again["instantToRollback"], again["version"]) == (record["instantToRollback"], record["version"])


def test_real_plans_hold_both_kinds_of_request() -> None:
    """Files to delete in every version, log blocks to take back in version 6 alone."""
    kinds = {
        (label[:2], bool(request.files), bool(request.logs))
        for label, body in REAL
        for request in rollback.decode_plan(body, label).requests
    }
    assert {("v6", True, False), ("v6", False, True), ("v8", True, False), ("v9", True, False)} <= kinds
    assert not any(logs for version, _, logs in kinds if version != "v6")


@pytest.mark.slow
@given(PLANS)
def test_plan_round_trip(plan: StoredRollbackPlan) -> None:
    assert rollback.decode_plan(rollback.encode_plan(plan), "it") == plan


def test_a_plan_of_nulls() -> None:
    """All optional fields absent: an empty plan, no error, if it names an instant."""
    target = InstantInfo("1", "commit")
    empty = {"instantToRollback": target.to_avro(), "RollbackRequests": None, "version": None}
    assert rollback.decode_plan(avro.encode(empty, rollback.PLAN_SCHEMA), "it") == StoredRollbackPlan(target, ())
    body = avro.encode({**empty, "instantToRollback": None}, rollback.PLAN_SCHEMA)
    with pytest.raises(Unreadable, match="'': that is no instant time"):
        rollback.decode_plan(body, "it")


@pytest.mark.parametrize("target", ["", "..", "../hoodie.properties", "x/y", "1\n", "a\x1b[31m", "²", "٣"])
def test_a_plan_whose_target_is_no_instant_time(target: str) -> None:
    with pytest.raises(Unreadable, match="that is no instant time"):
        rollback.decode_plan(rollback.encode_plan(StoredRollbackPlan(InstantInfo(target, "commit"), ())), "it")


@pytest.mark.slow
@given(METADATA)
def test_metadata_is_what_a_reader_expects(metadata: RollbackMetadata) -> None:
    """Counted and named as Hudi does it: the target twice, the deleted files' number, no failures."""
    schema = avro.record(rollback.METADATA, *rollback.METADATA_FIELDS, top=True)
    record = generic.read(avro.encode(rollback.metadata_to_avro(metadata), schema))
    assert (record["startRollbackTime"], record["timeTakenInMillis"]) == (metadata.start, metadata.duration_ms)
    assert record["commitsRollback"] == [metadata.target.time]
    assert record["instantsRollback"] == [metadata.target.to_avro()]
    assert record["totalFilesDeleted"] == sum(len(done.deleted) for done in metadata.partitions.values())
    for path, done in metadata.partitions.items():
        assert record["partitionMetadata"][path] == {
            "partitionPath": path,
            "successDeleteFiles": list(done.deleted),
            "failedDeleteFiles": [],
            "rollbackLogFiles": dict(done.blocks),
            "logFilesFromFailedCommit": dict(done.rolled_back_logs),
        }


def test_metadata_schema_is_hudis() -> None:
    """As it stands inside the schema of a real archive's records."""
    body = real_files.files("v6", "cow_cleaned")[".hoodie/archived/.commits_.archive.1_1-0-1"]
    block = next(log_blocks.read_blocks(lambda offset, length: body[offset : offset + length], len(body)))
    archived = json.loads(block.header[log_blocks.SCHEMA])
    (expected,) = [f["type"][1] for f in archived["fields"] if f["name"] == "hoodieRollbackMetadata"]
    assert avro.record(rollback.METADATA, *rollback.METADATA_FIELDS) == expected
    assert fastavro.parse_schema(expected)


@pytest.mark.slow
@given(METADATA)
def test_metadata_round_trip(metadata: RollbackMetadata) -> None:
    """The completed rollback's own file, whose name says of which schema it is."""
    body = rollback.encode_metadata(metadata)
    assert rollback.decode_taken_back(body, "it") == {metadata.target.time}
    assert generic.read(body) == rollback.metadata_to_avro(metadata)


def test_a_rollback_of_old_names_its_instants_without_their_actions() -> None:
    """Its metadata ends before the list that has them."""
    record = rollback.metadata_to_avro(RollbackMetadata("2", 1, InstantInfo("1", "commit"), {"p": RollbackPartition()}))
    undone = rollback.decode_undone(avro.Record(rollback.METADATA, record), "it")
    assert undone == rollback.Undone({"1": "commit"}, frozenset({"p"}))
    del record["instantsRollback"]
    undone = rollback.decode_undone(avro.Record(rollback.METADATA, record), "it")
    assert undone == rollback.Undone({"1": ""}, frozenset({"p"}))


@pytest.mark.parametrize("cut", [0, 3, 40, -1])
def test_damaged_metadata_is_unreadable(cut: int) -> None:
    body = rollback.encode_metadata(RollbackMetadata("2", 1, InstantInfo("1", "commit"), {}))
    with pytest.raises(Unreadable, match=r"^it "):
        rollback.decode_taken_back(body[:cut], "it")


def test_the_metadata_of_another_action_is_unreadable() -> None:
    """A plan where a result should be, and the other way round."""
    target = InstantInfo("1", "commit")
    with pytest.raises(Unreadable, match="HoodieRollbackPlan"):
        rollback.decode_taken_back(rollback.encode_plan(StoredRollbackPlan(target, ())), "it")
    with pytest.raises(Unreadable, match="HoodieRollbackMetadata"):
        rollback.decode_plan(rollback.encode_metadata(RollbackMetadata("2", 1, target, {})), "it")
