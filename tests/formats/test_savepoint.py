"""Savepoint metadata, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats import savepoint
from hudictl.formats.savepoint import SavepointMetadata
from tests.formats import generic, real_files

REAL = [*real_files.matching(real_files.ending(".savepoint"))]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
METADATA = st.builds(
    SavepointMetadata,
    TEXT,
    st.integers(-(2**63), 2**63 - 1),
    TEXT,
    st.dictionaries(TEXT, st.lists(TEXT, max_size=3).map(tuple), max_size=4),
)


@pytest.mark.parametrize("body", [body for _, body in REAL], ids=[label for label, _ in REAL])
def test_real_files(body: bytes) -> None:
    """Every field of Hudi's own savepoints is read, and written back the same record under the same schema."""
    found, record = savepoint.decode(body, "it"), generic.read(body)
    assert (found.saved_by, found.saved_at_ms, found.comment) == (
        record["savepointedBy"],
        record["savepointedAt"],
        record["comments"],
    )
    assert {path: list(names) for path, names in found.files.items()} == {
        path: entry["savepointDataFile"] for path, entry in record["partitionMetadata"].items()
    }
    written = savepoint.encode(found)
    assert generic.read(written) == record
    assert generic.schema(written) == generic.schema(body)


@pytest.mark.slow
@given(METADATA)
def test_round_trip(metadata: SavepointMetadata) -> None:
    """Any user, comment and names; and a generic reader sees the fields that Hudi fills."""
    body = savepoint.encode(metadata)
    assert savepoint.decode(body, "it") == metadata
    record = generic.read(body)
    assert record["version"] == 1
    assert all(entry["partitionPath"] == path for path, entry in record["partitionMetadata"].items())


def test_the_files_of_a_table_without_partitions_are_named_too() -> None:
    metadata = SavepointMetadata("user", 1, "", {"": ("a.parquet",)})
    assert savepoint.decode(savepoint.encode(metadata), "it") == metadata


def test_there_are_real_savepoints_of_each_version() -> None:
    assert {label[:2] for label, _ in REAL} == {"v6", "v8", "v9"}
