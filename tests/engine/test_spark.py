"""The Spark engine; one session for the module."""

import os
import shutil
import subprocess
import sys
import zipimport
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hudictl.engine.base import Engine
from hudictl.engine.open import open_engine
from hudictl.engine.spark import SparkEngine, _package_archive
from hudictl.errors import EngineFailed
from tests.engine.contract import EngineContract

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(shutil.which("java") is None and not os.environ.get("JAVA_HOME"), reason="Spark needs a Java"),
]


class Unpicklable(Exception):
    """An error that cannot travel from an executor as an object."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")
        self.lock = open(os.devnull)  # noqa: SIM115


def raise_unpicklable(number: int) -> int:
    raise Unpicklable("cannot", "travel")


def kill_the_worker(number: int) -> int:
    os._exit(3)


def task_of(number: int) -> int:
    from pyspark import TaskContext

    return TaskContext.get().partitionId()  # type: ignore[union-attr]


def where_hudictl_is(number: int) -> str:
    import hudictl

    return str(hudictl.__file__)


def archives_to_read_again(number: int) -> list[str]:
    """Those that Python has finders of."""
    finders = sys.path_importer_cache
    return sorted({str(path) for path, finder in finders.items() if isinstance(finder, zipimport.zipimporter)})


def one_pair(number: int) -> Iterator[tuple[str, int]]:
    yield "key", number


def archives_of_all(key: str, found: Sequence[Sequence[int]]) -> list[str]:
    return archives_to_read_again(0)


@pytest.fixture(scope="module")
def spark() -> Iterator[Engine]:
    # Executors import this module; hudictl itself is shipped by the engine.
    engine = open_engine("spark", "local[2]", {"spark.executorEnv.PYTHONPATH": str(ROOT)})
    yield engine
    engine.close()


class TestSparkEngine(EngineContract):
    """The contract on Spark."""

    @pytest.fixture
    def engine(self, spark: Engine) -> Engine:  # type: ignore[override]
        return spark

    def test_an_error_that_cannot_travel_comes_as_text(self, engine: Engine) -> None:
        assert [result.error for result in engine.map("raise", raise_unpicklable, [1])] == ["cannot travel"]

    def test_a_dead_executor_is_the_engines_failure(self, engine: Engine) -> None:
        """Exit code 16 with the job's label, in one line; and the next job runs."""
        with pytest.raises(EngineFailed, match="Spark failed in 'delete files'") as caught:
            engine.map("delete files", kill_the_worker, [1])
        assert caught.value.exit_code == 16
        assert "\n" not in caught.value.message
        assert engine.map("again", abs, [-1])[0].value == 1

    def test_items_are_dealt_out(self, engine: Engine) -> None:
        """So that the largest, which come first, are not one task's."""
        found = [result.value for result in engine.map("deal", task_of, range(20))]
        assert found == [number % 8 for number in range(20)]

    def test_executors_have_the_package(self, engine: Engine) -> None:
        (found,) = engine.map("where", where_hudictl_is, [1])
        assert found.error is None
        assert found.value is not None
        assert found.value.endswith("hudictl/__init__.py")

    def test_a_task_does_not_make_the_next_read_archives_again(self, engine: Engine) -> None:
        """PySpark refreshes the finders of all before each task: of the jar of Spark's classes it takes 30 ms."""
        for _ in range(2):
            results = engine.map("look", archives_to_read_again, range(8))
            results += engine.over("look", [engine.gather("gather", one_pair, [1])], archives_of_all)
            assert [result.error for result in results] == [None] * 9
            assert {path for result in results for path in result.value or ()} == set()

    def test_closing_leaves_nothing(self, spark: Engine) -> None:
        """The folder with the shipped package goes; the engine's own, not this module's, for one session is enough."""
        other = SparkEngine()
        folder = Path(other._folder)
        assert folder.is_dir()
        other.close()
        assert not folder.exists()


@pytest.mark.parametrize("before", ["close", "the first job"])
def test_once_ready_it_starts_pythons_workers(before: str) -> None:
    """They are there when the first job comes; the end may come before."""
    program = f"""
import time
import psutil
from hudictl.engine.spark import SparkEngine
engine = SparkEngine("local[2]")
engine.ready()
until = time.monotonic() + {0 if before == "close" else 60}
def command(process):
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "it has ended"
def workers():
    return [process for process in psutil.Process().children(recursive=True) if "pyspark.daemon" in command(process)]
while time.monotonic() < until and not workers():
    time.sleep(0.05)
print(len(workers()) > 0)
engine.close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert before == "close" or done.stdout == "True\n"


def test_the_shipped_package_needs_the_standard_library_alone(tmp_path: Path) -> None:
    """An executor with a bare Python lists, deletes and scans a local table."""
    archive = _package_archive(tmp_path)
    (tmp_path / "table").mkdir()
    (tmp_path / "table/f").write_bytes(b"x")
    program = f"""
import sys
sys.path.insert(0, {str(archive)!r})
from hudictl import workers
from hudictl.storage.local import LocalStorage
store = LocalStorage({str(tmp_path / "table")!r}, ".scratch")
assert len(workers.list_tree(workers.ListTask(store, workers.Folder(""), True))) == 1
assert workers.scan_logs((), workers.LogTask(store, "", ())) == []
assert workers.delete_files(store, [("", ("f",))]) == []
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "table/f").exists()
