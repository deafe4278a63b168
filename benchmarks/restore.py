"""Restore and savepoint: hudictl against the real Hudi and against the bare system calls.

Every contender gets a freshly generated table of the same bytes, makes its own savepoint, restores to it, and is
checked: exactly the files of the later commits must be gone. README.md says how to read the table that is printed.
"""

import argparse
import importlib.util
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import Measured, Usage, measure
from benchmarks.ruled import PROTOCOL, RuledFileSystem
from benchmarks.table import (
    TablePlan,
    generate,
    restore_problem,
    savepoint_problem,
    timeline_problem,
    write_savepoint,
    yesterday,
)

HERE = Path(__file__).resolve().parent
HUDI_VERSION = "0.15.0"
BUNDLE = "hudi-spark3.5-bundle_2.12"
CONTENDERS = ("bare", "hudi", "hudictl-spark", "hudictl-local")
LABELS = {
    "bare": "bare system calls",
    "hudi": f"Hudi {HUDI_VERSION}",
    "hudictl-spark": "hudictl --engine spark",
    "hudictl-local": "hudictl --engine local",
}


@dataclass(frozen=True)
class Settings:
    """What the command line chose."""

    plan: TablePlan
    scratch: str
    logs: str
    jar: str
    hudi_python: str
    policy: str
    master: str | None
    verbose: bool


