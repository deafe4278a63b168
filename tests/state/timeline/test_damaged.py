"""Files of the timeline that cannot be read: which, and what can take their place."""

import pytest

from hudictl.state.timeline.damaged import Damaged, Way, damaged_files, first_half
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, put

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def found(copy: Copy) -> list[Damaged]:
    timeline = load_timeline(copy.table)
    return [entry for instant in timeline.instants for entry in damaged_files(copy.table, timeline, instant)]


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_part", "mor_savepoints", "mor_failed_lazy", "cow_rollback_interrupted"])
def test_a_sound_table_has_none(unpack: Unpack, version: str, name: str) -> None:
    assert found(unpack(version, name)) == []


@VERSIONS
def test_as_much_of_something_else_behind_a_file_is_not_its_double(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    file = copy.file(copy.commits[-1], "commit")
    put(file, file.read_bytes() + bytes(file.stat().st_size))
    assert [entry.way for entry in found(copy)] == [Way.FROM_FILES]


@VERSIONS
def test_nothing_takes_the_place_of_how_a_pending_instant_began(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    copy.write("20270101000000000.commit.requested")
    copy.write("20270101000000000.inflight" if version == "v6" else "20270101000000000.commit.inflight", b"damaged")
    assert [entry.way for entry in found(copy)] == [None]


@VERSIONS
@pytest.mark.parametrize(("name", "end"), [("cow_cleaned", "clean.requested"), ("mor_part", "compaction.requested")])
def test_an_empty_plan_of_what_has_ended_stops_the_archiving_of_old_tables(
    unpack: Unpack, version: str, name: str, end: str
) -> None:
    copy = unpack(version, name)
    put(max(copy.timeline.glob(f"[0-9]*.{end}")), b"")
    assert [entry.way for entry in found(copy)] == [Way.FROM_RESULT] * (version == "v6")


@VERSIONS
def test_an_overwrite_cannot_be_made_again(unpack: Unpack, version: str) -> None:
    """Only its own file says what it has replaced."""
    copy = unpack(version, "cow_part")
    time, end = "20270101000000000", "" if version == "v6" else "_20270101000000001"
    copy.write(f"{time}.replacecommit.requested")
    copy.write(f"{time}.replacecommit.inflight")
    copy.write(f"{time}{end}.replacecommit", b"damaged")
    assert [entry.way for entry in found(copy)] == [None]


@pytest.mark.parametrize(("body", "half"), [(b"", b""), (b"a", b""), (b"ab", b""), (b"abab", b"ab"), (b"aba", b"")])
def test_the_first_of_two_equal_halves(body: bytes, half: bytes) -> None:
    assert first_half(body) == half
