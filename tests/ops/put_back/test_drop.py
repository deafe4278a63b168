"""What is dropped does not come back, and an undo does not say that it does."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, Findings, HudictlError, Refused, Unreadable
from hudictl.library import changes
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.ops.put_back.planning import plan_undo, undone_already
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.health.check import check_table
from hudictl.reports.history import history_rows
from hudictl.reports.undo_list import undo_rows
from hudictl.storage import Storage, delete_all
from hudictl.table import kept
from hudictl.table.kept import begun_undo, drop_room, room_times
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, OWN, At, Copy, die, put, restore, savepoint, session
from tests.ops.put_back.undo_support import state, undo
from tests.state.orphans.find_support import between_commits, listed_orphan

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
KEEPING = RestoreOptions(to_instant=True, keep_files=True, settle_s=0.0, delete_later_savepoints=True)


def orphans_deleted(copy: Copy) -> str:
    listed_orphan(copy, between_commits(copy))
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0, keep_files=True))
    time = delete_orphans(session(copy.table), made).undo
    assert time is not None
    return time


def metafile_repaired(copy: Copy) -> str:
    """The damaged metafile of a partition is set aside, and written anew."""
    file = copy.path / "part-0" / ".hoodie_partition_metadata"
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(b"xxx\n")
    change = changes.metafile_repair(())
    done = change.execute(session(copy.table), change.plan(session(copy.table)))
    return done.undo


def dies_in_drop(copy: Copy, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, a drop dies between the deletion of what is kept and that of the record."""

    def dies(storage: Storage, paths: Sequence[str]) -> None:
        delete_all(storage, paths)
        raise Conflict("it dies here")

    monkeypatch.setattr(kept, "delete_all", dies)


