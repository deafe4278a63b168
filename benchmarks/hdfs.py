"""Savepoint, restore and rollback on a real HDFS: hudictl over WebHDFS against the real Hudi, and the bare deletions.

The HDFS is Hadoop's mini cluster: a name node and two data nodes in one process of this host. It shares the cores with
the contenders, which a real one does not. README.md says how to read the table.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import measure
from benchmarks.restore import (
    HERE,
    LABELS,
    Result,
    environment,
    exit_problem,
    hudi_jar,
    instant_of,
    median,
    print_table,
    result_of,
    say,
)
from benchmarks.rollback import make_pending, of, print_way
from benchmarks.table import TablePlan, generate, yesterday
from tests.hdfs.cluster import Hdfs, start

CONTENDERS = ("bare", "hudictl-local", "hudictl-spark", "hudi")
OPERATIONS = ("savepoint", "restore", "rollback", "pending")
REQUEST = re.compile(r",\d{3} (\w+) /")


@dataclass(frozen=True)
class Settings:
    """The running HDFS, the tables by their operation, whether the files to delete are empty, and the rest."""

    hdfs: Hdfs
    plans: Mapping[str, TablePlan]
    empty: bool
    scratch: Path
    jar: str


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the contenders and prints the tables; 1 if a contender failed."""
    args = parser().parse_args(argv)
    plans = {
        "restore": TablePlan(args.partitions, args.commits, args.files, yesterday()),
        "rollback": TablePlan(args.partitions, 1, 2 * args.files, yesterday()),
    }
    scratch = Path(tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch))
    contenders, operations, jar = args.contenders.split(","), args.operations.split(","), hudi_jar()
    with start(scratch / "hdfs", settings={"dfs.namenode.fs-limits.min-block-size": "0"}) as hdfs:
        settings = Settings(hdfs, plans, args.empty, scratch, jar)
        results = [
            result
            for number in range(args.rounds)
            for contender in contenders
            for result in run(contender, operations, settings, number)
        ]
        requests = {} if args.no_counts else count_requests(operations, settings)
    for operation in operations:
        asked = [name for name in dict.fromkeys(contenders) if (name, operation) != ("bare", "savepoint")]
        rows = [median(of(results, name, operation)) for name in asked]
        print_way(title_of(operation, plan_of(operation, plans)), rows)
    if requests:
        print("\n### Requests of hudictl, with threads\n")
        ops = sorted({op for counted in requests.values() for op in counted})
        print_table([["", *ops], *([name, *(str(counted[op]) for op in ops)] for name, counted in requests.items())])
    failed = any(result.problem for result in results)
    if failed:
        print(f"\nLogs: {scratch}")
    else:
        shutil.rmtree(scratch)
    return 1 if failed else 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.hdfs", description=__doc__)
    add = options.add_argument
    add("--partitions", type=int, default=100, help="partitions of the table (100)")
    add("--files", type=int, default=100, help="files a partition of each removed commit (100)")
    add("--commits", type=int, default=2, help="commits that the restore removes (2)")
    add("--rounds", type=int, default=1, help="how often each contender runs; medians are shown (1)")
    add("--contenders", default=",".join(CONTENDERS), help="comma list, in the order to run (%(default)s)")
    add("--operations", default=",".join(OPERATIONS), help="comma list; a restore needs the savepoint (%(default)s)")
    add("--empty", action="store_true", help="the files to delete have no bytes: the cluster takes them faster")
    add("--no-counts", action="store_true", help="do not run each operation once more to count its requests")
    add("--scratch", help="folder for the tables and for HDFS's data (the system's)")
    return options


def plan_of(operation: str, plans: Mapping[str, TablePlan]) -> TablePlan:
    """The table of an operation: the savepoint's is that of the restore."""
    return plans["restore" if operation in ("savepoint", "restore") else "rollback"]


def run(contender: str, operations: Sequence[str], settings: Settings, number: int) -> list[Result]:
    """The operations of one contender, each but the savepoint on a table of its own."""
    results, hdfs = [], settings.hdfs
    for operation in operations:
        plan = plan_of(operation, settings.plans)
        say(f"round {number + 1}, {LABELS[contender]}, {operation}")
        base = f"/{contender}/{operation.replace('restore', 'savepoint')}-{number}"
        if operation != "restore":
            upload(settings, plan, base, pending=operation == "pending")
        if contender != "bare":
            results.append(run_process(contender, operation, settings, plan, base))
        elif operation != "savepoint":
            results.append(run_bare(operation, hdfs, plan, base))
        if operation != "savepoint":
            hdfs.ask("delete", path=base)
    return results


