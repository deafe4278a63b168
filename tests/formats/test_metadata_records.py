"""Records of the metadata table: what they list, and how they merge."""

import pytest

from hudictl.errors import Unreadable
from hudictl.formats.metadata_records import Listed, combine, decode_listing, partition_path

HERE, LATER, GONE = Listed(10, False, "1"), Listed(7, False, "2"), Listed(0, True, "2")


def test_sizes_grow_and_the_newer_instant_counts() -> None:
    assert combine({"a": HERE, "b": HERE}, {"a": LATER, "c": LATER}) == {
        "a": Listed(10, False, "2"),
        "b": HERE,
        "c": LATER,
    }


def test_a_deletion_takes_the_file_away_and_goes_too() -> None:
    assert combine({"a": HERE}, {"a": GONE}) == {}


def test_a_deletion_without_a_file_stays_for_older_records() -> None:
    assert combine(combine({}, {"a": GONE}), {"a": GONE}) == {"a": GONE}
    assert combine({"a": HERE}, combine({}, {"a": GONE})) == {}


def test_a_file_that_comes_back() -> None:
    assert combine({"a": GONE}, {"a": LATER}) == {"a": LATER}


def test_the_order_of_merging_counts() -> None:
    """A file that logs list again and then delete is still in the base file: so it is with Hudi's readers."""
    base, first, second = {"a": HERE}, {"a": LATER}, {"a": GONE}
    assert combine(combine(base, first), second) == {}
    assert combine(base, combine(first, second)) == {"a": HERE}


def test_decode() -> None:
    record = {"type": 2, "filesystemMetadata": {"f": {"size": 3, "isDeleted": False}}}
    assert decode_listing(record, "5") == {"f": Listed(3, False, "5")}
    assert decode_listing({"type": 1, "filesystemMetadata": None}, "5") == {}


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"type": 3, "filesystemMetadata": None},
        {"type": 2, "filesystemMetadata": [1]},
        {"type": 2, "filesystemMetadata": {"f": {"size": 1}}},
        {"type": 2, "filesystemMetadata": {"f": {"size": None, "isDeleted": False}}},
    ],
)
def test_other_records(record: dict[str, object]) -> None:
    with pytest.raises(Unreadable, match="files partition"):
        decode_listing(record, "5")


def test_the_partition_of_a_table_without_partitions() -> None:
    assert [partition_path(key) for key in (".", "a/b", "")] == ["", "a/b", ""]
