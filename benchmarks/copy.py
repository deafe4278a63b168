"""`hudictl copy` on local files, against the bare copy of the same files, in turns.

The bare rows are one thread with ``shutil.copy2`` (in the kernel, with times) into new folders, and the same with an
fsync of each file, as hudictl does. hudictl's time is that of the whole process: it starts, lists, plans, copies and
lists again.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import measure
from benchmarks.restore import environment, exit_problem, print_table, say
from benchmarks.table import TablePlan, generate, yesterday


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, and prints a table; 1 if hudictl failed."""
    args = parser().parse_args(argv)
    plan = TablePlan(args.partitions, 2, args.files, yesterday())
    scratch = Path(tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch))
    table, target = scratch / "table", scratch / "target"
    say("the table")
    generate(str(table), plan, os.urandom(args.kib * 1024))
    required = [
        f"{name}/{file}" for number, name in enumerate(plan.partition_names) for file in plan.savepoint_files(number)
    ]
    walls: dict[str, list[float]] = {"bare": [], "bare, fsync": [], "hudictl": []}
    for _ in range(args.rounds):
        for name, found in walls.items():
            say(name)
            wall = hudictl(table, target, plan) if name == "hudictl" else bare(table, target, required, "fsync" in name)
            if wall is None:
                return 1
            found.append(wall)
            shutil.rmtree(target)
    size = len(required) * args.kib / 1024
    print(f"{len(required):,} files of {args.kib:,} KiB, {size:,.0f} MiB; median of {args.rounds}, in turns.\n")
    medians = {name: statistics.median(found) for name, found in walls.items()}
    rows = [["contender", "wall s", "MiB/s", "speed to bare", "to bare, fsync"]]
    for name, wall in medians.items():
        ratios = [f"{medians[other] / wall:.2f}" for other in ("bare", "bare, fsync")]
        rows.append([name, f"{wall:.2f}", f"{size / wall:,.0f}", *ratios])
    print_table(rows)
    shutil.rmtree(scratch)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.copy", description=__doc__)
    add = options.add_argument
    add("--partitions", type=int, default=20, help="partitions of the table (20)")
    add("--files", type=int, default=10, help="files a partition and commit; two commits are copied (10)")
    add("--kib", type=int, default=8192, help="size of each file in KiB (8192)")
    add("--rounds", type=int, default=3, help="rounds (3)")
    add("--scratch", help="folder for the tables (the system's)")
    return options


def hudictl(table: Path, target: Path, plan: TablePlan) -> float | None:
    """The wall time of a copy as of the second commit; None if it failed."""
    command = [
        sys.executable,
        "-m",
        "hudictl",
        "copy",
        "-t",
        str(table),
        "--as-of",
        plan.savepoint,
        "--to",
        str(target),
    ]
    command += ["--yes", "--timezone", "UTC", "--engine", "local"]
    measured = measure(command, str(table.parent / "log"), environment(), None)
    if problem := exit_problem(measured):
        say(f"{problem}: {Path(table.parent / 'log').read_text()}")
        return None
    return measured.wall_s


def bare(table: Path, target: Path, required: Sequence[str], synced: bool) -> float:
    """The wall time of the bare copy."""
    begun = time.monotonic()
    for path in required:
        to = target / path
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(table / path, to)
        if synced:
            with to.open("rb+") as file:
                os.fsync(file.fileno())
    return time.monotonic() - begun


if __name__ == "__main__":
    sys.exit(main())
