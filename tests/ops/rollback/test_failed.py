"""Which failed writes are rolled back, and that one which fails does not stop the others."""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, Interrupted, Unreadable
from hudictl.ops.rollback import failed as failed_rollbacks
from hudictl.ops.rollback.execute import execute_rollbacks
from hudictl.ops.rollback.failed import EAGER, Choice, RollbackOutcome, choose_failed, planned, roll_back_all
from hudictl.ops.rollback.failed import rolled_back as as_outcome
from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.table.beat_rule import ASSUMED, HeartbeatRule
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.crash import reader
from tests.fixtures import Unpack
from tests.helpers import Copy, assert_listed, drop, pending_restore, put, rollback_plan, session, tree
from tests.ops.rollback.execute_support import died, newest
from tests.ops.rollback.failed_support import request

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LATER, LATEST = "20261121040000000", "20261121050000000"
LAZY = "lazy"
OPTIONS = RollbackOptions(settle_s=0.0)


def choose(copy: Copy, policy: str = LAZY, options: RollbackOptions = OPTIONS) -> Choice:
    """The choice, which has changed nothing."""
    before = tree(copy.path)
    found = choose_failed(session(copy.table), policy, options, None)
    assert tree(copy.path) == before
    return found


def targets(choice: Choice) -> list[str]:
    return [target for target, _ in choice.targets]


def left(choice: Choice) -> list[str]:
    return [row.instant for row in choice.left]


def clean(copy: Copy, policy: str = LAZY) -> list[RollbackOutcome]:
    table = copy.table

    def execute(plans: Sequence[RollbackPlan]) -> list[RollbackOutcome]:
        return [as_outcome(result) for result in execute_rollbacks(session(table), plans)]

    done = roll_back_all(session(table), choose(copy, policy).targets, execute)
    assert_listed(copy.path)
    return done


@VERSIONS
@pytest.mark.parametrize("policy", [LAZY, EAGER])
@pytest.mark.parametrize("name", ["cow_part", "mor_pending_compaction"])
def test_nothing_is_pending(unpack: Unpack, version: str, policy: str, name: str) -> None:
    """A table service that is only scheduled has not failed."""
    assert choose(unpack(version, name), policy) == Choice((), (), ())


