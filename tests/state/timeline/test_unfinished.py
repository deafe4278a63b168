"""What a rollback that has not ended means to writers."""

from collections.abc import Callable

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import Finding
from hudictl.reports.table import describe_table
from hudictl.table.settings import Settings
from tests.fixtures import Unpack
from tests.helpers import Copy, put, rollback_plan

VERSIONS = pytest.mark.parametrize("version", ["v6", "v8", "v9"])
NEW = "20271121000000000"
STOPPED = "no writer with eager cleaning of failed writes can start"
LAZY = {"hoodie.cleaner.policy.failed.writes": "LAZY"}
SEVERAL = {"hoodie.write.concurrency.mode": "optimistic_concurrency_control"}

Pending = Callable[[str, str], tuple[Copy, str]]


@pytest.fixture
def pending(unpack: Unpack) -> Pending:
    """A pending instant of an action, with one later commit."""

    def made(version: str, action: str) -> tuple[Copy, str]:
        copy = unpack(version, "cow_part" if action == "commit" else "mor_part")
        time = f"{int(copy.commits[-1]) - 1}"
        service = "requested" if action in ("compaction", "logcompaction") else ""
        body = unpack(version, "mor_pending_compaction").file_of("compaction.requested") if service else b""
        copy.write(f"{time}.{action}.requested", body)
        copy.write(f"{time}.inflight" if version == "v6" and action == "commit" else f"{time}.{action}.inflight")
        return copy, time

    return made


def check(copy: Copy, given: dict[str, str] | None = None) -> list[tuple[str, str, str]]:
    found: list[Finding] = check_table(copy.table, LocalEngine(), 0, settings=Settings(given or {})).findings
    names = ("failed-write", "pending-rollback")
    return [(entry.finding, entry.severity, entry.meaning) for entry in found if entry.finding in names]


@VERSIONS
@pytest.mark.parametrize("action", ["logcompaction", "deltacommit", "commit"])
def test_a_rollback_below_later_commits_stops_writers_that_clean_eagerly(
    pending: Pending, version: str, action: str
) -> None:
    """Before each write Hudi refuses it: "Found commits after time" (0.15.0 to 1.2.0). Lazy cleaning executes it."""
    copy, time = pending(version, action)
    copy.write(f"{NEW}.rollback.requested", rollback_plan(time, action))
    copy.write(f"{NEW}.rollback.inflight")
    ((finding, severity, meaning),) = check(copy)
    assert (finding, severity) == ("pending-rollback", "error")
    assert meaning == f"a rollback of {time} has not ended, and later commits are completed: {STOPPED}"
    described = describe_table(copy.table)
    assert described.verdict.startswith(f"{STOPPED}: {NEW} rollback INFLIGHT: ")
    assert (described.writers_can_start, described.pending[0].eager_only) == (False, True)
    for given in (LAZY, SEVERAL):
        ((_, severity, meaning),) = check(copy, given)
        assert (severity, STOPPED in meaning) == ("warning", False)


@VERSIONS
def test_with_its_heartbeat_no_rollback_stops_writers(pending: Pending, version: str) -> None:
    copy, time = pending(version, "deltacommit")
    copy.write(f"{NEW}.rollback.requested", rollback_plan(time, "deltacommit"))
    put(copy.meta / ".heartbeat" / time)
    ((_, severity, meaning),) = check(copy)
    assert (severity, meaning) == ("warning", f"a rollback of {time} has not ended: the next writer executes it")
    assert describe_table(copy.table).writers_can_start


@VERSIONS
def test_lazy_writers_roll_a_commit_back_on_which_eager_ones_fail(pending: Pending, version: str) -> None:
    """So none may start; also beside a dead write, which stops eager ones alone."""
    copy, _ = pending(version, "commit")
    target = copy.commits[-2]
    copy.write(f"{NEW}.rollback.requested", rollback_plan(target))
    described = describe_table(copy.table)
    assert described.verdict.startswith(f"do not start a writer: {NEW} rollback REQUESTED: ")
    assert "a clean-up by lazy writers rolls it back" in described.verdict
    names = {entry.name: (entry.writers_can_start, entry.eager_only) for entry in described.pending}
    assert names == {"armed-rollback": (False, True), "failed-write": (False, True)}
    found = check_table(copy.table, LocalEngine(), 0, settings=Settings(LAZY)).findings
    assert [entry.severity for entry in found if entry.finding == "armed-rollback"] == ["error"]


@VERSIONS
def test_the_empty_result_of_a_rollback_is_a_finding_of_its_own(pending: Pending, version: str) -> None:
    copy, time = pending(version, "deltacommit")
    copy.write(f"{NEW}.rollback.requested", rollback_plan(time, "deltacommit"))
    copy.write(f"{NEW}.rollback.inflight")
    copy.write(f"{NEW}.rollback" if version == "v6" else f"{NEW}_{NEW}.rollback")
    assert [finding for finding, _, _ in check(copy, LAZY)] == []
    assert describe_table(copy.table).pending[0].writers_can_start


@VERSIONS
def test_the_rollback_of_a_compaction_waits_for_its_next_run(pending: Pending, version: str) -> None:
    """No writer executes it, and none fails on it (0.15.0, 1.2.0)."""
    copy, time = pending(version, "compaction")
    copy.write(f"{NEW}.rollback.requested", rollback_plan(time, "compaction"))
    ((_, severity, meaning),) = check(copy)
    executes = "the next run of this compaction executes it"
    assert (severity, meaning) == ("warning", f"a rollback of {time} has not ended: {executes}")
    assert describe_table(copy.table).writers_can_start


@VERSIONS
def test_a_failed_write_below_later_commits_stops_writers_that_clean_eagerly(pending: Pending, version: str) -> None:
    copy, time = pending(version, "deltacommit")
    ((finding, severity, meaning),) = check(copy)
    assert (finding, severity, meaning.endswith(STOPPED)) == ("failed-write", "error", True)
    described = describe_table(copy.table)
    assert (described.writers_can_start, described.verdict.startswith(f"{STOPPED}: {time} ")) == (False, True)
    ((_, severity, meaning),) = check(copy, LAZY)
    assert (severity, STOPPED in meaning) == ("warning", False)
    put(copy.meta / ".heartbeat" / time)
    assert describe_table(copy.table).writers_can_start


@VERSIONS
def test_a_log_compaction_below_later_commits_fails_in_its_next_run(pending: Pending, version: str) -> None:
    """Until then writers can start."""
    copy, time = pending(version, "logcompaction")
    ((_, severity, meaning),) = check(copy)
    assert (severity, "its next run rolls it back; with eager cleaning of failed writes it fails" in meaning) == (
        "warning",
        True,
    )
    assert describe_table(copy.table).writers_can_start
    for later in copy.commits:
        if later > time:
            for file in copy.timeline.glob(f"{later}*"):
                file.unlink()
    ((_, _, meaning),) = check(copy)
    assert "its next run rolls it back; no activity" in meaning
