"""Kept files, and their undo, with a death at any change to the file system: all comes back, byte for byte."""

from pathlib import Path

import pytest

from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.kept import begun_undo, room_times
from hudictl.table.open import open_table
from tests import support
from tests.crash import reader
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.restore_support import Case, _case, _check_promise, _restore, _state
from tests.helpers import session

pytestmark = pytest.mark.crash

KEEPING = RestoreOptions(settle_s=0.0, keep_files=True)
EVERYTHING = RestoreOptions(
    to_instant=True, delete_later_savepoints=True, keep_backup=True, keep_files=True, settle_s=0.0, metadata="delete"
)
TABLES = [("cow_cluster", 0), ("mor_savepoints", 1), ("mor_pending_compaction", 1), ("mor_failed_direct", 0)]


def _whole(base: Path) -> dict[str, tuple[bytes, int]]:
    """All files but hudictl's own, with content and modification time."""
    found = {path.relative_to(base).as_posix(): path for path in base.rglob("*") if path.is_file()}
    return {
        name: (path.read_bytes(), path.stat().st_mtime_ns)
        for name, path in found.items()
        if not name.startswith(".hoodie/.hudictl")
    }


def _undo(base: Path, time: str) -> None:
    table = open_table(str(base))
    execute_undo(session(table), plan_undo(session(table), time, 0), 0)


def _room(base: Path) -> str | None:
    return next(iter([*room_times(open_table(str(base)))][::-1]), None)


def _assert_as_before(case: Case, base: Path) -> None:
    assert _whole(base) == _whole(case.base)
    assert _room(base) is None
    assert begun_undo(open_table(str(base))) is None


@pytest.mark.short(
    *("v6-mor_savepoints-keep", "v6-mor_failed_direct-everything"),
    *("v9-cow_cluster-everything", "v9-mor_savepoints-keep"),
)
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(("name", "number"), TABLES)
@pytest.mark.parametrize("options", [KEEPING, EVERYTHING], ids=["keep", "everything"])
def test_a_restore_that_died_is_undone(
    version: str, name: str, number: int, options: RestoreOptions, tmp_path: Path
) -> None:
    case = _case(version, name, number, tmp_path, options)
    for at in deaths(case.mutations, 9):
        base = copy(case.base, tmp_path / f"crash-{at}")
        with dying(at), pytest.raises(Crash):
            _restore(base, case.target, options)
        time = _room(base)
        if time is None:
            # It died before its first change.
            assert _whole(base) == _whole(case.base)
            continue
        _check_promise(case, base)
        _undo(base, time)
        _assert_as_before(case, base)


@pytest.mark.short("v6-mor_savepoints", "v9-cow_cluster")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(("name", "number"), TABLES)
def test_a_restore_that_died_is_finished_and_then_undone(version: str, name: str, number: int, tmp_path: Path) -> None:
    case = _case(version, name, number, tmp_path, KEEPING)
    for at in deaths(case.mutations, 13):
        base = copy(case.base, tmp_path / f"crash-{at}")
        with dying(at), pytest.raises(Crash):
            _restore(base, case.target, KEEPING)
        _restore(base, case.target, KEEPING)
        assert _state(base) == case.after, at
        time = _room(base)
        assert time is not None
        _undo(base, time)
        rest = _room(base)
        if rest is not None:
            # Of an attempt that died before its request.
            _undo(base, rest)
        _assert_as_before(case, base)


@pytest.mark.short("v6-mor_savepoints", "v9-cow_cluster")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(("name", "number"), TABLES)
def test_restore_and_undo_die_both(version: str, name: str, number: int, tmp_path: Path) -> None:
    case = _case(version, name, number, tmp_path, KEEPING)
    for first in deaths(case.mutations, 23):
        died = copy(case.base, tmp_path / f"died-{first}")
        with dying(first), pytest.raises(Crash):
            _restore(died, case.target, KEEPING)
        time = _room(died)
        if time is None:
            continue
        with dying(None) as system:
            _undo(copy(died, tmp_path / f"counted-{first}"), time)
        for at in deaths(system.count, 11):
            base = copy(died, tmp_path / f"crash-{first}-{at}")
            with dying(at), pytest.raises(Crash):
                _undo(base, time)
            _check_promise(case, base)
            if _room(base) is not None:
                _undo(base, time)
            _assert_as_before(case, base)


@pytest.mark.short(
    *("v6-mor_savepoints-everything", "v6-mor_failed_direct-keep"),
    *("v9-cow_cluster-keep", "v9-mor_savepoints-everything"),
)
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(("name", "number"), TABLES)
@pytest.mark.parametrize("options", [KEEPING, EVERYTHING], ids=["keep", "everything"])
def test_an_undo_dies_anywhere(version: str, name: str, number: int, options: RestoreOptions, tmp_path: Path) -> None:
    case = _case(version, name, number, tmp_path, options)
    restored = copy(case.base, tmp_path / "restored")
    _restore(restored, case.target, options)
    time = _room(restored)
    assert time is not None
    counted = copy(restored, tmp_path / "counted")
    with dying(None) as system:
        _undo(counted, time)
    _assert_as_before(case, counted)
    for at in deaths(system.count, 7):
        base = copy(restored, tmp_path / f"crash-{at}")
        with dying(at), pytest.raises(Crash):
            _undo(base, time)
        _check_promise(case, base)
        if _room(base) is not None:
            _undo(base, time)
        _assert_as_before(case, base)
        assert reader.snapshot(base).digest == reader.snapshot(case.base).digest
