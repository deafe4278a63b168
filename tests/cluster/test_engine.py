"""The contract on a standalone cluster, whose executors have no hudictl installed and nothing that it depends on."""

import os
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest
from pyspark import cloudpickle

from hudictl import workers
from hudictl.engine.base import Engine
from hudictl.engine.spark import SparkEngine
from hudictl.storage.local import LocalStorage
from hudictl.storage.open import open_storage
from tests.cluster import engine_support
from tests.cluster.conftest import EXECUTORS
from tests.engine import contract
from tests.engine.contract import EngineContract, leave_mark

PACKAGES = ("click", "fastavro", "fsspec", "numpy", "pandas", "pyarrow", "rich")


def look_around(_: int) -> tuple[str, list[str], str]:
    """The executor's folder, the packages of its Python, and where hudictl comes from."""
    import hudictl

    return os.getcwd(), [name for name in PACKAGES if find_spec(name)], str(hudictl.__file__)


def square_or_kill(number: int, mark: str) -> int:
    """Number 5 kills its executor, the first time."""
    if number == 5 and leave_mark(mark):
        engine_support.kill_executor()
    return number * number


@pytest.fixture(scope="module")
def cluster(master: str, fsspec_only: str) -> Iterator[Engine]:
    """Executors cannot import functions of tests: these travel whole."""
    modules = (contract, engine_support, sys.modules[__name__])
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    engine = SparkEngine(master, {**EXECUTORS, "spark.pyspark.python": fsspec_only})
    engine.ready()
    yield engine
    engine.close()
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)


class TestClusterEngine(EngineContract):
    """The contract on two executors."""

    @pytest.fixture
    def engine(self, cluster: Engine) -> Engine:  # type: ignore[override]
        return cluster

    def test_executors_have_fsspec_and_what_is_shipped(self, engine: Engine) -> None:
        """Two of them, each with hudictl out of the archive."""
        found = [result.value for result in engine.map("look around", look_around, range(8)) if result.value]
        assert len(found) == 8
        assert len({folder for folder, _, _ in found}) == 2
        for _, packages, hudictl in found:
            assert packages == ["fsspec"]
            assert "hudictl.zip/hudictl" in hudictl

    @pytest.mark.parametrize("scheme", ["file", "local"])
    def test_storages(self, engine: Engine, tmp_path: Path, scheme: str) -> None:
        """Files of the operating system, and of a store by way of fsspec."""
        (tmp_path / "p").mkdir()
        (tmp_path / "p/f").write_bytes(b"x")
        store = open_storage(f"{scheme}://{tmp_path}", ".scratch")
        (listed,) = engine.map("list", workers.list_tree, [workers.ListTask(store, workers.Folder("p"), False)])
        assert listed.error is None
        assert [name for listing in listed.value or () for name, _, _ in listing.files] == ["f"]
        (scanned,) = engine.map("scan", partial(workers.scan_logs, ()), [workers.LogTask(store, "p", (("f", 0),))])
        assert scanned.error is None

    def test_changes(self, engine: Engine, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"x")
        store = LocalStorage(str(tmp_path), ".scratch")
        block = workers.BlockTask(store, "", "id", "20261121000000000", (), ("20261121000001000",))
        (written,) = engine.map("write", workers.write_rollback_blocks, [block])
        assert [(tmp_path / file.name).stat().st_size for file in written.value or ()] == [105]
        (deleted,) = engine.map("delete", partial(workers.delete_files, store), [(("", ("f",)),)])
        assert deleted.value == []
        assert not (tmp_path / "f").exists()

    def test_an_executor_that_is_killed(self, engine: Engine, tmp_path: Path) -> None:
        """Its tasks run again on another: the answers are as if nothing had happened."""
        mark = tmp_path / "killed"
        found = engine.map("die once", partial(square_or_kill, mark=str(mark)), range(8))
        assert mark.exists()
        assert [result.value for result in found] == [number * number for number in range(8)]
