"""When the partitions of the metadata table were built."""

import pytest

from hudictl.state.metadata.indexes import built_after

OLD, NEW, BY = "20261121010000000", "20261121030000000", "20261121020000000"
COMPLETED = {"00000000000000000": OLD, "00000000000000004": NEW, OLD: OLD, NEW: NEW}


@pytest.mark.parametrize(
    ("times", "later"),
    [
        ({"00000000000000000"}, False),
        ({"00000000000000004"}, True),
        ({"00000000000000004", OLD}, False),
        ({"00000000000000004", "target"}, False),
        ({"unknown"}, True),
        (set(), True),
    ],
)
def test_a_partition_was_there_where_a_file_of_it_was_completed(times: set[str], later: bool) -> None:
    """Names tell nothing: what is built from a listing carries zeros."""
    assert built_after({"column_stats": times}, {}, COMPLETED, "target", BY) == ({"column_stats"} if later else set())


@pytest.mark.parametrize("builds", [set(), {"00000000000000004"}])
def test_a_partition_that_was_built_beside_the_instant_has_its_files_too(builds: set[str]) -> None:
    """A writer adds its writes to a partition while the indexer builds it."""
    found = built_after({"record_index": {OLD, "target", *builds}}, {"record_index": builds}, COMPLETED, "target", BY)
    assert found == ({"record_index"} if builds else set())


def test_a_secondary_index_goes_with_the_record_index_and_partition_stats_with_those_of_columns() -> None:
    instants = dict.fromkeys(("files", "secondary_index_one", "partition_stats", "expr_index_one"), (OLD,))
    later = dict.fromkeys(("record_index", "column_stats"), (NEW,))
    assert built_after(instants | later, {}, COMPLETED, "target", BY) == {
        *("record_index", "secondary_index_one", "column_stats", "partition_stats")
    }
