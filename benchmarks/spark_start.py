"""How long Spark takes to its first answer: started by PySpark, and by hudictl without and with its archive of classes.

Each start is a process of its own, on ``local[*]``; its time is from before the imports to the first answer of a task.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.restore import environment, print_table

_PYSPARK = """
import time
begun = time.monotonic()
import pyspark
context = pyspark.SparkContext("local[*]")
context.parallelize([1, 2], 2).map(str).collect()
print(time.monotonic() - begun)
context.stop()
"""
_HUDICTL = """
import time
begun = time.monotonic()
from hudictl.engine.spark import SparkEngine
engine = SparkEngine()
engine.map("first", str, [1, 2])
print(time.monotonic() - begun)
engine.close()
"""
_MAKING_S = 30


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the ways in turn and prints the medians; 1 if no archive of classes was made."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.spark_start", description=__doc__)
    options.add_argument("--rounds", type=int, default=5, help="starts of each way (5)")
    args = options.parse_args(argv)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}\n")
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="hudictl-benchmark-") as kept:
        made = make_archive(kept)
        for _ in range(args.rounds):
            with tempfile.TemporaryDirectory(prefix="hudictl-benchmark-") as empty:
                times.setdefault("PySpark's launcher", []).append(first_answer(_PYSPARK, {}))
                times.setdefault("hudictl, no archive", []).append(first_answer(_HUDICTL, {"XDG_CACHE_HOME": empty}))
            if made:
                times.setdefault("hudictl, archive", []).append(first_answer(_HUDICTL, {"XDG_CACHE_HOME": kept}))
    peer = statistics.median(times["PySpark's launcher"])
    rows = [["started by", "first answer s, median (from - to)", "to PySpark"]]
    for way, values in times.items():
        median = statistics.median(values)
        rows.append([way, f"{median:.2f} ({min(values):.2f} - {max(values):.2f})", f"{median / peer:.2f}"])
    print_table(rows)
    return 0 if made else 1


def make_archive(cache: str) -> bool:
    """Lets hudictl's Spark make its archive of classes in a folder: the JVM of the second start does, when the process
    has ended. False if there is none."""
    for _ in range(2):
        first_answer(_HUDICTL, {"XDG_CACHE_HOME": cache})
    until = time.monotonic() + _MAKING_S
    while time.monotonic() < until:
        if any(is_whole(path) for path in Path(cache).rglob("*.jsa")):
            return True
        time.sleep(0.2)
    return False


def is_whole(archive: Path) -> bool:
    """A JVM writes the beginning last."""
    with archive.open("rb") as file:
        return any(file.read(4))


def first_answer(program: str, variables: Mapping[str, str]) -> float:
    """Seconds to the first answer. Raises CalledProcessError."""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**environment(), **variables}, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
