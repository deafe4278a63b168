"""What others do to the table while a restore runs, and what a restore must not take from them."""

from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, Refused, Unreadable
from hudictl.ops.restore import execute
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.undo import instants as publish
from hudictl.table.timeline.active import load_timeline
from tests import records
from tests.fixtures import Unpack
from tests.helpers import (
    At,
    Copy,
    attempt,
    drop,
    in_the_middle,
    pending_restore,
    plan,
    replace_function,
    required,
    restore,
    rollback_plan,
    savepoint,
)

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
STEPS = ["take the metadata table out of use", "un-publish instants", "delete files", "publish the restore"]
TO_INSTANT = RestoreOptions(to_instant=True)
LATER = "20261121040000000"


def assert_stays_pending(copy: Copy, target: str, step: str, act: Callable[[], object], named: str) -> None:
    with pytest.raises(Conflict, match=named):
        restore(copy, target, At(step, act))
    (found,) = load_timeline(copy.table).having("restore")
    assert found.pending


@VERSIONS
@pytest.mark.parametrize("step", STEPS)
def test_a_target_that_somebody_takes_back(unpack: Unpack, version: str, step: str) -> None:
    """An armed rollback in the hands of an eager writer: the restore would end before the target."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]

    def take_back() -> None:
        drop(copy.file(target, "commit"))

    assert_stays_pending(copy, target, step, take_back, f"{target} was rolled back")


@VERSIONS
def test_an_older_commit_that_somebody_takes_back(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    older = copy.commits[0]
    assert_stays_pending(copy, copy.savepoints[-1], STEPS[0], lambda: drop(copy.file(older, "commit")), older)


@VERSIONS
@pytest.mark.parametrize("step", STEPS)
def test_a_clean_that_would_take_what_the_target_needs(unpack: Unpack, version: str, step: str) -> None:
    """It was planned before it could see a savepoint; or it takes whole partitions, which no savepoint prevents."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    partition = sorted(required(copy.table, plan(copy, target).undo.case))[0].partition("/")[0]
    body = records.clean_plan([], partitions=[partition])
    clean = f"{LATER}.clean.requested"
    assert_stays_pending(copy, target, step, lambda: copy.write(clean, body), f"the clean {LATER}")
    # Silent for long, it is discarded by the next run.
    restore(copy, target)
    assert copy.having("clean") == []


