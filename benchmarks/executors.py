"""What a restore costs with more and fewer executors, on hosts of one core each, with an S3 on another host.

The hosts are namespaces of this machine (tests/datacentre), so that time says little where there are more executors
than cores; processor time, requests and memory are those of any cluster. Needs root, Java 17 and Go.
"""

import argparse
import os
import platform
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Measured, Usage, UsageWatch, measure
from benchmarks.restore import print_table, say
from benchmarks.scale import numbers, staying
from benchmarks.table import generate
from tests.datacentre import services
from tests.datacentre.hosts import Datacentre, Process, start_hosts
from tests.stores import versity
from tests.stores.build import VERSITYGW, go_program

STORE = "/srv/data"
LOG = "/srv/requests"
ENDPOINT = "http://s3:9000"


@dataclass(frozen=True)
class Row:
    """What a command cost: of hudictl's processes, of all executors', of the store."""

    words: str
    executors: int
    measured: Measured
    theirs: Usage
    stores: Usage
    requests: int


def main(argv: Sequence[str] | None = None) -> int:
    """Measures and prints; 1 where a command failed."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.executors", description=__doc__)
    add = options.add_argument
    add("--files", type=int, default=200_000, help="files that stay, beside 20,000 that are deleted (%(default)s)")
    add("--partitions", type=int, default=1000, help="their partitions (%(default)s)")
    add("--executors", type=numbers, default="1,2,4", help="comma list (%(default)s)")
    add("--scratch", help="folder for logs (the system's)")
    args = options.parse_args(argv)
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores, load before: {load}\n")
    rows = [row for count in args.executors for row in run(count, args)]
    table = [
        ["", "executors", "wall s", "cpu s: hudictl", "executors", "store", "MiB: hudictl", "an executor", "requests"]
    ]
    for row in rows:
        mine, theirs = row.measured.usage, row.theirs
        cells = [f"{row.measured.wall_s:.1f}", *(f"{usage.cpu_s:.1f}" for usage in (mine, theirs, row.stores))]
        cells += [f"{mine.total_mib:.0f}", f"{theirs.total_mib / row.executors:.0f}", f"{row.requests:,}"]
        failed = f" FAILED: {row.measured.returncode}" if row.measured.returncode else ""
        table.append([f"{row.words}{failed}", str(row.executors), *cells])
    print_table(table)
    return 1 if any(row.measured.returncode for row in rows) else 0


def run(executors: int, args: argparse.Namespace) -> Iterator[Row]:
    """A table of its own for a number of executors: a savepoint, the plan of a restore to it, and the restore."""
    plan = staying(args.files, args.partitions)
    workers = [f"w{number}" for number in range(executors)]
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch, hosts(Path(scratch), workers) as running:
        say(f"{args.files:,} files, {executors} executors")
        store = start_store(running)
        generate(str(running.hosts["s3"].path(f"{STORE}/{versity.BUCKET}/table")), plan)
        master = services.start_spark(running, "master", workers)
        reached = [f"--storage-option={key}={value}" for key, value in versity.options(ENDPOINT).items()]
        spark = ["--master", master, *services.settings(spark_cores_max=str(executors))]
        table = ["-t", f"s3a://{versity.BUCKET}/table", "--idle", "0s", *reached, *spark]
        for name, more in (("savepoint create", []), ("restore", ["--plan"]), ("restore", ["--timezone", "UTC"])):
            words = [sys.executable, "-m", "hudictl", *name.split(), plan.savepoint, *more, *table, "--yes"]
            env = {**services.operator(), "PYSPARK_PYTHON": f"{services.PYTHON}/bin/python"}
            whole = running.command_on("edge", words, env)
            before = requests(running)
            others = [process for process in running.processes if process.name == "worker"]
            with watched(others) as theirs, watched([store]) as stores:
                measured = measure(whole, os.path.join(scratch, "log"), dict(os.environ))
            if measured.returncode:
                print("\n".join(measured.lines[-20:]), file=sys.stderr)
            said = f"{name} --plan" if "--plan" in more else name
            yield Row(said, executors, measured, total(theirs), total(stores), requests(running) - before)


@contextmanager
def hosts(folder: Path, workers: Sequence[str]) -> Iterator[Datacentre]:
    """The hosts, without what runs there."""
    executor = services.worker(services.make_python(folder / "python", "s3fs"))
    program = Path(go_program(VERSITYGW)).parent
    all_of_them = {"edge": services.edge(), "s3": {program: "/opt/versitygw"}, "master": executor}
    with start_hosts(folder / "logs", {**all_of_them, **dict.fromkeys(workers, executor)}) as running:
        yield running


def start_store(running: Datacentre) -> Process:
    """Versity's gateway, whose requests are in a file."""
    running.hosts["s3"].path(f"{STORE}/{versity.BUCKET}").mkdir(parents=True)
    command = ["/opt/versitygw/versitygw", "--access", versity.USER, "--secret", versity.SECRET, "--port", "s3:9000"]
    command += ["--quiet", "--keep-alive", "--access-log", LOG, "posix", STORE]
    process = running.spawn("s3", "versitygw", command)
    running.wait_for_port(process, 9000)
    return process


def requests(running: Datacentre) -> int:
    """How many the store has answered."""
    with running.hosts["s3"].path(LOG).open("rb") as file:
        return sum(1 for _ in file)


@contextmanager
def watched(processes: Sequence[Process]) -> Iterator[list[UsageWatch]]:
    """What each uses meanwhile, with all that it starts."""
    stop = threading.Event()
    watches = [UsageWatch(process.outside.pid, stop, 0.5) for process in processes]
    before = [watch.sample() for watch in watches]
    begun = [watch.usage.cpu_s for watch in watches]
    assert all(before)
    for watch in watches:
        watch.start()
    yield watches
    stop.set()
    for watch, cpu_s in zip(watches, begun, strict=True):
        watch.join()
        watch.usage = Usage(watch.usage.total_mib, watch.usage.jvm_mib, watch.usage.cpu_s - cpu_s)


def total(watches: Sequence[UsageWatch]) -> Usage:
    """Of all of them together."""
    return Usage(sum(watch.usage.total_mib for watch in watches), 0.0, sum(watch.usage.cpu_s for watch in watches))


if __name__ == "__main__":
    raise SystemExit(main())
