"""Pending table services whose plan is gone, empty or damaged: one truth in each way in."""

from pathlib import Path

import pytest

from hudictl.errors import Incomplete, Refused
from hudictl.formats.plans import (
    CompactedSlice,
    decode_compaction_files,
    decode_compaction_groups,
    encode_compaction_plan,
)
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.failed import EAGER, RollbackOutcome, choose_failed, roll_back_all, rolled_back
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.reports.health.check import check_table
from hudictl.table.clock import measure_clock
from tests.fixtures import Unpack
from tests.helpers import ENGINE, OWN, Copy, first_command, put, roll_back, rollback_of, session, tree

FINDINGS = {"gone": "missing-plan", "empty": "empty-plan", "cut": "unreadable", "flipped": "unreadable"}
LOSSES = pytest.mark.parametrize("how", FINDINGS)
KEEP = RollbackOptions(keep_plan=True, settle_s=0)
NOW = RollbackOptions(idle_ms=0, settle_s=0)


def request_of(copy: Copy, action: str) -> Path:
    return max(copy.timeline.glob(f"[0-9]*.{action}.requested"))


def lose(copy: Copy, action: str, how: str = "gone") -> str:
    """The service had begun, long ago; returns its time."""
    path = request_of(copy, action)
    time = path.name.partition(".")[0]
    for done in (*copy.timeline.glob(f"{time}_*"), *copy.timeline.glob(f"{time}.{action}")):
        done.unlink()
    copy.write(f"{time}.{action}.inflight")
    body = path.read_bytes()
    middle = len(body) // 2
    flipped = body[:middle] + bytes([body[middle] ^ 0xFF]) + body[middle + 1 :]
    if how == "gone":
        path.unlink()
    else:
        put(path, {"empty": b"", "cut": body[:middle], "flipped": flipped}[how])
    return time


def left(copy: Copy, time: str) -> list[str]:
    return [name for name in copy.instants() if name.startswith(time)]


def cleaned(copy: Copy) -> list[RollbackOutcome]:
    run = session(copy.table)
    choice = choose_failed(run, EAGER, NOW, measure_clock(copy.table.storage))
    return roll_back_all(
        run, choice.targets, lambda plans: [rolled_back(execute_rollback(run, plan)) for plan in plans]
    )


def findings(copy: Copy) -> dict[str, str]:
    return {
        entry.finding: first_command(entry) for entry in check_table(copy.table, ENGINE, 0).findings if entry.remedy
    }


@pytest.mark.slow
@LOSSES
def test_the_plan_is_made_again_where_rows_depend_on_it(unpack: Unpack, how: str) -> None:
    """Version 6: the logs of later writes lie in the slices that the compaction has opened."""
    copy = unpack("v6", "mor_pending_compaction")
    request = request_of(copy, "compaction")
    before = request.read_bytes()
    data = copy.data()
    time = lose(copy, "compaction", how)
    assert findings(copy)[FINDINGS[how]] == f"hudictl rollback {time} --keep-plan"
    made = rollback_of(copy, time, KEEP)
    assert made.slices_planned_again == len(made.planned_again) > 0
    roll_back(copy, time, options=KEEP)
    assert decode_compaction_groups(request.read_bytes(), "it") == decode_compaction_groups(before, "it")
    assert decode_compaction_files(request.read_bytes(), "it") == decode_compaction_files(before, "it")
    assert left(copy, time) == [request.name]
    assert copy.data() == data
    assert not findings(copy).keys() & set(FINDINGS.values())


@LOSSES
def test_without_its_plan_it_is_not_removed_from_under_later_logs(unpack: Unpack, how: str) -> None:
    copy = unpack("v6", "mor_pending_compaction")
    time = lose(copy, "compaction", how)
    before = tree(copy.path, OWN)
    with pytest.raises(Refused, match="logs of later writes") as refused:
        rollback_of(copy, time)
    assert refused.value.hint == f"`hudictl rollback {time} --keep-plan` makes its lost plan again"
    assert [(entry.instant, entry.exit_code) for entry in cleaned(copy)] == [(time, 13)]
    assert tree(copy.path, OWN) == before


@LOSSES
@pytest.mark.parametrize(("name", "action"), [("mor_pending_compaction", "compaction"), ("cow_cluster", "clustering")])
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_where_no_rows_depend_on_it_the_service_is_removed(
    unpack: Unpack, version: str, name: str, action: str, how: str
) -> None:
    """No result says that it is requested again, while there is no plan."""
    copy = unpack(version, name)
    time = lose(copy, action, how)
    assert findings(copy)[FINDINGS[how]] == f"hudictl rollback {time}"
    with pytest.raises(Refused, match="is lost, and cannot be kept") as refused:
        rollback_of(copy, time, KEEP)
    assert f"`hudictl rollback {time}`" in refused.value.hint
    (outcome,) = cleaned(copy)
    assert (outcome.instant, outcome.outcome, outcome.exit_code) == (time, "rolled back", 0)
    assert left(copy, time) == []


@pytest.mark.parametrize("how", ["cut", "flipped"])
def test_a_clustering_with_a_damaged_request_is_removed(unpack: Unpack, how: str) -> None:
    """Version 6, where a clustering is a replacecommit; an empty request is one of an overwrite."""
    copy = unpack("v6", "cow_cluster")
    time = lose(copy, "replacecommit", how)
    assert findings(copy)["unreadable"] == f"hudictl rollback {time}"
    roll_back(copy, time)
    assert left(copy, time) == []
    assert "unreadable" not in findings(copy)


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_write_whose_profile_is_damaged_is_rolled_back(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    time = max(name.split(".")[0] for name in copy.instants() if name.endswith(".deltacommit.inflight"))
    path = copy.timeline / f"{time}.deltacommit.inflight"
    put(path, path.read_bytes()[:50])
    assert findings(copy)["unreadable"] == f"hudictl rollback {time}"
    roll_back(copy, time)
    assert left(copy, time) == []
    assert "unreadable" not in findings(copy)


@LOSSES
def test_a_plan_that_is_not_there_in_the_end_is_told(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    copy = unpack("v6", "mor_pending_compaction")
    time = lose(copy, "compaction", how)
    monkeypatch.setattr("hudictl.ops.rollback.publish.replace_request", lambda *_: None)
    with pytest.raises(Incomplete, match=time):
        roll_back(copy, time, options=KEEP)


def test_a_plan_that_no_slice_needs_is_not_made_again(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_pending_compaction")
    time = lose(copy, "compaction")
    for path in copy.path.rglob(f".*_{time}.log.*"):
        path.unlink()
    with pytest.raises(Refused, match="no file slice needs it"):
        rollback_of(copy, time, KEEP)
    assert not rollback_of(copy, time).nothing_to_do


def test_a_plan_that_is_there_is_kept_as_it_is(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_pending_compaction")
    request = request_of(copy, "compaction")
    before = request.read_bytes()
    time = request.name.partition(".")[0]
    copy.write(f"{time}.compaction.inflight")
    roll_back(copy, time, options=KEEP)
    assert request.read_bytes() == before


def test_the_plan_that_is_written() -> None:
    slices = [
        CompactedSlice("p=1", "f", "1", None, (".f_1.log.1_0-0-0",), 0, 7),
        CompactedSlice("", "g", "2", "g_1_2.parquet", (), 9, 0),
    ]
    body = encode_compaction_plan(slices)
    assert decode_compaction_groups(body, "it") == {("p=1", "f"), ("", "g")}
    assert decode_compaction_files(body, "it") == {("p=1", ".f_1.log.1_0-0-0"), ("", "g_1_2.parquet")}
