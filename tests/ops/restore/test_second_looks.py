"""What comes in in the middle of a step, where no first look can see it; and the same while a restore is resumed."""

from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, HudictlError, Interrupted, Unreadable
from hudictl.formats.rollback import decode_plan
from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.withdraw import plan_withdrawal, withdraw_restore
from hudictl.ops.session import Silent
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.timeline.active import load_timeline
from hudictl.table.writers.heartbeats import heartbeat_path
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    assert_kept,
    attempt,
    die,
    drop,
    in_the_middle,
    plan,
    put,
    replace_function,
    restore,
    rollback_plan,
    session,
    take_over,
    tree,
)
from tests.ops.restore.execute_support import FIRST_BUILD
from tests.ops.restore.leftovers_support import own

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
RESUMED = pytest.mark.parametrize("resumed", [False, True], ids=["first run", "resumed"])
EXECUTE = "hudictl.ops.restore.execute"
TO_INSTANT = RestoreOptions(to_instant=True)
LATER = "20991231000000000"


def conflict(copy: Copy, target: str, options: RestoreOptions = TO_INSTANT) -> None:
    with pytest.raises(Conflict) as caught:
        restore(copy, target, Silent(), options)
    assert caught.value.exit_code == 12


def published(copy: Copy) -> list[str]:
    return [name for name in copy.instants() if name.endswith(".restore")]


# The claim.


@RESUMED
@pytest.mark.parametrize("step", ["prepare", "write rollback plans", "remove instants"])
def test_no_step_begins_when_the_claim_is_lost(unpack: Unpack, step: str, resumed: bool) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[0]
    if resumed:
        die(copy, target, step, TO_INSTANT)
    seen: list[set[str]] = []

    def lose() -> None:
        seen.append(copy.instants())
        take_over(copy)

    with pytest.raises(Conflict, match="taken over"):
        restore(copy, target, At(step, lose), TO_INSTANT)
    assert seen == [copy.instants()]


@VERSIONS
@RESUMED
def test_no_file_goes_when_the_claim_is_lost_while_blocks_are_written(
    unpack: Unpack, version: str, resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "mor_part")
    target, before = copy.commits[0], copy.data()
    if resumed:
        die(copy, target, "delete files", TO_INSTANT)
    in_the_middle(monkeypatch, "hudictl.ops.undo.execute.write_blocks", lambda: take_over(copy))
    conflict(copy, target)
    assert before <= copy.data()