@pytest.mark.slow
@VERSIONS
def test_lazy_takes_what_has_an_expired_heartbeat(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    failed, rows = newest(copy), reader.snapshot(copy.path).rows
    request(copy, LATER)
    request(copy, LATEST, beat="none")
    found = choose(copy)
    assert (targets(found), left(found)) == ([LATER, failed], [LATEST])
    assert [outcome.outcome for outcome in clean(copy)] == ["rolled back", "rolled back"]
    assert [entry.time for entry in load_timeline(copy.table).writes() if entry.pending] == [LATEST]
    assert reader.snapshot(copy.path).rows == rows
    assert targets(choose(copy)) == []


@VERSIONS
def test_lazy_leaves_alone_what_runs_or_nobody_knows(unpack: Unpack, version: str) -> None:
    """What runs is not named: that is as it should be."""
    copy = unpack(version, "cow_failed_direct")
    unknown = newest(copy)
    request(copy, LATER, beat="live")
    found = choose(copy)
    assert (targets(found), left(found)) == ([], [unknown])


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_failed_direct", "cow_failed_tls", "mor_failed_direct", "mor_failed_lazy"])
def test_eager_takes_every_silent_write(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    failed, rows = newest(copy), reader.snapshot(copy.path).rows
    request(copy, LATER, beat="none")
    assert targets(choose(copy, EAGER)) == [LATER, failed]
    assert {outcome.exit_code for outcome in clean(copy, EAGER)} == {0}
    assert [entry for entry in load_timeline(copy.table).writes() if entry.pending] == []
    assert reader.snapshot(copy.path).rows == rows


def test_a_row_that_cannot_be_read_names_the_check(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_failed_direct")

    def unreadable(*_: object) -> None:
        raise Unreadable("a file is damaged")

    monkeypatch.setattr(failed_rollbacks, "plan_rollback", unreadable)
    (outcome,) = clean(copy, EAGER)
    assert (outcome.exit_code, "`hudictl check`" in outcome.hint) == (14, True)


def test_eager_leaves_alone_what_did_something_just_now(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    failed = newest(copy)
    copy.write(f"{LATER}.commit.requested", old=False)
    found = choose(copy, EAGER)
    assert (targets(found), left(found)) == ([failed], [LATER])
    assert targets(choose(copy, EAGER, RollbackOptions(idle_ms=0))) == [LATER, failed]


@VERSIONS
def test_eager_beside_a_live_heartbeat(unpack: Unpack, version: str) -> None:
    """Its writers clean lazily: a silent write may be waiting for its executors."""
    copy = unpack(version, "cow_failed_direct")
    request(copy, LATER, beat="live")
    with pytest.raises(Conflict, match=LATER) as caught:
        choose(copy, EAGER)
    assert "--policy lazy" in caught.value.hint


def test_heartbeats_are_judged_by_the_rule_that_is_asked_for(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    failed = newest(copy)
    beat = put(copy.meta / ".heartbeat" / failed)
    moment = time.time() - 200
    os.utime(beat, (moment, moment))
    assert targets(choose(copy)) == [failed]
    assert targets(choose(replace(copy, rule=HeartbeatRule(60_000, 10, False)))) == []
    unknown = choose(replace(copy, rule=ASSUMED))
    assert targets(unknown) == []
    (left,) = unknown.left
    assert (left.verdict, left.heartbeat) == ("unknown", "unknown")
    # No command that would roll a living writer back.
    assert left.remedy == ()
    assert not left.abandoned


@VERSIONS
def test_a_table_service_that_was_begun(unpack: Unpack, version: str) -> None:
    """Lazy: its next run takes it back. Eager: back to requested, as Hudi does it, and not away."""
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    copy.write(f"{compaction.time}.compaction.inflight")
    found = choose(copy)
    assert (targets(found), left(found)) == ([], [compaction.time])
    assert [(target, options.keep_plan) for target, options in choose(copy, EAGER).targets] == [(compaction.time, True)]
    assert [outcome.outcome for outcome in clean(copy, EAGER)] == ["requested again"]
    assert copy.having("compaction") == [f"{compaction.time}.compaction.requested"]


@VERSIONS
def test_a_clustering_that_was_begun(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cluster")
    clustering = copy.having("replacecommit.requested" if version == "v6" else "clustering.requested")[-1][:17]
    for later in [later for later in copy.commits if later > clustering]:
        drop(copy.file(later, "commit"))
    drop(copy.file(clustering, "replacecommit"))
    chosen = dict(choose(copy, EAGER, RollbackOptions(idle_ms=0)).targets)
    assert chosen[clustering].keep_plan
    assert [options.keep_plan for target, options in chosen.items() if target != clustering] == [False]


@pytest.mark.slow
@VERSIONS
def test_rollbacks_that_hudictl_has_begun_go_on(unpack: Unpack, version: str) -> None:
    """Also where the heartbeat went with the first attempt, and where their instant is gone."""
    for step in ("prepare", "delete files", "publish the rollback"):
        copy = unpack(version, "mor_failed_lazy")
        failed = newest(copy)
        died(copy, failed, step)
        copy.table.storage.delete([f".hoodie/.heartbeat/{failed}"])
        if step == "publish the rollback":
            for file in load_timeline(copy.table).find(failed, "deltacommit").files:  # type: ignore[union-attr]
                drop(copy.timeline / file.name)
        assert targets(choose(copy)) == [failed]
        assert [outcome.outcome for outcome in clean(copy)] == ["rolled back"]
        assert (targets(choose(copy)), left(choose(copy))) == ([], [])
        shutil.rmtree(copy.path)


@VERSIONS
def test_a_rollback_of_a_completed_commit_is_nobodys_failed_write(unpack: Unpack, version: str) -> None:
    """Whoever asked for it must say so again: `resume`. Un-published it goes on."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    died(copy, target, "prepare")
    chosen = choose(copy, EAGER)
    assert targets(chosen) == []
    assert [way.command for way in chosen.waiting[0].remedy] == ["hudictl resume", "hudictl resume --discard-rollbacks"]
    died(copy, target, "delete files")
    assert targets(choose(copy)) == [target]


@pytest.mark.slow
@VERSIONS
def test_hudis_own_pending_rollback_is_finished(unpack: Unpack, version: str) -> None:
    """As Hudi's own cleaning does, whether the write has beaten or not; not while it may be running."""
    copy = unpack(version, "cow_failed_direct")
    failed = newest(copy)
    copy.write(f"{LATER}.rollback.requested", rollback_plan(failed), old=False)
    assert (targets(choose(copy)), left(choose(copy))) == ([], [failed])
    copy.write(f"{LATER}.rollback.requested", rollback_plan(failed))
    assert (targets(choose(copy)), left(choose(copy))) == ([failed], [])
    clean(copy)
    assert f"{LATER}.rollback.requested" not in copy.instants()


@VERSIONS
def test_a_pending_restore(unpack: Unpack, version: str) -> None:
    """It decides on every instant: nothing is rolled back, and it is named with the way to end it."""
    copy = unpack(version, "mor_failed_lazy")
    failed = newest(copy)
    pending_restore(copy, LATER, copy.commits[0], begun=True)
    for old in (True, False):
        put(copy.meta / ".heartbeat" / failed, old=old)
        chosen = choose(copy)
        assert (targets(chosen), left(chosen)) == ([], [])
        ((waiting,), (way,)) = chosen.waiting, chosen.waiting[0].remedy
        assert (waiting.time, way.command) == (LATER, "hudictl resume")


@VERSIONS
def test_one_that_fails_does_not_stop_the_others(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_failed_direct")
    failed = newest(copy)
    put(copy.meta / ".heartbeat" / failed)
    request(copy, LATER)
    chosen = choose(copy).targets
    assert [target for target, _ in chosen] == [LATER, failed]
    # The newer one has come to life since it was chosen.
    put(copy.meta / ".heartbeat" / LATER, old=False)

    def execute(plans: Sequence[RollbackPlan]) -> list[RollbackOutcome]:
        return [as_outcome(result) for result in execute_rollbacks(session(copy.table), plans)]

    first, second = roll_back_all(session(copy.table), chosen, execute)
    assert (first.instant, first.outcome, first.exit_code, first.rollback) == (LATER, "conflict", 12, None)
    assert LATER in first.message
    assert (second.instant, second.outcome, second.exit_code) == (failed, "rolled back", 0)
    assert second.files_deleted > 0
    assert [entry.time for entry in load_timeline(copy.table).writes() if entry.pending] == [LATER]


def test_an_interrupt_stops_all(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    request(copy, LATER, beat="none")

    def interrupt(plans: Sequence[RollbackPlan]) -> list[RollbackOutcome]:
        raise Interrupted("stopped")

    with pytest.raises(Interrupted):
        roll_back_all(session(copy.table), choose(copy, EAGER).targets, interrupt)


def test_planned_only(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    before = tree(copy.path)
    (outcome,) = roll_back_all(session(copy.table), choose(copy, EAGER).targets, lambda plans: [*map(planned, plans)])
    assert (outcome.outcome, outcome.metadata_table, outcome.exit_code) == ("would be rolled back", "rolled back", 0)
    assert outcome.files_deleted > 0
    assert tree(copy.path) == before
