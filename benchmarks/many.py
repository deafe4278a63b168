"""How commands grow with one thing: failed writes, instants, savepoints, heartbeats, partitions, or files.

Each table is made with N and with 2N of it, and each command is a process of its own. Printed is its time without the
start of hudictl, and the growth from N to 2N as a share of linear: 1.0 is twice the time, 0.5 none more.
"""

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import table
from benchmarks.restore import environment, has_hudictl, print_table, say
from hudictl.formats.instants import time_plus_ms

TABLES = Path(__file__).parent.parent / "tests" / "tables"
# After the times in the tables, before now.
FIRST = "20261122000000000"
DAY_S = 24 * 3600
LOCAL = ("--engine=local",)
PLAN = ("--plan", *LOCAL, "--idle=0s")


@dataclass(frozen=True)
class Case:
    """What there is much of: how it is made, how many by default, and the commands."""

    make: Callable[[Path, int], Path]
    count: int
    commands: Sequence[Sequence[str]]


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the cases and prints the medians; 1 if a command failed."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.many", description=__doc__)
    options.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)} (all)")
    options.add_argument("--count", type=int, help="N (each case has its own)")
    options.add_argument("--runs", type=int, default=3, help="runs of each command (3)")
    options.add_argument("--scratch", help="folder for the tables (the system's)")
    args = options.parse_args(argv)
    if unknown := sorted({*args.cases} - {*CASES}):
        options.error(f"no such case: {', '.join(unknown)}")
    if not has_hudictl():
        raise SystemExit("hudictl not found")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}\n")
    start = statistics.median(seconds(["--version"], [0]) for _ in range(args.runs + 1))
    rows, failed = [["of", "N", "command", "s at N", "s at 2N", "growth / linear"]], False
    for name in args.cases or CASES:
        case = CASES[name]
        count = args.count or case.count
        with tempfile.TemporaryDirectory(prefix="hudictl-benchmark-", dir=args.scratch) as scratch:
            say(f"{name}: {count:,} and {2 * count:,}")
            bases = [case.make(Path(scratch, str(number)), number) for number in (count, 2 * count)]
            for command in case.commands:
                once, twice = (taken(base, command, args.runs) - start for base in bases)
                failed |= not once > 0
                growth = f"{twice / once / 2:.2f}" if once > 0 else "FAILED"
                shown = " ".join(word for word in command if not word.startswith("-") or word in ("--plan", "--yes"))
                rows.append([name, f"{count:,}", shown, f"{once:.2f}", f"{twice:.2f}", growth])
    print_table(rows)
    return 1 if failed else 0


def taken(base: Path, command: Sequence[str], runs: int) -> float:
    """The median time of a command in seconds; one that changes the table works on a copy each time. A failure is
    0 s."""
    times = []
    for _ in range(runs if "--yes" not in command else 1):
        with tempfile.TemporaryDirectory(dir=base.parent) as folder:
            target = base
            if "--yes" in command:
                target = Path(folder, "copy")
                shutil.copytree(base, target, copy_function=shutil.copy2)
            times.append(seconds([*command, "-t", str(target)], [0, 3]))
    return statistics.median(times)


