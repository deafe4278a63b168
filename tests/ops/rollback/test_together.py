"""Many failed writes are rolled back together: what it costs does not grow with their number, and each guard holds."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.formats.instants import ROLLBACK, time_plus_ms
from hudictl.ops.rollback.execute import execute_rollbacks
from hudictl.ops.rollback.failed import roll_back_all
from hudictl.ops.rollback.plan import RollbackPlan
from hudictl.ops.rollback.together import plan_together
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.crash.inject import Crash, dying
from tests.fixtures import Unpack
from tests.helpers import Copy, in_the_middle, metadata_timeline, put, replace_function, session, tree
from tests.ops.rollback.together_support import OPTIONS, assert_gone, clean, many

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
EXECUTE = "hudictl.ops.rollback.execute"


def together(copy: Copy, times: Sequence[str]) -> tuple[RollbackPlan, ...]:
    return plan_together(session(copy.table), [(time, OPTIONS) for time in reversed(times)])


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_flat_nomdt"])
def test_all_go_and_nothing_else(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    if name == "mor_flat_nomdt":
        times = [time_plus_ms(copy.commits[-1], 60_000 + number) for number in range(5)]
        for time in times:
            copy.write(f"{time}.deltacommit.requested")
            copy.write(f"{time}.deltacommit.inflight")
    else:
        times = many(copy, 5)
    kept = {path for path in copy.data() if not any(time in path for time in times)}
    outcomes = clean(copy)
    assert [(one.instant, one.outcome, one.exit_code) for one in outcomes] == [
        (time, "rolled back", 0) for time in reversed(times)
    ]
    assert sum(one.files_deleted for one in outcomes) == (0 if name == "mor_flat_nomdt" else 5)
    assert_gone(copy, times)
    assert copy.data() == kept


@pytest.mark.slow
def test_the_cost_does_not_grow(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Readings of the timeline, listings, waits, claims, and jobs that delete."""
    counted: Counter[str] = Counter()

    def count(place: str) -> None:
        function: Callable[..., Any] = pytest.importorskip(place.rpartition(".")[0]).__dict__[place.rpartition(".")[2]]

        def counting(*args: Any, **kwargs: Any) -> Any:
            counted[place] += 1
            return function(*args, **kwargs)

        monkeypatch.setattr(place, counting)

    for place in (
        *("hudictl.state.facts.load_timeline", "hudictl.state.facts.sweep", "hudictl.ops.undo.verify.sweep"),
        *(
            f"{EXECUTE}.load_timeline",
            f"{EXECUTE}._wait",
            "hudictl.ops.undo.execute.delete_files",
            "hudictl.ops.session.hold",
        ),
    ):
        count(place)
    costs = []
    for number in (2, 12):
        copy = unpack("v9", "cow_part")
        times = many(copy, number)
        counted.clear()
        clean(copy)
        assert_gone(copy, times)
        costs.append(dict(counted))
    assert costs[0] == costs[1]
    assert costs[0][f"{EXECUTE}._wait"] == costs[0]["hudictl.ops.session.hold"] == 1


@VERSIONS
def test_what_is_not_plain_is_planned_by_itself(unpack: Unpack, version: str) -> None:
    """A completed commit, a write with a live heartbeat, and one that is in the metadata table."""
    copy = unpack(version, "cow_part")
    times = many(copy, 4)
    put(copy.meta / ".heartbeat" / times[0], old=False)
    put(metadata_timeline(copy) / f"{times[-1]}.deltacommit.requested")
    plans = together(copy, [copy.commits[-1], *times])
    assert [plan.target for plan in plans] == [*reversed(times[1:-1])]
    assert together(copy, times[:2]) == ()
    assert {file.path for plan in plans for file in plan.removal.files} == {
        path for path in copy.data() if any(time in path for time in times[1:-1])
    }


