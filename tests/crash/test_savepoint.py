"""A savepoint that dies while it is created or deleted: it is there whole or not at all, and the rerun finishes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.formats.savepoint import decode
from hudictl.ops.savepoint.deletion import delete_savepoint, plan_deletion
from hudictl.ops.savepoint.execute import create_savepoint
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.ops.savepoint.pruning import plan_prune, prune_savepoints
from hudictl.table.open import open_table
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import Copy, session
from tests.ops.savepoint.pruning_support import NIGHTLY, save_all

pytestmark = pytest.mark.crash

ENGINE = LocalEngine(parallelism=1)
# A rerun right after the crash: nobody else can be creating the savepoint.
OPTIONS = SavepointOptions(idle_ms=0)


def _create(base: Path) -> None:
    table = open_table(str(base))
    plan = plan_savepoint(session(table), None, OPTIONS)
    create_savepoint(session(table), plan)


def _delete(base: Path) -> None:
    table = open_table(str(base))
    time = max(path.name.split(".")[0].split("_")[0] for path in _files(base))
    delete_savepoint(session(table), plan_deletion(session(table), time))


def _files(base: Path) -> list[Path]:
    return [path for path in base.glob(".hoodie/**/*.savepoint*") if not path.name.endswith(".crc")]


def _completed(base: Path) -> list[Path]:
    return [path for path in _files(base) if path.name.endswith(".savepoint")]


def _everywhere(base: Path, run: Callable[[Path], None], folder: Path, left: int) -> None:
    done = copy(base, folder / "done")
    with dying(None) as system:
        run(done)
    assert len(_files(done)) == left
    for at in deaths(system.count):
        table = copy(base, folder / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            run(table)
        for path in _completed(table):
            assert decode(path.read_bytes(), path.name).files
        if _files(table) or left:
            run(table)
        assert len(_files(table)) == left


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_create_dies_anywhere(version: str, name: str, tmp_path: Path) -> None:
    _everywhere(support.unpack(version, name, tmp_path), _create, tmp_path, left=2)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_delete_dies_anywhere(version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_part", tmp_path)
    _create(base)
    _everywhere(base, _delete, tmp_path, left=0)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_prune_dies_anywhere(version: str, tmp_path: Path) -> None:
    """The kept one is never touched; of the others, those that are left are whole, and go oldest first."""
    base = support.unpack(version, "cow_part", tmp_path)
    times = save_all(Copy(version, "cow_part", base))
    kept = sorted((path.name, path.read_bytes()) for path in _files(base) if times[-1] in path.name)

    def run(table: Path) -> None:
        opened = open_table(str(table))
        prune_savepoints(session(opened), plan_prune(session(opened), NIGHTLY))

    done = copy(base, tmp_path / "done")
    with dying(None) as system:
        run(done)
    assert sorted((path.name, path.read_bytes()) for path in _files(done)) == kept
    counts = set()
    for at in range(system.count):
        table = copy(base, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            run(table)
        left = sorted(path.name.split(".")[0].split("_")[0] for path in _completed(table))
        assert left == times[len(times) - len(left) :]
        counts.add(len(left))
        run(table)
        assert sorted((path.name, path.read_bytes()) for path in _files(table)) == kept
    assert counts == {1, 2, 3, 4}