@RESUMED
@pytest.mark.parametrize("work", ["_remove_instants", "_clear_up"])
def test_it_is_not_published_when_the_claim_is_lost_in_the_last_step(
    unpack: Unpack, resumed: bool, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[0]
    if resumed:
        die(copy, target, "publish the restore", TO_INSTANT)
    in_the_middle(monkeypatch, f"{EXECUTE}.{work}", lambda: take_over(copy))
    conflict(copy, target)
    assert published(copy) == []


def test_nothing_is_requested_when_the_claim_is_lost_in_the_second_look(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")
    in_the_middle(monkeypatch, f"{EXECUTE}.drop_staged", lambda: take_over(copy))
    made: list[str] = []
    replace_function(
        monkeypatch,
        f"{EXECUTE}.create_instant_file",
        lambda real, *given, **named: made.append(given[2]) or real(*given, **named),
    )
    conflict(copy, copy.commits[0])
    assert made == []


def test_it_does_not_begin_when_the_claim_is_lost_while_it_settles(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")
    before = copy.instants()
    in_the_middle(monkeypatch, f"{EXECUTE}._encode", lambda: take_over(copy))
    made: list[object] = []
    replace_function(
        monkeypatch,
        f"{EXECUTE}.create_instant_file",
        lambda real, *given, **named: made.append(given[3]) or real(*given, **named),
    )
    conflict(copy, copy.commits[0])
    assert len(made) == 1
    assert copy.instants() == before


@RESUMED
def test_no_further_instant_is_un_published_when_the_claim_is_lost(
    unpack: Unpack, resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[0]
    if resumed:
        die(copy, target, "un-publish instants", TO_INSTANT)
    newest, *rest = [removal.time for removal in plan(copy, target, TO_INSTANT).undo.removals]
    assert rest
    in_the_middle(monkeypatch, "hudictl.ops.undo.instants.unpublish", lambda: take_over(copy))
    conflict(copy, target)
    assert newest not in copy.commits
    assert set(rest) <= set(copy.commits)


@pytest.mark.parametrize("work", ["publish_again", "_nothing_deleted"])
def test_a_withdrawal_stops_when_the_claim_is_lost(unpack: Unpack, work: str, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[0]
    die(copy, target, "delete files", TO_INSTANT)
    opened = session(copy.table)
    made = plan_withdrawal(opened, 0)
    assert len(made.copies) > 1
    looks: list[str] = []

    def lost(real: Callable[..., object], *given: object, **named: object) -> object:
        result = real(*given, **named)
        looks.append(work)
        # The first look of the two is that under the claim.
        if work == "publish_again" or len(looks) == 2:
            take_over(copy)
        return result

    replace_function(monkeypatch, f"hudictl.ops.restore.withdraw.{work}", lost)
    with pytest.raises(Conflict):
        withdraw_restore(opened, made, 0)
    assert len(set(copy.commits) & {file.time for file in made.copies}) == (
        1 if work == "publish_again" else len(made.copies)
    )
    assert copy.having("restore.inflight")
    assert copy.having("rollback.requested")


def test_leftovers_stay_when_the_claim_is_lost_in_the_second_look(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")
    copy.write(f"{LATER}.restore.requested")
    made = plan_leftovers(session(copy.table), 0)
    assert made.restores == (LATER,)
    in_the_middle(monkeypatch, "hudictl.ops.session.instant_now", lambda: take_over(copy))
    with pytest.raises(Conflict):
        remove_leftovers(session(copy.table), made, 0)
    assert copy.having("restore.requested")


# Under the claim, everything once more.


def test_a_heartbeat_that_comes_back_under_the_claim_stops_it(unpack: Unpack) -> None:
    """Of a writer whose instant is to go: it was silent when the restore was planned."""
    copy = unpack("v9", "mor_failed_lazy")
    target = copy.commits[-1]
    pending = next(entry.time for entry in load_timeline(copy.table).writes() if entry.pending)
    options = RestoreOptions(to_instant=True, idle_ms=0)
    before = copy.data()
    with pytest.raises(Conflict, match="heartbeat"):
        restore(copy, target, At("check again", lambda: put(copy.path / heartbeat_path(pending), old=False)), options)
    assert copy.data() == before
    assert copy.having("restore") == []


@VERSIONS
def test_a_lock_that_is_taken_since_planning_stops_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    before = tree(copy.path, OWN)
    with pytest.raises(Conflict):
        restore(copy, copy.commits[0], At("check again", lambda: put(copy.meta / "lock", "{}", old=False)), TO_INSTANT)
    (copy.meta / "lock").unlink()
    assert tree(copy.path, OWN) == before


@VERSIONS
@RESUMED
def test_an_instant_is_not_un_published_by_the_rollback_of_another(unpack: Unpack, version: str, resumed: bool) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[0]
    newest = plan(copy, target, TO_INSTANT).undo.removals[0].time
    if resumed:
        die(copy, target, "un-publish instants", TO_INSTANT)

    def swap() -> None:
        for name in copy.having("rollback.requested"):
            if decode_plan((copy.timeline / name).read_bytes(), name).target.time == newest:
                put(copy.timeline / name, rollback_plan(target))

    with pytest.raises(Unreadable, match=target):
        restore(copy, target, At("un-publish instants", swap), TO_INSTANT)
    assert newest in copy.commits


@VERSIONS
@RESUMED
@pytest.mark.parametrize("which", ["target", "kept"])
def test_a_commit_that_stays_and_is_taken_back_meanwhile_stops_it(
    unpack: Unpack, version: str, resumed: bool, which: str
) -> None:
    copy = unpack(version, "cow_part")
    kept, target = copy.commits[:2]
    if resumed:
        die(copy, target, "prepare", TO_INSTANT)
    time = target if which == "target" else kept
    data = copy.data()
    with pytest.raises(Conflict, match=time):
        restore(copy, target, At("delete files", lambda: drop(copy.file(time, "commit"))), TO_INSTANT)
    assert copy.data() == data


def test_an_interrupted_update_of_the_properties_is_ended_first(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    backup = put(copy.meta / "hoodie.properties.backup", (copy.meta / "hoodie.properties").read_bytes())
    seen = At("request the restore", lambda: backup.exists() and pytest.fail("it is there"))
    restore(copy, copy.commits[0], seen, TO_INSTANT)
    assert seen.done


def test_ctrl_c_while_it_settles_leaves_no_request(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was done, and writers would wait for it."""
    copy = unpack("v9", "cow_part")

    def stop() -> None:
        raise KeyboardInterrupt

    in_the_middle(monkeypatch, f"{EXECUTE}._encode", stop)
    with pytest.raises(Interrupted) as interrupted:
        restore(copy, copy.commits[0], Silent(), TO_INSTANT)
    assert interrupted.value.hint == "nothing was changed"
    assert copy.having("restore") == []


@pytest.mark.parametrize("come", ["write", "savepoint"])
def test_a_timeline_that_has_moved_since_planning_stops_it(unpack: Unpack, come: str) -> None:
    copy = unpack("v9", "cow_part")
    name = f"{LATER}.commit.requested" if come == "write" else f"{copy.commits[0]}.savepoint.inflight"
    with pytest.raises(Conflict, match=name[:17]):
        restore(copy, copy.commits[0], At("check again", lambda: copy.write(name)), TO_INSTANT)
    assert copy.having("restore") == []


# The metadata table.


@VERSIONS
@RESUMED
@pytest.mark.parametrize(
    "work", ["restore.execute._unpublish", "undo.execute.verify_data", "restore.execute._remove_instants"]
)
def test_a_metadata_table_that_comes_back_in_the_middle_goes_before_the_next_step(
    unpack: Unpack, version: str, resumed: bool, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would list the files that go next, or those that have just gone."""
    copy = unpack(version, "cow_part")
    target = copy.commits[0]
    if resumed:
        die(copy, target, "un-publish instants", TO_INSTANT)
    anew = copy.meta / "metadata/.hoodie/hoodie.properties"
    in_the_middle(monkeypatch, f"hudictl.ops.{work}", lambda: put(anew, "hoodie.table.name=t_metadata\n"))
    used: dict[str, bool] = {}

    class Look(Silent):
        def step(self, name: str) -> None:
            used[name] = metadata_table_in_use(copy.table)

    done = restore(copy, target, Look(), TO_INSTANT)
    after = {"restore.execute._unpublish": "delete files", "undo.execute.verify_data": "remove instants"}
    assert not used.get(after.get(work, ""), False)
    assert not list((copy.meta / ".hudictl").glob("dropped-*"))
    assert_kept(copy, FIRST_BUILD, done.instants)


def test_one_that_comes_back_at_the_end_is_deleted_before_it(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Afterwards there is no reason for a rerun."""
    copy, seen = unpack("v9", "cow_part"), list[bool]()
    anew = copy.meta / "metadata/.hoodie/hoodie.properties"
    in_the_middle(monkeypatch, f"{EXECUTE}._remove_instants", lambda: put(anew, "hoodie.table.name=t_metadata\n"))

    def published(real: Callable[..., object], *given: object) -> object:
        seen.append(any((copy.meta / ".hudictl").glob("dropped-*")) or anew.exists())
        return real(*given)

    replace_function(monkeypatch, f"{EXECUTE}.complete_restore", published)
    restore(copy, copy.commits[0], options=RestoreOptions(to_instant=True, metadata="delete"))
    assert seen == [False]


# Leftovers, withdrawal.


def test_a_leftover_savepoint_that_is_made_anew_stays(unpack: Unpack) -> None:
    """Under the same time, by an operator: only its files tell."""
    copy = unpack("v9", "cow_part")
    own(copy, copy.commits[0])
    made = plan_leftovers(session(copy.table), 0)

    def anew() -> None:
        old = copy.file(copy.commits[0], "savepoint")
        old.rename(old.with_name(old.name.replace("20261121040000000", "20261121040000001")))

    error = attempt(lambda: remove_leftovers(session(copy.table, At("check again", anew)), made, 0))
    assert isinstance(error, HudictlError)
    assert error.exit_code == 12
    assert copy.savepoints == [copy.commits[0]]


@VERSIONS
def test_a_withdrawal_publishes_the_oldest_instant_first(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers never see a commit without those before it."""
    copy = unpack(version, "cow_part")
    die(copy, copy.commits[0], "delete files", TO_INSTANT)
    made = plan_withdrawal(session(copy.table), 0)
    seen: list[str] = []

    def publish(real: Callable[..., object], *given: object) -> object:
        result = real(*given)
        seen.append(copy.commits[-1])
        return result

    replace_function(monkeypatch, "hudictl.ops.restore.withdraw.publish_again", publish)
    withdraw_restore(session(copy.table), made, 0)
    assert len(seen) > 1
    assert seen == sorted(set(seen))


def test_a_withdrawal_stops_where_a_lock_is_taken_since_planning(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    die(copy, copy.commits[0], "delete files", TO_INSTANT)
    made = plan_withdrawal(session(copy.table), 0)
    lock = At("check again", lambda: put(copy.meta / "lock", "{}", old=False))
    with pytest.raises(Conflict):
        withdraw_restore(session(copy.table, lock), made, 0)
    assert copy.having("restore.inflight")
