"""What others do to the table while a rollback runs: it stops with 12, and nothing of theirs is lost."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.rollback import RollbackMetadata
from hudictl.ops.rollback import execute as execute_rollback
from hudictl.ops.rollback import planning as rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.session import Silent
from hudictl.ops.undo.plan import Removal
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.aside import drop_metadata_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from tests import records, support
from tests.crash import reader
from tests.fixtures import Unpack
from tests.helpers import (
    At,
    Copy,
    drop,
    pending_restore,
    put,
    roll_back,
    rollback_of,
    rollback_plan,
    session,
    step_of,
    tree,
)
from tests.ops.rollback.beside_support import FIRST, LATER, STEPS, complete, conflict
from tests.ops.rollback.execute_support import newest, own_files

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


# The writer of a pending target is alive after all.


def beat(copy: Copy, target: str) -> None:
    put(copy.meta / ".heartbeat" / target, old=False)


def mark(copy: Copy, target: str) -> None:
    put(copy.meta / ".temp" / target / "part-0" / f"a-0_0-1-1_{target}.parquet.marker.CREATE", old=False)


def complete_it(copy: Copy, target: str) -> None:
    complete(copy, target)


def go_on(copy: Copy, target: str) -> None:
    copy.write(f"{target}.inflight", b"{}", old=False)


SIGNS = pytest.mark.parametrize("act", [beat, mark, complete_it, go_on])


@VERSIONS
@SIGNS
@STEPS
def test_a_writer_that_gives_a_sign_of_life(
    unpack: Unpack, version: str, act: Callable[[Copy, str], None], step: str
) -> None:
    copy = unpack(version, "cow_failed_direct")
    target = newest(copy)
    files = own_files(copy, target)
    conflict(copy, target, step, lambda: act(copy, target), target)
    # The files go in one step, and what shows after it was too late; before it all of them stay.
    gone = step in ("verify", "publish the rollback")
    assert own_files(copy, target) == (set() if gone else files)
    (found,) = load_timeline(copy.table).having("rollback")
    assert found.pending


@VERSIONS
@SIGNS
@FIRST
def test_a_writer_that_gives_a_sign_of_life_before_the_rollback_began(
    unpack: Unpack, version: str, act: Callable[[Copy, str], None], step: str
) -> None:
    """The request is withdrawn: an armed one would fire when the write is completed."""
    copy = unpack(version, "cow_failed_direct")
    target = newest(copy)
    files = own_files(copy, target)
    conflict(copy, target, step, lambda: act(copy, target), target)
    assert copy.having("rollback") == []
    assert own_files(copy, target) == files
    assert (copy.meta / ".temp" / target).exists()


@SIGNS
def test_a_sign_of_life_while_files_are_listed(unpack: Unpack, act: Callable[[Copy, str], None]) -> None:
    """Its heartbeat had expired, so that silence was not asked for; the listing takes long."""
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    put(copy.meta / ".heartbeat" / target)

    class Listing(Silent):
        def note(self, text: str) -> None:
            act(copy, target)

    plan = rollback.plan_rollback(session(copy.table, Listing()), target, RollbackOptions(settle_s=0.0))
    before = tree(copy.path, ".hoodie/.hudictl")
    with pytest.raises(Conflict, match=target):
        execute_rollback.execute_rollback(session(copy.table), plan)
    assert tree(copy.path, ".hoodie/.hudictl") == before


# Beside a completed target nobody writes.


def begin_write(copy: Copy) -> None:
    copy.write(f"{LATER}.commit.requested", old=False)


def write(copy: Copy) -> None:
    complete(copy, LATER)


def clean(copy: Copy) -> None:
    needed = sorted(path for path in copy.data() if newest(copy) not in path)
    copy.write(f"{LATER}.clean.requested", records.clean_plan(needed), old=False)


def save(copy: Copy) -> None:
    copy.write(f"{newest(copy)}.savepoint.inflight", old=False)


def begin_restore(copy: Copy) -> None:
    pending_restore(copy, LATER, copy.commits[0], begun=True)


@VERSIONS
@STEPS
@pytest.mark.parametrize("act", [begin_write, write, clean, save, begin_restore])
def test_somebody_comes_in_beside_a_completed_target(
    unpack: Unpack, version: str, act: Callable[[Copy], None], step: str
) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    conflict(copy, target, step, lambda: act(copy), LATER if act is not save else target)
    (found,) = load_timeline(copy.table).having("rollback")
    assert found.pending
    if act in (begin_write, write, clean, begin_restore):
        assert [name for name in copy.instants() if name.startswith(LATER)]


@VERSIONS
@FIRST
@pytest.mark.parametrize("act", [begin_write, write, clean, save, begin_restore])
def test_somebody_comes_in_before_the_rollback_began(
    unpack: Unpack, version: str, act: Callable[[Copy], None], step: str
) -> None:
    copy = unpack(version, "cow_part")
    target, rows = newest(copy), reader.snapshot(copy.path).rows
    conflict(copy, target, step, lambda: act(copy), LATER if act is not save else target)
    assert copy.having("rollback") == []
    assert act is write or reader.snapshot(copy.path).rows == rows


@VERSIONS
@pytest.mark.parametrize("step", ["delete files", "verify", "publish the rollback"])
def test_somebody_publishes_the_instant_again(unpack: Unpack, version: str, step: str) -> None:
    """A table service that was un-published is pending: its next run would do it anew."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    files = own_files(copy, target)
    conflict(copy, target, step, lambda: complete(copy, target), target)
    assert step != "delete files" or own_files(copy, target) == files


