"""An undo dies at any change to the file system, and then it is given up: what was hidden stays hidden."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.formats.instants import RESTORE
from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.orphans.find import find_orphans
from hudictl.table.kept import begun_undo, room_times
from hudictl.table.metadata.place import listed_partitions
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.crash import reader
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.kept import without_own_times
from tests.crash.restore_support import _case, _check_promise, _restore
from tests.crash.rollback_support import _newest, _roll_back
from tests.helpers import ENGINE, is_data, session

pytestmark = pytest.mark.crash

KEEPING = RestoreOptions(settle_s=0.0, keep_files=True)


def _undo(base: Path, time: str) -> None:
    table = open_table(str(base))
    execute_undo(session(table), plan_undo(session(table), time, 0), 0)


def _drop(base: Path, time: str) -> None:
    table = open_table(str(base))
    execute_drop(session(table), plan_drop(session(table), [time], None))


def _room(base: Path) -> str:
    (time,) = room_times(open_table(str(base)))
    return time


def _mutations(base: Path, time: str) -> int:
    with dying(None) as system:
        _undo(copy(base, base.with_name(f"{base.name}-counted")), time)
    return system.count


def _has_ended(base: Path) -> bool:
    return begun_undo(open_table(str(base))) is None


def _data(base: Path) -> set[str]:
    """The data files, with hudictl's own times left out."""
    names = (path.relative_to(base).as_posix() for path in base.rglob("*") if path.is_file())
    return {without_own_times(name) for name in names if is_data(name)}


def _orphans(base: Path) -> set[str]:
    table = open_table(str(base))
    return _own(orphan.file.path for orphan in find_orphans(read_facts(table, ENGINE, read_signs(table)), ENGINE))


def _own(paths: Iterable[str]) -> set[str]:
    return {without_own_times(path) for path in paths}


def _given_up(base: Path, time: str, at: int) -> None:
    """The drop dies, too, and is run again."""
    with dying(at % 13), suppress(Crash):
        _drop(base, time)
    if not _has_ended(base) or [*room_times(open_table(str(base)))]:
        _drop(base, time)


@pytest.mark.short("v6-mor_failed_direct", "v9-cow_cluster")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(
    ("name", "number"), [("cow_cluster", 0), ("mor_savepoints", 1), ("mor_failed_direct", 0), ("mor_part", 0)]
)
def test_that_of_a_restore_which_is_then_finished(version: str, name: str, number: int, tmp_path: Path) -> None:
    """No file of the restored table is missing, also no rollback block; what is more is found."""
    case = _case(version, name, number, tmp_path, KEEPING)
    restored = copy(case.base, tmp_path / "restored")
    _restore(restored, case.target, KEEPING)
    time, rows = _room(restored), reader.snapshot(restored).digest
    for at in range(0, _mutations(restored, time), 7):
        base = copy(restored, tmp_path / f"crash-{at}")
        with dying(at), pytest.raises(Crash):
            _undo(base, time)
        if _has_ended(base):
            continue
        _given_up(base, time, at)
        _check_promise(case, base)
        _restore(base, case.target, replace(KEEPING, keep_files=False))
        assert reader.snapshot(base).digest == rows
        assert not _data(restored) - _data(base), at
        # A block may come twice.
        more = {path for path in _data(base) - _data(restored) if not path.endswith("_1-0-1")}
        assert more <= _orphans(base), at


@pytest.mark.short("v6-mor_savepoints", "v9-cow_cluster")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(("name", "number"), [("cow_cluster", 0), ("mor_savepoints", 1)])
def test_that_of_a_restore_which_died_and_is_then_finished(
    version: str, name: str, number: int, tmp_path: Path
) -> None:
    case = _case(version, name, number, tmp_path, KEEPING)
    restored = copy(case.base, tmp_path / "restored")
    _restore(restored, case.target, KEEPING)
    rows = reader.snapshot(restored).digest
    for first in deaths(case.mutations, 23):
        died = copy(case.base, tmp_path / f"died-{first}")
        with dying(first), pytest.raises(Crash):
            _restore(died, case.target, KEEPING)
        time = next(room_times(open_table(str(died))), None)
        for at in range(0, _mutations(died, time), 11) if time is not None else ():
            base = copy(died, tmp_path / f"crash-{first}-{at}")
            with dying(at), pytest.raises(Crash):
                _undo(base, time)
            if _has_ended(base):
                continue
            _given_up(base, time, at)
            _check_promise(case, base)
            _restore(base, case.target, replace(KEEPING, keep_files=False))
            assert reader.snapshot(base).digest == rows
            assert not _data(restored) - _data(base), (first, at)


@pytest.mark.short("v6-mor_part", "v9-cow_part")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_that_of_a_rollback(version: str, name: str, tmp_path: Path) -> None:
    """Until it has ended, a pending restore keeps writers out. Then its target is completed again; or its rollback
    blocks are there, and what has come back is found."""
    before = support.unpack(version, name, tmp_path)
    target = _newest(before)
    rolled = copy(before, tmp_path / "rolled")
    _roll_back(rolled, target, RollbackOptions(settle_s=0.0, keep_files=True))
    time = _room(rolled)
    views = {reader.snapshot(base).digest for base in (before, rolled)}
    for at in range(0, _mutations(rolled, time), 4):
        base = copy(rolled, tmp_path / f"crash-{at}")
        with dying(at), pytest.raises(Crash):
            _undo(base, time)
        assert reader.snapshot(base).digest in views
        if _has_ended(base):
            continue
        timeline = load_timeline(open_table(str(base)))
        assert [entry for entry in timeline.having(RESTORE) if entry.pending] or _data(base) in (
            *(_data(rolled), _data(before)),
        )
        _given_up(base, time, at)
        timeline = load_timeline(open_table(str(base)))
        assert not [*timeline.having(RESTORE)]
        assert reader.snapshot(base).digest in views
        if target not in {entry.time for entry in timeline.completed_writes()}:
            assert not _data(rolled) - _data(base), at
            pending = target in {entry.time for entry in timeline.writes()}
            assert pending or _data(base) - _data(rolled) <= _orphans(base), at
        else:
            assert _data(base) == _data(before), at


@pytest.mark.parametrize("version", support.VERSIONS)
def test_rows_that_the_metadata_table_alone_hides(version: str, tmp_path: Path) -> None:
    """The first write has died: readers that list folders would see its rows, at whatever step the undo dies."""
    before = support.unpack(version, "first_write_failed", tmp_path)
    failed = support.history_facts(version, "first_write_failed")["instants"]["failed"]
    rolled = copy(before, tmp_path / "rolled")
    _roll_back(rolled, failed, RollbackOptions(settle_s=0.0, keep_files=True))
    time, gone = _room(rolled), {name for name in _data(before) - _data(rolled) if name.endswith(".parquet")}
    assert gone
    for at in range(0, _mutations(rolled, time), 3):
        base = copy(rolled, tmp_path / f"crash-{at}")
        for number in (at, at % 17, at % 29):
            # The undo that goes on dies, too.
            with dying(number), suppress(Crash):
                if not _has_ended(base) or number == at:
                    _undo(base, time)
            assert listed_partitions(open_table(str(base))) or gone.isdisjoint(_data(base)), (at, number)
        if [*room_times(open_table(str(base)))]:
            _undo(base, time)
        assert _data(base) == _data(before)
