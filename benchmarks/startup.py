"""How long hudictl takes to start, as a ratio to the interpreter alone.

Nothing measured here may start Spark or import it: the commands only show help, a version, a timeline.
"""

import argparse
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.restore import environment, has_hudictl, print_table
from benchmarks.table import TablePlan, generate, write_savepoint, yesterday


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the commands in turn and prints the medians; 1 if a command failed."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    options.add_argument("--runs", type=int, default=10, help="runs of each command (10)")
    options.add_argument("--partitions", type=int, default=20, help="partitions of the table to show (20)")
    options.add_argument("--commits", type=int, default=18, help="commits of it after its savepoint (18)")
    options.add_argument("--files", type=int, default=10, help="files a commit and partition (10)")
    options.add_argument("--scratch", help="folder for the table (the system's)")
    args = options.parse_args(argv)
    if not has_hudictl():
        raise SystemExit("hudictl not found")
    scratch = tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch)
    try:
        base = os.path.join(scratch, "table")
        plan = TablePlan(args.partitions, args.commits, args.files, yesterday())
        generate(base, plan)
        write_savepoint(base, plan)
        host = f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores"
        print(f"{host}, {args.runs} runs each\n")
        return report(commands(base), args.runs)
    finally:
        shutil.rmtree(scratch)


def commands(base: str) -> dict[str, list[str]]:
    """What is measured, by the name to print; the first is the base of the ratios."""
    hudictl = [sys.executable, "-m", "hudictl"]
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "hudictl --version": [*hudictl, "--version"],
        "hudictl --help": [*hudictl, "--help"],
        "hudictl timeline show": [*hudictl, "timeline", "show", "-t", base],
        "a Tab: hudictl": _tab(""),
        "a Tab: hudictl restore": _tab(f"restore -t {base} "),
        "a Tab: hudictl check --only": _tab("check --only "),
    }


def _tab(begun: str) -> list[str]:
    """What bash runs for a Tab behind ``hudictl`` and what was typed."""
    asked = (f"COMP_WORDS=hudictl {begun}", "COMP_CWORD=", "_HUDICTL_COMPLETE=bash_complete")
    return ["env", *asked, sys.executable, "-m", "hudictl"]


def report(chosen: dict[str, list[str]], runs: int) -> int:
    """Runs every command once a round, so that a slow moment of the host meets all of them, and prints the table."""
    times: dict[str, list[float]] = {name: [] for name in chosen}
    failures: dict[str, str] = {}
    for number in range(runs + 1):
        for name, command in chosen.items():
            start = time.monotonic()
            done = subprocess.run(
                command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            if number:  # the first round fills caches and compiles bytecode
                times[name].append(time.monotonic() - start)
            if done.returncode:
                failures[name] = f"FAILED: exit code {done.returncode}"
                last = (done.stderr.strip().splitlines() or [""])[-1]
                print(f"{shlex.join(command)}: {done.returncode}: {last}", file=sys.stderr)
    medians = {name: statistics.median(values) for name, values in times.items()}
    base = next(iter(medians.values()))
    table = [["command", "median ms", "fastest ms", "to python", ""]]
    for name, value in medians.items():
        cells = [f"{value * 1000:.0f}", f"{min(times[name]) * 1000:.0f}", f"{value / base:.1f}"]
        table.append([name, *cells, failures.get(name, "")])
    print_table(table)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
