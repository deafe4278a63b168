"""Who may be alive: a conflict, and nothing is changed."""

import os
import re
import time

import pytest

from hudictl.errors import Conflict
from hudictl.ops.restore.leftovers import plan_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.planning import plan_rollback
from hudictl.table.locks.config import FILE_SYSTEM, Locking
from hudictl.table.locks.hold import hold
from tests import records
from tests.fixtures import Unpack
from tests.helpers import Copy, die, pending_restore, plan, put, required, rollback_plan, session, tree

LATER, LATEST = "20261121040000000", "20261121050000000"
VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])


def hudis(copy: Copy, *, young: bool) -> str:
    """A restore of Hudi's of an hour ago, and one of its rollbacks."""
    target = copy.savepoints[-1]
    pending_restore(copy, LATER, target, begun=True)
    copy.write(f"{LATEST}.rollback.requested", rollback_plan(copy.commits[-1]))
    copy.write(f"{LATEST}.rollback.inflight", old=not young)
    return target


@VERSIONS
def test_a_restore_of_hudis_lives_by_its_rollbacks(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = hudis(copy, young=True)
    before = tree(copy.path)
    for act in (lambda: plan(copy, target), lambda: plan_leftovers(session(copy.table), 600_000)):
        with pytest.raises(Conflict, match="may be running"):
            act()
    assert tree(copy.path) == before
    assert plan(copy, target, RestoreOptions(idle_ms=0)).resumes == LATER


def test_a_restore_of_hudis_lives_by_the_youngest_of_its_rollbacks(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = hudis(copy, young=True)
    copy.write("20261121060000000.rollback.requested", rollback_plan(copy.commits[-1]))
    with pytest.raises(Conflict, match="may be running") as refusal:
        plan(copy, target)
    assert re.search(r"an --idle of at most \d+ s$", refusal.value.hint)


@VERSIONS
def test_a_restore_of_hudis_that_is_silent_with_its_rollbacks_is_dead(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    assert plan(copy, hudis(copy, young=False)).resumes == LATER


def test_a_restore_of_hudis_lives_beside_one_of_hudictls(unpack: Unpack) -> None:
    """Both are to one target: one command would end them."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    die(copy, target, "un-publish instants")
    pending_restore(copy, "20991231000000000", target, begun=True)
    assert plan(copy, target).target == target
    copy.write("20991231000000000.restore.inflight", old=False)
    with pytest.raises(Conflict, match="20991231000000000 restore INFLIGHT may be running: hudictl did not start it"):
        plan(copy, target)


def test_a_young_clean_that_takes_nothing_needed_is_not_in_the_way(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    other = sorted(copy.data() - set(required(copy.table, plan(copy, target).undo.case)))[:1]
    copy.write(f"{LATER}.clean.requested", records.clean_plan(other), old=False)
    assert dict(plan(copy, target).undo.cleans_discarded) == {}


def test_an_index_that_is_being_built_counts_as_a_write(unpack: Unpack) -> None:
    """It works in the metadata table, which a restore takes out of use."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    copy.write(f"{LATER}.indexing.requested")
    copy.write(f"{LATER}.indexing.inflight", old=False)
    with pytest.raises(Conflict, match=f"{LATER} indexing INFLIGHT may be running: it is pending"):
        plan(copy, target)
    copy.write(f"{LATER}.indexing.inflight")
    assert plan(copy, target).target == target


def test_what_is_younger_than_now_is_of_now(unpack: Unpack) -> None:
    """A storage's clock may be a second ahead of what was measured: --idle 0s takes all that is silent."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    for state in ("requested", "inflight"):
        copy.write(f"{LATER}.indexing.{state}")
        (path,) = copy.meta.rglob(f"{LATER}.indexing.{state}")
        os.utime(path, (time.time() + 5,) * 2)
    with pytest.raises(Conflict, match="its last activity was 0 s ago"):
        plan(copy, target)
    assert plan(copy, target, RestoreOptions(idle_ms=0)).target == target


def test_a_lock_that_a_killed_hudictl_has_left_is_its_own(unpack: Unpack) -> None:
    """Its owner and the way out are named: with the settings it takes the lock over."""
    copy = unpack("v9", "cow_part")
    locking = Locking({"hoodie.write.lock.provider": FILE_SYSTEM})
    opened = session(copy.table, locking=locking)
    with hold(opened.table, opened.command, opened.monitor, opened.locking, opened.contend):
        body = (copy.meta / "lock").read_bytes()
    put(copy.meta / "lock", body)
    with pytest.raises(Conflict, match=r"held for \d+ s by a hudictl \(process \d+ on [^ ]+: test\)$") as caught:
        plan_rollback(session(copy.table), copy.commits[-1])
    assert caught.value.hint.endswith("it takes over the lock of a hudictl that has died")
    assert plan_rollback(opened, copy.commits[-1]).target == copy.commits[-1]
    with hold(opened.table, opened.command, opened.monitor, opened.locking, opened.contend):
        assert (copy.meta / "lock").read_bytes() != body


def test_without_the_writers_lock_one_that_is_held_is_in_the_way(unpack: Unpack) -> None:
    """The configured one as well: it is not taken, and somebody has it."""
    copy = unpack("v9", "cow_part")
    settings = {"hoodie.write.lock.provider": FILE_SYSTEM}
    opened = session(copy.table, locking=Locking(settings, off=True))
    assert plan_rollback(opened, copy.commits[-1]).target == copy.commits[-1]
    put(copy.meta / "lock")
    with pytest.raises(Conflict, match=r"\.hoodie/lock: the lock of the table's writers"):
        plan_rollback(opened, copy.commits[-1])
