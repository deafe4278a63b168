"""Kept files in a bucket that keeps versions, with a death at any change of the store: all comes back."""

from pathlib import Path

import pytest

from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.table.kept import begun_undo, room_times
from tests import support
from tests.crash.inject import Crash, deaths, dying
from tests.helpers import attempt, session
from tests.ops.put_back.versions_support import InBucket, in_bucket

pytestmark = pytest.mark.crash

TABLES = ["mor_savepoints", "cow_cluster", "mor_failed_lazy"]
SHORT = pytest.mark.short("v6-mor_savepoints", "v8-mor_failed_lazy", "v9-cow_cluster")


def changes_of(place: InBucket, *, undo: bool) -> int:
    """How many changes of the store there are."""
    with dying(None):
        copy = place.copy()
        time = rooms(copy)[0] if undo else ""
        copy.undo(time) if undo else copy.restore()
        return copy.bucket.changes


def rooms(place: InBucket) -> list[str]:
    return sorted(room_times(place.table))


def died(place: InBucket, at: int, time: str = "") -> InBucket:
    """A copy, on which a restore has died, or an undo."""
    copy = place.copy()
    with dying(None):
        copy.bucket.at = at
        with pytest.raises(Crash):
            copy.undo(time) if time else copy.restore()
        copy.bucket.at = None
    return copy


def assert_as_before(place: InBucket, before: dict[str, bytes]) -> None:
    assert place.contents() == before
    assert rooms(place) == []
    assert begun_undo(place.table) is None


@SHORT
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", TABLES)
def test_a_restore_that_died_is_undone_or_finished_and_then_undone(version: str, name: str, tmp_path: Path) -> None:
    place = in_bucket(tmp_path, version, name)
    before = place.contents()
    for at in deaths(changes_of(place, undo=False), 7):
        copy = died(place, at)
        if not rooms(copy):
            # It died before its first change.
            assert copy.contents() == before
            continue
        if at % 2:
            copy.restore()
        for time in rooms(copy)[::-1]:
            # Also of an attempt that died before its request.
            copy.undo(time)
        assert_as_before(copy, before)


@SHORT
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", TABLES)
def test_an_undo_dies_anywhere(version: str, name: str, tmp_path: Path) -> None:
    """The same again ends it; what has the version that it had before has its time, too."""
    place = in_bucket(tmp_path, version, name)
    before = place.contents()
    place.restore()
    (time,) = rooms(place)
    for at in deaths(changes_of(place, undo=True), 5):
        copy = died(place, at, time)
        if rooms(copy):
            copy.undo(time)
        assert_as_before(copy, before)


@pytest.mark.parametrize(("version", "name"), [("v6", "mor_savepoints"), ("v9", "cow_savepoints")])
def test_a_drop_dies_anywhere(tmp_path: Path, version: str, name: str) -> None:
    """What is left is dropped. An undo of it is refused, or brings all back: of version 6, without rollback blocks."""
    place = in_bucket(tmp_path, version, name)
    before = place.contents()
    place.restore()
    (time,) = rooms(place)
    left = place.contents()
    for at in range(200):
        copy = place.copy()
        with dying(None):
            copy.bucket.at = at
            try:
                execute_drop(session(copy.table), plan_drop(session(copy.table), [time], None))
            except Crash:
                copy.bucket.at = None
            else:
                break
        half = copy.copy()
        error = attempt(lambda half=half: half.undo(time)) if rooms(half) else None
        assert half.contents() == (before if error is None and rooms(copy) else left)
        if rooms(copy):
            execute_drop(session(copy.table), plan_drop(session(copy.table), [time], None))
        assert rooms(copy) == []
        assert copy.contents() == left
    assert at > 3
