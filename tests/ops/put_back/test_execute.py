"""What an undo has put back before it died is verified by the one that goes on, too."""

import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Incomplete, Unreadable
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.beat_rule import ASSUMED, HeartbeatRule
from hudictl.table.kept import room_times
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, At, Copy, put, restore, roll_back
from tests.ops.put_back.undo_support import state, undo
from tests.ops.rollback.together_support import many

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
KEEPING = RestoreOptions(to_instant=True, keep_files=True, settle_s=0.0, delete_later_savepoints=True)


def dies(copy: Copy, time: str, step: str) -> None:
    def stop() -> None:
        raise Conflict("it dies here")

    with pytest.raises(Conflict, match="dies here"):
        undo(copy, time, At(step, stop))


def lists(copy: Copy, time: str) -> Path:
    return copy.path / OWN / "undo" / time / "back"


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("step", ["publish instants again", "put the properties back"])
def test_a_file_that_is_lost_after_it_was_back_is_named(unpack: Unpack, version: str, step: str) -> None:
    """Before readers see its instant, if they do not yet; and the undo does not end without it."""
    copy = unpack(version, "cow_savepoints")
    before, names = state(copy), copy.data()
    time = restore(copy, copy.commits[0], options=KEEPING).restore
    lost = copy.path / min(names - copy.data())
    dies(copy, time, step)
    lost.rename(copy.path.parent / "lost")
    published = copy.commits
    for _ in range(2):
        with pytest.raises(Incomplete, match=r"^1 file not as before the restore") as caught:
            undo(copy, time)
        assert caught.value.fields["files"] == [lost.relative_to(copy.path).as_posix()]
        assert f"`hudictl undo drop {time}`" in caught.value.hint
    assert (copy.commits, [*room_times(copy.table)]) == (published, [time])
    (copy.path.parent / "lost").rename(lost)
    undo(copy, time)
    assert (state(copy), [*room_times(copy.table)]) == (before, [])


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("step", ["", "publish instants again", "put the properties back", "end"])
def test_a_heartbeat_that_comes_back_is_of_before(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, step: str
) -> None:
    """The rollback knew how often the writer sends one, and the undo does not. Nor is what has come back activity."""
    copy = unpack(version, "mor_failed_lazy")
    (failed,) = [path.name for path in (copy.meta / ".heartbeat").iterdir() if path.name.isdigit()]
    beaten = time.time() - 300
    os.utime(copy.meta / ".heartbeat" / failed, (beaten, beaten))
    before = state(copy)
    knows = replace(copy, rule=HeartbeatRule(5000, 2, assumed=False))
    done = roll_back(knows, failed, options=RollbackOptions(keep_files=True)).rollback
    copy = replace(copy, rule=ASSUMED)
    if step == "end":
        with monkeypatch.context() as patch:
            patch.setattr("hudictl.ops.put_back.execute.drop_room", None)
            with pytest.raises(TypeError):
                undo(copy, done)
    elif step:
        dies(copy, done, step)
    undo(copy, done, idle_ms=2**50 if step else 0)
    assert state(copy) == before


@pytest.mark.slow
def test_once_begun_an_undo_still_stops_for_another_writer(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    failed, *_, newest = sorted(many(copy, 3))
    done = roll_back(copy, newest, options=RollbackOptions(keep_files=True)).rollback
    dies(copy, done, "put the properties back")
    put(copy.meta / ".heartbeat" / failed, old=False)
    with pytest.raises(Conflict, match=f"{failed}.*may be alive"):
        undo(copy, done)
    (copy.meta / ".heartbeat" / failed).unlink()
    undo(copy, done)


@pytest.mark.slow
def test_an_undo_that_an_earlier_release_has_begun_is_finished(unpack: Unpack) -> None:
    """It has recorded nothing of the data files."""
    copy = unpack("v9", "cow_savepoints")
    before = state(copy)
    time = restore(copy, copy.commits[0], options=KEEPING).restore
    dies(copy, time, "publish instants again")
    shutil.rmtree(lists(copy, time))
    undo(copy, time)
    assert state(copy) == before


@pytest.mark.slow
def test_what_an_undo_recorded_that_did_not_begin_counts_no_more(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = state(copy)
    time = restore(copy, copy.commits[0], options=KEEPING).restore
    put(lists(copy, time) / "7", json.dumps([["part-0", "no.parquet", 5]]))
    undo(copy, time)
    assert state(copy) == before


@pytest.mark.slow
def test_a_long_list_is_in_pieces(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudictl.table.kept._PIECE", 2)
    copy = unpack("v9", "cow_savepoints")
    before, names = state(copy), copy.data()
    time = restore(copy, copy.commits[0], options=KEEPING).restore
    gone = names - copy.data()
    dies(copy, time, "publish instants again")
    pieces = [json.loads(file.read_text()) for file in lists(copy, time).iterdir()]
    assert {f"{partition}/{name}" for piece in pieces for partition, name, _ in piece} == gone
    assert len(pieces) == (len(gone) + 1) // 2 > 1
    undo(copy, time)
    assert state(copy) == before


@pytest.mark.slow
@pytest.mark.parametrize("body", ["{", "5", "[5]", '[["a", "b", "many"]]'])
def test_a_damaged_list(unpack: Unpack, body: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = state(copy)
    time = restore(copy, copy.commits[0], options=KEEPING).restore
    dies(copy, time, "publish instants again")
    put(lists(copy, time) / "0", body)
    with pytest.raises(Unreadable, match="back/0 is damaged"):
        undo(copy, time)
    shutil.rmtree(lists(copy, time))
    undo(copy, time)
    assert state(copy) == before


@pytest.mark.slow
@VERSIONS
def test_a_data_file_that_is_a_link_comes_back_as_one(unpack: Unpack, version: str, tmp_path: Path) -> None:
    """It has another size than what it points to."""
    copy = unpack(version, "cow_savepoints")
    file = max(copy.path.glob("part-1/*.parquet"), key=lambda path: path.name.rpartition("_")[2])
    file.rename(tmp_path / file.name)
    file.symlink_to(tmp_path / file.name)
    before = state(copy)
    time = restore(copy, copy.commits[0], options=KEEPING).restore
    assert not file.is_symlink()
    dies(copy, time, "publish instants again")
    undo(copy, time)
    assert file.is_symlink()
    assert state(copy) == before
