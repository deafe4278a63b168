"""The JVM of Spark: its settings and its start.

Spark's own launcher is a shell script with a JVM of its own, which costs a second. Where nothing but hudictl's own
settings would go through it, the JVM is started directly, with the launcher's options (checked on Spark 3.5).
"""

import os
import re
import subprocess
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from hudictl.engine import cluster
from hudictl.engine.java import java_command
from hudictl.errors import EngineFailed

# The driver lives for seconds: it starts faster if it compiles less. A JVM without memory left would wait for ever.
_OPTIONS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
_JAVA_OPTIONS, _MEMORY = "spark.driver.extraJavaOptions", "spark.driver.memory"
_AT_START = {
    "spark.app.name": "hudictl",
    _JAVA_OPTIONS: " ".join(_OPTIONS),
    # A savepoint of a large table names all of its files.
    "spark.driver.maxResultSize": "0",
}
_MOST_MEMORY_MIB = 8192
"""Of the JVM, which takes it only when it needs it; Spark's own default is 1 GiB."""

_LAUNCHERS = re.compile(r"SPARK_|PYSPARK_(SUBMIT_ARGS|GATEWAY_\w+|PIN_THREAD)$|JAVA_TOOL_OPTIONS$|_JAVA_OPTIONS$")
"""The variables of the environment that Spark's launcher knows, or that change what a JVM does. Hadoop's settings do
not matter to a JVM of its own: only Python reads and writes files."""
_LAUNCHED = re.compile(r"spark\.(driver\.(extra|default)|submit\.|remote$)")
"""The settings that its launcher knows, but for the memory."""
_CHECKED = "3."
"""Spark 4 puts one of its jars before the others."""
_LOOK_SECONDS = 0.02


def launch(asked: Mapping[str, str], folder: Path) -> Any:
    """Starts the JVM, once for each process. Its output is hidden, unless it does not start.

    Args:
        asked: settings of the operator.
        folder: for its files.

    Raises:
        EngineFailed: it does not start.
    """
    import pyspark
    from pyspark.java_gateway import launch_gateway

    if pyspark.SparkContext._gateway is not None:
        return pyspark.SparkContext._gateway
    said = _set_by_host()
    defaults = {key: value for key, value in {**_AT_START, **_memory()}.items() if key not in said}
    settings = {**defaults, **asked}
    log = folder / "jvm.log"
    with log.open("wb") as output:
        try:
            home = Path(pyspark.__file__).parent
            if pyspark.__version__.startswith(_CHECKED) and _is_plain(asked, home):
                return _started(settings, home, folder, output)
            conf = pyspark.SparkConf(loadDefaults=False).setAll(list(settings.items()))
            with _variables(**_address(asked)):
                return launch_gateway(conf=conf, popen_kwargs={"stderr": output})  # type: ignore[no-untyped-call]
        except Exception as error:  # those of pyspark, py4j and the operating system
            raise EngineFailed(
                f"Spark did not start: {_reason(log.read_text(errors='replace')) or cluster.first_line(error)}",
                hint="check JAVA_HOME and --conf, or use --engine local",
            ) from error


def _is_plain(asked: Mapping[str, str], home: Path) -> bool:
    """Whether Spark's launcher would only add its own options to those of hudictl. What it adds for the executors of a
    cluster is many things more."""
    if not cluster.one_jvm(asked.get("spark.master", "local")):
        return False
    # A conf folder may have a spark-env.sh, and another layout is not that of the package from PyPI.
    usual = (home / "jars").is_dir() and not (home / "conf").exists() and os.name == "posix"
    return usual and not any(map(_LAUNCHERS.match, os.environ)) and not any(map(_LAUNCHED.match, asked))


def _started(settings: Mapping[str, str], home: Path, folder: Path, output: BinaryIO) -> Any:
    """Starts the JVM directly, and connects with it. Raises OSError, RuntimeError: it does not start."""
    from pyspark.java_gateway import launch_gateway

    told = folder / "gateway"
    command = _command(java_command() or "java", home / "jars", settings)
    process = _process(command, _environment(home), told, output)
    if not told.exists():
        raise RuntimeError(f"the JVM has ended with exit code {process.returncode}")
    body = told.read_bytes()
    told.unlink()
    # The port, the length of the secret, and the secret.
    with _variables(
        PYSPARK_GATEWAY_PORT=str(int.from_bytes(body[:4], "big")), PYSPARK_GATEWAY_SECRET=body[8:].decode()
    ):
        gateway = launch_gateway()  # type: ignore[no-untyped-call]
    gateway.proc = process
    return gateway


def _process(
    command: Sequence[str], environment: Mapping[str, str], told: Path, output: BinaryIO
) -> "subprocess.Popen[bytes]":
    """Starts a JVM, and waits until it has told its port, or has ended."""
    process = subprocess.Popen(
        command,
        # It ends when the pipe does: with this process.
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        env={**os.environ, **environment, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told)},
        # Ctrl-C is for this process, which ends what runs.
        start_new_session=True,
    )
    while process.poll() is None and not told.exists():
        time.sleep(_LOOK_SECONDS)
    return process


def _command(java: str, jars: Path, settings: Mapping[str, str]) -> list[str]:
    """As Spark's launcher makes it."""
    command = [java, "-cp", f"{jars}/*", f"-Xmx{settings[_MEMORY]}", *_OPTIONS, *_module_options(jars)]
    command.append("org.apache.spark.deploy.SparkSubmit")
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    return [*command, "pyspark-shell"]


def _environment(home: Path) -> dict[str, str]:
    """What the launcher's scripts export. A process has one JVM: a second context in it may be of a cluster, whose
    executors are started by these."""
    scala = _launcher_jar(home / "jars").name.partition("_")[2].partition("-")[0]
    return {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": scala}


def _launcher_jar(jars: Path) -> Path:
    """Raises FileNotFoundError: this Spark has none."""
    for jar in jars.glob("spark-launcher_*.jar"):
        return jar
    raise FileNotFoundError(f"there is no Spark in {jars}")


def _module_options(jars: Path) -> list[str]:
    """The options that this Spark's launcher gives every JVM: texts in one of its classes; none before Spark 3.3."""
    with zipfile.ZipFile(_launcher_jar(jars)) as file:
        try:
            body = file.read("org/apache/spark/launcher/JavaModuleOptions.class")
        except KeyError:
            return []
    return [text.decode() for text in re.findall(rb"\x01..(--?[A-Za-z][!-~]+)", body, re.DOTALL)]


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
    return {_MEMORY: f"{max(1024, min(_MOST_MEMORY_MIB, host_mib // 4))}m"}


def _reason(said: str) -> str:
    """The first line with the reason why a JVM does not start."""
    lines = (line.strip() for line in said.splitlines())
    chatter = re.compile(
        r"at |Picked up|Using Spark|Setting default|To adjust|WARNING|\d\d/\d\d/\d\d .* (WARN|INFO) |\[[\d.]+s\]"
    )
    return next((line for line in lines if line and not chatter.match(line)), "")
