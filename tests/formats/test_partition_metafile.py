"""The text form of partition metafiles, both ways."""

from datetime import datetime, timezone
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats import partition_metafile, properties
from hudictl.formats.partition_metafile import encode, problem
from tests.formats import real_files

NAME = ".hoodie_partition_metadata"
OF_DATA = [*real_files.matching(lambda path: path.endswith(NAME) and not path.startswith(".hoodie/"))]
NOW = datetime(2026, 11, 21, 4, tzinfo=timezone.utc)
PATHS = st.lists(st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1), max_size=4)


def test_real_files() -> None:
    """Each is sound, and what is written has its keys, in its order, with its values."""
    assert len(OF_DATA) > 100
    for label, body in OF_DATA:
        # version/name/partition/file
        partition = "/".join(label.split("/")[2:-1])
        found = properties.decode(body)
        assert (label, problem(partition, body)) == (label, "")
        written = encode(partition, found["commitTime"], NOW)
        assert properties.decode(written) == found
        assert [line[:1] for line in written.splitlines()] == [line[:1] for line in body.splitlines()]


@pytest.mark.slow
@given(PATHS, st.from_regex(r"[0-9]{14,17}", fullmatch=True))
def test_what_is_written_is_sound(folders: list[str], commit: str) -> None:
    assert problem("/".join(folders), encode("/".join(folders), commit, NOW)) == ""


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"", "it has no commitTime"),
        (b"#partition metadata\ncommitTime=20261121", "it has no partitionDepth"),
        (b"commitTime=2026\xf8121\npartitionDepth=1\n", "its commitTime is '2026ø121'"),
        (b"commitTime=20261121\npartitionDepth=-1\n", "its partitionDepth is '-1'"),
        (b"commitTime=20261121\npartitionDepth=2\n", "its partitionDepth is 2, but 'p' has the depth 1"),
        (b"commitTime=\\u12\npartitionDepth=1\n", "malformed \\u escape"),
    ],
)
def test_what_is_wrong_is_told(body: bytes, says: str) -> None:
    assert says in problem("p", body)


def test_of_a_table_without_partitions() -> None:
    assert partition_metafile.depth_of("") == 0
    assert problem("", b"commitTime=20261121\npartitionDepth=1\n").endswith("but 'the base path' has the depth 0")


def test_a_cut_one_is_seen_before_its_last_value() -> None:
    _, body = next(islice(OF_DATA, 1))
    for length in range(len(body.rstrip()) - 1):
        assert problem("p", body[:length])
