"""Rollback of one commit: hudictl against the real Hudi and against the bare system calls.

The newest commit of a generated table is rolled back, once completed (what it wrote is known from its metadata) and
once pending, as its writer left it when it died (known from its markers). README.md says how to read the table.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import Usage, measure
from benchmarks.restore import (
    CONTENDERS,
    HERE,
    LABELS,
    Result,
    Settings,
    environment,
    exit_problem,
    hudi_jar,
    instant_of,
    median,
    print_table,
    ratio,
    restore_problem,
    result_of,
    say,
)
from benchmarks.table import TablePlan, generate, write, yesterday

WAYS = {"metadata": "completed, by its commit metadata", "markers": "pending, by its markers"}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the contenders and prints the tables; 1 if a contender failed."""
    args = parser().parse_args(argv)
    plan = TablePlan(args.partitions, 1, args.files, yesterday())
    scratch = tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch)
    chosen = args.contenders.split(",")
    jar = hudi_jar() if "hudi" in chosen else ""
    settings = Settings(plan, scratch, scratch, jar, args.hudi_python, "EAGER", None, False)
    print(
        f"Table: {plan.partitions} partitions, {plan.kept_files + plan.removed_files} files; "
        f"rollback of one commit of {plan.removed_files} files. Rounds: {args.rounds}. "
        f"Load before: {os.getloadavg()[0]:.2f}",
        flush=True,
    )
    results = [
        run(contender, way, settings, number) for number in range(args.rounds) for way in WAYS for contender in chosen
    ]
    for way, title in WAYS.items():
        print_way(title, [median(of(results, contender, way)) for contender in dict.fromkeys(chosen)])
    failed = any(result.problem for result in results)
    if failed:
        print(f"\nLogs: {scratch}")
    else:
        shutil.rmtree(scratch)
    return 1 if failed else 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.rollback", description=__doc__)
    add = options.add_argument
    add("--partitions", type=int, default=500, help="partitions of the table (500)")
    add("--files", type=int, default=40, help="files that each commit writes in each partition (40)")
    add("--rounds", type=int, default=1, help="how often each contender runs; medians are shown (1)")
    add("--contenders", default=",".join(CONTENDERS), help="comma list, in the order to run (%(default)s)")
    add("--scratch", help="folder for the tables, on the file system to measure (the system's)")
    add("--hudi-python", default=sys.executable, help="interpreter with PySpark 3.5 for Hudi (this one)")
    return options


def run(contender: str, way: str, settings: Settings, number: int) -> Result:
    """One contender on a table of its own."""
    say(f"round {number + 1}, {LABELS[contender]}, {way}")
    base = os.path.join(settings.scratch, f"{contender}-{way}-{number}")
    generate(base, settings.plan)
    if way == "markers":
        make_pending(base, settings.plan)
    os.sync()  # so that nobody waits for the disk to take another's table
    try:
        return (
            run_bare(base, way, settings.plan) if contender == "bare" else run_process(contender, base, way, settings)
        )
    finally:
        shutil.rmtree(base)


def make_pending(base: str, plan: TablePlan) -> None:
    """Takes the newest commit back to where its writer died: all files written, the timeline server's markers there."""
    time = plan.instants[-1]
    os.unlink(os.path.join(base, ".hoodie", f"{time}.commit"))
    folder = os.path.join(base, ".hoodie", ".temp", time)
    os.makedirs(folder)
    lines = [
        f"{partition}/{name}.marker.MERGE\n"
        for index, partition in enumerate(plan.partition_names)
        for name in plan.file_names_of(len(plan.instants) - 1, index)
    ]
    write(os.path.join(folder, "MARKERS.type"), b"TIMELINE_SERVER_BASED", plan.times[-1])
    write(os.path.join(folder, "MARKERS0"), "".join(lines).encode(), plan.times[-1])


def run_bare(base: str, way: str, plan: TablePlan) -> Result:
    """The floor: one thread unlinks the files, whose paths it is given."""
    begun, cpu_begun = time.monotonic(), time.process_time()
    for partition in plan.partition_names:
        folder = os.path.join(base, partition)
        for name in os.listdir(folder):
            if instant_of(name) == plan.instants[-1]:
                os.unlink(os.path.join(folder, name))
    usage = Usage(cpu_s=time.process_time() - cpu_begun)
    return Result("bare", way, time.monotonic() - begun, usage=usage, problem=restore_problem(base, plan))


def run_process(contender: str, base: str, way: str, settings: Settings) -> Result:
    """hudictl or Hudi, as a process of its own."""
    target = settings.plan.instants[-1]
    if contender == "hudi":
        command = [settings.hudi_python, str(HERE / "hudi_peer.py"), "rollback", base, target, "--jar", settings.jar]
    else:
        command = [sys.executable, "-m", "hudictl", "rollback", target, "-t", base, "--yes", "--timezone", "UTC"]
        command += ["--engine", contender.removeprefix("hudictl-")]
    measured = measure(command, os.path.join(settings.logs, f"{contender}-{way}.log"), environment(), None)
    problem = exit_problem(measured) or restore_problem(base, settings.plan) or timeline_problem(base, target)
    return replace(result_of("rollback", contender, measured, problem), operation=way)


def timeline_problem(base: str, target: str) -> str:
    """What is wrong with the timeline; empty if the instant is gone and a rollback is completed."""
    names = [path.name for path in Path(base, ".hoodie").iterdir()]
    left = [name for name in names if name.startswith(target)]
    if left:
        return f"{len(left)} instant files left, first {left[0]}"
    return "" if any(name.endswith(".rollback") for name in names) else "no completed rollback"


def of(results: Sequence[Result], contender: str, way: str) -> list[Result]:
    """The rounds of one contender."""
    return [result for result in results if (result.contender, result.operation) == (contender, way)]


def print_way(title: str, rows: Sequence[Result]) -> None:
    """Prints one table."""
    bare = next((row for row in rows if row.contender == "bare" and not row.problem), None)
    hudi = next((row for row in rows if row.contender == "hudi" and not row.problem), None)
    table = [["contender", "wall s", "to bare", "to Hudi", "cpu s", "verified"]]
    for row in rows:
        verdict = f"FAILED: {row.problem}" if row.problem else "yes"
        ratios = [ratio(row, bare), ratio(row, hudi)]
        table.append([LABELS[row.contender], f"{row.wall_s:.2f}", *ratios, f"{row.usage.cpu_s:.2f}", verdict])
        if "call" in row.parts:
            call = replace(row, wall_s=row.parts["call"])
            table.append(["- its call", f"{call.wall_s:.2f}", ratio(call, bare), ratio(call, hudi)])
    print(f"\n### {title}\n")
    print_table(table)


if __name__ == "__main__":
    sys.exit(main())
