"""The temporary savepoint of a copy: it is nobody else's, and nobody takes it for the operator's."""

from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Refused
from hudictl.formats import savepoint as fmt
from hudictl.ops.copy.plan import CopyOptions
from hudictl.ops.savepoint.plan import PruneOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.ops.savepoint.pruning import plan_prune
from hudictl.reports.health.check import check_table
from hudictl.state.files.retention import Rules
from tests.copy_support import LAST, data_files, held, made, planned
from tests.fixtures import Unpack
from tests.helpers import ENGINE, At, Copy, die, savepoint, session
from tests.records import clean_metadata

DAY_MS = 24 * 3600 * 1000


def test_it_is_not_the_operators(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[2]
    held(copy, tmp_path / "to", target)
    with pytest.raises(Refused, match=f"temporary one of the copy to .*{tmp_path}/to"):
        plan_savepoint(session(copy.table), target)
    made(copy, target, tmp_path / "to")
    assert copy.savepoints == []
    assert not plan_savepoint(session(copy.table), target).exists


def test_a_prune_neither_counts_nor_deletes_it(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    older = savepoint(copy, copy.commits[1])
    held(copy, tmp_path / "to", copy.commits[2], older=[older])
    plan = plan_prune(session(copy.table), PruneOptions(Rules(last=1), untagged=True))
    assert ([row.instant for row in plan.savepoints], plan.savepoints_to_delete) == ([older], ())


def test_another_copy_does_not_rely_on_it(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[2]
    held(copy, tmp_path / "to", target)
    with pytest.raises(Conflict, match="whose end deletes it"):
        planned(copy.table, target, tmp_path / "other")
    assert planned(copy.table, target, tmp_path / "other", CopyOptions(savepoint=False)).savepoint == "exists"
    made(copy, target, tmp_path / "other", CopyOptions(savepoint=False))
    assert copy.savepoints == [target]


def test_a_copy_that_has_one_does_not_go_on_without(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    held(copy, tmp_path / "to", copy.commits[2], "copy")
    with pytest.raises(Refused, match="has begun with a temporary savepoint"):
        planned(copy.table, copy.commits[2], tmp_path / "to", CopyOptions(savepoint=False))


@pytest.mark.parametrize("step", ["copy", LAST])
def test_cleans_go_on_meanwhile(unpack: Unpack, step: str, tmp_path: Path) -> None:
    """A clean has passed the commit, and its savepoint has kept the files: the same command goes on."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    target = copy.commits[1]
    held(copy, to, target, step)
    copy.write("20261121040000000_20261121040000001.clean", clean_metadata([], copy.commits[-1]))
    with pytest.raises(Refused, match="temporary one of the copy") as create:
        plan_savepoint(session(copy.table), target)
    with pytest.raises(Conflict, match="whose end deletes it") as other:
        planned(copy.table, target, tmp_path / "other")
    assert "do not delete this savepoint" in create.value.hint
    assert "copy with --no-savepoint" in other.value.hint
    made(copy, target, tmp_path / "other", CopyOptions(savepoint=False))
    assert made(copy, target, to) is not None
    assert copy.savepoints == []
    assert data_files(to) == data_files(tmp_path / "other")
    with pytest.raises(Refused, match="may have deleted files of older commits"):
        planned(copy.table, target, tmp_path / "new")


def test_its_savepoint_is_deleted_before_it_goes_on(unpack: Unpack, tmp_path: Path) -> None:
    """A clean has passed the commit: no new savepoint protects it."""
    copy, to = unpack("v9", "cow_part"), tmp_path / "to"
    target = copy.commits[1]
    held(copy, to, target, "copy")
    copy.write("20261121040000000_20261121040000001.clean", clean_metadata([], copy.commits[-1]))

    def gone() -> None:
        for path in copy.timeline.glob(f"{target}*savepoint*"):
            path.unlink()

    with pytest.raises(Refused, match="may have deleted files of older commits"):
        made(copy, target, to, monitor=At("begin the copy", gone))
    assert copy.savepoints == []


def test_a_restore_that_requires_it_keeps_it(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[2]

    with pytest.raises(Refused, match="is pending, and restores to this savepoint"):
        made(copy, target, tmp_path / "to", monitor=At(LAST, lambda: die(copy, target, "delete files")))
    assert copy.savepoints == [target]


def test_one_that_nobody_ends_is_found(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[2]
    held(copy, tmp_path / "to", target)
    assert check_table(copy.table, ENGINE, 600_000).findings == ()
    file = copy.file(target, "savepoint")
    metadata = fmt.decode(file.read_bytes(), file.name)
    file.write_bytes(fmt.encode(replace(metadata, saved_at_ms=metadata.saved_at_ms - DAY_MS)))
    (found,) = check_table(copy.table, ENGINE, 600_000).findings
    assert (found.finding, found.remedy[0].command.split()[:3]) == (
        "savepoint-remnant",
        ["hudictl", "savepoint", "delete"],
    )


def test_slices_of_a_compaction_that_the_copy_has_get_blocks(unpack: Unpack, tmp_path: Path) -> None:
    """Version 6: rows of instants after the copy, in logs of slices that a pending compaction has opened."""
    copy = unpack("v6", "mor_pending_compaction")
    target = copy.commits[4]
    assert planned(copy.table, target, tmp_path / "to").rollback_blocks == 6
    made(copy, target, tmp_path / "to")
    there = Copy("v6", "to", tmp_path / "to")
    assert check_table(there.table, ENGINE, 600_000).findings == ()
