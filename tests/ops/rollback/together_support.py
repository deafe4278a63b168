"""What the tests of together share with others."""

from collections.abc import Sequence

from hudictl.formats.instants import ROLLBACK, time_plus_ms
from hudictl.ops.rollback.execute import execute_rollbacks
from hudictl.ops.rollback.failed import EAGER, RollbackOutcome, choose_failed, roll_back_all, rolled_back
from hudictl.ops.rollback.plan import RollbackOptions, RollbackPlan
from hudictl.table.timeline.active import load_timeline
from tests.helpers import Copy, assert_listed, put, session

OPTIONS = RollbackOptions(settle_s=0.0)


def many(copy: Copy, count: int) -> list[str]:
    """So many failed writes, each with a file and its marker, oldest first."""
    first = time_plus_ms(copy.commits[-1], 60_000)
    like = min(path for path in copy.data() if path.endswith(".parquet") and path.count("/") == 1)
    partition, _, name = like.partition("/")
    times = [time_plus_ms(first, 1000 * number) for number in range(count)]
    for number, time in enumerate(times):
        copy.write(f"{time}.commit.requested")
        copy.write(f"{time}.inflight")
        file = f"{partition}/0{number:03}{name[4:].rpartition('_')[0]}_{time}.parquet"
        put(copy.path / file, b"rows")
        put(copy.meta / ".temp" / time / f"{file}.marker.CREATE")
    return times


def clean(copy: Copy, options: RollbackOptions = OPTIONS) -> list[RollbackOutcome]:
    def execute(plans: Sequence[RollbackPlan]) -> list[RollbackOutcome]:
        return [rolled_back(result) for result in execute_rollbacks(session(copy.table), plans)]

    choice = choose_failed(session(copy.table), EAGER, options, None)
    return roll_back_all(session(copy.table), choice.targets, execute)


def assert_gone(copy: Copy, times: Sequence[str]) -> None:
    """Nothing of the writes is left, and each has its own completed rollback."""
    assert [path for path in copy.data() if any(time in path for time in times)] == []
    timeline = load_timeline(copy.table)
    assert [entry.time for entry in timeline.writes() if entry.pending] == []
    done = [entry for entry in timeline.having(ROLLBACK) if entry.completed]
    assert len(done) >= len(times)
    assert [*(copy.meta / ".temp").glob("2*")] == []
    assert_listed(copy.path)
