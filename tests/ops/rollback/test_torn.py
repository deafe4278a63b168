"""Files that a process had not written whole when it died, of the target and beside it: each has a way out, and no file
of another write goes."""

import shutil
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.together import plan_together
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, attempt, plan, put, roll_back, rollback_of, session, tree
from tests.ops.rollback.execute_support import died, newest, own_files
from tests.ops.rollback.together_support import OPTIONS, assert_gone, clean, many

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
NAMED = pytest.mark.parametrize("version", ["v8", "v9"])
LATER = "20261122040000000"
HALF = b"Obj\x01half"


def torn(copy: Copy, time: str) -> None:
    """The writer died while it wrote its profile."""
    (profile,) = copy.timeline.glob(f"{time}.*inflight")
    put(profile, HALF)


def pending(copy: Copy) -> list[str]:
    return [entry.time for entry in load_timeline(copy.table).writes() if entry.pending]


# Profiles.


@VERSIONS
def test_two_torn_profiles_do_not_keep_each_other(unpack: Unpack, version: str) -> None:
    """As Hudi 1.2.0 takes them back. Together, and one by one."""
    copy = unpack(version, "cow_part")
    times = many(copy, 3)
    kept = {path for path in copy.data() if not any(time in path for time in times)}
    for time in times[:2]:
        torn(copy, time)
    assert len(plan_together(session(copy.table), [(time, OPTIONS) for time in reversed(times)])) == 3
    roll_back(copy, times[0])
    assert pending(copy) == times[1:]
    torn(copy, times[2])
    assert [(one.instant, one.exit_code) for one in clean(copy)] == [(times[2], 0), (times[1], 0)]
    assert_gone(copy, times)
    assert copy.data() == kept


@VERSIONS
def test_a_restore_names_what_ends_a_torn_profile(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    (time,) = many(copy, 1)
    torn(copy, time)
    with pytest.raises(Unreadable) as caught:
        plan(copy, copy.commits[0], RestoreOptions(to_instant=True))
    assert f"`hudictl rollback {time}`" in caught.value.hint
    roll_back(copy, time)
    assert plan(copy, copy.commits[0], RestoreOptions(to_instant=True)).target == copy.commits[0]


@VERSIONS
@pytest.mark.parametrize("markers", [True, False])
def test_a_torn_profile_costs_a_living_writer_no_file(unpack: Unpack, version: str, markers: bool) -> None:
    """Also where the target has no records, and so all partitions are listed. What has the target's name where only the
    other one is known to write is not proved to be the target's."""
    copy = unpack(version, "cow_part")
    target, living = many(copy, 2)
    (own,), name = own_files(copy, target), Path(min(own_files(copy, living))).name
    put(copy.path / "new" / ".hoodie_partition_metadata", next(copy.path.glob("*/.hoodie_partition_m*")).read_bytes())
    for time in (target, living):
        torn(copy, time)
        put(copy.path / "new" / name.replace(living, time), b"rows")
    put(copy.meta / ".temp" / living / f"new/{name}.marker.CREATE", old=False)
    put(copy.meta / ".heartbeat" / living, old=False)
    if not markers:
        shutil.rmtree(copy.meta / ".temp" / target)
    before = copy.data()
    made = rollback_of(copy, target)
    assert [row.path for row in made.files_kept] == [f"new/{name.replace(living, target)}"]
    roll_back(copy, target)
    assert copy.data() == before - {own}
    assert pending(copy) == [living]


@VERSIONS
def test_a_rollback_goes_on_beside_a_torn_profile(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target, other = many(copy, 2)
    died(copy, target, "delete files")
    torn(copy, other)
    roll_back(copy, target)
    assert own_files(copy, target) == set()
    assert pending(copy) == [other]


@NAMED
def test_a_torn_profile_and_a_torn_plan_go_one_after_the_other(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_direct")
    failed = newest(copy)
    torn(copy, failed)
    copy.write(f"{LATER}.compaction.requested", HALF)
    roll_back(copy, LATER)
    roll_back(copy, failed)
    assert pending(copy) == []
    assert own_files(copy, failed) == set()


def test_a_torn_commit_is_no_profile(unpack: Unpack) -> None:
    """What it names is required: it must be read."""
    copy = unpack("v9", "cow_failed_direct")
    before = copy.data()
    put(copy.file(copy.commits[0], "commit"), HALF)
    assert isinstance(attempt(lambda: roll_back(copy, newest(copy))), Unreadable)
    assert copy.data() == before


# Requests.


@VERSIONS
def test_an_overwrite_with_a_torn_request(unpack: Unpack, version: str) -> None:
    """From version 8 on its action says that it is no clustering."""
    copy = unpack(version, "cow_failed_direct")
    failed = newest(copy)
    copy.write(f"{LATER}.replacecommit.requested", HALF)
    assert [(one.instant, one.exit_code) for one in clean(copy)] == [(LATER, 0), (failed, 0)]
    assert_gone(copy, [failed, LATER])


@NAMED
def test_an_overwrite_with_a_torn_request_stops_no_other_rollback(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_direct")
    failed = newest(copy)
    copy.write(f"{time_plus_ms(failed, -1)}.replacecommit.requested", HALF)
    roll_back(copy, failed)
    assert own_files(copy, failed) == set()


# Plans of cleans.


@VERSIONS
@pytest.mark.parametrize("name", ["cow_failed_direct", "mor_failed_direct"])
def test_a_torn_plan_of_a_clean_stops_no_failed_write(unpack: Unpack, version: str, name: str) -> None:
    """Nobody has seen its rows: no clean can have deleted a file that they hide."""
    copy = unpack(version, name)
    failed = newest(copy)
    plan = copy.write(f"{LATER}.clean.requested", HALF)
    assert [one.exit_code for one in clean(copy)] == [0]
    plan.unlink()
    assert_gone(copy, [failed])


@pytest.mark.parametrize("begun", [False, True])
def test_it_stops_the_rollback_of_what_readers_have_seen(unpack: Unpack, begun: bool) -> None:
    """Also of one that was un-published before: the clean may have deleted what readers see without it."""
    copy = unpack("v9", "cow_part")
    target = newest(copy)
    if begun:
        died(copy, target, "delete files")
    copy.write(f"{LATER}.clean.requested", HALF)
    before = tree(copy.path)
    refused = attempt(lambda: rollback_of(copy, target))
    assert isinstance(refused, Unreadable)
    assert "hudictl check" in refused.hint
    assert tree(copy.path) == before
