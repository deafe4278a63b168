"""How long Spark takes to its first answer: started by PySpark, and by hudictl.

Each start is a process of its own, on ``local[*]``; its time is from before the imports to the first answer of a task.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence

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


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the ways in turn and prints the medians."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.spark_start", description=__doc__)
    options.add_argument("--rounds", type=int, default=5, help="starts of each way (5)")
    args = options.parse_args(argv)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load before: {os.getloadavg()[0]:.1f}\n")
    times: dict[str, list[float]] = {}
    for _ in range(args.rounds):
        times.setdefault("PySpark's launcher", []).append(first_answer(_PYSPARK))
        times.setdefault("hudictl", []).append(first_answer(_HUDICTL))
    peer = statistics.median(times["PySpark's launcher"])
    rows = [["started by", "first answer s, median (from - to)", "to PySpark"]]
    for way, values in times.items():
        median = statistics.median(values)
        rows.append([way, f"{median:.2f} ({min(values):.2f} - {max(values):.2f})", f"{median / peer:.2f}"])
    print_table(rows)
    return 0


def first_answer(program: str) -> float:
    """Seconds to the first answer. Raises CalledProcessError."""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(), capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    sys.exit(main())
