"""A drop of the metadata table that dies: readers never use a part of it, and the rerun finishes."""

from pathlib import Path

import pytest

from hudictl.ops.metadata.drop import DropOptions, drop_metadata, plan_metadata_drop
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.place import metadata_partition_names
from hudictl.table.open import open_table
from tests import support
from tests.crash.inject import Crash, copy, dying
from tests.helpers import Copy, assert_listed, session, tree

pytestmark = pytest.mark.crash

INDEX = ("record_index",)


def _drop(base: Path, names: tuple[str, ...]) -> None:
    table = open_table(str(base))
    plan = plan_metadata_drop(session(table), DropOptions(names, idle_ms=0))
    drop_metadata(session(table), plan)


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