def test_a_clean_that_takes_nothing_of_the_target_is_left_alone(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    other = sorted(copy.data() - set(required(copy.table, plan(copy, target).undo.case)))[:1]
    clean = f"{LATER}.clean.requested"
    restore(copy, target, At("delete files", lambda: copy.write(clean, records.clean_plan(other))))
    assert copy.having("clean") == [clean]


def test_a_rollback_that_may_be_running_is_not_discarded(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    copy.write(f"{LATER}.rollback.requested", rollback_plan(target), old=False)
    with pytest.raises(Conflict, match=LATER):
        plan(copy, target, RestoreOptions(discard_rollbacks=True))
    assert plan(copy, target, RestoreOptions(discard_rollbacks=True, idle_ms=0)).rollbacks_discarded == (LATER,)


@VERSIONS
def test_another_restore_that_has_done_nothing_is_not_in_the_way(unpack: Unpack, version: str) -> None:
    """What was pending when it was planned says nothing of what it did; what was only requested did nothing."""
    copy = unpack(version, "mor_pending_compaction")
    older, target = copy.commits[0], savepoint(copy, copy.commits[-2])
    for begun in (False, True):
        pending_restore(copy, LATER, older, begun=begun)
        pending_restore(copy, f"{LATER[:-1]}1", target, begun=True)
        assert plan(copy, target).restores_superseded == (LATER,)


@VERSIONS
def test_an_operators_savepoint_on_the_target_stays(unpack: Unpack, version: str) -> None:
    """It came while the restore settled: the target had none when it was planned."""
    copy = unpack(version, "cow_part")
    target = copy.commits[1]
    other = unpack(version, "cow_savepoints")
    body = other.file(other.savepoints[0], "savepoint").read_bytes()
    name = f"{target}.savepoint" if version == "v6" else f"{target}_{LATER}.savepoint"

    def save() -> None:
        copy.write(f"{target}.savepoint.inflight")
        copy.write(name, body)

    restore(copy, target, At("prepare", save), TO_INSTANT)
    assert copy.savepoints == [target]


def test_consent_is_not_taken_from_a_restore_that_has_not_begun(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_savepoints")
    target, later = copy.savepoints
    agreed = RestoreOptions(delete_later_savepoints=True)

    class Dead(BaseException):
        """The process is gone: no handler runs."""

    def die(*_: object) -> None:
        raise Dead

    with monkeypatch.context() as patch:
        patch.setattr(execute, "_settle", die)
        with pytest.raises(Dead):
            restore(copy, target, options=agreed)
    assert [entry.state.name for entry in load_timeline(copy.table).having("restore")] == ["REQUESTED"]
    with pytest.raises(Refused, match=later):
        plan(copy, target)


def test_whatever_goes_wrong_while_it_settles_the_request_is_withdrawn(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that stays blocks every writer."""
    copy = unpack("v9", "cow_savepoints")

    def fail(*_: object) -> bytes:
        raise OverflowError("a bug")

    monkeypatch.setattr(publish, "encode_rollback", fail)
    with pytest.raises(OverflowError):
        restore(copy, copy.savepoints[-1])
    assert copy.having("restore") == []


def test_a_request_that_was_withdrawn_by_another_process(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    real = execute.create_instant_file

    def late(table: object, time: str, action: str, state: object, *rest: object) -> str:
        if action == "restore" and str(getattr(state, "name", "")) == "INFLIGHT":
            drop(copy.timeline / f"{time}.restore.requested")
        return real(table, time, action, state, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(execute, "create_instant_file", late)
    with pytest.raises(Conflict, match="removed by another hudictl"):
        restore(copy, copy.savepoints[-1])
    assert copy.having("restore") == []


def test_a_restore_without_request_is_told(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    copy.write(f"{LATER}.restore.inflight")
    error = attempt(lambda: plan(copy, copy.savepoints[-1]))
    assert isinstance(error, Unreadable)
    assert (LATER in error.message, f"hudictl timeline quarantine {LATER}" in error.hint) == (True, True)


def test_an_instant_that_goes_while_it_settles_stops_it(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that comes does: nothing was done as yet, and the request goes again."""
    copy = unpack("v9", "cow_savepoints")
    gone = copy.commits[0]
    in_the_middle(
        monkeypatch, "hudictl.ops.restore.execute._encode", lambda: drop(copy.timeline / f"{gone}.commit.requested")
    )
    with pytest.raises(Conflict, match=gone):
        restore(copy, copy.savepoints[-1])
    assert copy.having("restore") == []


@VERSIONS
def test_a_delta_commit_that_stays_and_is_taken_back_stops_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    kept, target = copy.commits[:2]
    with pytest.raises(Conflict, match=kept):
        restore(copy, target, At("delete files", lambda: drop(copy.file(kept, "deltacommit"))), TO_INSTANT)


def test_a_restore_at_work_and_its_rollbacks_beat(unpack: Unpack) -> None:
    """A lazy cleaner of Hudi's takes what does not for dead."""
    copy = unpack("v9", "cow_part")
    beats: list[set[str]] = []

    def look() -> None:
        names = [*copy.having("restore"), *copy.having("rollback")]
        beats.append({path.name for path in (copy.meta / ".heartbeat").glob("[0-9]*")})
        assert beats[0] == {name.partition(".")[0] for name in names}

    restore(copy, copy.commits[0], At("delete files", look), TO_INSTANT)
    assert beats


def test_no_rollback_is_requested_with_a_time_that_is_still_to_come(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")
    waited: list[str] = []

    def wait(real: Callable[..., object], table: object, moment: str) -> object:
        assert copy.having("rollback") == []
        waited.append(moment)
        return real(table, moment)

    replace_function(monkeypatch, "hudictl.ops.undo.instants.wait_until", wait)
    seen = At("un-publish instants", lambda: waited.append(max(copy.having("rollback")).partition(".")[0]))
    restore(copy, copy.commits[0], seen, TO_INSTANT)
    assert len(waited) == 2
    assert waited[0] == waited[1]
