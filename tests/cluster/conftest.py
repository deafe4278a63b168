"""A standalone cluster on this host, and a Python for its executors that has nothing but fsspec."""

import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import fsspec
import pyspark
import pytest
from pyspark import cloudpickle

from hudictl.engine.java import java_home

SPARK = Path(pyspark.__file__).parent
# They live for seconds: compiling less starts them sooner.
EXECUTORS = {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a master with two workers, which know nothing of this checkout or its environment."""
    folder = tmp_path_factory.mktemp("cluster")
    home = java_home(pyspark.__version__) or os.environ.get("JAVA_HOME")
    known = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env = {**known, "SPARK_HOME": str(SPARK), **({"JAVA_HOME": home} if home else {})}
    with ExitStack() as stack:

        def start(kind: str, number: int, said: str, *arguments: str) -> str:
            """Starts a daemon; returns what it says when it is up."""
            log = folder / f"{kind}-{number}.log"
            name = f"org.apache.spark.deploy.{kind}.{kind.title()}"
            command = [str(SPARK / "bin/spark-class"), name, "--host", "127.0.0.1", "--webui-port", "0", *arguments]
            with log.open("wb") as output:
                process = subprocess.Popen(command, env=env, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            until = time.monotonic() + 60
            while time.monotonic() < until and process.poll() is None:
                if found := re.search(said, log.read_text()):
                    return found[0]
                time.sleep(0.1)
            pytest.fail(log.read_text(), pytrace=False)

        url = start("master", 0, r"spark://127\.0\.0\.1:\d+", "--port", "0")
        for number in (1, 2):
            work = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}"))
            start("worker", number, "Successfully registered", *work, url)
        yield url


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Makes a Python of the driver's version that has the given packages alone."""

    def make(*packages: str) -> str:
        folder = tmp_path_factory.mktemp("python")
        venv.create(folder, symlinks=True, with_pip=False)
        (site,) = folder.glob("lib/python*/site-packages")
        for package in packages:
            shutil.copytree(Path(fsspec.__file__).parents[1] / package, site / package)
        return str(folder / "bin/python")

    return make


@pytest.fixture(scope="session")
def fsspec_only(python: Callable[..., str]) -> str:
    """What the documents ask of executors."""
    return python("fsspec")


@contextmanager
def travelling_whole(*functions: Callable[..., object]) -> Iterator[None]:
    """Executors cannot import functions of tests: these travel whole."""
    modules = [sys.modules[function.__module__] for function in functions]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)
