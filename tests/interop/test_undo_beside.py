"""A real writer with eager cleaning beside kept files: it executes pending rollbacks before it notices a restore."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Findings, Refused, StorageFailed
from hudictl.ops.put_back import execute as undoing
from hudictl.ops.restore import execute as restoring
from hudictl.storage import Storage
from hudictl.table.kept import LOST, read_room, room_times
from hudictl.table.open import open_table
from tests import support
from tests.interop import product
from tests.interop.check_support import findings
from tests.interop.judge import Judge, JudgeError
from tests.interop.make_overlaps import BY_HAND, rows
from tests.interop.scenarios import digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
TARGET = digest(rows("ab", 1))


def _made(hudi: Judge, base: Path) -> str:
    """Three writes; returns the first one."""
    first = hudi.create(base, rows("ab", 1), BY_HAND)
    for ts in (2, 3):
        hudi.upsert(base, rows("ab", ts), options=BY_HAND)
    return first


def _writes(hudi: Judge, base: Path) -> None:
    with pytest.raises(JudgeError, match="Found pending restore"):
        hudi.upsert(base, rows("a", 9), options=BY_HAND)


def _instead_of_waiting(base: Path, target: str, act: Callable[[], object]) -> int:
    """The exit code of a restore with kept files, during whose grace something happens."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restoring, "wait_for_queries", lambda *_: act())
        return product.command(base, "restore", "--to-instant", target, "--keep-files", idle="0s")


def _dies() -> None:
    raise StorageFailed("it dies here")


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_restore_whose_files_it_deletes_cannot_be_undone_and_says_so(
    judge: Judges, tmp_path: Path, version: str
) -> None:
    """Whether it comes in the grace, or after the restore has died, and whether it lives or dies."""
    hudi = judge(version)
    for number, dies in enumerate([False, True]):
        base = tmp_path / f"table-{number}"
        first = _made(hudi, base)
        if dies:
            assert _instead_of_waiting(base, first, _dies) == StorageFailed.exit_code
            with hudi.dying(base, r"delete [ab]/.*", after=True):
                hudi.upsert(base, rows("a", 9), options=BY_HAND)
        else:
            assert _instead_of_waiting(base, first, lambda at=base: _writes(hudi, at)) == Conflict.exit_code  # type: ignore[misc]
        (time,) = room_times(open_table(str(base)))
        assert product.command(base, "undo", time, idle="0s") == Refused.exit_code
        assert product.command(base, "resume", idle="0s") == Findings.exit_code
        room = read_room(open_table(str(base)), time)
        assert room is not None
        assert room.end == LOST
        assert hudi.both_rows(base) == TARGET
        assert product.command(base, "undo", time, idle="0s") == Refused.exit_code
        assert product.command(base, "undo", "drop", time) == 0
        hudi.upsert(base, rows("ab", 5), options=BY_HAND)
        assert hudi.both_rows(base) == digest(rows("ab", 5))
        assert not findings(base)


@pytest.mark.short("wait_for_queries-v9", "stage_metadata-v6")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("step", ["wait_for_queries", "stage_metadata"])
def test_it_takes_nothing_that_an_undo_brings_back(judge: Judges, tmp_path: Path, version: str, step: str) -> None:
    """Of a restore that died before or after its files were moved: a writer comes as soon as the undo has begun, and
    with each batch of files, and each instant."""
    hudi, base = judge(version), tmp_path / "table"
    first = _made(hudi, base)
    seen = hudi.both_rows(base)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(restoring, step, lambda *_, **__: _dies())
        assert (
            product.command(base, "restore", "--to-instant", first, "--keep-files", idle="0s")
            == StorageFailed.exit_code
        )
    (time,) = room_times(open_table(str(base)))
    put_back, came = undoing.put_back, []

    def beside(storage: Storage, folder: str, files: list[str]) -> object:
        done = put_back(storage, folder, files)
        _writes(hudi, base)
        came.extend(files)
        return done

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(undoing, "put_back", beside)
        patch.setattr(undoing, "settle", lambda: _writes(hudi, base))
        assert product.command(base, "undo", time, idle="0s") == 0
    assert len(came) > 6
    assert hudi.both_rows(base) == seen
    hudi.upsert(base, rows("ab", 5), options=BY_HAND)
    assert hudi.both_rows(base) == digest(rows("ab", 5))
    assert not findings(base)