@pytest.mark.parametrize("act", [begin_write, write, clean])
def test_beside_a_pending_target_others_may_write(unpack: Unpack, act: Callable[[Copy], None]) -> None:
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    before = copy.data()
    roll_back(copy, target, At("delete files", lambda: act(copy)))
    assert [name for name in copy.instants() if name.startswith(LATER)]
    assert before - copy.data() == {path for path in before if target in path}


# Another rollback of the same instant.


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "cow_failed_direct"])
@FIRST
def test_another_process_requests_a_rollback_of_the_instant(unpack: Unpack, version: str, name: str, step: str) -> None:
    copy = unpack(version, name)
    target = newest(copy)

    def request() -> None:
        copy.write(f"{LATER}.rollback.requested", rollback_plan(target), old=False)

    conflict(copy, target, step, request, "changed since planning|new rollback")
    assert copy.having("rollback") == [f"{LATER}.rollback.requested"]


@VERSIONS
@STEPS
@pytest.mark.parametrize("what", ["completed", "removed"])
def test_another_process_ends_the_rollback(unpack: Unpack, version: str, step: str, what: str) -> None:
    """An eager writer finishes every pending rollback that it finds."""
    copy = unpack(version, "cow_part")
    target = newest(copy)

    def end() -> None:
        (own,) = load_timeline(copy.table).having("rollback")
        if what == "completed":
            copy.write(f"{own.time}.rollback" if version == "v6" else f"{own.time}_{LATER}.rollback", b"theirs")
        else:
            for file in own.files:
                drop(copy.timeline / file.name)

    conflict(copy, target, step, end, f"was {what} by another process")


