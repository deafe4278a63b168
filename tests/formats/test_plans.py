"""Plans of table services."""

import pytest

from hudictl.errors import Unreadable
from hudictl.formats import plans
from hudictl.formats.file_names import parse_data_file
from tests.formats import generic, real_files
from tests.records import NAMESPACE, avro

CLUSTERINGS = [*real_files.matching(real_files.ending(".clustering.requested", ".replacecommit.requested"))]
COMPACTIONS = [*real_files.matching(real_files.ending(".compaction.requested"))]


@pytest.mark.parametrize(("label", "body"), COMPACTIONS, ids=[label for label, _ in COMPACTIONS])
def test_real_compaction_plans(label: str, body: bytes) -> None:
    """The groups of the plan are groups of the table: each has data files under that partition and file id."""
    found = plans.decode_compaction_groups(body, label)
    assert found
    assert found <= groups_of(label)
    # Absolute or not, with or without a base file: what was compacted since may be cleaned, the logs and base files of
    # a plan are all of its groups.
    files = plans.decode_compaction_files(body, label)
    assert {group_of(file) for file in files} == found


@pytest.mark.parametrize(("label", "body"), COMPACTIONS, ids=[label for label, _ in COMPACTIONS])
def test_a_compaction_reads_base_files_and_logs(label: str, body: bytes) -> None:
    """A pending one needs all of them."""
    operations = generic.read(body)["operations"]
    bases = {operation["dataFilePath"] for operation in operations} - {None}
    logs = {path for operation in operations for path in operation["deltaFilePaths"]}
    assert logs
    found = {name for _, name in plans.decode_compaction_files(body, label)}
    assert found == {path.rpartition("/")[2] for path in bases | logs}


@pytest.mark.parametrize(("label", "body"), CLUSTERINGS, ids=[label for label, _ in CLUSTERINGS])
def test_real_requests_of_replacecommits(label: str, body: bytes) -> None:
    """A clustering says that it is one, and what it reads; other replacecommits say nothing."""
    found = plans.decode_requested_replace(body, label)
    assert found.is_clustering is ("cow_cluster" in label)
    assert bool(found.groups) is found.is_clustering
    assert found.groups <= groups_of(label)
    assert {group_of(file) for file in found.files} == found.groups


def test_an_empty_request_of_a_replacecommit_says_nothing() -> None:
    assert plans.decode_requested_replace(b"", "x") == plans.RequestedReplace("", frozenset())


@pytest.mark.parametrize("operation", ["", "INSERT_OVERWRITE", "DELETE_PARTITION"])
def test_a_replacecommit_of_another_operation_is_no_clustering(operation: str) -> None:
    """It is a write, which nobody finishes: as a clustering it would be kept."""
    assert not plans.RequestedReplace(operation).is_clustering


def test_a_damaged_request_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="x cannot be read as Avro"):
        plans.decode_requested_replace(CLUSTERINGS[0][1][:-20], "x")


def groups_of(label: str) -> set[tuple[str, str]]:
    """The file groups of a table that have data files."""
    version, name, _ = label.split("/", 2)
    return {
        (path.rpartition("/")[0], data.file_id)
        for path in real_files.files(version, name)
        if not path.startswith(".hoodie/") and (data := parse_data_file(path.rpartition("/")[2]))
    }


def group_of(file: tuple[str, str]) -> tuple[str, str]:
    partition, name = file
    data = parse_data_file(name)
    assert data is not None, file
    return partition, data.file_id


@pytest.mark.parametrize("operations", [None, []])
def test_a_compaction_of_nothing(operations: list[object] | None) -> None:
    record = {"name": "HoodieCompactionPlan", "type": "record", "namespace": NAMESPACE}
    field = {"name": "operations", "type": ["null", {"type": "array", "items": "string"}]}
    body = avro(record | {"fields": [field]}, {"operations": operations})
    assert plans.decode_compaction_groups(body, "x") == frozenset()
    assert plans.decode_compaction_files(body, "x") == frozenset()


@pytest.mark.parametrize("body", [b"", b"garbage", COMPACTIONS[0][1][:-20], CLUSTERINGS[0][1]])
def test_what_is_no_compaction_plan(body: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^x "):
        plans.decode_compaction_groups(body, "x")
