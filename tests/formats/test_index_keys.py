"""Keys of bloom filters in the metadata table; tests/reports/indexes finds those of the real Hudi with this."""

import pytest

from hudictl.formats.index_keys import bloom_filter_key, partition_id, xxh64

BY_HUDI = [
    ("", "DW/eaNVbRdo="),
    (".", "FXThHwelITM="),
    ("a", "BFHqp2KLzrM="),
    ("2026-01-01", "AfwYeIBEVl8="),
    ("p=1/q=2", "9cPaXwnAUzA="),
    ("a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", "9nIZgxk/f1o="),
    ("region=eu-central-1/country=de/day=2026-11-21/hour=03", "qH8dJnUPsto="),
    ("Zürich/東京/\U0001d11e/012345678901234567890123456789012345678901234567890123456789", "4g24MgrGsiE="),
]
"""PartitionIndexID.asBase64EncodedString of 0.15.0 and 1.2.0."""


@pytest.mark.parametrize(("partition", "hashed"), BY_HUDI)
def test_partitions_are_hashed_as_hudi_does(partition: str, hashed: str) -> None:
    assert partition_id(partition) == hashed


def test_known_hashes() -> None:
    """Of the hash's own documentation: without bytes, with a few, and with more than a stripe."""
    assert xxh64(b"") == 0xEF46DB3751D8E999
    assert xxh64(b"abc") == 0x44BC2CF5AD770999
    assert xxh64(b"The quick brown fox jumps over the lazy dog") == 0x0B242D361FDA71BC


def test_a_key_is_of_partition_and_file() -> None:
    """The second half by Hudi's FileIndexID; without partitions the first half is that of a dot."""
    assert bloom_filter_key("a", "p=1/q=2") == "BFHqp2KLzrM=5saTVpGsaALtFDXbpR8V9Q=="
    assert bloom_filter_key("", "a") == "FXThHwelITM=DMF1ucDxtqgxw5niaXcmYQ=="
