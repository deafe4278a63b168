"""Spark: the only importer of pyspark, and only when it is asked for."""

import os
import re
import shutil
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hudictl.engine.base import Item, TaskResult, Value
from hudictl.engine.java import java_home
from hudictl.errors import EngineFailed

# What a batch tool has no use for and would pay for at every start.
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.rdd.compress": "false",
}
# The driver lives for seconds: compiling less starts it sooner.
_JVM = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}


@dataclass
class SparkEngine:
    """A Spark context that starts in the background, so that the plan's first reads need not wait for it."""

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    this_host_only: bool = False
    _starting: threading.Thread | None = field(default=None, repr=False)
    _context: Any = field(default=None, repr=False)
    _error: EngineFailed | None = field(default=None, repr=False)
    _folder: str = field(default_factory=lambda: tempfile.mkdtemp(prefix="hudictl-"), repr=False)

    def start(self) -> None:
        if self._starting is None:
            self._starting = threading.Thread(target=self._start, name="spark-start", daemon=True)
            self._starting.start()

    def ready(self) -> None:
        self._started()

    def map(self, label: str, function: Callable[[Item], Value], items: Sequence[Item]) -> list[TaskResult[Value]]:
        if not items:
            return []
        context = self._started()
        try:
            context.setJobDescription(label)
            slices = min(len(items), 4 * context.defaultParallelism)
            results: list[TaskResult[Value]] = (
                context.parallelize(list(items), slices).mapPartitions(_runner(function)).collect()
            )
        except Exception as error:  # py4j and pyspark raise many types; each of them is the engine's failure
            raise EngineFailed(f"Spark failed in {label!r}: {_first_line(error)}") from error
        return results

    def close(self) -> None:
        if self._starting is not None:
            self._starting.join()
        if self._context is not None:
            self._context.stop()
            self._context = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _started(self) -> Any:
        self.start()
        if self._starting is not None:
            self._starting.join()
        if self._error is not None:
            raise self._error
        return self._context

    def _start(self) -> None:
        try:
            self._context = _create_context(self.master, self.conf, Path(self._folder))
            if self.this_host_only and not is_this_host(self._context.master):
                self._error = EngineFailed(
                    f"Spark's master is {self._context.master}: other hosts do not see a file: table's files",
                    hint="use --master 'local[*]' or --engine local",
                )
        except EngineFailed as error:
            self._error = error
        except Exception as error:  # see map
            self._error = EngineFailed(
                f"Spark did not start: {_first_line(error)}",
                hint="check --master and --conf, or use --engine local",
            )


def is_this_host(master: str) -> bool:
    """Whether all executors of a master share this host's files."""
    return master.startswith("local") and not master.startswith("local-cluster")


def _runner(function: Callable[[Item], Value]) -> Callable[[Iterator[Item]], Iterator[TaskResult[Value]]]:
    def run(items: Iterator[Item]) -> Iterator[TaskResult[Value]]:
        for item in items:
            try:
                yield TaskResult(function(item))
            except Exception as error:
                yield TaskResult(None, str(error) or type(error).__name__)

    return run


def _create_context(master: str | None, conf: Mapping[str, str], folder: Path) -> Any:
    try:
        import pyspark
    except ImportError as error:
        raise EngineFailed(f"pyspark cannot be imported: {error}", hint="use --engine local") from error
    home = java_home(pyspark.__version__)
    if home is not None:
        os.environ["JAVA_HOME"] = home
    # Executors on this host run the same interpreter as the driver, not the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    asked = dict(conf) | ({"spark.master": master} if master else {})
    gateway = _launch(asked, folder / "jvm.log")
    settings = pyspark.SparkConf(_jvm=gateway.jvm).setAll(list(asked.items()))
    # Under spark-submit the master and the rest are set already.
    for key, value in {"spark.master": "local[*]", "spark.app.name": "hudictl", **_DEFAULTS}.items():
        settings.setIfMissing(key, value)
    context = pyspark.SparkContext(conf=settings, gateway=gateway)
    context.setLogLevel("ERROR")
    context.addPyFile(str(_package_archive(folder)))
    return context


def _launch(asked: Mapping[str, str], log: Path) -> Any:
    """Starts the JVM, once a process. Its lines are not for the operator, unless it does not start."""
    import pyspark
    from pyspark.java_gateway import launch_gateway

    if pyspark.SparkContext._gateway is not None:
        return pyspark.SparkContext._gateway
    launch = pyspark.SparkConf(loadDefaults=False).setAll(list({**_JVM, **asked}.items()))
    with log.open("wb") as stderr:
        try:
            return launch_gateway(conf=launch, popen_kwargs={"stderr": stderr})  # type: ignore[no-untyped-call]
        except Exception as error:
            raise EngineFailed(
                f"Spark did not start: {_reason(log.read_text(errors='replace')) or _first_line(error)}",
                hint="check JAVA_HOME and --conf, or use --engine local",
            ) from error


def _package_archive(folder: Path) -> Path:
    """The package's own modules as an archive: executors need no installation of hudictl."""
    package = Path(__file__).parent.parent
    archive = folder / "hudictl.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for source in sorted(package.rglob("*.py")):
            file.write(source, source.relative_to(package.parent))
    return archive


def _reason(said: str) -> str:
    """The first line in which a JVM that does not start says why."""
    lines = (line.strip() for line in said.splitlines())
    chatter = re.compile(r"at |Picked up|Using Spark|Setting default|To adjust|WARNING|\d\d/\d\d/\d\d .* (WARN|INFO) ")
    return next((line for line in lines if line and not chatter.match(line)), "")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # py4j's first line names its own call; the Java exception stands in the second.
    return lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