def upload(settings: Settings, plan: TablePlan, base: str, *, pending: bool) -> None:
    """Puts the table into HDFS, with its times."""
    made = str(settings.scratch / "made")
    generate(made, plan)
    for path in Path(made).glob("*/*.parquet") if settings.empty else ():
        if instant_of(path.name) > plan.savepoint:
            times = path.stat()
            os.truncate(path, 0)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    if pending:
        make_pending(made, plan)
    settings.hdfs.ask("upload", folder=made, path=base)
    shutil.rmtree(made)


def doomed(hdfs: Hdfs, plan: TablePlan, base: str) -> list[str]:
    """The data files of the commits after the second one."""
    return [path for path in hdfs.ask("list", path=base) if instant_of(path) > plan.savepoint]


def run_bare(operation: str, hdfs: Hdfs, plan: TablePlan, base: str) -> Result:
    """The floor: one thread deletes the files by Hadoop's own client, whose paths it is given."""
    paths = doomed(hdfs, plan, base)
    begun = time.monotonic()
    for path in paths:
        hdfs.ask("delete", path=path)
    return Result("bare", operation, time.monotonic() - begun)


def run_process(contender: str, operation: str, settings: Settings, plan: TablePlan, base: str) -> Result:
    """hudictl or Hudi, as a process of its own."""
    hdfs = settings.hdfs
    uri = f"{hdfs.uri}{base}"
    kind = "rollback" if operation == "pending" else operation
    target = plan.instants[-1] if kind == "rollback" else plan.savepoint
    if contender == "hudi":
        command = [sys.executable, str(HERE / "hudi_peer.py"), kind, uri, target, "--jar", settings.jar]
    else:
        command = [*hudictl(kind, target, uri), "--engine", contender.removeprefix("hudictl-")]
    log = str(settings.scratch / f"{contender}-{operation}.log")
    measured = measure(command, log, environment() | {"HADOOP_CONF_DIR": str(hdfs.conf)}, None)
    problem = exit_problem(measured)
    if not problem and kind != "savepoint":
        left = doomed(hdfs, plan, base)
        problem = f"{len(left)} files left, first {left[0]}" if left else ""
    return result_of(operation, contender, measured, problem)


def hudictl(kind: str, target: str, uri: str) -> list[str]:
    """The command line, but for the engine."""
    words = ["savepoint", "create"] if kind == "savepoint" else [kind]
    zone = [] if kind == "savepoint" else ["--timezone", "UTC"]
    return [sys.executable, "-m", "hudictl", *words, target, "-t", uri, "--yes", *zone]


def count_requests(operations: Sequence[str], settings: Settings) -> dict[str, Counter[str]]:
    """What hudictl asks of the name node, by operation: the same operations once more, told line by line."""
    counted, hdfs = {}, settings.hdfs
    for operation in operations:
        plan = plan_of(operation, settings.plans)
        base = f"/counted/{operation.replace('restore', 'savepoint')}"
        if operation != "restore":
            upload(settings, plan, base, pending=operation == "pending")
        kind = "rollback" if operation == "pending" else operation
        target = plan.instants[-1] if kind == "rollback" else plan.savepoint
        command = [*hudictl(kind, target, f"{hdfs.uri}{base}"), "--engine", "local", "-v"]
        log = str(settings.scratch / f"counted-{operation}.log")
        measured = measure(command, log, environment() | {"HADOOP_CONF_DIR": str(hdfs.conf)}, None)
        counted[operation] = Counter(match[1] for line in measured.lines if (match := REQUEST.search(line)))
    return counted


def title_of(operation: str, plan: TablePlan) -> str:
    """The heading of an operation's table."""
    return {
        "savepoint": f"savepoint of {plan.kept_files:,} files",
        "restore": f"restore: {plan.removed_files:,} files to delete of {plan.kept_files + plan.removed_files:,}",
        "rollback": f"rollback of a completed commit: {plan.removed_files:,} files to delete",
        "pending": f"rollback of a pending commit: {plan.removed_files:,} files to delete",
    }[operation]


if __name__ == "__main__":
    print(f"Load before: {os.getloadavg()[0]:.2f}", flush=True)
    sys.exit(main())
