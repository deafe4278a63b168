"""Spark beyond one JVM: what a cluster is asked before work begins, and what its failures mean."""

import re
import socket
from collections.abc import Callable

from hudictl.errors import EngineFailed, Unsupported

_CONNECT_SECONDS = 5
_PYTHON = "name the executors' Python by PYSPARK_PYTHON or --conf spark.pyspark.python"


def one_jvm(master: str) -> bool:
    """Whether the driver is its own executor, with this host's files and this process's Python."""
    return master.startswith("local") and not master.startswith("local-cluster")


def refuse_cluster(master: str) -> None:
    """Raises Unsupported: the executors of this master need not see the files of this host."""
    if not one_jvm(master):
        raise Unsupported(
            f"Spark's master is {master}, and other hosts do not see a local table's files",
            hint="--shared-filesystem where all of them do; else --master 'local[*]' or --engine local",
            master=master,
        )


def check_master(master: str) -> None:
    """Connects to a standalone master: Spark tries a missing one for a minute, then has a context that is dead.

    Raises EngineFailed: none of its hosts answers.
    """
    errors = []
    for address in master.removeprefix("spark://").split(",") if master.startswith("spark://") else ():
        host, _, port = address.rpartition(":")
        if not port.isdigit():
            return  # Spark says what is wrong with such an address
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
    """The name of the host on which this runs, and what is seen from it: an error's text, too, is something seen."""
    try:
        return socket.gethostname(), look()
    except Exception as error:
        return socket.gethostname(), str(error) or type(error).__name__


def failure(label: str, error: BaseException) -> EngineFailed:
    """What a failed job comes to: what the executors lack, or the error itself, in one line."""
    text = str(error)
    if match := re.search(r'Cannot run program "([^"]*)"', text):
        return EngineFailed(f"Spark's executors cannot run the Python {match[1]}", hint=_PYTHON, python=match[1])
    if match := re.search(r"PYTHON_VERSION_MISMATCH\D*\((\d+), (\d+)\)\D*([\d.]*\d)", text):
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
    if match := re.search(r"^ModuleNotFoundError: No module named '([^']+)'", text, re.MULTILINE):
        return EngineFailed(
            f"the Python of Spark's executors has no module {match[1]}",
            hint=f"install it there, or {_PYTHON}",
            module=match[1],
        )
    if re.search(r"stopped SparkContext|SparkContext (has been|was) shut ?down", text):
        return EngineFailed(
            f"Spark ended the application before {label!r} was done: its master did not take it, or gave it up",
            hint="check the master, and that its Spark is this host's; then run the same command again",
        )
    return EngineFailed(
        f"Spark failed in {label!r}: {first_line(error)}",
        hint="nothing is lost: mend the cause and run the same command again",
    )


def first_line(error: BaseException) -> str:
    """The line of an error that says what is wrong."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # An executor's Python says at the end of its traceback what was wrong, before the lines of Java's.
    if raised := re.findall(r"Traceback .*\n(?: .*\n)+(\S.*)", str(error)):
        return str(raised[-1])
    # py4j's first line names its own call; the Java exception stands in the second.
    return lines[1].lstrip(": ") if lines[0].startswith("An error occurred while calling") and lines[1:] else lines[0]
