"""A restore on a simulated object store with latency and throttling, against the same deletes by boto3 alone.

The store is a process of its own (``slow_store``). Each contender gets a fresh one, with the same table. README.md says
what is simulated.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from benchmarks.measure import Measured, measure
from benchmarks.restore import environment, exit_problem, print_table
from benchmarks.slow_store import BUCKET, PREFIX
from benchmarks.table import TablePlan, generate, write_savepoint, yesterday

CALLS_AT_ONCE = 16
KEYS_A_CALL = 1000
PAUSE_S = 0.2
COMMITS = 10
SECRETS = {"key": "key", "secret": "secret"}
TOLD = "the store puts off"


@dataclass(frozen=True)
class Conditions:
    """How the store is: milliseconds of latency, percent of requests throttled, deleted keys a second (0: any)."""

    latency_ms: float
    throttled: float
    rate: float

    @property
    def arguments(self) -> list[str]:
        values = {"--latency-ms": self.latency_ms, "--throttled": self.throttled, "--rate": self.rate}
        return [part for name, value in values.items() for part in (name, str(value))]


def main(argv: Sequence[str] | None = None) -> int:
    """Makes the table, measures under several conditions, and prints a table; 1 if a contender failed."""
    args = parser().parse_args(argv)
    scratch = Path(tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch))
    files = max(1, args.objects // (args.partitions * COMMITS))
    plan = TablePlan(args.partitions, COMMITS, files, yesterday())
    try:
        table = scratch / "table"
        generate(str(table), plan)
        write_savepoint(str(table), plan)
        load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
        print(f"Python {platform.python_version()}, {platform.system()}, {os.cpu_count()} cores, load before: {load}")
        print(
            f"{plan.removed_files:,} objects to delete, {plan.kept_files:,} to keep, {plan.partitions:,} partitions.\n"
        )
        measured = [rows(table, plan, conditions, scratch / "log") for conditions in chosen(args)]
        print_table([HEAD, *(row for some in measured for row in some)])
        failed = any(row[-1] for some in measured for row in some)
        if failed:
            print((scratch / "log").read_text()[-4000:], file=sys.stderr)
        return int(failed)
    finally:
        shutil.rmtree(scratch)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.store", description=__doc__)
    add = options.add_argument
    add("--objects", type=int, default=10_000, help="how many data files the restore deletes (10,000)")
    add("--partitions", type=int, default=100, help="of the table (100)")
    add("--latency-ms", type=float, default=50, help="of each request (50); also measured: none, and twice as much")
    add("--throttled", type=float, default=1, help="requests that are answered with 503 SlowDown, in percent (1)")
    add("--rate", type=float, default=3500, help="deleted keys a second in the last run, as S3's of a prefix (3,500)")
    add("--scratch", help="folder for the table (the system's)")
    return options


def chosen(args: argparse.Namespace) -> list[Conditions]:
    """First without anything, then with latency, throttling, and a rate."""
    latency, throttled = args.latency_ms, args.throttled
    return [
        Conditions(0, 0, 0),
        Conditions(latency, 0, 0),
        Conditions(2 * latency, 0, 0),
        Conditions(latency, throttled, 0),
        Conditions(0, throttled, args.rate),
        Conditions(latency, throttled, args.rate),
    ]


HEAD = [
    *("latency ms", "throttled %", "keys/s", "contender", "deletion s", "to bare", "keys/s", "in flight", "calls"),
    *("503", "keys slowed", "told", "process s", "requests", ""),
]


def rows(table: Path, plan: TablePlan, conditions: Conditions, log: Path) -> list[list[str]]:
    """The peer and hudictl under the same conditions."""
    head = [
        f"{conditions.latency_ms:g}",
        f"{conditions.throttled:g}",
        f"{conditions.rate:g}" if conditions.rate else "",
    ]
    with running(table, conditions) as port:
        delete_alone(port, doomed(plan))
        bare = told(port)
    with running(table, conditions) as port:
        restored = restore(port, plan, log)
        own = told(port)
    said = sum(TOLD in line for line in restored.lines)
    problem = exit_problem(restored) or ("" if own["restored"] else "not restored")
    print(f"{conditions}: {problem or 'done'}", file=sys.stderr, flush=True)
    return [
        [
            *head,
            "boto3 alone",
            *cells(bare, bare, plan),
            "",
            "",
            f"{sum(bare['requests'].values()):,}",
            left(bare, plan),
        ],
        [
            *(*head, "hudictl", *cells(own, bare, plan), str(said), f"{restored.wall_s:.1f}"),
            *(f"{sum(own['requests'].values()):,}", problem or left(own, plan)),
        ],
    ]


def cells(own: dict[str, Any], bare: dict[str, Any], plan: TablePlan) -> list[str]:
    """Of the deletion, as the store saw it: from its first call to the end of its last one."""
    seconds = own["wall_s"]
    slowed = f"{own['keys_slowed']:,}"
    return [
        *(f"{seconds:.2f}", f"{seconds / bare['wall_s']:.2f}", f"{plan.removed_files / seconds:,.0f}"),
        *(f"{own['in_flight']:.1f}", f"{own['calls']:,}", f"{own['requests'].get('503', 0):,}", slowed),
    ]


def left(own: dict[str, Any], plan: TablePlan) -> str:
    """What is wrong with the number of data files that are left."""
    return "" if own["data_files"] == plan.kept_files else f"{own['data_files']:,} data files left"


@contextmanager
def running(table: Path, conditions: Conditions) -> Iterator[int]:
    """A store with a copy of the table; its port."""
    command = [sys.executable, "-m", "benchmarks.slow_store", str(table), *conditions.arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as store:
        assert store.stdout is not None
        try:
            yield int(store.stdout.readline())
        finally:
            # The end of its input is the end of the store.
            store.communicate()


def told(port: int) -> dict[str, Any]:
    """What the store was asked."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/?told") as answer:
        return dict(json.load(answer))


