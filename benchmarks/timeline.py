"""How long ``hudictl timeline show`` takes on long timelines, active and archived, and what ``--limit 20`` saves; and
``timeline report``, with the size of its page.

The instants are one commit of the real Hudi (of ``tests/tables``), again and again with other times. Each command is a
process of its own; the base of the ratios is a process that lists the same folder, with the size of each file.
"""

import argparse
import datetime as dt
import io
import json
import os
import platform
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from benchmarks.restore import environment, has_hudictl, print_table
from hudictl.formats import archived_timeline, log_blocks

TABLES = Path(__file__).parent.parent / "tests" / "tables"
# After the times in the tables.
BEGIN = dt.datetime(2026, 11, 22)
# An archival of Hudi's takes about so many commits, and puts so many records into a block.
AT_ONCE = 10
# An LSM archive of this many commits is a few files, after Hudi has compacted it.
LSM_FILES = 10
PAGE = "page.html"
LISTING = "import os, sys; print(sum(entry.stat().st_size for entry in os.scandir(sys.argv[1])))"


@dataclass(frozen=True)
class Case:
    """A table with a long timeline, or a long archive."""

    version: str
    archived: bool
    instants: int


def main(argv: Sequence[str] | None = None) -> int:
    """Measures every case and prints the medians; 1 if a command failed."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.timeline", description=__doc__)
    options.add_argument("--runs", type=int, default=5, help="runs of each command (5)")
    options.add_argument("--instants", type=int, nargs="+", default=[1000, 10000], help="how many (1000 10000)")
    options.add_argument("--scratch", help="folder for the tables (the system's)")
    args = options.parse_args(argv)
    if not has_hudictl():
        raise SystemExit("hudictl not found")
    host = f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores"
    print(f"{host}, {args.runs} runs each, load average {os.getloadavg()[0]:.1f}\n")
    rows = [["table version", "instants", "command", "median ms", "fastest ms", "to the listing"]]
    failed = False
    pages: list[str] = []
    for case in cases(args.instants):
        with tempfile.TemporaryDirectory(prefix="hudictl-benchmark-", dir=args.scratch) as scratch:
            times = measure(commands(generate(case, Path(scratch)), case), args.runs)
            page = Path(scratch, PAGE)
            pages.append(f"{case}: a page of {page.stat().st_size if page.exists() else 0:,} bytes")
        base = statistics.median(times["listing"])
        for name, values in times.items():
            failed = failed or not values
            cells = [f"{statistics.median(values) * 1000:.0f}", f"{min(values) * 1000:.0f}"] if values else ["", ""]
            ratio = f"{statistics.median(values) / base:.1f}" if values else "FAILED"
            where = "archived" if case.archived else "active"
            rows.append([case.version[1:], f"{case.instants:,} {where}", name, *cells, ratio])
    print_table(rows)
    print("", *pages, sep="\n")
    return 1 if failed else 0


def cases(instants: Sequence[int]) -> Iterator[Case]:
    for version in ("v6", "v9"):
        for archived in (False, True):
            for count in instants:
                yield Case(version, archived, count)


def commands(base: Path, case: Case) -> dict[str, list[str]]:
    """What is measured, by the name to print."""
    timeline, archive = folders(base, case.version)
    show = [sys.executable, "-m", "hudictl", "timeline", "show", "-t", str(base)]
    report = [sys.executable, "-m", "hudictl", "timeline", "report", "--engine", "local", "-t", str(base)]
    report += ["--html", str(base.parents[1] / PAGE)]
    more = ["--archived"] if case.archived else []
    limit = ["--limit", "20"]
    return {
        "listing": [sys.executable, "-c", LISTING, str(archive if case.archived else timeline)],
        **{
            " ".join(["show", *options]): [*show, *options]
            for options in ([*more], [*more, *limit], [*more, *limit, "--desc"])
        },
        **{" ".join(["report", *options]): [*report, *options] for options in ([*more, "--quick"], [*more])},
    }


def measure(chosen: dict[str, list[str]], runs: int) -> dict[str, list[float]]:
    """Seconds of each run by command, in turn; no times for a command that failed."""
    times: dict[str, list[float]] = {name: [] for name in chosen}
    failures = set()
    for number in range(runs + 1):
        for name, command in chosen.items():
            start = time.monotonic()
            done = subprocess.run(
                command, env=environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False
            )
            if number:  # the first round fills caches and compiles bytecode
                times[name].append(time.monotonic() - start)
            if done.returncode:
                failures.add(name)
                print(f"{name}: {done.returncode}: {done.stderr.decode()[-300:]}", file=sys.stderr)
    return {name: [] if name in failures else values for name, values in times.items()}


def generate(case: Case, scratch: Path) -> Path:
    """Makes the table of a case; returns its base path. Of active commits the last one has its data files: those of the
    others are cleaned."""
    with tarfile.open(TABLES / case.version / "cow_cleaned.tar.gz") as archive:
        archive.extractall(scratch, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
    base = scratch / "cow_cleaned" / "table"
    step = min(dt.timedelta(minutes=1), dt.timedelta(days=7) / case.instants)  # none is in the future
    times = [format_time(BEGIN + number * step) for number in range(case.instants)]
    timeline, archive_folder = folders(base, case.version)
    if not case.archived:
        activate(timeline, times)
        newest = max(path.name[-25:-8] for path in base.glob("*/*.parquet"))
        for path in base.glob(f"*/*_{newest}.parquet"):
            path.with_name(path.name.replace(newest, times[-1])).write_bytes(path.read_bytes())
    elif case.version == "v6":
        archive_logs(archive_folder, times)
    else:
        archive_lsm(archive_folder, times)
    return base


def folders(base: Path, version: str) -> tuple[Path, Path]:
    """A table's timeline and its archive."""
    if version == "v6":
        return base / ".hoodie", base / ".hoodie" / "archived"
    return base / ".hoodie" / "timeline", base / ".hoodie" / "timeline" / "history"