def seconds(command: Sequence[str], expected: Sequence[int]) -> float:
    """How long a command of hudictl takes."""
    begun = time.monotonic()
    whole = [sys.executable, "-m", "hudictl", *command]
    done = subprocess.run(whole, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode not in expected:
        say(f"{' '.join(command)}: {done.returncode}: {done.stderr.decode()[-300:]}")
        return 0.0
    return time.monotonic() - begun


def failed_writes(folder: Path, count: int) -> Path:
    """Of a job that dies at each attempt, with one file and its marker each."""
    base = unpack(folder, "v6", "cow_failed_direct")
    meta = base / ".hoodie"
    like = max(path.name[:17] for path in meta.glob("*.inflight"))
    body = (meta / f"{like}.inflight").read_bytes()
    data = min(path for path in base.glob("*/*.parquet"))
    for time_ in times(count):
        name = re.sub(r"_\d+\.parquet$", f"_{time_}.parquet", data.name)
        write(meta / f"{time_}.commit.requested", b"")
        write(meta / f"{time_}.inflight", body)
        write(data.with_name(name), data.read_bytes())
        write(meta / ".temp" / time_ / data.parent.name / f"{name}.marker.CREATE", b"")
    return base


def instants(folder: Path, count: int) -> Path:
    """Completed commits, each as the last one of the table."""
    base = unpack(folder, "v9", "cow_flat_nomdt")
    timeline = base / ".hoodie" / "timeline"
    last = max(path.name[:17] for path in timeline.glob("2*"))
    files = {path.name: path.read_bytes() for path in timeline.glob(f"{last}*")}
    for time_ in times(count):
        for name, body in files.items():
            write(timeline / re.sub(r"_\d+", f"_{time_plus_ms(time_, 500)}", name.replace(last, time_)), body)
    return base


def savepoints(folder: Path, count: int) -> Path:
    """The same, with a savepoint on each."""
    base = instants(folder, count)
    timeline = base / ".hoodie" / "timeline"
    with tarfile.open(TABLES / "v9" / "cow_savepoints.tar.gz") as archive:
        (body,) = [archive.extractfile(one) for one in archive if one.name.endswith(".savepoint")][:1]
        content = body.read() if body is not None else b""
    for time_ in times(count):
        write(timeline / f"{time_}.savepoint.inflight", b"")
        write(timeline / f"{time_}_{time_plus_ms(time_, 900)}.savepoint", content)
    return base


def heartbeats(folder: Path, count: int) -> Path:
    """Of writers that died before their first instant file."""
    base = unpack(folder, "v9", "cow_flat_nomdt")
    for time_ in times(count):
        write(base / ".hoodie" / ".heartbeat" / time_, b"")
    return base


def partitions(folder: Path, count: int) -> Path:
    """With one file of each of three commits."""
    return generated(folder, partitions=count, files=1)


def files(folder: Path, count: int) -> Path:
    """Of each of three commits, in ten partitions."""
    return generated(folder, partitions=10, files=count // 10)


def generated(folder: Path, partitions: int, files: int) -> Path:
    folder.mkdir(parents=True)
    base = folder / "table"
    table.generate(str(base), table.TablePlan(partitions, 1, files, table.yesterday()))
    return base


def unpack(folder: Path, version: str, name: str) -> Path:
    with tarfile.open(TABLES / version / f"{name}.tar.gz") as archive:
        archive.extractall(folder, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
    return folder / name / "table"


def times(count: int) -> Iterator[str]:
    return (time_plus_ms(FIRST, 1000 * number) for number in range(count))


def write(path: Path, body: bytes) -> None:
    """A file of yesterday."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)
    moment = time.time() - DAY_S
    os.utime(path, (moment, moment))


CREATE = ("savepoint", "create", *PLAN)
CHECK = ("check", *LOCAL)
CASES: Mapping[str, Case] = {
    "failed-writes": Case(
        failed_writes,
        1_500,
        (
            ("failed-writes", "list"),
            ("failed-writes", "clean", "--policy=eager", *PLAN),
            ("failed-writes", "clean", "--policy=eager", "--yes", *LOCAL),
            ("table", "show"),
            CHECK,
        ),
    ),
    "instants": Case(instants, 20_000, (("table", "show"), ("timeline", "show"), CREATE, CHECK)),
    "savepoints": Case(savepoints, 1_500, (("savepoint", "list"), ("table", "show"))),
    "heartbeats": Case(heartbeats, 1_500, (("heartbeat", "list"), ("table", "show"), CREATE)),
    "partitions": Case(partitions, 5_000, (CREATE, CHECK)),
    "files": Case(files, 50_000, (CREATE, CHECK)),
}

if __name__ == "__main__":
    sys.exit(main())