@VERSIONS
def test_another_process_publishes_it_at_the_last_moment(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From version 8 on there would be two completed files."""
    copy = unpack(version, "cow_part")
    real = execute_rollback.instants.rollback_result

    def late(table: Table, removal: Removal, time: str, *rest: Any) -> RollbackMetadata:
        copy.write(f"{time}.rollback" if version == "v6" else f"{time}_{LATER}.rollback", b"theirs")
        return real(table, removal, time, *rest)

    monkeypatch.setattr(execute_rollback.instants, "rollback_result", late)
    with pytest.raises(Conflict, match="was completed by another process"):
        roll_back(copy, newest(copy))
    assert len(copy.having("rollback")) == 3


# The metadata table is not taken from under a writer.


def test_version_6_a_live_writer_uses_the_metadata_table(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_failed_lazy")
    target = newest(copy)
    copy.write(f"{LATER}.deltacommit.requested", old=False)
    put(copy.meta / ".heartbeat" / LATER, old=False)
    before = tree(copy.path)
    with pytest.raises(Conflict, match=LATER):
        rollback_of(copy, target)
    assert tree(copy.path) == before
    put(copy.meta / ".heartbeat" / LATER)
    made = rollback_of(copy, target)
    beat(copy, LATER)
    with pytest.raises(Conflict, match=LATER):
        execute_rollback.execute_rollback(session(copy.table, At("never", lambda: None)), made)
    assert (copy.meta / "metadata").exists()


def begin_beating(copy: Copy) -> None:
    copy.write(f"{LATER}.deltacommit.requested", old=False)
    beat(copy, LATER)


def begin_silently(copy: Copy) -> None:
    copy.write(f"{LATER}.deltacommit.requested", old=False)


@FIRST
@pytest.mark.parametrize("act", [begin_beating, begin_silently])
def test_version_6_a_writer_that_begins_before_the_rollback_keeps_the_metadata_table(
    unpack: Unpack, act: Callable[[Copy], None], step: str
) -> None:
    copy = unpack("v6", "mor_failed_lazy")
    target, data = newest(copy), copy.data()
    conflict(copy, target, step, lambda: act(copy), LATER)
    assert (copy.having("rollback"), copy.data()) == ([], data)
    assert (copy.meta / "metadata/.hoodie/hoodie.properties").exists()


@pytest.mark.parametrize("step", ["prepare", "un-publish the instant"])
@pytest.mark.parametrize("act", [begin_beating, begin_silently])
def test_version_6_a_writer_that_begins_beside_the_rollback_keeps_the_metadata_table(
    unpack: Unpack, act: Callable[[Copy], None], step: str
) -> None:
    """The wait for a late beat is a minute and more: time enough for another writer to begin."""
    copy = unpack("v6", "mor_failed_lazy")
    target, data = newest(copy), copy.data()
    conflict(copy, target, step, lambda: act(copy), LATER)
    assert copy.data() == data
    assert (copy.meta / "metadata/.hoodie/hoodie.properties").exists()
    drop(copy.timeline / f"{LATER}.deltacommit.requested")
    roll_back(copy, target)
    assert own_files(copy, target) == set()


@pytest.mark.parametrize("step", ["delete files", "publish the rollback"])
def test_version_6_a_metadata_table_that_a_writer_makes_anew_stays_with_it(unpack: Unpack, step: str) -> None:
    copy = unpack("v6", "mor_failed_lazy")
    target = newest(copy)
    anew = copy.meta / "metadata/.hoodie/hoodie.properties"

    def make_anew() -> None:
        begin_beating(copy)
        put(anew, "hoodie.table.name=t_metadata\n")

    conflict(copy, target, step, make_anew, LATER)
    assert anew.exists()


def test_version_6_a_compaction_that_may_be_running_uses_it_too(unpack: Unpack) -> None:
    """It has no heartbeat before 1.2.0: only silence speaks. One that is only scheduled does not run."""
    copy = unpack("v6", "mor_failed_direct")
    target = newest(copy)
    other = unpack("v6", "mor_pending_compaction")
    plan = other.file_of("compaction.requested")
    copy.write(f"{LATER}.compaction.requested", plan, old=False)
    assert rollback_of(copy, target).undo.metadata_table.takes_it
    copy.write(f"{LATER}.compaction.inflight", old=False)
    with pytest.raises(Conflict, match=f"{LATER} compaction INFLIGHT may be running: it is pending"):
        rollback_of(copy, target)
    assert rollback_of(copy, target, RollbackOptions(idle_ms=0)).target == target
    for state in ("requested", "inflight"):
        copy.write(f"{LATER}.compaction.{state}", plan)
    assert rollback_of(copy, target).target == target


# An empty log below version 8 may be one that is being written: some stores tell the size when it is closed.


def empty_log(copy: Copy) -> str:
    """A log without a byte on another instant's slice; the table has no metadata table, which keeps writers apart."""
    drop_metadata_table(copy.table, LATER)
    return empty_log_beside_metadata_table(copy)


def empty_log_beside_metadata_table(copy: Copy) -> str:
    """The same on a table whose metadata table is in use."""
    log = next(path for path in sorted(copy.data()) if ".log." in path and newest(copy) not in path)
    path = f"{log.rpartition('.log.')[0]}.log.9_8-8-8"
    put(copy.path / path)
    return path


def test_version_6_an_empty_log_goes_where_nobody_writes(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_failed_lazy")
    path = empty_log(copy)
    roll_back(copy, newest(copy))
    assert path not in copy.data()


def test_version_6_an_empty_log_beside_a_live_writer_stays(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_failed_lazy")
    path, target = empty_log(copy), newest(copy)
    begin_beating(copy)
    assert path not in {file.path for file in rollback_of(copy, target).removal.files}
    done = roll_back(copy, target)
    assert path in copy.data()
    assert done.target == target


def dead_clustering(copy: Copy) -> None:
    """It has no heartbeat, as services of 0.15.0: its silence alone says that it is dead."""
    copy.write(f"{LATER}.replacecommit.requested", records.clustering_plan([]))
    copy.write(f"{LATER}.replacecommit.inflight")


def test_version_6_an_empty_log_goes_with_the_metadata_table_though_a_dead_service_is_pending(unpack: Unpack) -> None:
    """Hudi 0.15.0 could not make the metadata table anew: no writer could open the table (walk v6-502)."""
    copy = unpack("v6", "mor_failed_lazy")
    path, target = empty_log_beside_metadata_table(copy), newest(copy)
    dead_clustering(copy)
    made = rollback_of(copy, target)
    assert (step_of(made), path in {file.path for file in made.removal.files}) == ("set aside", True)
    roll_back(copy, target)
    assert path not in copy.data()


def test_version_6_a_writer_that_begins_beside_it_then_leaves_it_pending(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_failed_lazy")
    path, target = empty_log_beside_metadata_table(copy), newest(copy)
    dead_clustering(copy)
    with pytest.raises(Conflict, match="is running"):
        roll_back(copy, target, At("delete files", lambda: begin_beating(copy)))
    assert path in copy.data()
    assert copy.having("rollback.inflight")


@pytest.mark.parametrize("act", ["begin", "write", "vanish"])
def test_version_6_an_empty_log_that_others_meet_after_planning(unpack: Unpack, act: str) -> None:
    copy = unpack("v6", "mor_failed_lazy")
    path, target = empty_log(copy), newest(copy)

    def meet() -> None:
        if act == "begin":
            begin_beating(copy)
        elif act == "write":
            put(copy.path / path, b"rows", old=False)
        else:
            drop(copy.path / path)

    roll_back(copy, target, At("delete files", meet))
    assert (path in copy.data()) == (act != "vanish")
    assert load_timeline(copy.table).find(target, "deltacommit") is None


# Its own heartbeat.


@pytest.mark.slow
def test_version_9_the_rollback_beats_until_it_is_published(tmp_path: Path) -> None:
    """Lazy cleaners of Hudi 1.2 leave it alone then."""
    seen: dict[str, list[str]] = {}
    for version in support.VERSIONS:
        copy = Copy(version, "cow_part", support.unpack(version, "cow_part", tmp_path / version))
        folder = copy.meta / ".heartbeat"

        def look(copy: Copy = copy) -> None:
            seen[copy.version] = [path.name for path in (copy.meta / ".heartbeat").glob("[0-9]*")]

        done = roll_back(copy, newest(copy), At("publish the rollback", look))
        assert seen[version] == ([done.rollback] if version == "v9" else [])
        assert list(folder.glob("[0-9]*")) == []


def test_a_first_beat_that_cannot_be_written_ends_it(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    target, data = newest(copy), copy.data()
    real = LocalStorage.create

    def create(storage: LocalStorage, path: str, body: bytes) -> None:
        if ".heartbeat" in path:
            raise StorageFailed("no space left on device")
        real(storage, path, body)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "create", create)
        with pytest.raises(StorageFailed, match="no space"):
            roll_back(copy, target)
    assert (copy.data(), target in copy.commits) == (data, True)
    roll_back(copy, target)


def test_version_6_a_writer_that_goes_on_since_planning_keeps_the_metadata_table(unpack: Unpack) -> None:
    """Its request was there at planning, and looked dead."""
    copy = unpack("v6", "mor_failed_lazy")
    target, data, earlier = newest(copy), copy.data(), time_plus_ms(copy.commits[-1], -1)
    copy.write(f"{earlier}.deltacommit.requested")

    def go_on() -> None:
        copy.write(f"{earlier}.deltacommit.inflight", old=False)

    conflict(copy, target, "check again", go_on, f"{earlier} is running")
    assert (copy.having("rollback"), copy.data()) == ([], data)


def test_the_rollback_of_another_instant_is_not_in_the_way(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    other = copy.commits[0]

    def request() -> None:
        copy.write(f"{LATER}.rollback.requested", rollback_plan(other), old=False)

    assert roll_back(copy, newest(copy), At("request the rollback", request)).files_deleted
    assert f"{LATER}.rollback.requested" in copy.having("rollback")
