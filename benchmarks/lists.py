"""How long the lists take: on a small table to ``timeline show``, and beside Hudi's procedures; and how much memory
``commit list`` takes on commits of 4 MB.

Large commits are one file under many names: the disk has it once, each name is read by itself.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import measure
from benchmarks.restore import environment, has_hudictl, hudi_jar, print_table, say

TABLES = Path(__file__).parent.parent / "tests" / "tables"
PEER = Path(__file__).with_name("hudi_peer.py")
# Each with the procedure that shows the same.
SMALL = {
    "timeline show": None,
    "commit list": "show_commits",
    "compaction list": "show_compaction",
    "rollback list": "show_rollbacks",
    "table properties": "show_table_properties",
    "metadata partitions": "show_metadata_table_stats",
    "metadata files": "show_metadata_table_partitions",
    "stats amplification": "stats_wa",
    "file slices": "show_fsview_all",
    "stats sizes": "stats_file_sizes",
    "partition list": None,
    "savepoint list": "show_savepoints",
}
BYTES = 4_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Measures both parts and prints their tables; 1 if a command failed."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.lists", description=__doc__)
    options.add_argument("--runs", type=int, default=7, help="runs of each command on the small table (7)")
    options.add_argument("--commits", type=int, nargs="*", default=[100, 1000], help="commits of 4 MB (100 1000)")
    options.add_argument("--without-hudi", action="store_true", help="no procedures of Hudi")
    options.add_argument("--scratch", help="folder for the tables (the system's)")
    args = options.parse_args(argv)
    if not has_hudictl():
        raise SystemExit("hudictl not found")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}\n")
    with tempfile.TemporaryDirectory(prefix="hudictl-benchmark-", dir=args.scratch) as scratch:
        failed = small(Path(scratch), args.runs, None if args.without_hudi else hudi_jar())
    for commits in args.commits:
        with tempfile.TemporaryDirectory(prefix="hudictl-benchmark-", dir=args.scratch) as scratch:
            failed = large(Path(scratch), commits) or failed
    return int(failed)


def small(scratch: Path, runs: int, jar: str | None) -> bool:
    """Each list on a table of a few commits; whether one failed."""
    base = unpacked("mor_part", scratch)
    times: dict[str, list[float]] = {name: [] for name in SMALL}
    failed = False
    for number in range(runs + 1):
        for name in SMALL:
            command = [sys.executable, "-m", "hudictl", *name.split(), "-t", str(base)]
            start = time.monotonic()
            done = subprocess.run(command, env=environment() | {"HUDICTL_ENGINE": "local"}, capture_output=True)
            failed = failed or done.returncode != 0
            if number:  # the first round fills caches and compiles bytecode
                times[name].append(time.monotonic() - start)
    median = {name: statistics.median(found) * 1000 for name, found in times.items()}
    rows = [["command", "median ms", "to timeline show", "procedure", "its process s", "its call s"]]
    for name, procedure in SMALL.items():
        cells = [name, f"{median[name]:.0f}", f"{median[name] - median['timeline show']:+.0f}"]
        if procedure is not None and jar is not None:
            say(procedure)
            start = time.monotonic()
            peer = [sys.executable, str(PEER), procedure, str(base), "--jar", jar]
            done = subprocess.run(peer, capture_output=True, text=True)
            took = time.monotonic() - start
            call = json.loads(done.stdout.splitlines()[-1])["call_s"] if done.returncode == 0 else None
            failed = failed or call is None
            cells += [procedure, f"{took:.1f}", "FAILED" if call is None else f"{call:.2f}"]
        rows.append(cells)
    print_table(rows)
    return failed


def large(scratch: Path, commits: int) -> bool:
    """``commit list`` on commits of 4 MB; whether it failed."""
    base = unpacked("cow_part", scratch)
    meta = base / ".hoodie"
    body = scratch / "commit"
    body.write_text(json.dumps(grown(json.loads(max(meta.glob("*.commit")).read_bytes()))))
    for number in range(commits):
        at = f"2027{number // 86400 + 101:04d}{number // 3600 % 24:02d}{number // 60 % 60:02d}{number % 60:02d}000"
        os.link(body, meta / f"{at}.commit")
        for state in ("commit.requested", "inflight"):
            (meta / f"{at}.{state}").touch()
    bare = "import json, sys; [json.load(open(path, 'rb')) for path in sys.argv[1:]]"
    parse = [sys.executable, "-c", bare, *map(str, [body] * commits)]
    listed = [sys.executable, "-m", "hudictl", "commit", "list", "-o", "ndjson", "-t", str(base)]
    log = str(scratch / "log")
    base_s = measure(parse, log, os.environ).wall_s
    done = measure(listed, log, environment())
    print(f"\ncommit list, {commits:,} commits of {body.stat().st_size:,} bytes")
    head = ["", "wall s", "peak MiB", "to the parser"]
    mine = [f"{done.wall_s:.1f}", f"{done.usage.total_mib:.0f}", f"{done.wall_s / base_s:.2f}"]
    print_table([head, ["json.load of each", f"{base_s:.1f}", "", "1.00"], ["hudictl commit list", *mine]])
    return done.returncode != 0


def unpacked(name: str, scratch: Path) -> Path:
    """A sample table of version 6; returns its base path."""
    with tarfile.open(TABLES / "v6" / f"{name}.tar.gz") as archive:
        archive.extractall(scratch, **({"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}))
    return scratch / name / "table"


def grown(commit: dict[str, object]) -> dict[str, object]:
    """A commit with so many statistics that it has 4 MB."""
    written = commit["partitionToWriteStats"]
    assert isinstance(written, dict)
    stat = next(iter(written.values()))[0]
    count = BYTES // len(json.dumps(stat))
    stats = [{**stat, "fileId": f"{number:08d}-0000-4000-8000-000000000000-0"} for number in range(count)]
    return {**commit, "partitionToWriteStats": {f"p={part}": stats[part::50] for part in range(50)}}


if __name__ == "__main__":
    sys.exit(main())
