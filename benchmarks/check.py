"""`hudictl check` of a table with a long timeline and many files, against the bare system calls and the real Hudi.

The bare row lists all folders and reads all files of the timeline, without a look at what they say. Hudi's procedure
`validate_metadata_table_files` compares the metadata table with the listing of folders, one of the things that `check`
does; it gets a table of its own, for which Hudi has made a metadata table before. README.md says how to read the table.
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
    environment,
    exit_problem,
    hudi_jar,
    median,
    print_table,
    ratio,
    result_of,
    say,
)
from benchmarks.table import TablePlan, generate, yesterday


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the contenders and prints the table; 1 if a contender failed."""
    args = parser().parse_args(argv)
    plan = TablePlan(args.partitions, args.commits - 2, 1, yesterday())
    scratch = tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch)
    base = os.path.join(scratch, "table")
    chosen = args.contenders.split(",")
    generate(base, plan)
    os.sync()
    print(
        f"Table: {args.commits:,} commits, {plan.partitions:,} partitions, "
        f"{plan.kept_files + plan.removed_files:,} files. Rounds: {args.rounds}. Load before: {os.getloadavg()[0]:.2f}",
        flush=True,
    )

    results = {
        contender: median([run(contender, base, args, scratch) for _ in range(args.rounds)])
        for contender in sorted(chosen, key="hudi".__eq__)  # the last: it makes a metadata table
    }
    print_results(list(results.values()))
    if any(result.problem for result in results.values()):
        print(f"\nLogs: {scratch}")
        return 1
    shutil.rmtree(scratch)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.check", description=__doc__)
    add = options.add_argument
    add("--commits", type=int, default=10_000, help="commits of the table (%(default)s)")
    add("--partitions", type=int, default=10, help="partitions, in each of which each commit writes one file (10)")
    add("--rounds", type=int, default=1, help="how often each contender runs; medians are shown (1)")
    add("--contenders", default=",".join(CONTENDERS), help="comma list (%(default)s)")
    add("--scratch", help="folder for the table, on the file system to measure (the system's)")
    add("--hudi-python", default=sys.executable, help="interpreter with PySpark 3.5 for Hudi (this one)")
    return options


def run(contender: str, base: str, args: argparse.Namespace, scratch: str) -> Result:
    """One contender; none of them changes the table."""
    say(LABELS[contender])
    if contender == "bare":
        return run_bare(base)
    log = os.path.join(scratch, f"{contender}.log")
    if contender != "hudi":
        command = [sys.executable, "-m", "hudictl", "check", "-t", base, "--timezone", "UTC"]
        command += ["--engine", contender.removeprefix("hudictl-")]
        measured = measure(command, log, environment(), None)
        wrong = "" if "no findings" in measured.lines else "there are findings"
        return result_of("check", contender, measured, exit_problem(measured) or wrong)

    peer = [args.hudi_python, str(HERE / "hudi_peer.py")]
    jar = ["--jar", hudi_jar()]
    if not Path(base, ".hoodie/metadata").is_dir():
        made = measure([*peer, "create_metadata_table", base, *jar], log, environment(), None)
        if exit_problem(made):
            return result_of("check", contender, made, exit_problem(made))
    measured = measure([*peer, "validate_metadata_table_files", base, *jar], log, environment(), None)
    return result_of("check", contender, measured, exit_problem(measured))


def run_bare(base: str) -> Result:
    """The floor: one thread lists every folder with sizes, and reads every file of the timeline."""
    begun, cpu_begun = time.monotonic(), time.process_time()
    for folder, _, names in os.walk(base):
        for name in names:
            path = os.path.join(folder, name)
            if folder.endswith(".hoodie"):
                Path(path).read_bytes()
            else:
                os.stat(path)
    usage = Usage(cpu_s=time.process_time() - cpu_begun)
    return Result("bare", "check", time.monotonic() - begun, usage=usage, problem="")


def print_results(rows: Sequence[Result]) -> None:
    """Prints the table."""
    bare = next((row for row in rows if row.contender == "bare" and not row.problem), None)
    hudi = next((row for row in rows if row.contender == "hudi" and not row.problem), None)
    table = [["contender", "wall s", "to bare", "to Hudi", "cpu s", "peak MiB", "ended well"]]
    for row in rows:
        verdict = f"FAILED: {row.problem}" if row.problem else "yes"
        cells = [f"{row.usage.cpu_s:.2f}", f"{row.usage.total_mib:.0f}", verdict]
        table.append([LABELS[row.contender], f"{row.wall_s:.2f}", ratio(row, bare), ratio(row, hudi), *cells])
        if "call" in row.parts:
            call = replace(row, wall_s=row.parts["call"])
            table.append(["- its call", f"{call.wall_s:.2f}", ratio(call, bare), ratio(call, hudi)])
    print()
    print_table(table)


if __name__ == "__main__":
    sys.exit(main())
