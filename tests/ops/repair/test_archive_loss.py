"""What ``archive repair`` has lost stays known, whatever becomes of its record; and what it has not lost is no loss."""

import shutil
from pathlib import Path

import pytest

from hudictl.errors import Refused, StorageFailed
from hudictl.ops.guards import timeline as guards
from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.table.archive_lost import lost_until
from hudictl.table.open import open_table
from hudictl.table.operations import operation_instants, operation_path
from tests import support
from tests.damage.harms import do_harm
from tests.helpers import put, session
from tests.ops.repair.archive_support import CASES, files, plan, repair, repair_is_nothing


def lost_archive(version: str, folder: Path) -> Path:
    """A table with a cut file in its archive."""
    case = next(case for case in CASES if (case.version, case.kind, case.harm) == (version, "archive", "cut"))
    base = support.unpack(case.version, case.table, folder)
    do_harm(base, case.path, case.harm)
    return base


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("how", ["damaged", "moved", "dropped"])
def test_the_loss_does_not_depend_on_the_record(version: str, how: str, tmp_path: Path) -> None:
    """Damaged, moved out of the table as the hint says, or damaged when nothing is kept any more."""
    base = lost_archive(version, tmp_path)
    undo, table = repair(base).undo, open_table(str(base))
    lost = lost_until(table)
    if how == "dropped":
        execute_drop(session(table), plan_drop(session(table), [undo], None))
    record = base / operation_path(undo)
    record.unlink() if how == "moved" else put(record, record.read_bytes()[:100])
    assert lost_until(table) == lost != ""


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("at", ["new_room", "note_loss", "_change"])
def test_a_loss_that_did_not_happen_can_be_withdrawn(
    version: str, at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repair died before its first change, and the archive is put back from a backup."""
    base = lost_archive(version, tmp_path / "damaged")
    whole = support.unpack(version, base.parent.name, tmp_path / "whole")

    def dies(*_given: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(f"hudictl.ops.{'session' if at == 'new_room' else 'repair.plan'}.{at}", dies)
        with pytest.raises(StorageFailed, match="dies here"):
            repair(base)
    table = open_table(str(base))
    folder = table.layout.archive
    shutil.rmtree(base / folder)
    shutil.copytree(whole / folder, base / folder)
    assert repair_is_nothing(plan(base))
    before = files(base)
    (time,) = operation_instants(table.storage)
    if at == "_change":
        with pytest.raises(Refused, match="has lost instants") as caught:
            guards.archive_is_known(table, "")
        assert f"hudictl undo {time}" in caught.value.hint
    if at != "new_room":
        execute_undo(session(table), plan_undo(session(table), time, 0), 0)
    assert (lost_until(table), files(base)) == ("", before)


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_undo_without_what_was_kept_does_not_forget_the_loss(version: str, recorded: bool, tmp_path: Path) -> None:
    base = lost_archive(version, tmp_path)
    undo, table = repair(base).undo, open_table(str(base))
    lost = lost_until(table)
    shutil.rmtree(base / ".hoodie/.hudictl/undo" / undo)
    if not recorded:
        (base / operation_path(undo)).unlink()
    with pytest.raises(Refused, match="not all can come back"):
        plan_undo(session(table), undo, 0)
    assert lost_until(table) == lost != ""
