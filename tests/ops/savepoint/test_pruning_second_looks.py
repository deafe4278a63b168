"""What comes in while savepoints are pruned, where the plan could not see it."""

from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, HudictlError, Incomplete, Interrupted
from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion
from hudictl.ops.savepoint.pruning import prune_savepoints
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    drop,
    in_the_middle,
    pending_restore,
    put,
    replace_function,
    rollback_plan,
    session,
    take_over,
)
from tests.ops.savepoint.pruning_support import comment, planned, prune, save_all

LATER = "20991231000000000"
NOW = "20261128000000000"


@pytest.fixture
def copy(unpack: Unpack) -> Copy:
    return unpack("v9", "cow_part")


def stranger(copy: Copy) -> None:
    """Another process creates a savepoint on the newest commit."""
    body = copy.file(copy.savepoints[-1], "savepoint").read_bytes()
    copy.write(f"{copy.commits[-1]}.savepoint.inflight")
    copy.write(f"{copy.commits[-1]}_{NOW}.savepoint", body)


def delete(copy: Copy, place: int) -> None:
    """Another process deletes a savepoint."""
    time = copy.savepoints[place]
    drop(copy.file(time, "savepoint"))
    drop(copy.file(time, "savepoint.inflight"))


COMES_IN: dict[str, tuple[Callable[[Copy], object], int]] = {
    "another savepoint": (stranger, 12),
    "deletion of one to keep": (lambda copy: delete(copy, -1), 12),
    "deletion of one to delete": (lambda copy: delete(copy, -2), 12),
    "another tag for one to delete": (lambda copy: comment(copy, copy.savepoints[-2], "[keep] this"), 12),
    "restore": (lambda copy: pending_restore(copy, NOW, copy.commits[0], begun=True), 13),
    "restore that has not begun": (lambda copy: pending_restore(copy, NOW, copy.commits[-2], begun=False), 13),
    "rollback": (lambda copy: copy.write(f"{NOW}.rollback.requested", rollback_plan(copy.savepoints[-2])), 13),
    "lock": (lambda copy: put(copy.meta / "lock", "{}", old=False), 12),
}


@pytest.mark.parametrize("what", COMES_IN)
@pytest.mark.parametrize("when", ["before it begins", "as it begins", "in between"])
def test_it_stops_where_the_table_has_changed(copy: Copy, what: str, when: str) -> None:
    first, second, third, last = save_all(copy)
    act, code = COMES_IN[what]
    made = planned(copy)
    step = {"as it begins": "check again", "in between": f"delete the savepoint {second}"}.get(when, "")
    if not step:
        act(copy)
    changed = set(copy.savepoints)
    monitor = At(step, lambda: (act(copy), changed.clear(), changed.update(copy.savepoints)))
    with pytest.raises(HudictlError) as caught:
        prune_savepoints(session(copy.table, monitor), made)
    assert caught.value.exit_code == code
    # Nothing of the table has gone since; what was deleted before that, was in the plan.
    assert set(copy.savepoints) == changed
    assert (first in changed) is (when != "in between")
    assert {second, third, last} - changed <= {{"deletion of one to keep": last}.get(what, third)}


@pytest.mark.slow
def test_the_same_command_again_ends_it(copy: Copy) -> None:
    _, second, _, last = save_all(copy)
    lock = copy.meta / "lock"
    with pytest.raises(Conflict):
        prune(copy, monitor=At(f"delete the savepoint {second}", lambda: put(lock, "{}", old=False)))
    assert len(copy.savepoints) == 3
    drop(lock)
    prune(copy)
    assert copy.savepoints == [last]
    assert planned(copy).nothing_to_do


def test_writers_go_on_beside_it(copy: Copy) -> None:
    """A commit and a clean that come in change nothing of what was chosen."""
    _, second, _, last = save_all(copy)
    made = planned(copy)
    copy.write(f"{NOW}.commit.requested", old=False)
    commit = At(f"delete the savepoint {second}", lambda: copy.write(f"{NOW}.inflight", old=False))
    assert len(prune_savepoints(session(copy.table, commit), made).savepoints_deleted) == 3
    assert copy.savepoints == [last]


def test_none_goes_when_the_claim_is_lost(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    before = save_all(copy)
    made = planned(copy)
    in_the_middle(monkeypatch, "hudictl.ops.session.instant_now", lambda: take_over(copy))
    with pytest.raises(Conflict, match="taken over"):
        prune_savepoints(session(copy.table), made)
    assert copy.savepoints == before


@pytest.mark.slow
def test_it_can_be_interrupted_between_two(copy: Copy) -> None:
    _, second, third, last = save_all(copy)

    def stop() -> None:
        raise Interrupted("interrupted")

    with pytest.raises(Interrupted):
        prune(copy, monitor=At(f"delete the savepoint {second}", stop))
    assert copy.savepoints == [second, third, last]
    prune(copy)
    assert copy.savepoints == [last]


def test_3_where_one_is_there_again(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    first, *_ = save_all(copy)
    body = copy.file(first, "savepoint").read_bytes()

    def again(real: Callable[..., object], *given: object) -> object:
        copy.write(f"{first}.savepoint.inflight")
        copy.write(f"{first}_{NOW}.savepoint", body)
        return real(*given)

    made = planned(copy)
    replace_function(monkeypatch, "hudictl.ops.savepoint.pruning.load_timeline", again)
    with pytest.raises(Incomplete, match=first):
        prune_savepoints(session(copy.table), made)


def test_another_hudictl_that_deletes_one_meanwhile_is_seen(copy: Copy) -> None:
    first, *_ = save_all(copy)
    made = planned(copy)
    delete_savepoint(session(copy.table), plan_deletion(session(copy.table), first))
    with pytest.raises(Conflict, match=first):
        prune_savepoints(session(copy.table), made)
    assert (copy.path / OWN / "operations").exists()