def test_one_that_is_named_twice_is_dropped_once(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    time = orphans_deleted(copy)
    assert [entry.undo for entry in plan_drop(session(copy.table), [time, time], None).dropped] == [time]


@VERSIONS
@pytest.mark.parametrize("operation", [orphans_deleted, metafile_repaired])
@pytest.mark.parametrize("by_hand", [False, True], ids=["dropped", "by-hand"])
def test_what_is_gone_is_not_undone(unpack: Unpack, version: str, operation: object, by_hand: bool) -> None:
    """The drop died before its end, or somebody has deleted the folder."""
    copy = unpack(version, "cow_part")
    time = operation(copy)  # type: ignore[operator]
    if by_hand:
        shutil.rmtree(copy.path / OWN / "undo" / time)
    else:
        with pytest.MonkeyPatch.context() as patch:
            dies_in_drop(copy, patch)
            with pytest.raises(Conflict, match="dies here"):
                drop_room(copy.table, time)
    before = state(copy)
    with pytest.raises(Refused, match="not all can come back|has changed" if by_hand else "was dropped"):
        plan_undo(session(copy.table), time, 0)
    (row,) = undo_rows(copy.table)
    assert row.possible is False
    execute_drop(session(copy.table), plan_drop(session(copy.table), [time], None))
    assert (state(copy), [*room_times(copy.table)]) == (before, [])
    (drop,) = (row.instant for row in history_rows(copy.table) if row.operation == "undo drop")
    with pytest.raises(Refused, match=f"nothing is kept of an operation {time} any more: it was dropped .* at {drop}"):
        plan_undo(session(copy.table), time, 0)
    with pytest.raises(Refused, match=r"nothing is kept of an operation 20200101000000000$"):
        plan_undo(session(copy.table), "20200101000000000", 0)


@pytest.mark.slow
@VERSIONS
def test_an_undo_that_died_at_its_very_end_is_one(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """All was back: the same command again ends it, although nothing is kept any more."""
    copy = unpack(version, "cow_part")
    time = orphans_deleted(copy)
    with monkeypatch.context() as patch:
        dies_in_drop(copy, patch)
        with pytest.raises(Conflict, match="dies here"):
            undo(copy, time)
    before = state(copy)
    assert (begun_undo(copy.table), [*room_times(copy.table)]) == (None, [time])
    undo(copy, time)
    assert (state(copy), [*room_times(copy.table)]) == (before, [])


def test_only_what_has_ended_counts_as_undone(unpack: Unpack) -> None:
    """A drop, too, leaves nothing behind; and an undo that has failed before it."""
    copy = unpack("v9", "cow_part")
    time = orphans_deleted(copy)
    assert undone_already(copy.table, time) is None
    begun(copy, time)
    assert undone_already(copy.table, time) is None
    undo(copy, time)
    done = undone_already(copy.table, time)
    assert done is not None
    assert done > time

    dropped = orphans_deleted(copy)
    begun(copy, dropped)
    execute_drop(session(copy.table), plan_drop(session(copy.table), [dropped], None))
    assert undone_already(copy.table, dropped) is None


def test_a_drop_that_stopped_between_two_goes_on(unpack: Unpack) -> None:
    """What it has dropped is no reason to refuse; a time that no operation has is one."""
    copy = unpack("v9", "cow_part")
    first = orphans_deleted(copy)
    second = orphans_deleted(copy)
    drop_room(copy.table, first)
    made = plan_drop(session(copy.table), [first, second], None)
    assert [entry.undo for entry in made.dropped] == [second]
    with pytest.raises(Refused, match="nothing is kept of an operation 1"):
        plan_drop(session(copy.table), [first, "1"], None)


def begun(copy: Copy, time: str) -> None:
    """The undo dies before it has put anything back."""

    def dies() -> None:
        raise Conflict("it dies here")

    with pytest.raises(Conflict, match="dies here"):
        undo(copy, time, At("put files back", dies))


@pytest.mark.slow
@VERSIONS
def test_an_age_does_not_drop_what_an_undo_that_died_needs(unpack: Unpack, version: str) -> None:
    """It is finished, or dropped by its name."""
    copy = unpack(version, "cow_savepoints")
    before = state(copy)
    time = restore(copy, copy.commits[0], options=KEEPING).restore
    begun(copy, time)
    made = plan_drop(session(copy.table), [], 0)
    assert (made.dropped, made.pending) == ((), (time,))
    assert [entry.undo for entry in plan_drop(session(copy.table), [time], None).dropped] == [time]
    undo(copy, time)
    assert state(copy) == before


@pytest.mark.slow
def test_an_undo_that_begins_after_the_plan_keeps_its_files(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    time = restore(copy, copy.commits[0], options=KEEPING).restore
    made = plan_drop(session(copy.table), [], 0)
    begun(copy, time)
    with pytest.raises(Refused, match=f"the undo of {time} has begun: what it keeps is still needed"):
        execute_drop(session(copy.table), made)
    undo(copy, time)


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("record", [b"", None], ids=["damaged", "missing"])
def test_an_undo_that_has_begun_without_a_whole_record_has_a_way_out(
    unpack: Unpack, version: str, record: bytes | None
) -> None:
    """Nothing else may begin before it: each message names the command that ends it."""
    copy = unpack(version, "cow_savepoints")
    target = copy.commits[0]
    time = restore(copy, target, options=KEEPING).restore
    begun(copy, time)
    file = copy.path / OWN / "undo" / f"{time}.json"
    file.unlink() if record is None else file.write_bytes(record)
    with pytest.raises(HudictlError) as caught:
        plan_undo(session(copy.table), time, 0)
    assert f"`hudictl undo drop {time}`" in caught.value.hint
    with pytest.raises(Refused, match="has begun") as refused:
        savepoint(copy)
    assert f"`hudictl undo drop {time}` ends it" in refused.value.hint
    (found,) = [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == "undo-begun"]
    assert found.advice == f"`hudictl undo drop {time}`"
    (row,) = undo_rows(copy.table)
    assert (row.undo, bool(row.problem)) == (time, True)
    execute_drop(session(copy.table), plan_drop(session(copy.table), [time], None))
    assert not list((copy.path / OWN / "undo").iterdir())
    restore(copy, target, options=replace(KEEPING, keep_files=False))
    assert copy.commits == [target]


def test_a_damaged_record_of_a_pending_restore_stays(unpack: Unpack) -> None:
    """What it keeps is still needed; `resume` names the file, and finishes it when that is out of the table."""
    copy = unpack("v9", "cow_savepoints")
    die(copy, copy.commits[0], "verify", KEEPING)
    (time,) = room_times(copy.table)
    record = copy.path / OWN / "undo" / f"{time}.json"
    record.write_bytes(b"")
    with pytest.raises(Refused, match="is pending"):
        plan_drop(session(copy.table), [time], None)
    with pytest.raises(Findings, match=f"what is kept of {time} stays"):
        plan_drop(session(copy.table), [], 0)
    with pytest.raises(Unreadable) as caught:
        restore(copy, copy.commits[0], options=KEEPING)
    assert "move this file out of the table first, and `hudictl resume` finishes it" in caught.value.hint
    record.unlink()
    restore(copy, copy.commits[0], options=replace(KEEPING, keep_files=False))
    execute_drop(session(copy.table), plan_drop(session(copy.table), [time], None))
    assert [*room_times(copy.table)] == []


@pytest.mark.parametrize("record", [b"", None], ids=["damaged", "gone"])
def test_a_record_that_cannot_be_read_does_not_keep_the_others(unpack: Unpack, record: bytes | None) -> None:
    """By age, they are dropped; it stays, is named, and its space is freed by its name."""
    copy = unpack("v9", "cow_part")
    first, second = orphans_deleted(copy), orphans_deleted(copy)
    file = copy.path / OWN / "undo" / f"{second}.json"
    file.unlink() if record is None else file.write_bytes(record)
    made = plan_drop(session(copy.table), [], 0)
    assert ([entry.undo for entry in made.dropped], made.unreadable) == ([first], (second,))
    for _ in range(2):
        with pytest.raises(Findings, match=f"what is kept of {second} stays") as caught:
            execute_drop(session(copy.table), plan_drop(session(copy.table), [], 0))
        assert caught.value.hint == f"`hudictl undo drop {second}` frees all that it keeps"
    (row,) = undo_rows(copy.table)
    assert (row.undo, f"undo/{second}.json is" in str(row.problem)) == (second, True)
    execute_drop(session(copy.table), plan_drop(session(copy.table), [second], None))
    assert not list((copy.path / OWN / "undo").iterdir())


@pytest.mark.parametrize("name", ["..", ".", "", "x"])
def test_only_folders_of_operations_are_dropped(unpack: Unpack, name: str) -> None:
    copy = unpack("v9", "cow_part")
    orphans_deleted(copy)
    put(copy.path / OWN / "undo" / "x" / "file", b"")
    with pytest.raises(Refused, match="nothing is kept"):
        plan_drop(session(copy.table), [name], None)


def test_a_file_that_says_that_an_undo_has_begun_blocks_nothing_for_good(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    put(copy.path / OWN / "undo" / "1.begun", b"")
    execute_drop(session(copy.table), plan_drop(session(copy.table), ["1"], None))
    assert begun_undo(copy.table) is None
    with pytest.raises(Refused, match="nothing is kept of an operation 1"):
        plan_drop(session(copy.table), ["1"], None)


@pytest.mark.parametrize(
    "odd", [{"begun_at": "x"}, {"begun_at": ""}, {"days": 10**12}, {"days": -(10**9)}, {"days": 10**7}]
)
def test_a_record_with_values_that_are_no_dates_is_damaged(unpack: Unpack, odd: dict[str, object]) -> None:
    """And what else is kept is listed."""
    copy = unpack("v9", "cow_part")
    time = restore(copy, copy.commits[0], options=KEEPING).restore
    room = copy.path / OWN / "undo"
    told = json.loads((room / f"{time}.json").read_text())
    put(room / "1.json", json.dumps({**told, "times": ["1"], **odd}))
    whole, damaged = undo_rows(copy.table)
    assert (whole.undo, whole.possible, damaged.undo) == (time, True, "1")
    assert "1.json is damaged" in str(damaged.problem)
    made = plan_drop(session(copy.table), [], 0)
    assert ([entry.undo for entry in made.dropped], made.unreadable) == ([time], ("1",))
    execute_drop(session(copy.table), plan_drop(session(copy.table), ["1"], None))
    assert [*room_times(copy.table)] == [time]


def test_an_orphan_that_another_program_has_deleted_is_not_waited_for(unpack: Unpack) -> None:
    """It does not count as one that was deleted; the other one comes back."""
    copy = unpack("v6", "cow_part")
    time = between_commits(copy)
    lost = listed_orphan(copy, time)
    like = max(path for path in copy.data() if path.endswith(".parquet"))
    there = f"{like.rpartition('_')[0]}_{time}.parquet"
    put(copy.path / there, (copy.path / like).read_bytes())
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0, keep_files=True))
    seen = At("delete files", lambda: (copy.path / lost).unlink())
    result = delete_orphans(session(copy.table, seen), made)
    assert result.undo is not None
    assert (len(made.orphans), result.files_deleted) == (2, 1)
    (row,) = undo_rows(copy.table)
    assert row.possible
    undo(copy, result.undo)
    assert (copy.path / there).exists()
