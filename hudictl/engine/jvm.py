"""The JVM of Spark: its settings and its start, by PySpark's own launcher."""

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import STDOUT, Popen, TimeoutExpired
from typing import Any

from hudictl.engine import cluster
from hudictl.errors import EngineFailed

# The driver lives for seconds: it starts faster if it compiles less. A JVM without memory left would wait for ever.
_AT_START = {
    "spark.app.name": "hudictl",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError",
    # A savepoint of a large table names all of its files.
    "spark.driver.maxResultSize": "0",
}
_MOST_MEMORY_MIB = 8192
"""Of the JVM, which takes it only when it needs it; Spark's own default is 1 GiB."""
_ANSWER_SECONDS = 600
"""How long the JVM may take until it answers: packages of ``spark.jars.packages`` are downloaded before."""
_ENDING_SECONDS = 3
_LOG = "jvm.log"
_DIED = 'Exception in thread "main"'
_CHATTER = re.compile(
    r"at |Picked up|Using Spark|Setting default|To adjust|WARNING|\d\d/\d\d/\d\d .* (WARN|INFO) |\[[\d.]+s\]|\[Stage "
)
_TELLING = tuple(
    map(re.compile, (f"{_DIED} (.*)", "(Terminating due to .*)", r"[\d/]+ [\d:]+ (?:ERROR|FATAL) \S+ (.*)"))
)
"""Best first. Others, as Ivy and the scripts of a host, say what they do before."""


def launch(asked: Mapping[str, str], folder: Path, begun: Callable[["Popen[bytes]"], None]) -> Any:
    """Starts the JVM, once for each process. Its output is hidden, unless it fails.

    Args:
        asked: settings of the operator.
        folder: for its files.
        begun: gets its process, which may be ended: then it does not start.

    Raises:
        EngineFailed: it does not start.
    """
    import pyspark
    from pyspark import java_gateway

    if pyspark.SparkContext._gateway is not None:
        return pyspark.SparkContext._gateway
    said = _set_by_host()
    defaults = {key: value for key, value in {**_AT_START, **_memory()}.items() if key not in said}
    settings = {**defaults, **asked}
    log = folder / _LOG
    until = time.monotonic() + _ANSWER_SECONDS
    waiting = True
    launcher: Any = java_gateway

    class Jvm(Popen[bytes]):
        """PySpark would wait for ever for one that ends with 0, whose main thread has died, or that never answers."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            begun(self)

        def poll(self) -> int | None:
            nonlocal waiting
            code = super().poll()
            if waiting and code is None and (time.monotonic() > until or _DIED in log.read_text(errors="replace")):
                waiting = False
                self.kill()
                code = self.wait()
            return code if code is None else code or 1

    with log.open("wb") as output:
        try:
            conf = pyspark.SparkConf(loadDefaults=False).setAll(list(settings.items()))
            launcher.Popen = Jvm
            with _variables(**_address(asked)):
                options = {"stdout": output, "stderr": STDOUT}
                return launcher.launch_gateway(conf=conf, popen_kwargs=options)
        except Exception as error:  # those of pyspark, py4j and the operating system
            late = f"its JVM has not answered for {_ANSWER_SECONDS} s: " if time.monotonic() > until else ""
            reason = _reason(log.read_text(errors="replace")) or cluster.first_line(error)
            raise not_started(f"{late}{reason}", "JAVA_HOME") from error
        finally:
            waiting = False
            launcher.Popen = Popen


def forget_ended() -> None:
    """PySpark keeps a JVM that has ended, and its context, for what comes next in this process."""
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    if process is not None and process.poll() is not None:
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None


def end(process: "Popen[bytes]") -> None:
    """Ends a JVM, which may not listen any more."""
    process.terminate()
    try:
        process.wait(_ENDING_SECONDS)
    except TimeoutExpired:
        process.kill()


def own_folder() -> str:
    """A new folder for what is sent to Spark. Raises EngineFailed."""
    try:
        return tempfile.mkdtemp(prefix="hudictl-")
    except OSError as error:
        raise not_started(str(error), "TMPDIR") from error


def not_started(reason: str, check: str) -> EngineFailed:
    """The error for a reason, and what may be wrong besides ``--conf``."""
    hint = f"check {check} and --conf"
    if re.search(r"No space left|Read-only|(temp|temporary) directory", reason):
        hint = "make room for temporary files, or name a folder by TMPDIR and JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=FOLDER"
    return EngineFailed(f"Spark did not start: {reason}", hint=f"{hint}, or use --engine local")


def last_words(process: "Popen[bytes] | None", folder: Path, error: Exception) -> str:
    """Why the JVM has ended, which let a call fail; empty if it runs, or has not told."""
    from py4j.protocol import Py4JJavaError

    if process is None or isinstance(error, Py4JJavaError):
        return ""
    with suppress(TimeoutExpired, OSError):
        process.wait(_ENDING_SECONDS)
        return _reason((folder / _LOG).read_text(errors="replace"))
    return ""


@contextmanager
def _variables(**values: str) -> Iterator[None]:
    """Variables of the environment, for a moment."""
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]


def _address(asked: Mapping[str, str]) -> dict[str, str]:
    """Where the master and the workers of a ``local-cluster`` listen: settings are for the driver alone."""
    master = asked.get("spark.master", "local")
    alone = cluster.one_jvm(master) or not cluster.on_this_host(master)
    return {} if alone or cluster.names_address(os.environ) else {cluster.ADDRESS: cluster.LOOPBACK}


def _set_by_host() -> set[str]:
    """The settings in the host's spark-defaults.conf."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (os.path.join(home, "conf") if home else None)
    try:
        lines = (Path(folder) / "spark-defaults.conf").read_text(errors="replace").splitlines() if folder else []
    except OSError:
        return set()
    return {re.split(r"[\s=:]", line.strip())[0] for line in lines}


def _memory() -> dict[str, str]:
    """The setting of the JVM's memory, unless the environment has one: a quarter of this host's, up to 8 GiB."""
    if "SPARK_DRIVER_MEMORY" in os.environ:
        return {}
    host_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    return {"spark.driver.memory": f"{max(1024, min(_MOST_MEMORY_MIB, host_mib // 4))}m"}


def _reason(said: str) -> str:
    """The line with the reason why a JVM does not start, or has ended."""
    lines = [line for line in map(str.strip, said.splitlines()) if line and not _CHATTER.match(line)]
    for telling in _TELLING:
        if found := next(filter(None, map(telling.match, lines)), None):
            return found[1]
    return next(iter(lines), "")
