"""What restores that have ended leave behind: it stands in nobody's way, and `resume` removes it."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, HudictlError, Refused, Unsupported
from hudictl.formats import restore as restore_format
from hudictl.formats import rollback
from hudictl.formats.instants import InstantFile
from hudictl.formats.rollback import InstantInfo, RollbackMetadata, StoredRollbackPlan
from hudictl.ops.restore.leftovers import Leftovers, plan_leftovers, remove_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.state.facts import read_signs
from hudictl.state.pending import Condition
from hudictl.table.operations import operation_instants, read_operation
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    attempt,
    die,
    drop,
    plan,
    put,
    replace_function,
    restore,
    savepoint,
    session,
    tree,
)
from tests.ops.restore.leftovers_support import own, remnant

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
STATES = pytest.mark.parametrize("states", [("requested", "inflight"), ("requested",), ("inflight",)], ids="+".join)
LATER = "20991231000000000"
EARLIER = "20261121040000000"


def rollbacks(copy: Copy) -> dict[str, Condition]:
    return {entry.instant.time: entry.condition for entry in read_signs(copy.table).rollbacks}


def remove(copy: Copy) -> Leftovers:
    return remove_leftovers(session(copy.table), plan_leftovers(session(copy.table), 0), 0)


# Rollbacks: pitfalls 19.


@pytest.mark.slow
@VERSIONS
@STATES
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
def test_a_rollback_of_a_completed_restore_is_a_remnant(
    unpack: Unpack, version: str, name: str, states: tuple[str, ...]
) -> None:
    copy = unpack(version, name)
    time = remnant(copy, states)
    target = copy.commits[-1]
    assert rollbacks(copy) == {time: Condition.LEFT_OVER}
    # It is in nobody's way.
    assert plan(copy, target).nothing_to_do
    savepoint(copy, copy.commits[0])
    made = plan(copy, copy.commits[0], RestoreOptions(delete_later_savepoints=True))
    assert time in made.rollbacks_removed
    assert plan_leftovers(session(copy.table), 0) == Leftovers((time,), (), ())
    remove(copy)
    assert copy.having("rollback") == []
    assert plan_leftovers(session(copy.table), 0).nothing


@VERSIONS
@STATES
def test_also_of_a_restore_of_hudis(unpack: Unpack, version: str, states: tuple[str, ...]) -> None:
    """It publishes the restore, and then deletes its rollbacks."""
    copy = unpack(version, "mor_restore_interrupted")
    (time,) = {name.partition(".")[0] for name in copy.having("rollback")}
    kept = {state: copy.file(time, f"rollback.{state}").read_bytes() for state in ("requested", "inflight")}
    target = copy.savepoints[-1]
    restore(copy, target)
    for record in (copy.meta / ".hudictl" / "operations").iterdir():
        record.unlink()
    for state in states:
        copy.write(f"{time}.rollback.{state}", kept[state])
    # Hudi's metadata names rollbacks of its own times.
    done = next(copy.timeline.glob("*.restore"))
    taken = rollback.decode_plan(kept["requested"], time).target
    results = [RollbackMetadata(time, 1, taken, {})]
    put(done, restore_format.encode_metadata(done.name[:17], 1, results), old=False)
    assert rollbacks(copy) == {time: Condition.LEFT_OVER}
    remove(copy)
    assert copy.having("rollback") == []


@VERSIONS
def test_a_rollback_of_a_living_instant_is_none(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    time = remnant(copy, ("requested", "inflight"))
    stored = copy.file(time, "rollback.requested")
    put(stored, rollback.encode_plan(StoredRollbackPlan(InstantInfo(copy.commits[0], "commit"), ())))
    other = f"{time[:-1]}{(int(time[-1]) + 1) % 10}"
    for state in ("requested", "inflight"):
        copy.write(f"{other}.rollback.{state}", copy.file(time, f"rollback.{state}").read_bytes())
        drop(copy.file(time, f"rollback.{state}"))
    assert rollbacks(copy) == {other: Condition.TARGET_COMPLETED}
    assert plan_leftovers(session(copy.table), 0).nothing
    with pytest.raises(HudictlError, match=other):
        plan(copy, copy.commits[-1])


def renamed(copy: Copy, time: str) -> str:
    """The rollback under a time that the restore's metadata does not name."""
    other = f"{time[:-1]}{(int(time[-1]) + 1) % 10}"
    copy.write(f"{other}.rollback.requested", copy.file(time, "rollback.requested").read_bytes())
    drop(copy.file(time, "rollback.requested"))
    return other