@dataclass(frozen=True)
class Result:
    """One operation of one contender: a round or the median of all. ``parts`` are named shares of the wall time."""

    contender: str
    operation: str
    wall_s: float = 0.0
    parts: dict[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    problem: str = ""
    spread: tuple[float, float] | None = None


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the contenders and prints the tables; 1 if a contender failed."""
    args = parser().parse_args(argv)
    plan = TablePlan(args.partitions, args.commits, args.files, yesterday())
    scratch = tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch)
    logs = args.logs or os.path.join(scratch, "logs")
    os.makedirs(logs, exist_ok=True)
    chosen = args.contenders.split(",")
    if unknown := set(chosen) - set(CONTENDERS):
        raise SystemExit(f"unknown contenders: {', '.join(sorted(unknown))}; there are {', '.join(CONTENDERS)}")
    jar = hudi_jar() if "hudi" in chosen else ""
    settings = Settings(plan, scratch, logs, jar, args.hudi_python, args.policy, args.master, args.verbose)
    print_head(settings, args.rounds)
    results: list[Result] = []
    for number in range(args.rounds):
        for contender in chosen:
            results += run_contender(contender, settings, number)
    print_results(results, chosen, plan)
    if any(result.problem for result in results) or args.keep or args.logs:
        print(f"\nLogs: {logs}")
    else:
        shutil.rmtree(scratch)
    return 1 if any(result.problem for result in results) else 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.restore", description=__doc__)
    add = options.add_argument
    add("--partitions", type=int, default=500, help="partitions of the table (500)")
    add("--commits", type=int, default=18, help="commits after the savepoint (18); two more lie before it")
    add("--files", type=int, default=10, help="files that each commit writes in each partition (10)")
    add("--rounds", type=int, default=1, help="how often each contender runs; medians are shown (1)")
    add(
        "--contenders",
        default=",".join(CONTENDERS),
        help="comma list, in the order to run; a name may come twice (%(default)s)",
    )
    add("--scratch", help="folder for the tables, on the file system to measure (the system's)")
    add("--logs", help="folder for the output of the contenders (inside the scratch folder, deleted if all went well)")
    add("--keep", action="store_true", help="keep the logs")
    add("--master", help="Spark master for hudictl and Hudi (hudictl: its default; Hudi: local[*])")
    add("--policy", default="EAGER", choices=["EAGER", "LAZY"], help="Hudi's policy for failed writes (EAGER)")
    add("--hudi-python", default=sys.executable, help="interpreter with PySpark 3.5 for Hudi (this one)")
    add("--verbose", action="store_true", help="give hudictl -v; its lines are in the logs, with the seconds")
    return options


def hudi_jar() -> str:
    """The path of Hudi's bundle; Maven fetches it if this host does not have it."""
    name = f"{BUNDLE}-{HUDI_VERSION}.jar"
    path = Path.home() / ".m2" / "repository" / "org" / "apache" / "hudi" / BUNDLE / HUDI_VERSION / name
    if not path.exists():
        artifact = f"org.apache.hudi:{BUNDLE}:{HUDI_VERSION}"
        subprocess.run(["mvn", "-q", "dependency:get", "-Dtransitive=false", f"-Dartifact={artifact}"], check=True)
    return str(path)


def run_contender(contender: str, settings: Settings, number: int) -> list[Result]:
    """Both operations of one contender on its own table."""
    say(f"round {number + 1}, {LABELS[contender]}")
    if contender.startswith("hudictl") and not has_hudictl():
        return [Result(contender, operation, problem="hudictl not found") for operation in ("savepoint", "restore")]
    base = os.path.join(settings.scratch, f"{contender}-{number}")
    generate(base, settings.plan)
    os.sync()  # so that nobody waits for the disk to take another's table
    try:
        if contender == "bare":
            return run_bare(base, settings.plan)
        return [savepoint_with(contender, base, settings), restore_with(contender, base, settings)]
    finally:
        shutil.rmtree(base)


def run_bare(base: str, plan: TablePlan) -> list[Result]:
    """The floor: one thread lists every partition and unlinks the files of the later commits."""
    start, cpu_start = time.monotonic(), time.process_time()
    doomed = []
    for partition in plan.partition_names:
        paths = bare_listing(os.path.join(base, partition), plan)
        doomed += [path for path in paths if instant_of(path) > plan.savepoint]
    listed, cpu_listed = time.monotonic(), time.process_time()
    for path in doomed:
        os.unlink(path)
    done, cpu_done = time.monotonic(), time.process_time()
    parts = {"listing": listed - start, "unlinks": done - listed}
    return [
        Result("bare", "savepoint", listed - start, usage=Usage(cpu_s=cpu_listed - cpu_start)),
        Result("bare", "restore", done - start, parts, Usage(cpu_s=cpu_done - cpu_start), restore_problem(base, plan)),
    ]


def bare_listing(folder: str, plan: TablePlan) -> list[str]:
    """The paths of the files in a folder; what it costs to make the ruled ones belongs to each of their listings."""
    if plan.ruled:
        return RuledFileSystem(plan.older).ls(folder, detail=False)
    with os.scandir(folder) as entries:
        return [entry.path for entry in entries]


def instant_of(file_name: str) -> str:
    """The instant in the name of a base file; empty for another file."""
    return file_name.rpartition("_")[2].removesuffix(".parquet") if file_name.endswith(".parquet") else ""


def savepoint_with(contender: str, base: str, settings: Settings) -> Result:
    """Has a contender make the savepoint; where it cannot, writes it, so that the restore is measured all the same."""
    measured = measure_operation("savepoint", contender, base, settings)
    problem = exit_problem(measured) or savepoint_problem(base, settings.plan)
    if problem:
        for suffix in (".savepoint", ".savepoint.inflight"):
            Path(base, ".hoodie", settings.plan.savepoint + suffix).unlink(missing_ok=True)
        write_savepoint(base, settings.plan)
    return result_of("savepoint", contender, measured, problem)


def restore_with(contender: str, base: str, settings: Settings) -> Result:
    """Has a contender restore the table."""
    measured = measure_operation("restore", contender, base, settings, watch=True)
    plan = settings.plan
    problem = exit_problem(measured) or restore_problem(base, plan) or timeline_problem(base, plan)
    return result_of("restore", contender, measured, problem)


def measure_operation(
    operation: str, contender: str, base: str, settings: Settings, *, watch: bool = False
) -> Measured:
    """Runs one operation of one contender as a process."""
    instant = settings.plan.savepoint
    if contender == "hudi":
        command = [settings.hudi_python, str(HERE / "hudi_peer.py"), operation, base, instant, "--jar", settings.jar]
        command += ["--policy", settings.policy]
    else:
        words = ["savepoint", "create"] if operation == "savepoint" else ["restore"]
        command = [sys.executable, "-m", *hudictl_on(base, settings.plan, words), instant, "--yes"]
        command += ["--timezone", "UTC"] if operation == "restore" else []
        command += ["--engine", contender.removeprefix("hudictl-")]
        command += ["-v"] if settings.verbose else []
    if settings.master and contender in ("hudi", "hudictl-spark"):
        command += ["--master", settings.master]
    log = os.path.join(settings.logs, f"{contender}-{operation}.log")
    return measure(command, log, environment(), (base, instant) if watch else None)


def hudictl_on(base: str, plan: TablePlan, words: list[str]) -> list[str]:
    """The module to run, and the beginning of its command line."""
    if not plan.ruled:
        return ["hudictl", *words, "-t", base]
    ruled = ["--storage-option", f"files={plan.older}", "--single-operator"]
    return ["benchmarks.ruled", *words, "-t", f"{PROTOCOL}://{base}", *ruled]


def exit_problem(measured: Measured) -> str:
    """The exit code as a problem."""
    return f"exit code {measured.returncode}" if measured.returncode else ""


def result_of(operation: str, contender: str, measured: Measured, problem: str) -> Result:
    """The result of a process."""
    parts = {}
    moments = measured.moments
    if moments.inflight is not None:
        parts["inflight at"] = moments.inflight
        if moments.readers_back is not None:
            parts["readers back at"] = moments.readers_back
            parts["readers back"] = moments.readers_back - moments.inflight
    if contender == "hudi" and not measured.returncode:
        answer = json.loads(next(line for line in reversed(measured.lines) if line.startswith('{"start_s"')))
        parts["call"] = answer["call_s"]
    return Result(contender, operation, measured.wall_s, parts, measured.usage, problem)


def environment() -> dict[str, str]:
    """The environment of the contenders: hudictl is found in this source tree even if it is not installed."""
    paths = [str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def has_hudictl() -> bool:
    """Whether there is a hudictl to run."""
    return importlib.util.find_spec("hudictl") is not None and importlib.util.find_spec("hudictl.__main__") is not None


def print_head(settings: Settings, rounds: int) -> None:
    """Says what runs where."""
    plan = settings.plan
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores, load before: {load}")
    print(
        f"Table: {plan.partitions} partitions, {plan.kept_files + plan.removed_files} files; "
        f"restore over {plan.commits} commits, {plan.removed_files} files to delete. Rounds: {rounds}.",
        flush=True,
    )


def print_results(results: list[Result], contenders: Sequence[str], plan: TablePlan) -> None:
    """Prints one table for each operation and one for the moments of the restore."""
    for operation, title in (("restore", "Restore"), ("savepoint", "Savepoint create")):
        rows = [
            median([r for r in results if (r.contender, r.operation) == (c, operation)])
            for c in dict.fromkeys(contenders)
        ]
        bare = next((row for row in rows if row.contender == "bare" and not row.problem), None)
        hudi = next((row for row in rows if row.contender == "hudi" and not row.problem), None)
        print(f"\n### {title}\n")
        table = [
            ["contender", "wall s", "from - to", "to bare", "to Hudi", "cpu s", "peak MiB", "of it JVM", "verified"]
        ]
        for row in rows:
            verdict = f"FAILED: {row.problem}" if row.problem else "yes" if has_check(row) else "-"
            usage = row.usage
            memory = [f"{usage.total_mib:.0f}", f"{usage.jvm_mib:.0f}"] if usage.total_mib else ["-", "-"]
            spread = "{:.2f} - {:.2f}".format(*row.spread) if row.spread else ""
            ratios = [ratio(row, bare), ratio(row, hudi)]
            table.append(
                [LABELS[row.contender], f"{row.wall_s:.2f}", spread, *ratios, f"{usage.cpu_s:.2f}", *memory, verdict]
            )
            for name in ("listing", "unlinks", "call"):
                if name in row.parts:
                    part = Result(row.contender, operation, row.parts[name])
                    table.append([f"- its {name}", f"{part.wall_s:.2f}", "", ratio(part, bare), ratio(part, hudi)])
        print_table(table)
        if operation == "restore":
            print_moments(rows)


def print_moments(rows: list[Result]) -> None:
    """Prints when readers saw the target again."""
    rows = [row for row in rows if "inflight at" in row.parts]
    if not rows:
        return
    print("\n### When readers are back, in seconds\n")
    table = [["contender", "restore inflight at", "readers back at", "from inflight to readers back", "done at"]]
    for row in rows:
        cells = [seconds(row.parts.get(name)) for name in ("inflight at", "readers back at", "readers back")]
        table.append([LABELS[row.contender], *cells, seconds(row.wall_s)])
    print_table(table)


def has_check(row: Result) -> bool:
    """Whether there was something to verify: the bare listing leaves nothing behind."""
    return not (row.contender == "bare" and row.operation == "savepoint")


def median(results: list[Result]) -> Result:
    """The median of the rounds, number by number; the first problem, if any."""
    first = results[0]
    good = [result for result in results if not result.problem]
    if not good:
        return first
    names = [name for name in good[0].parts if all(name in result.parts for result in good)]
    return Result(
        first.contender,
        first.operation,
        statistics.median(result.wall_s for result in good),
        {name: statistics.median(result.parts[name] for result in good) for name in names},
        Usage(
            statistics.median(result.usage.total_mib for result in good),
            statistics.median(result.usage.jvm_mib for result in good),
            statistics.median(result.usage.cpu_s for result in good),
        ),
        next((result.problem for result in results if result.problem), ""),
        (min(result.wall_s for result in good), max(result.wall_s for result in good)) if len(good) > 1 else None,
    )


def ratio(row: Result, other: Result | None) -> str:
    """How many times the other's wall time; a contender that failed did less, so it gets none."""
    return "-" if other is None or row.problem else f"{row.wall_s / other.wall_s:.2f}"


def seconds(value: float | None) -> str:
    """A number of seconds for the table."""
    return "never" if value is None else f"{value:.2f}"


def print_table(rows: list[list[str]]) -> None:
    """Prints rows as a Markdown table, the first as its head."""
    rows = [row + [""] * (len(rows[0]) - len(row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for index, row in enumerate(rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
        if index == 0:
            print("| " + " | ".join("-" * width for width in widths) + " |")


def say(text: str) -> None:
    """Progress, apart from the tables."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
