"""Spark with more than one JVM: checks of a cluster before the work begins, and the meaning of its failures."""

import re
import socket
from collections.abc import Callable, Mapping

from hudictl.errors import EngineFailed, Unsupported

LOOPBACK = "127.0.0.1"
ADDRESS = "SPARK_LOCAL_IP"
"""The variable of the environment with the address on which all of Spark listens."""
_CONNECT_SECONDS = 5
_CONNECT = ("sc:", "unix:")
"""How addresses of Spark Connect begin: gRPC over TCP, and a notebook's own server."""
_PYTHON = "set the executors' Python with PYSPARK_PYTHON or --conf spark.pyspark.python"


def one_jvm(master: str) -> bool:
    """Whether the driver is its own executor, with this host's files and this process's Python."""
    return master.startswith("local") and not master.startswith("local-cluster")


def on_this_host(master: str) -> bool:
    """Whether all executors of a master run here, also if in JVMs of their own."""
    return master.startswith("local")


def names_address(environment: Mapping[str, str]) -> bool:
    """Whether the operator has said on which address Spark listens."""
    return any(name in environment for name in (ADDRESS, "SPARK_LOCAL_HOSTNAME"))


def refuse_cluster(master: str) -> None:
    """Raises Unsupported: the executors of this master may not see the files of this host."""
    if not one_jvm(master):
        raise Unsupported(
            f"Spark's master is {master}, but other hosts do not see a local table's files",
            hint="if all hosts of the cluster can read the table's folder, use --shared-filesystem; else use --master "
            "'local[*]' or --engine local",
            master=master,
        )


def refuse_connect(master: str | None, conf: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Raises Unsupported: Spark Connect is asked for, or is what this process works with: it has no RDDs.

    PySpark would ignore ``spark.remote`` and ``SPARK_REMOTE`` where a context is started, and work on this host.
    """
    asked = conf.get("spark.remote") or master or conf.get("spark.master") or environment.get("SPARK_REMOTE", "")
    # PySpark sets the first with such a session, and then starts no context but of a server in this process.
    entered = "SPARK_CONNECT_MODE_ENABLED" in environment and "SPARK_LOCAL_REMOTE" not in environment
    if entered:
        asked = environment.get("SPARK_REMOTE") or "this process's session"
    if entered or asked.startswith(_CONNECT):
        address = asked.partition(";")[0]  # a token may follow
        raise Unsupported(
            f"Spark Connect ({address}) has no RDDs, which the Spark engine needs",
            hint="use --engine local, or a --master with RDDs ('local[*]', spark://HOST:PORT, yarn)"
            + (" in another process" if entered else ""),
            master=address,
        )


def check_master(master: str) -> None:
    """Connects to a standalone master: Spark would try a missing one for a minute, and then have a dead context.

    Raises EngineFailed: none of its hosts answers.
    """
    errors = []
    for address in master.removeprefix("spark://").split(",") if master.startswith("spark://") else ():
        host, _, port = address.rpartition(":")
        if not port.isdigit():
            return  # Spark reports such an address
        try:
            socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
            return
        except (OSError, OverflowError) as error:
            errors.append(f"{address}: {error}")
    if errors:
        raise EngineFailed(
            f"Spark's master {master} does not answer ({'; '.join(errors)})",
            hint="check --master and the network, or use --engine local",
            master=master,
        )


def look_from_here(look: Callable[[], object]) -> tuple[str, object]:
    """The name of this host, and the result of the function on it, or the text of its error."""
    try:
        return socket.gethostname(), look()
    except Exception as error:
        return socket.gethostname(), str(error) or type(error).__name__


def failure(label: str, error: BaseException) -> EngineFailed:
    """The error of a failed job, in one line: what the executors lack, or the job's own error."""
    text = str(error)
    if match := re.search(r'Cannot run program "([^"]*)"', text):
        return EngineFailed(f"Spark's executors cannot run the Python {match[1]}", hint=_PYTHON, python=match[1])
    # PySpark 3.5 names the executors' version as (3, 12), PySpark 4 as 3.12.
    if match := re.search(r"PYTHON_VERSION_MISMATCH\D*(\d+)(?:, |\.)(\d+)\D*([\d.]*\d)", text):
        executors = f"{match[1]}.{match[2]}"
        return EngineFailed(
            f"Spark's executors run Python {executors}, and hudictl Python {match[3]}: Spark needs the same on both",
            hint=_PYTHON,
            python=executors,
        )
    if match := re.search(r"Error from python worker:\n((?: .*\n)+)", text):
        said = [line.strip() for line in match[1].splitlines()]
        reason = said[-1] if said[0].startswith("Traceback") else said[0]
        return EngineFailed(f"the Python of Spark's executors does not start: {reason}", hint=_PYTHON)
    # It has ended at once, or is no Python, or prints something at its start.
    if match := re.search(r"[^:\n]* pyspark\.daemon's (?:stdout|standard output).*", text):
        reason = match[0].strip(" :.")
        return EngineFailed(f"the Python of Spark's executors does not start: {reason}", hint=_PYTHON)
    if match := re.search(r"^ModuleNotFoundError: No module named '([^']+)'", text, re.MULTILINE):
        return EngineFailed(
            f"the Python of Spark's executors has no module {match[1]}",
            hint=f"install it there, or {_PYTHON}",
            module=match[1],
        )
    if re.search(r"stopped SparkContext|SparkContext (has been|was) shut ?down", text):
        return EngineFailed(
            f"Spark ended the application before {label!r} was done: its master rejected or dropped it",
            hint="check the master: it needs the same Spark release as this host; then run the same command again",
        )
    return EngineFailed(
        f"Spark failed in {label!r}: {first_line(error)}",
        hint="fix the cause, then run the same command again",
    )


def first_line(error: BaseException) -> str:
    """The line of an error that says what is wrong."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # In an executor's Python, the last line of the traceback is the error; Java's lines follow.
    if raised := re.findall(r"Traceback .*\n(?: .*\n)+(\S.*)", str(error)):
        return str(raised[-1])
    # py4j's first line is its own call; the Java exception is in the second line, and its causes follow.
    said = lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return said if not causes or causes[-1] in said else f"{said} ({causes[-1]})"
