"""How restore and savepoint grow with the table: more files, more commits, more partitions, more files that stay.

Each point is a freshly generated table on which hudictl makes a savepoint and restores to it, with Spark and with
threads, and on which bare system calls list and delete the same files. README.md says how to read what is printed.
"""

import argparse
import multiprocessing
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

from benchmarks.measure import Usage
from benchmarks.restore import (
    LABELS,
    Result,
    Settings,
    median,
    print_table,
    restore_with,
    run_bare,
    savepoint_with,
    say,
)
from benchmarks.table import TablePlan, generate, yesterday

CONTENDERS = ("bare", "hudictl-spark", "hudictl-local")
OPERATIONS = {"restore": "Restore", "savepoint": "Savepoint create"}
FIXED_ROUNDS = 3
# Fewer partitions are listed without the engine, and Spark's tasks have a start of their own.
SMALLEST = TablePlan(32, 1, 1, yesterday())
LIMIT = 2.0
"""How many times the cost of an item may grow along an axis."""
NOISE = 0.25
"""The share by which the fixed costs of Spark differ from start to start."""


@dataclass(frozen=True)
class Point:
    """A place on an axis, and the table there."""

    axis: str
    value: int
    plan: TablePlan

    @property
    def files(self) -> int:
        """All data files of the table."""
        return self.plan.kept_files + self.plan.removed_files

    def items(self, operation: str) -> int:
        """What there is to do: each folder and each file is listed, and a restore deletes files."""
        return self.plan.partitions + self.files + (self.plan.removed_files if operation == "restore" else 0)


