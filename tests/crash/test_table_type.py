"""A restore that changes the table type dies at any change to the file system: readers of the type that is there see
the table as it was, or as one of its commits has left it; the same command, a withdrawal and an undo end it."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from hudictl.errors import Refused, StorageFailed
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.table.kept import room_times
from hudictl.table.open import open_table
from hudictl.table.table import COPY_ON_WRITE, MERGE_ON_READ
from tests import support
from tests.crash import reader
from tests.crash.inject import EACH, Crash, copy, deaths, dying
from tests.crash.restore_support import Case, _case, _completed, _restore, _state
from tests.crash.withdraw_support import withdraw
from tests.helpers import At, attempt, session
from tests.retyped import retype, retyped

pytestmark = pytest.mark.crash

OPTIONS = RestoreOptions(to_instant=True, settle_s=0.0, table_type=MERGE_ON_READ)
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def case_of(version: str, folder: Path, options: RestoreOptions = OPTIONS) -> Case:
    """What readers may see: the table as it is now; as merge on read, as the commits since the target have left it."""
    case = _case(version, "mor_part", 3, folder, options, retyped)
    before = copy(case.base, folder / "before")
    now = reader.snapshot(before).digest
    retype(before, MERGE_ON_READ)
    seen = {reader.as_of(before, time).digest for time in _completed(before) if time >= case.target}
    return replace(case, allowed=frozenset({now, *seen}))


def seen(case: Case, base: Path) -> None:
    assert reader.snapshot(base).digest in case.allowed
    assert not reader.missing(base)


def points(count: int, every: int) -> Iterator[tuple[int, bool]]:
    yield from ((at, False) for at in deaths(count, every))
    yield from ((at, True) for at in deaths(count, 4 * every))


@pytest.mark.short("v9")
@VERSIONS
def test_dies_anywhere_and_is_finished(version: str, tmp_path: Path) -> None:
    case = case_of(version, tmp_path)
    wanted = reader.snapshot(tmp_path / "done").digest
    for at, torn in points(case.mutations, 1):
        base = copy(case.base, tmp_path / f"crash-{at}-{torn}")
        with dying(at, torn), pytest.raises(Crash):
            _restore(base, case.target, OPTIONS)
        seen(case, base)
        _restore(base, case.target, OPTIONS)
        assert (_state(base), reader.snapshot(base).digest) == (case.after, wanted), (at, torn)
        assert open_table(str(base)).type == MERGE_ON_READ


@pytest.mark.short("v6")
@VERSIONS
def test_dies_anywhere_and_is_withdrawn_or_has_deleted_files(version: str, tmp_path: Path) -> None:
    case = case_of(version, tmp_path)
    now, withdrawn = reader.snapshot(case.base).digest, 0
    for at, torn in points(case.mutations, 2):
        base = copy(case.base, tmp_path / f"crash-{at}-{torn}")
        with dying(at, torn), pytest.raises(Crash):
            _restore(base, case.target, OPTIONS)
        error = attempt(partial(withdraw, base))
        if error is not None:
            assert (type(error), "resume" in error.hint) == (Refused, True), at
            continue
        if any(action == "restore" for _, action, _ in reader.instants(base)):
            continue
        withdrawn += 1
        assert (open_table(str(base)).type, reader.snapshot(base).digest) == (COPY_ON_WRITE, now), (at, torn)
    assert withdrawn > 20 // EACH


@pytest.mark.short("v9")
@VERSIONS
def test_a_withdrawal_dies_anywhere(version: str, tmp_path: Path) -> None:
    case = case_of(version, tmp_path)
    now = reader.snapshot(case.base).digest
    begun = copy(case.base, tmp_path / "begun")
    table = open_table(str(begun))
    made = plan_restore(session(table), case.target, OPTIONS)
    with pytest.raises(StorageFailed, match="dies here"):
        execute_restore(session(table, At("delete files", _dies)), made)
    assert open_table(str(begun)).type == MERGE_ON_READ
    with dying(None) as system:
        withdraw(copy(begun, tmp_path / "counted"))
    for at in deaths(system.count):
        base = copy(begun, tmp_path / f"withdrawal-{at}")
        with dying(at), pytest.raises(Crash):
            withdraw(base)
        seen(case, base)
        withdraw(base)
        assert (open_table(str(base)).type, reader.snapshot(base).digest) == (COPY_ON_WRITE, now), at


def _dies() -> None:
    raise StorageFailed("the process dies here")


@pytest.mark.short("v9")
@VERSIONS
def test_dies_anywhere_and_is_undone(version: str, tmp_path: Path) -> None:
    options = replace(OPTIONS, keep_files=True)
    case = case_of(version, tmp_path, options)
    whole = _whole(case.base)
    for at in deaths(case.mutations, 3):
        base = copy(case.base, tmp_path / f"crash-{at}")
        with dying(at), pytest.raises(Crash):
            _restore(base, case.target, options)
        seen(case, base)
        for time in [*room_times(open_table(str(base)))]:
            _undo(base, time)
        assert _whole(base) == whole, at


@pytest.mark.short("v6")
@VERSIONS
def test_an_undo_dies_anywhere(version: str, tmp_path: Path) -> None:
    options = replace(OPTIONS, keep_files=True)
    case = case_of(version, tmp_path, options)
    restored = copy(case.base, tmp_path / "restored")
    _restore(restored, case.target, options)
    (time,) = room_times(open_table(str(restored)))
    with dying(None) as system:
        _undo(copy(restored, tmp_path / "counted"), time)
    for at in deaths(system.count, 3):
        base = copy(restored, tmp_path / f"undo-{at}")
        with dying(at), pytest.raises(Crash):
            _undo(base, time)
        seen(case, base)
        if [*room_times(open_table(str(base)))]:
            _undo(base, time)
        assert _whole(base) == _whole(case.base), at


def _undo(base: Path, time: str) -> None:
    table = open_table(str(base))
    execute_undo(session(table), plan_undo(session(table), time, 0), 0)


def _whole(base: Path) -> dict[str, tuple[bytes, int]]:
    """All files but hudictl's own, with content and modification time."""
    files = {path.relative_to(base).as_posix(): path for path in base.rglob("*") if path.is_file()}
    return {
        name: (path.read_bytes(), path.stat().st_mtime_ns)
        for name, path in files.items()
        if not name.startswith(".hoodie/.hudictl")
    }