def format_time(moment: dt.datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%S") + "000"


def activate(timeline: Path, times: Sequence[str]) -> None:
    """The newest active commit, with its three files, at every time."""
    done = max(timeline.glob("[0-9]*.commit"))
    sample = done.name[:17]
    bodies = {path.name: path.read_bytes() for path in timeline.glob(f"{sample}*")}
    for one in times:
        for name, body in bodies.items():
            (timeline / name.replace(sample, one)).write_bytes(body.replace(sample.encode(), one.encode()))


def archive_logs(folder: Path, times: Sequence[str]) -> None:
    """An archived commit at every time, in its three states: a file for each archival, ten records to a block."""
    first = folder / ".commits_.archive.1_1-0-1"
    body = first.read_bytes()
    entries = list(archived_timeline.decode_log(body, first.name))
    sample = next(entry.time for entry in entries if entry.action == "commit")
    found = [entry.record for entry in entries if entry.time == sample and entry.record]
    states = [body[record.offset : record.offset + record.length] for record in found]
    header = {log_blocks.SCHEMA: found[0].schema}
    for number in range(0, len(times), AT_ONCE):
        records = [
            state.replace(sample.encode(), one.encode()) for one in times[number : number + AT_ONCE] for state in states
        ]
        blocks = [
            log_blocks.encode_block(log_blocks.AVRO_DATA, header, block(records[start : start + AT_ONCE]))
            for start in range(0, len(records), AT_ONCE)
        ]
        (folder / f".commits_.archive.{number // AT_ONCE + 100}_1-0-1").write_bytes(b"".join(blocks))


def block(records: Sequence[bytes]) -> bytes:
    """The content of a block of Avro records."""
    return struct.pack(">ii", 3, len(records)) + b"".join(struct.pack(">i", len(one)) + one for one in records)


def archive_lsm(folder: Path, times: Sequence[str]) -> None:
    """An archived commit at every time, in a few Parquet files that the manifest adds to what is there."""
    live = max(folder.glob("manifest_*"), key=lambda path: int(path.name[9:]))
    manifest = json.loads(live.read_text())
    path = folder / manifest["files"][0]["fileName"]
    table = parquet.read_table(path)
    (sample, *_) = (row for row in table.to_pylist() if row["action"] == "commit")
    old = sample["instantTime"].encode()
    size = -(-len(times) // LSM_FILES)
    for start in range(0, len(times), size):
        part = times[start : start + size]
        rows = [
            sample
            | {"instantTime": one, "completionTime": one, "metadata": sample["metadata"].replace(old, one.encode())}
            for one in part
        ]
        out = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(rows, schema=table.schema), out, compression="gzip")
        name = f"{part[0]}_{part[-1]}_2.parquet"
        (folder / name).write_bytes(out.getvalue())
        manifest["files"].append({"fileName": name, "fileLen": len(out.getvalue())})
    number = int(live.name[9:]) + 1
    (folder / f"manifest_{number}").write_text(json.dumps(manifest))
    (folder / "_version_").write_text(str(number))


if __name__ == "__main__":
    sys.exit(main())