@dataclass(frozen=True)
class Row:
    """What a contender needed at a point, and on the smallest table: seconds, processor seconds, bytes."""

    point: Point
    result: Result
    fixed: Result

    def item(self, figure: str, slack: float = 0.0) -> float:
        """What an item cost beyond the fixed costs, of which a share may be noise."""
        found, start = figures(self.result)[figure], figures(self.fixed)[figure]
        return (found - start * (1 - slack)) / self.point.items(self.result.operation)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 where a contender failed, or where the cost of an item grows."""
    args = parser().parse_args(argv)
    scratch = tempfile.mkdtemp(prefix="hudictl-scale-", dir=args.scratch)
    logs = os.path.join(scratch, "logs")
    os.makedirs(logs)
    settings = Settings(SMALLEST, scratch, logs, "", "", "EAGER", args.master, args.verbose)
    contenders = args.contenders.split(",")
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores, load before: {load}")
    fixed = {contender: fixed_costs(contender, settings) for contender in contenders}
    print_fixed(fixed)
    good = True
    for points in axes(args):
        rows = [
            Row(point, result, fixed[contender][result.operation])
            for point in points
            for contender in contenders
            for result in run(contender, point, settings)
        ]
        for operation in OPERATIONS:
            good &= print_axis(points, [row for row in rows if row.result.operation == operation])
    if good:
        shutil.rmtree(scratch)
    else:
        print(f"\nLogs: {logs}")
    return 0 if good else 1


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    add = options.add_argument
    add("--files", type=numbers, default="10000,30000,100000", help="files of the table (%(default)s)")
    add("--commits", type=numbers, default="1,10,100", help="commits to take back (%(default)s)")
    add("--partitions", type=numbers, default="10,100,1000,10000", help="partitions (%(default)s)")
    add("--stay", type=numbers, default="", help="files that stay while 20,000 are deleted (none)")
    add("--ruled", type=numbers, default="", help="the same, with files that exist only by a rule (none)")
    add("--ruled-partitions", type=numbers, default="1000", help="partitions of these tables (%(default)s)")
    add("--skew", type=numbers, default="", help="files of a table, even, then half of them in one partition (none)")
    add("--single", type=numbers, default="", help="partitions of one file each (none)")
    add("--size", type=int, default=30_000, help="files of the table where commits or partitions vary (%(default)s)")
    add("--contenders", default=",".join(CONTENDERS), help="comma list (%(default)s)")
    add("--scratch", help="folder for the tables, on the file system to measure (the system's)")
    add("--master", help="Spark master for hudictl (its default)")
    add("--verbose", action="store_true", help="give hudictl -v; its lines are in the logs, with the seconds")
    return options


def numbers(text: str) -> list[int]:
    """A comma list of numbers."""
    return [int(number) for number in text.split(",") if number]


def axes(args: argparse.Namespace) -> list[list[Point]]:
    """The points of each axis: what does not vary is 100 partitions, 10 commits, and ``--size`` files."""
    found = [
        [point("files", files, files, 100, 10) for files in args.files],
        [point("commits", commits, args.size, 100, commits) for commits in args.commits],
        [point("partitions", partitions, args.size, partitions, 1) for partitions in args.partitions],
        [Point("files that stay", stay, staying(stay, 200)) for stay in args.stay],
        *(
            [Point("ruled files", stay, replace(staying(stay, partitions), ruled=True)) for stay in args.ruled]
            for partitions in args.ruled_partitions
        ),
        *([point("skew", 0, files, 100, 10), skewed(files, 100, 10)] for files in args.skew),
        [
            Point("partitions of one file", partitions, TablePlan(partitions, 10, 1, yesterday(), spread="single"))
            for partitions in args.single
        ],
    ]
    return [points for points in found if points]


def point(axis: str, value: int, files: int, partitions: int, commits: int) -> Point:
    """A table of about so many files: each of its commits, two up to the savepoint among them, writes as many."""
    each = max(1, round(files / partitions / (commits + 2)))
    return Point(axis, value, TablePlan(partitions, commits, each, yesterday()))


def staying(stay: int, partitions: int) -> TablePlan:
    """A table with so many files that stay, 20,000 more in 5 commits, most of the former of archived commits."""
    each = max(1, 4_000 // partitions)
    return TablePlan(partitions, 5, each, yesterday(), max(0, stay // partitions - 2 * each))


def skewed(files: int, partitions: int, commits: int) -> Point:
    """As ``point``, with half of the files in one partition."""
    each = max(1, round(files / (2 * partitions - 2) / (commits + 2)))
    return Point("skew", 1, TablePlan(partitions, commits, each, yesterday(), spread="half"))


def run(contender: str, point: Point, settings: Settings) -> list[Result]:
    """Both operations of one contender on a table of its own."""
    say(f"{point.axis} {point.value:,}: {LABELS[contender]}")
    base = os.path.join(settings.scratch, "table")
    generate(base, point.plan)
    os.sync()  # so that nobody waits for the disk to take another's table
    try:
        if contender == "bare":
            # In a process of its own: its memory is measured, too.
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                return pool.submit(bare, base, point.plan).result()
        mine = replace(settings, plan=point.plan)
        return [savepoint_with(contender, base, mine), restore_with(contender, base, mine)]
    finally:
        shutil.rmtree(base)


def bare(base: str, plan: TablePlan) -> list[Result]:
    """The bare system calls, with the highest memory of this process."""
    results = run_bare(base, plan)
    # Not getrusage: its peak begins with the memory of the process that has started this one.
    with open("/proc/self/status", encoding="ascii") as file:
        peak_mib = next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))
    return [replace(result, usage=Usage(peak_mib, 0.0, result.usage.cpu_s)) for result in results]


def fixed_costs(contender: str, settings: Settings) -> dict[str, Result]:
    """What an operation costs on the smallest table: starting, settling, the timeline."""
    rounds = [run(contender, Point("start", number, settings.plan), settings) for number in range(FIXED_ROUNDS)]
    return {results[0].operation: median(list(results)) for results in zip(*rounds, strict=True)}


def figures(result: Result) -> dict[str, float]:
    """Seconds, and the peak of memory in bytes."""
    return {"wall": result.wall_s, "cpu": result.usage.cpu_s, "memory": result.usage.total_mib * 2**20}


def print_fixed(fixed: Mapping[str, Mapping[str, Result]]) -> None:
    """Prints the fixed costs."""
    print(
        f"\n### The smallest table, {SMALLEST.kept_files + SMALLEST.removed_files} files: medians of {FIXED_ROUNDS}\n"
    )
    table = [["contender", "operation", "wall s", "cpu s", "peak MiB"]]
    for contender, results in fixed.items():
        for operation, result in results.items():
            usage = result.usage
            cells = [f"{result.wall_s:.2f}", f"{usage.cpu_s:.2f}", f"{usage.total_mib:.0f}"]
            table.append([LABELS[contender], OPERATIONS[operation], *cells])
    print_table(table)


def print_axis(points: Sequence[Point], rows: Sequence[Row]) -> bool:
    """Prints one operation along one axis, and whether it stays flat; False where not, or where something failed."""
    axis, operation = points[0].axis, rows[0].result.operation
    print(f"\n### {OPERATIONS[operation]}, more {axis}\n")
    head = ["commits", "partitions", "files", "contender", "wall s", "cpu s", "driver's", "peak MiB", "driver's"]
    table = [[*head, "an item: wall us", "cpu us", "bytes"]]
    for row in rows:
        plan, result, usage = row.point.plan, row.result, row.result.usage
        where = [f"{number:,}" for number in (plan.commits, plan.partitions, row.point.files)]
        cells = [f"{result.wall_s:.2f}", f"{usage.cpu_s:.2f}", f"{usage.own_cpu_s:.2f}"]
        cells += [f"{usage.total_mib:.0f}", f"{usage.own_mib:.0f}"]
        costs = [f"{row.item('wall') * 1e6:.1f}", f"{row.item('cpu') * 1e6:.1f}", f"{row.item('memory'):.0f}"]
        if result.problem:
            costs = [f"FAILED: {result.problem}"]
        table.append([*where, LABELS[result.contender], *cells, *costs])
    print_table(table)
    print()
    verdicts = [
        print_verdict(axis, [row for row in rows if row.result.contender == contender])
        for contender in dict.fromkeys(row.result.contender for row in rows)
    ]
    return all(verdicts) and not any(row.result.problem for row in rows)


def print_verdict(axis: str, rows: Sequence[Row]) -> bool:
    """Says how an item's cost at the last point compares with those before; False where its processor time grows.

    Not by the wall time, which is also other processes' and the disk's.
    """
    if len(rows) < 2:
        return True
    wall, cpu, memory = (growth(rows, figure) for figure in ("wall", "cpu", "memory"))
    contender = rows[0].result.contender
    good = cpu <= LIMIT or contender == "bare"
    said = "not judged" if contender == "bare" else "flat" if good else f"GROWS more than {LIMIT:.0f} times"
    print(
        f"- {LABELS[contender]}: {said}; with the most {axis} an item costs {cpu:.2f} times the "
        f"processor time, {wall:.2f} times the wall time and {memory:.2f} times the memory of those before",
        flush=True,
    )
    return good


def growth(rows: Sequence[Row], figure: str) -> float:
    """The last cost of an item by the median of those before, which get the noise of starting on top."""
    before = statistics.median(row.item(figure, NOISE) for row in rows[:-1])
    return max(rows[-1].item(figure), 0.0) / before if before > 0 else float("inf")


if __name__ == "__main__":
    sys.exit(main())
