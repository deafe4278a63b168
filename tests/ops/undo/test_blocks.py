"""Which slices of a version 6 table are marked."""

import re
from typing import Any

import pytest

from hudictl.engine.base import TaskResult
from hudictl.engine.local import LocalEngine
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.timeline.active import load_timeline
from tests.fixtures import Unpack
from tests.helpers import appended_log, die, drop, plan, put, restore, rollback_of
from tests.ops.rollback.execute_support import newest


def test_a_log_that_a_marker_names_is_marked_before_a_whole_block_is_in_it(unpack: Unpack) -> None:
    """Its writer died in the middle of the block; an executor of it may write on."""
    copy = unpack("v6", "mor_failed_direct")
    target = newest(copy)
    blocks = {block.slice for block in rollback_of(copy, target).removal.blocks}
    assert blocks
    log = appended_log(copy, target)
    put(log, log.read_bytes()[:-9])
    assert {block.slice for block in rollback_of(copy, target).removal.blocks} == blocks


def test_a_slice_of_which_nothing_is_there_is_not_marked(unpack: Unpack) -> None:
    """The block would be all that readers find of the file group: they would take it for the newest slice."""
    copy = unpack("v6", "mor_failed_direct")
    target = newest(copy)
    (first, *rest) = sorted(block.slice for block in rollback_of(copy, target).removal.blocks)
    partition, file_id, instant = first
    for path in copy.data():
        if path.startswith(f"{partition}/") and file_id in path and instant in path:
            drop(copy.path / path)
    assert sorted(block.slice for block in rollback_of(copy, target).removal.blocks) == rest


def test_the_rest_of_a_restore_marks_what_its_stored_rollbacks_say(unpack: Unpack) -> None:
    """Un-publishing took the write statistics away."""
    copy = unpack("v6", "mor_savepoints")
    target = copy.savepoints[-1]
    before = [removal.blocks for removal in plan(copy, target).undo.removals]
    die(copy, target, "delete files")
    assert [removal.blocks for removal in plan(copy, target).undo.removals] == before


@pytest.mark.slow
def test_a_change_log_beside_the_logs_of_a_slice_hinders_no_block(unpack: Unpack) -> None:
    """It is required like the logs, and gets none."""
    copy = unpack("v6", "mor_part")
    target = copy.commits[0]
    entry = plan(copy, target, RestoreOptions(to_instant=True)).undo.marked[0]
    changes = re.sub(r"log\.\d+_", "log.77_", entry.logs[0][0]) + ".cdc"
    put(copy.path / entry.partition / changes, b"changes")
    assert entry in plan(copy, target, RestoreOptions(to_instant=True)).undo.marked
    restore(copy, target, options=RestoreOptions(to_instant=True))
    assert (copy.path / entry.partition / changes).exists()


def test_a_write_that_never_came_to_a_log_meant_the_slice_that_a_compaction_had_opened(unpack: Unpack) -> None:
    """It died before it wrote: its profile names the file groups alone. The slice below is not its own."""
    copy = unpack("v6", "mor_pending_compaction")
    (compaction,) = load_timeline(copy.table).having("compaction")
    died, *later = [time for time in copy.commits if time > compaction.time]
    drop(copy.file(died, "deltacommit"))
    for time in later:
        for name in [name for name in copy.instants() if name.startswith(time)]:
            drop(copy.timeline / name)
    for path in copy.data():
        if compaction.time in path:
            drop(copy.path / path)
    target = max(time for time in copy.commits if time < compaction.time)
    made = plan(copy, target, RestoreOptions(to_instant=True))
    assert {removal.time: removal.blocks for removal in made.undo.removals} == {died: (), compaction.time: ()}


def test_the_rest_of_a_restore_looks_into_no_log(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where the partitions are listed: a table can have very many logs."""
    copy = unpack("v6", "mor_savepoints")
    target = copy.savepoints[-1]
    die(copy, target, "delete files")
    labels: list[str] = []
    real = LocalEngine.over

    def over(engine: LocalEngine, label: str, *rest: Any) -> list[TaskResult[Any]]:
        labels.append(label)
        return real(engine, label, *rest)

    monkeypatch.setattr(LocalEngine, "over", over)
    assert plan(copy, target).undo.removals
    assert "judge partitions" in labels
    assert "read log headers" not in labels
