"""Records of the metadata table's indexes; tests/reports/indexes reads those of the real Hudi with this."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import Unreadable
from hudictl.formats.index_records import Location, decode_location, group_number, partition_of_group

UUID = {
    "partitionName": "p=1",
    "fileIdHighBits": 2903704980295403570,
    "fileIdLowBits": -7615291273517563547,
    "fileIndex": 0,
    "fileId": "",
    "instantTime": 1795229676805,
    "fileIdEncoding": 0,
}


def located(**fields: object) -> Location:
    return decode_location({"type": 5, "recordIndexMetadata": UUID | fields})


def test_a_file_id_is_a_uuid_with_a_number_or_text() -> None:
    """The record is one of tests/tables/v6/cow_record_index, which has a file of this id."""
    assert located() == Location("p=1", "284c084b-8b0a-4832-9651-0cef2cda8165-0")
    assert located(fileIndex=-1).file_id == located().file_id.removesuffix("-0")
    assert located(fileIdEncoding=1, fileId="00000001-bucket").file_id == "00000001-bucket"


def test_a_table_without_partitions() -> None:
    assert (located(partitionName="").partition, located(partitionName=".").partition) == ("", "")


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"type": 2, "recordIndexMetadata": UUID},
        {"type": 5, "recordIndexMetadata": None},
        {"type": 5, "recordIndexMetadata": UUID | {"fileIdEncoding": 2}},
        {"type": 5, "recordIndexMetadata": UUID | {"fileIdHighBits": None}},
        {"type": 5, "recordIndexMetadata": {"partitionName": "a"}},
    ],
)
def test_other_records_are_unreadable(record: dict[str, object]) -> None:
    with pytest.raises(Unreadable):
        decode_location(record)


@pytest.mark.parametrize(
    ("key", "code"),
    [
        # Known of Java's String.hashCode: a collision, the least number, and text beyond the basic plane.
        ("", 0),
        ("Aa", 2112),
        ("BB", 2112),
        ("polygenelubricants", -(2**31)),
        ("hello world", 1794106052),
        ("\U0001d11e", 0xD834 * 31 + 0xDD1E),
    ],
)
def test_the_hash_is_javas(key: str, code: int) -> None:
    """Math.abs(Math.abs(h) % n): of the least number, too."""
    for groups in (1, 2, 10, 997, 2**20):
        assert group_number(key, groups) == abs(code) % groups


@pytest.mark.slow
@given(st.text(), st.integers(1, 10_000))
def test_a_key_has_one_of_the_file_groups(key: str, groups: int) -> None:
    assert 0 <= group_number(key, groups) < groups


def test_file_groups_of_all_partitions_and_of_one() -> None:
    assert partition_of_group("record-index-0003-0") is None
    assert partition_of_group("record-index-10000-0") is None
    assert partition_of_group("record-index-a-0003-0") == "a"
    assert partition_of_group("record-index-7-0003-0") == "7"
    assert partition_of_group("record-index-p%3D2026%2D01%2Fb-0000-0") == "p=2026-01/b"
    with pytest.raises(Unreadable):
        partition_of_group("files-0000-0")