@VERSIONS
def test_an_older_rollback_of_what_the_restore_took_back_is_one(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    other = renamed(copy, remnant(copy, ("requested",)))
    assert rollbacks(copy) == {other: Condition.LEFT_OVER}
    remove(copy)
    assert copy.having("rollback") == []


@VERSIONS
def test_unless_its_instant_is_on_the_timeline_again(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    other = renamed(copy, remnant(copy, ("requested",)))
    stored = rollback.decode_plan(copy.file(other, "rollback.requested").read_bytes(), other)
    copy.write(f"{stored.target.time}.commit.requested")
    assert rollbacks(copy) == {other: Condition.REQUESTED}


@VERSIONS
def test_a_rollback_that_came_after_the_restore_is_none(unpack: Unpack, version: str) -> None:
    """A writer that took the same time again, or a restored one: it is as any other."""
    copy = unpack(version, "cow_savepoints")
    time = remnant(copy, ("requested",))
    body = copy.file(time, "rollback.requested").read_bytes()
    drop(copy.file(time, "rollback.requested"))
    copy.write(f"{LATER}.rollback.requested", body)
    assert rollbacks(copy) == {LATER: Condition.REQUESTED}


def test_while_the_restore_is_pending_its_rollbacks_are_none(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    die(copy, copy.savepoints[-1], "delete files")
    assert read_signs(copy.table).left_rollbacks == ()
    assert plan_leftovers(session(copy.table), 0).nothing


# hudictl's own savepoint: pitfalls 30.


@VERSIONS
def test_its_own_savepoint_is_found_and_no_other(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    others = copy.savepoints
    own(copy, copy.commits[0])
    own(copy, copy.commits[-1])
    assert plan_leftovers(session(copy.table), 0) == Leftovers((), (), (copy.commits[-1], copy.commits[0]))
    remove(copy)
    assert copy.savepoints == others
    assert f"{copy.commits[0]}.savepoint.inflight" not in copy.instants()
    assert plan_leftovers(session(copy.table), 0).nothing


def test_while_a_restore_is_pending_its_savepoint_is_none(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[1]
    die(copy, target, "delete files", RestoreOptions(to_instant=True))
    assert copy.savepoints == [target]
    assert plan_leftovers(session(copy.table), 0).nothing


def test_it_is_not_taken_for_the_savepoint_that_is_asked_for(unpack: Unpack) -> None:
    """Who asks for one must not hear that it exists: the next `resume` removes it."""
    copy = unpack("v9", "cow_part")
    own(copy, copy.commits[0])
    with pytest.raises(Refused, match=copy.commits[0]) as caught:
        savepoint(copy, copy.commits[0])
    assert "resume" in caught.value.hint
    remove(copy)
    savepoint(copy, copy.commits[0])
    assert plan_leftovers(session(copy.table), 0).nothing


# Removing them.


def test_it_is_recorded(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    own(copy, copy.commits[0])
    remove(copy)
    (instant,) = operation_instants(copy.table.storage)
    operation = read_operation(copy.table.storage, instant)
    assert operation is not None
    assert operation.operation == "remove leftovers"
    assert f"{copy.commits[0]}.savepoint.inflight" in operation.target
    none: dict[str, list[str]] = {
        key: [] for key in ("rollbacks", "restores", "metadata_tables", "manifests", "properties")
    }
    report = {**none, "savepoints": [copy.commits[0]]}
    assert (operation.last.exit_code, operation.last.report) == (0, report)


@pytest.mark.parametrize("come", ["savepoint", "rollback", "lock"])
def test_what_comes_in_under_the_claim_stops_it(unpack: Unpack, come: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    time = remnant(copy, ("requested", "inflight"))
    made = plan_leftovers(session(copy.table), 0)
    before = tree(copy.path, OWN)

    def comes() -> None:
        if come == "savepoint":
            own(copy, copy.commits[0])
        elif come == "rollback":
            drop(copy.file(time, "rollback.requested"))
            drop(copy.file(time, "rollback.inflight"))
        else:
            put(copy.meta / "lock", "{}")

    with pytest.raises(Conflict) as caught:
        remove_leftovers(session(copy.table, At("check again", comes)), made, 0)
    assert caught.value.exit_code == 12
    if come == "lock":
        (copy.meta / "lock").unlink()
        assert tree(copy.path, OWN) == before


def test_a_timeline_that_is_not_known_is_not_changed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    own(copy, copy.commits[0])
    copy.write(f"{LATER}.tidying.requested")
    before = tree(copy.path)
    with pytest.raises(Unsupported, match="tidying"):
        plan_leftovers(session(copy.table), 0)
    assert tree(copy.path) == before


@pytest.mark.slow
@VERSIONS
def test_a_restore_that_was_requested_without_a_plan(unpack: Unpack, version: str) -> None:
    """Hudi below table version 8 creates the file before it writes the plan, and may die between."""
    copy = unpack(version, "cow_savepoints")
    copy.write(f"{EARLIER}.restore.requested")
    assert plan_leftovers(session(copy.table), 0) == Leftovers((), (EARLIER,), ())
    error = attempt(lambda: savepoint(copy, copy.commits[0]))
    assert error is not None
    assert (error.exit_code, EARLIER in error.message) == (13, True)
    spare = shutil.copytree(copy.path, copy.path.with_name("spare"), copy_function=shutil.copy2)
    made = plan(copy, copy.savepoints[-1])
    assert made.restores_superseded == (EARLIER,)
    restore(copy, copy.savepoints[-1])
    assert f"{EARLIER}.restore.requested" not in copy.instants()
    other = Copy(version, copy.name, spare)
    remove_leftovers(session(other.table), plan_leftovers(session(other.table), 0), 0)
    assert other.having("restore") == []


def test_a_restore_that_is_just_being_requested_is_left_alone(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_savepoints")
    copy.write(f"{EARLIER}.restore.requested", old=False)
    for act in (lambda: plan_leftovers(session(copy.table), 600000), lambda: plan(copy, copy.savepoints[-1])):
        error = attempt(act)
        assert error is not None
        assert error.exit_code == 12


def test_a_table_that_hudictl_does_not_write_is_not_changed(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    own(copy, copy.commits[0])
    with pytest.raises(Unsupported, match="table version 99"):
        plan_leftovers(session(replace(copy.table, version=99)), 0)


def test_where_nothing_is_left_nothing_need_be_known(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    copy.write(f"{LATER}.tidying.requested")
    assert plan_leftovers(session(copy.table), 0).nothing


@pytest.mark.parametrize("left", [(("1",), (), ()), ((), ("1",), ()), ((), (), ("1",))])
def test_one_of_any_kind_is_something(left: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]) -> None:
    assert not Leftovers(*left).nothing
    assert Leftovers((), (), ()).nothing


def test_what_says_that_it_is_completed_goes_first(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a death a savepoint would be completed, and nobody would have begun it."""
    copy = unpack("v9", "cow_part")
    own(copy, copy.commits[0])
    gone: list[str] = []

    def delete(real: Callable[..., object], table: object, files: Sequence[InstantFile]) -> object:
        gone.extend(file.state.name for file in files)
        return real(table, files)

    replace_function(monkeypatch, "hudictl.ops.restore.leftovers.delete_instant_files", delete)
    remove(copy)
    assert gone == ["COMPLETED", "INFLIGHT"]