def doomed(plan: TablePlan) -> list[str]:
    """The keys that the restore deletes, by partition."""
    return [
        f"{PREFIX}/{partition}/{name}"
        for number, partition in enumerate(plan.partition_names)
        for commit in range(2, COMMITS + 2)
        for name in plan.file_names_of(commit, number)
    ]


def delete_alone(port: int, keys: Sequence[str]) -> None:
    """The same bulk deletes and nothing else. boto3 tries throttled calls again; throttled keys wait for a moment."""
    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        aws_access_key_id=SECRETS["key"],
        aws_secret_access_key=SECRETS["secret"],
        region_name="us-east-1",
        config=Config(max_pool_connections=CALLS_AT_ONCE),
    )
    batches = [keys[start : start + KEYS_A_CALL] for start in range(0, len(keys), KEYS_A_CALL)]
    with ThreadPoolExecutor(CALLS_AT_ONCE) as pool:
        list(pool.map(partial(delete_batch, client), batches))


def delete_batch(client: Any, keys: Sequence[str]) -> None:
    while keys:
        wanted = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        keys = [error["Key"] for error in client.delete_objects(Bucket=BUCKET, Delete=wanted).get("Errors", ())]
        time.sleep(PAUSE_S if keys else 0)


def restore(port: int, plan: TablePlan, log: Path) -> Measured:
    """The whole command, in a process of its own."""
    options = {**SECRETS, "endpoint_url": f"http://127.0.0.1:{port}", "client_kwargs": '{"region_name": "us-east-1"}'}
    words = [
        "restore",
        plan.savepoint,
        "-t",
        f"s3://{BUCKET}/{PREFIX}",
        "--yes",
        "--engine",
        "local",
        "--timezone",
        "UTC",
    ]
    given = [part for key, value in options.items() for part in ("--storage-option", f"{key}={value}")]
    return measure([sys.executable, "-m", "hudictl", *words, *given], str(log), environment())


if __name__ == "__main__":
    sys.exit(main())
