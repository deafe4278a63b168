"""The JVM of Spark: its settings and its start, by PySpark's own launcher."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
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
            conf = pyspark.SparkConf(loadDefaults=False).setAll(list(settings.items()))
            with _variables(**_address(asked)):
                return launch_gateway(conf=conf, popen_kwargs={"stderr": output})  # type: ignore[no-untyped-call]
        except Exception as error:  # those of pyspark, py4j and the operating system
            raise EngineFailed(
                f"Spark did not start: {_reason(log.read_text(errors='replace')) or cluster.first_line(error)}",
                hint="check JAVA_HOME and --conf, or use --engine local",
            ) from error


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
    """The first line with the reason why a JVM does not start."""
    lines = (line.strip() for line in said.splitlines())
    chatter = re.compile(
        r"at |Picked up|Using Spark|Setting default|To adjust|WARNING|\d\d/\d\d/\d\d .* (WARN|INFO) |\[[\d.]+s\]"
    )
    return next((line for line in lines if line and not chatter.match(line)), "")
