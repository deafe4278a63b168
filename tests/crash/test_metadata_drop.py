"""A drop of the metadata table that dies: readers never use a part of it, and the rerun finishes. If it keeps the
files, an undo brings all back, also one that dies."""

from pathlib import Path

import pytest

from hudictl.ops.metadata.drop import DropOptions, drop_metadata, plan_metadata_drop
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.storage.local import LocalStorage
from hudictl.table.kept import begun_undo, room_times
from hudictl.table.metadata.definitions import damaged_definitions
from hudictl.table.metadata.place import metadata_partition_names
from hudictl.table.open import open_table
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import Copy, assert_listed, only_listed, put, session, tree

pytestmark = pytest.mark.crash

INDEX = ("record_index",)


def _drop(base: Path, names: tuple[str, ...], *, keeps: bool = False) -> None:
    table = open_table(str(base))
    plan = plan_metadata_drop(session(table), DropOptions(names, idle_ms=0, keep_files=keeps))
    drop_metadata(session(table), plan)


def _undo(base: Path) -> None:
    """All that is kept, the newest first: a drop that died and its rerun have each kept something."""
    table = open_table(str(base))
    for time in sorted(room_times(table), reverse=True):
        execute_undo(session(table), plan_undo(session(table), time, 0), 0)


def _whole(base: Path) -> dict[str, tuple[str, int]]:
    """All files but hudictl's own, with content and modification time."""
    return {path: seen for path, seen in tree(base, ".hoodie/.hudictl").items() if seen[0] != "folder"}


def _content(base: Path, partition: str) -> dict[str, tuple[str, int]]:
    return tree(base / ".hoodie/metadata" / partition) if (base / ".hoodie/metadata" / partition).exists() else {}


@pytest.mark.parametrize("moves", [True, False], ids=["moves folders", "object store"])
@pytest.mark.parametrize("names", [(), INDEX], ids=["whole", "index"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_everywhere(
    version: str, names: tuple[str, ...], moves: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is listed is whole. Without renames most changes are deletions of files: every seventh of them."""
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    made = Copy(version, "table", support.unpack(version, "cow_record_index", tmp_path))
    data = made.data()
    whole = {name: _content(made.path, name) for name in made.table.metadata_partitions}
    kept = set(whole) - set(names) if names else set()
    trial = copy(made.path, tmp_path / "trial")
    with dying(None) as system:
        _drop(trial, names)
    changes = [number for number, call in enumerate(system.calls) if call != "unlink" or number % 7 == 0]
    assert len(changes) > 20
    for at in changes:
        base = copy(made.path, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _drop(base, names)
        left = Copy(version, "table", base)
        listed = left.table.metadata_partitions
        assert all(_content(base, name) == whole[name] for name in listed)
        assert kept <= set(listed)
        if listed:
            assert_listed(base)
        _drop(base, names)
        assert left.data() == data
        assert metadata_partition_names(left.table) == set(left.table.metadata_partitions) == kept
        found = {path.name for path in left.meta.iterdir() if path.name.startswith(".metadata")}
        assert (found, list((left.meta / ".hudictl").glob("dropped-*"))) == (set(), [])


def _made(version: str, folder: Path) -> Copy:
    """One with a partition that the metadata table alone knows."""
    made = Copy(version, "table", support.unpack(version, "cow_record_index", folder))
    only_listed(made, "old")
    return made


def _assert_whole_if_listed(made: Copy, base: Path) -> None:
    """What is listed is whole; without a listing, the partition that no folder shows has its metafile."""
    left = Copy(made.version, "table", base)
    listed = left.table.metadata_partitions
    assert all(_content(base, name) == _content(made.path, name) for name in listed)
    assert listed or (base / "old/.hoodie_partition_metadata").exists()


@pytest.mark.short("whole-v9", "index-v6")
@pytest.mark.parametrize("names", [(), INDEX], ids=["whole", "index"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_drop_that_died_is_undone_or_finished(version: str, names: tuple[str, ...], tmp_path: Path) -> None:
    made = _made(version, tmp_path)
    before = _whole(made.path)
    trial = copy(made.path, tmp_path / "trial")
    with dying(None) as system:
        _drop(trial, names, keeps=True)
    dropped = _whole(trial).keys()
    for at in deaths(system.count, 5):
        base = copy(made.path, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _drop(base, names, keeps=True)
        _assert_whole_if_listed(made, base)
        if at % 2:
            _drop(base, names, keeps=True)
            assert _whole(base).keys() == dropped
        _undo(base)
        assert _whole(base) == before
        assert not list((base / ".hoodie/.hudictl").glob("dropped-*"))


@pytest.mark.short("whole-v6", "index-v9")
@pytest.mark.parametrize("names", [(), INDEX], ids=["whole", "index"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_undo_dies_anywhere(version: str, names: tuple[str, ...], tmp_path: Path) -> None:
    made = _made(version, tmp_path)
    before = _whole(made.path)
    dropped = copy(made.path, tmp_path / "dropped")
    _drop(dropped, names, keeps=True)
    trial = copy(dropped, tmp_path / "trial")
    with dying(None) as system:
        _undo(trial)
    assert _whole(trial) == before
    for at in deaths(system.count, 3):
        base = copy(dropped, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _undo(base)
        _assert_whole_if_listed(made, base)
        _undo(base)
        assert _whole(base) == before
        assert (begun_undo(open_table(str(base))), [*room_times(open_table(str(base)))]) == (None, [])


@pytest.mark.full
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_drop_with_damaged_definitions_dies_anywhere(version: str, tmp_path: Path) -> None:
    """They go before the metadata table: so none is left damaged once it is gone."""
    made = Copy(version, "table", support.unpack(version, "mor_part", tmp_path))
    definitions = made.meta / ".index_defs/index.json"
    put(definitions, definitions.read_bytes()[:100])
    before = _whole(made.path)
    trial = copy(made.path, tmp_path / "trial")
    with dying(None) as system:
        _drop(trial, (), keeps=True)
    for at in deaths(system.count, 3):
        base = copy(made.path, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _drop(base, (), keeps=True)
        left = open_table(str(base))
        assert left.metadata_partitions or damaged_definitions(left) is None
        if at % 2:
            _drop(base, (), keeps=True)
            assert damaged_definitions(open_table(str(base))) is None
        _undo(base)
        assert _whole(base) == before
