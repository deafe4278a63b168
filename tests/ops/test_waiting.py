"""Waiting for a table, with a clock that nobody waits for: what comes and goes between two looks."""

import os
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import pytest

from hudictl.errors import Conflict, HudictlError, Refused, StorageFailed, Unreadable, UsageError
from hudictl.formats.instants import format_time
from hudictl.ops import waiting
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.waiting import ConditionRow, parse_condition
from hudictl.state.facts import Signs, read_signs
from hudictl.table.locks.claim import claim
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.archive import archived_writes_after
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, attempt, die, drop, pending_restore, plan, put, restore, roll_back, savepoint, tree
from tests.ops.waiting_support import Pauses, wait

LATER = "20261121040000000"
VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
LONG_MS = 10**12


def lock(copy: Copy) -> Path:
    return copy.meta / "lock"


def heartbeat(copy: Copy, instant: str) -> Path:
    return copy.meta / ".heartbeat" / instant


def begin(copy: Copy, *, old: bool = True) -> None:
    """A write, without heartbeat and markers."""
    copy.write(f"{LATER}.commit.requested", old=old)
    copy.write(f"{LATER}.inflight", old=old)


# No writers.


@VERSIONS
def test_a_lock_is_released_and_then_a_writer_is_alive_for_a_while(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    put(lock(copy), "held", old=False)

    def come() -> None:
        lock(copy).unlink()
        begin(copy)
        put(heartbeat(copy, LATER), old=False)

    def go() -> None:
        heartbeat(copy, LATER).unlink()

    pauses = Pauses([lambda: None, come, go])
    found = wait(copy, pauses, "no-writers")
    first, second, third = (told["no-writers"] for told in pauses.told)
    assert first.startswith(".hoodie/lock: the lock of the table's writers")
    assert second.startswith(".hoodie/lock")
    assert third.startswith(f"{LATER} commit INFLIGHT: its writer may be alive: its last heartbeat was 0 s ago")
    assert found.conditions == (ConditionRow("no-writers", True, third),)
    assert (found.looks, found.waited_ms, pauses.pauses) == (4, 30_000, [10, 10, 10])


@VERSIONS
def test_another_hudictl_is_at_work(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    held = claim(copy.table.storage, "hudictl restore")
    held.__enter__()
    pauses = Pauses([lambda: held.__exit__(None, None, None)])
    assert wait(copy, pauses, "no-writers").looks == 2
    assert "another hudictl is at work: `hudictl restore`" in pauses.told[0]["no-writers"]


@VERSIONS
def test_a_write_without_heartbeat_lives_by_its_data_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    begin(copy)
    data = next(copy.path.glob("part-0/*.parquet"))
    young = data.with_name(f"{data.name.rpartition('_')[0]}_{LATER}.parquet")
    put(young, b"half", old=False)
    pauses = Pauses([lambda: os.utime(young, (1, 1))])
    assert wait(copy, pauses, "no-writers").looks == 2
    assert f"{LATER} commit INFLIGHT may be running" in pauses.told[0]["no-writers"]


@pytest.mark.parametrize("name", ["clean.requested", "rollback.inflight", "indexing.requested", "compaction.requested"])
def test_a_young_table_service_is_at_work(unpack: Unpack, name: str) -> None:
    copy = unpack("v9", "mor_savepoints")
    file = copy.write(f"{LATER}.{name}", old=False)
    pauses = Pauses([lambda: os.utime(file, (1, 1))])
    assert wait(copy, pauses, "no-writers").looks == 2
    assert f"{LATER} {name.partition('.')[0]}" in pauses.told[0]["no-writers"]


@VERSIONS
def test_a_restore_of_hudis_is_at_work_and_a_dead_one_of_hudictls_is_not(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[0]
    die(copy, target, "delete files", RestoreOptions(delete_later_savepoints=True))
    assert wait(copy, Pauses(), "no-writers").looks == 1
    assert isinstance(attempt(lambda: wait(copy, Pauses(), "nothing-pending", timeout_s=0)), Conflict)
    other = unpack(version, "mor_savepoints")
    pending_restore(other, LATER, other.savepoints[-1], begun=True)
    files = [path for path in other.timeline.iterdir() if path.name.startswith(LATER)]
    for path in files:
        os.utime(path)
    pauses = Pauses([lambda: [os.utime(path, (1, 1)) for path in files]])
    assert wait(other, pauses, "no-writers").looks == 2
    assert f"{LATER} restore INFLIGHT may be running" in pauses.told[0]["no-writers"]


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("idle_ms", [0, LONG_MS])
def test_it_waits_for_all_that_a_restore_refuses_with_12(unpack: Unpack, version: str, idle_ms: int) -> None:
    """On every sample table, at once and after any time; and where a restore goes on, it does not wait."""
    waits, options = 0, RestoreOptions(to_instant=True, idle_ms=idle_ms)
    for name in support.names(version):
        copy = unpack(version, name)
        refused = attempt(partial(plan, copy, copy.commits[0], options))
        found = attempt(partial(wait, copy, Pauses(), "no-writers", timeout_s=0, idle_ms=idle_ms))
        if isinstance(refused, Conflict):
            assert isinstance(found, Conflict), f"{name}: {refused.message}"
            assert refused.message.partition(":")[0] in found.message
            waits += 1
        elif refused is None:
            assert found is None, name
    assert (waits > 0) == (idle_ms > 0)


# Nothing pending.


@VERSIONS
def test_all_that_is_pending_must_end(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = (path for path in copy.timeline.glob("*.compaction.requested"))
    half = copy.write("20261121090000000.savepoint.inflight")
    pauses = Pauses([lambda: drop(compaction), half.unlink])
    assert wait(copy, pauses, "nothing-pending").looks == 3
    first, second = (told["nothing-pending"] for told in pauses.told)
    assert first.startswith("2 instants pending: ")
    assert second == "1 instant pending: 20261121090000000 savepoint INFLIGHT"


def test_an_unknown_action_is_pending_too(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    file = copy.write(f"{LATER}.frobnicate.requested")
    assert wait(copy, Pauses([file.unlink]), "nothing-pending").looks == 2


# One instant.


@VERSIONS
def test_an_instant_is_completed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    begin(copy)
    done = f"{LATER}.commit" if version == "v6" else f"{LATER}_20261121040001000.commit"
    pauses = Pauses([lambda: copy.write(done)])
    assert wait(copy, pauses, f"instant={LATER}").looks == 2
    assert pauses.told == [{f"instant={LATER}": f"{LATER} commit INFLIGHT"}]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_instant_that_is_removed_ends_the_wait(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    last, before = copy.commits[-1], copy.commits[-2]
    roll_back(copy, last)
    with pytest.raises(Refused, match=f"{last} was removed by [0-9]+: it does not come any more"):
        wait(copy, Pauses(), f"instant={last}")
    restore(copy, copy.commits[0], options=RestoreOptions(to_instant=True))
    with pytest.raises(Refused, match=f"{before} was removed by"):
        wait(copy, Pauses(), "nothing-pending", f"instant={before}")


def test_an_instant_that_is_rolled_back_while_it_is_waited_for(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_failed_direct")
    (failed,) = (entry.time for entry in load_timeline(copy.table).writes() if entry.pending)
    pauses = Pauses([lambda: None, lambda: roll_back(copy, failed)])
    with pytest.raises(Refused, match=f"{failed} was removed by"):
        wait(copy, pauses, f"instant={failed}", idle_ms=0)
    assert len(pauses.pauses) == 2


def archived(copy: Copy) -> list[str]:
    return archived_writes_after(copy.table, "0")


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_archived_instant_is_completed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, next(name for name in support.names(version) if archived(unpack(version, name))))
    assert wait(copy, Pauses(), f"instant={archived(copy)[0]}").looks == 1


def test_an_instant_that_never_was_and_one_that_may_come(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    with pytest.raises(Refused, match="does not come any more") as refusal:
        wait(copy, Pauses(), "instant=20261121030000001")
    assert "nearest on the active timeline" in refusal.value.hint
    soon = format_time(datetime.now(timezone.utc) + timedelta(hours=1))
    with pytest.raises(Conflict, match="is not on the timeline yet") as over:
        wait(copy, Pauses(), f"instant={soon}", timeout_s=25)
    assert over.value.fields["looks"] == 4
    pauses = Pauses()
    with pytest.raises(Conflict):
        wait(copy, pauses, f"instant={soon}", timeout_s=1)
    assert pauses.pauses == [1]
    assert over.value.fields["conditions"][0].holds is False


# A savepoint.


@VERSIONS
def test_the_newest_savepoint_can_be_restored(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    pauses = Pauses([lambda: savepoint(copy)])
    assert wait(copy, pauses, "savepoint-restorable").looks == 2
    assert pauses.told == [{"savepoint-restorable": "there is no savepoint"}]


@VERSIONS
def test_a_file_of_the_savepoint_comes_back(unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is verified only when the other conditions hold."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    file = next(copy.path.glob(f"*/*_{target}.parquet"))
    away = file.rename(copy.path.parent / file.name)
    put(lock(copy), "held")
    verified = []
    real = waiting.verify_savepoint
    monkeypatch.setattr(waiting, "verify_savepoint", lambda *given: verified.append(1) or real(*given))
    pauses = Pauses([lock(copy).unlink, lambda: away.rename(file)])
    found = wait(copy, pauses, f"savepoint-restorable={target}", "no-writers")
    name = f"savepoint-restorable={target}"
    assert pauses.told[0][name] == "verified when the others hold"
    assert file.name in pauses.told[1][name]
    assert (len(verified), found.looks) == (2, 3)
    assert [row.condition for row in found.conditions] == [name, "no-writers"]


def test_a_savepoint_that_does_not_exist(unpack: Unpack) -> None:
    with pytest.raises(Refused, match="savepoint"):
        wait(unpack("v9", "cow_part"), Pauses(), "savepoint-restorable=20261121030301559")


# Looks that fail, and their pace.


def failing(monkeypatch: pytest.MonkeyPatch, *errors: Exception | None) -> None:
    """The first looks end with these errors; one without, and all later ones, succeed."""
    left = list(errors)

    def look(table: Table) -> Signs:
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        return read_signs(table)

    monkeypatch.setattr(waiting, "read_signs", look)


BROKEN = [StorageFailed("no connection"), Unreadable("half a file"), FileNotFoundError(2, "gone", "x")]


@pytest.mark.parametrize("error", [*BROKEN, Conflict("it was archived")], ids=lambda error: type(error).__name__)
def test_a_look_that_fails_once_is_made_again(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    copy = unpack("v9", "cow_part")
    put(lock(copy), "held")
    failing(monkeypatch, error, None, error)
    assert wait(copy, Pauses([lambda: None, lambda: None, lock(copy).unlink]), "no-writers").looks == 4


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
def test_two_failures_in_a_row_and_a_failure_at_the_end_are_errors(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    copy, pauses = unpack("v9", "cow_part"), Pauses()
    failing(monkeypatch, error, error)
    with pytest.raises(HudictlError) as failed:
        wait(copy, pauses, "no-writers")
    assert (failed.value.exit_code, len(pauses.pauses)) == (14 if isinstance(error, Unreadable) else 15, 1)
    failing(monkeypatch, error)
    with pytest.raises(HudictlError) as at_once:
        wait(copy, Pauses(), "no-writers", timeout_s=0)
    assert at_once.value.exit_code == failed.value.exit_code


def test_a_table_that_always_changes_is_no_failure(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy, pauses = unpack("v9", "cow_part"), Pauses()
    failing(monkeypatch, *[Conflict("it was archived")] * 9)
    with pytest.raises(Conflict, match="not so after 60 s: no-writers: it was archived"):
        wait(copy, pauses, "no-writers")
    assert pauses.pauses == [10.0] * 6


@pytest.mark.parametrize(
    ("timeout_s", "every_s", "pauses"), [(0, 10, []), (21, 10, [10, 10, 5]), (60, 3600, [60]), (12, 5, [5, 5, 5])]
)
def test_the_pace(unpack: Unpack, timeout_s: int, every_s: int, pauses: list[float]) -> None:
    copy, found = unpack("v9", "cow_part"), Pauses()
    put(lock(copy), "held")
    before = tree(copy.path)
    with pytest.raises(Conflict, match="not so after"):
        wait(copy, found, "no-writers", timeout_s=timeout_s, every_s=every_s)
    assert found.pauses == pauses
    assert tree(copy.path) == before


def test_a_pause_is_as_long_as_the_look_before(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy, pauses = unpack("v9", "cow_part"), Pauses()
    put(lock(copy), "held")

    def slow(table: Table) -> Signs:
        pauses.now += 100
        return read_signs(table)

    monkeypatch.setattr(waiting, "read_signs", slow)
    with pytest.raises(Conflict):
        wait(copy, pauses, "no-writers", timeout_s=350)
    assert pauses.pauses == [100, 100]


WRONG = ["", "writers", "no-writers=1", "nothing-pending=", "instant", "instant=", "instant=x", "savepoint-restorable="]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError, match=f"--for {text}: not a condition"):
        parse_condition(text)
