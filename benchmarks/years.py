"""How commands grow with the age of a table: a lake of one year and of two (``benchmarks.lake``), on which nothing but
the history differs.

README.md says how to read what is printed.
"""

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.lake import Lake, make
from benchmarks.restore import environment, has_hudictl, print_table, say
from benchmarks.ruled import PROTOCOL

LIMIT = 1.2
"""How many times the processor time and the memory of a command may grow."""
NOISE = 0.25
"""The share by which the start of hudictl differs from time to time."""
PLAN = ("--plan", "--idle=0s", "--interval=60s", "--misses=2")
SAVED, FAILED = "SAVEPOINT", "FAILED"
"""In the place of the newest savepoint, and of the newest failed write."""
COMMANDS = (
    ("table", "show"),
    ("timeline", "show", "--limit=20"),
    ("timeline", "show"),
    ("commit", "list", "--limit=20"),
    ("check",),
    ("savepoint", "list"),
    ("savepoint", "create", *PLAN),
    ("restore", SAVED, *PLAN),
    ("rollback", FAILED, *PLAN),
    ("failed-writes", "list"),
    ("file", "slices", "--partition=part-0"),
    ("orphans", "list"),
)
MEASURE = """
import json, resource, subprocess, sys, time
begun = time.monotonic()
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
wall, usage = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
figures = [wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]
print(json.dumps([done.returncode, *figures, done.stderr.decode(errors="replace")[-500:]]))
"""
"""A small process of its own: the peak of memory of a process begins with that of the one which started it."""


Figures = tuple[float, float, float]
"""Seconds of wall and processor time, and the peak of memory in MiB."""


def main(argv: Sequence[str] | None = None) -> int:
    """Makes both lakes, measures and prints; 1 where a command failed, or grows."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.years", description=__doc__)
    add = options.add_argument
    add("commands", nargs="*", metavar="COMMAND", help="those whose words begin so, as `check` (all)")
    add("--days", type=int, default=365, help="days of the first lake; the second has twice as many (%(default)s)")
    add("--keep", type=int, default=30, help="savepoints kept, one a day (%(default)s)")
    add("--ruled", type=int, default=1_000, help="more data files in each of three partitions (%(default)s)")
    add("--rounds", type=int, default=3, help="runs of each command, the fastest counts (%(default)s)")
    add("--scratch", help="folder for the tables (the system's)")
    args = options.parse_args(argv)
    if not 0 < args.keep < args.days:
        options.error("--keep is less than --days, and at least 1")
    if not has_hudictl():
        raise SystemExit("hudictl not found")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}\n")
    end = dt.datetime.now(dt.timezone.utc).replace(second=0, microsecond=217_000)
    with tempfile.TemporaryDirectory(prefix="hudictl-years-", dir=args.scratch) as scratch:
        lakes = [Lake(days, args.keep, args.ruled, end) for days in (args.days, 2 * args.days)]
        bases = []
        for lake in lakes:
            say(f"a lake of {lake.days:,} days")
            # In a process of its own: this one stays small.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                bases.append(pool.submit(make, lake, Path(scratch, str(lake.days))).result())
        version = [sys.executable, "-m", "hudictl", "--version"]
        (start,) = measured([version], args.rounds)
        rows = [["command", "wall s", "cpu s", "peak MiB", "wall s", "cpu s", "peak MiB", "growth: cpu", "MiB", ""]]
        for words in COMMANDS:
            if not args.commands or any(" ".join(words).startswith(begin) for begin in args.commands):
                whole = [command(words, base, lake) for base, lake in zip(bases, lakes, strict=True)]
                rows.append(row(words, measured(whole, args.rounds), start))
                say(" ".join(rows[-1]))
    print_table(rows)
    print(f"\nThe start of hudictl: {start[1]:.2f} s of processor time, {start[2]:.0f} MiB.")
    return 0 if all(cells[-1] == "flat" for cells in rows[1:]) else 1


def command(words: Sequence[str], base: str, lake: Lake) -> list[str]:
    """A command line on a lake."""
    times = {SAVED: lake.last_saved, FAILED: lake.last_failed}
    more = ["--storage-option", f"files={lake.ruled}", *(["--single-operator"] if "--plan" in words else [])]
    asked = [times.get(word, word) for word in words]
    return [sys.executable, "-m", "benchmarks.ruled", *asked, "-t", f"{PROTOCOL}://{base}", *more]


def measured(commands: Sequence[Sequence[str]], rounds: int) -> list[Figures]:
    """The least figures of each command, run in turn: what other work of the host adds is not its own. Zeros where one
    failed."""
    found: list[list[Figures]] = [[] for _ in commands]
    for _ in range(rounds):
        for whole, figures in zip(commands, found, strict=True):
            figures.append(run(whole))
    return [(min(walls), min(cpus), min(peaks)) for walls, cpus, peaks in (zip(*one, strict=True) for one in found)]


def run(whole: Sequence[str]) -> Figures:
    """Runs a command; findings of ``check`` are no failure."""
    env = {**environment(), "HUDICTL_ENGINE": "local"}
    done = subprocess.run([sys.executable, "-c", MEASURE, *whole], env=env, capture_output=True, check=True)
    code, wall, cpu, peak, error = json.loads(done.stdout)
    if code not in (0, 3):
        say(f"{' '.join(whole)}: {code}: {error}")
        return 0.0, 0.0, 0.0
    return wall, cpu, peak


def row(words: Sequence[str], found: Sequence[Figures], start: Figures) -> list[str]:
    """What a command took on both lakes, and the verdict: without the start of hudictl, which is not exact."""
    shown = " ".join(word for word in words if word not in PLAN[1:])
    cells = [text for wall, cpu, peak in found for text in (f"{wall:.2f}", f"{cpu:.2f}", f"{peak:.0f}")]
    (_, first, small), (_, second, large) = found
    if not first or not second:
        return [f"`{shown}`", *cells, "", "", "FAILED"]
    cpu = max(second - start[1], 0) / max(first - start[1] * (1 - NOISE), 0.01)
    memory = large / small
    return [f"`{shown}`", *cells, f"{cpu:.2f}", f"{memory:.2f}", "flat" if max(cpu, memory) <= LIMIT else "GROWS"]


if __name__ == "__main__":
    sys.exit(main())