def test_a_writer_that_comes_to_life_stops_only_its_own(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything has begun the others go by themselves."""
    copy = unpack("v9", "cow_part")
    times = many(copy, 3)
    beat = copy.meta / ".heartbeat" / times[1]
    in_the_middle(monkeypatch, f"{EXECUTE}._wait", lambda: put(beat, old=False))
    assert [(one.instant, one.exit_code) for one in clean(copy)] == [(times[2], 0), (times[1], 12), (times[0], 0)]
    assert any(times[1] in path for path in copy.data())


@pytest.mark.parametrize(
    ("work", "come"),
    [
        ("wait_for_queries", lambda copy, time: put(copy.meta / ".temp" / time / "part-0/x.marker.CREATE", old=False)),
        ("wait_for_queries", lambda copy, time: copy.write(f"{time}_{time}.commit", b"{}")),
    ],
)
def test_one_that_comes_to_life_later_is_not_rolled_back_by_the_next_attempt(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, work: str, come: Callable[[Copy, str], object]
) -> None:
    """The same run does not go on: before the deletion all are still there, and pending."""
    copy = unpack("v9", "cow_part")
    times = many(copy, 3)
    in_the_middle(monkeypatch, f"{EXECUTE}.{work}", lambda: come(copy, times[1]))
    assert [(one.outcome, one.exit_code) for one in clean(copy)] == [("conflict", 12)] * 3
    assert len([path for path in copy.data() if any(time in path for time in times)]) == 3


def test_a_rollback_of_anothers_stops_it(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    times = many(copy, 3)
    plans = together(copy, times)
    before = tree(copy.path, ".hoodie/.hudictl")
    body = next(copy.timeline.glob("*.rollback.requested"), None)
    assert body is None
    other = time_plus_ms(times[-1], 5000)

    def come() -> None:
        mine = min(copy.timeline.glob("*.rollback.requested"))
        copy.write(f"{other}.rollback.requested", mine.read_bytes())

    in_the_middle(monkeypatch, f"{EXECUTE}._wait", come)
    with pytest.raises(Conflict, match="another process rolls the same instant back"):
        execute_rollbacks(session(copy.table), plans)
    left = tree(copy.path, ".hoodie/.hudictl")
    assert {path for path in left.keys() - before.keys() if not path.endswith(".crc")} == {
        str((copy.timeline / f"{other}.rollback.requested").relative_to(copy.path))
    }


@VERSIONS
@pytest.mark.parametrize(
    ("work", "number"), [("hudictl.ops.rollback.publish.create_instant_file", 2), (f"{EXECUTE}.verify_timeline", 1)]
)
def test_what_was_published_before_the_store_failed_is_rolled_back(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, work: str, number: int
) -> None:
    """The store fails once: the rest goes one by one, and nothing that has ended counts as refused."""
    copy = unpack(version, "cow_part")
    times = many(copy, 2)
    calls = []

    def fail_once(real: Callable[..., object], *given: object, **named: object) -> object:
        calls.append(given)
        if len(calls) == number:
            raise StorageFailed("the store fails once")
        return real(*given, **named)

    replace_function(monkeypatch, work, fail_once)
    outcomes = clean(copy)
    assert [(one.instant, one.outcome, one.exit_code) for one in outcomes] == [
        (time, "rolled back", 0) for time in reversed(times)
    ]
    assert {one.rollback for one in outcomes} <= {entry.time for entry in load_timeline(copy.table).having(ROLLBACK)}
    assert_gone(copy, times)


def test_an_index_that_is_required_is_asked_for_where_another_has_ended_the_rollback(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    (time,) = many(copy, 1)
    clean(copy)
    options = replace(OPTIONS, require_index=("record_index",))
    (outcome,) = roll_back_all(session(copy.table), [(time, options)], lambda plans: [])
    assert (outcome.outcome, outcome.exit_code) == ("rolled back", 3)
    assert "record_index is not in use" in outcome.message


@VERSIONS
@pytest.mark.parametrize("step", range(0, 160, 7))
def test_a_death_anywhere_is_finished(unpack: Unpack, version: str, step: int) -> None:
    """The next run ends what is pending, one by one."""
    copy = unpack(version, "cow_part")
    times = many(copy, 3)
    with dying(step), suppress(Crash):
        clean(copy)
    clean(copy)
    assert_gone(copy, times)
