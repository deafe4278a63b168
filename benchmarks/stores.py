"""Restore and rollback on servers of S3, Google Cloud Storage and Azure: hudictl beside the real Hudi, in turns.

The servers are those of the tests, on this host: they share its cores, and answer at once. The times are the servers'
as much as the contenders'; the requests are what counts on a real store.
"""

import argparse
import os
import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.connectors import EMULATOR_PORT, connector
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
    ratio,
    result_of,
    say,
)
from benchmarks.rollback import of
from benchmarks.ruled import METAFILE
from benchmarks.table import TablePlan, generate, write_savepoint, yesterday
from tests.stores import azurite, fake_gcs, versity
from tests.stores.server import Server

COMMITS = 3
OPERATIONS = ("restore", "rollback")
CONTENDERS = ("hudictl-local", "hudi")
SETTLING_S = 2.0
"""What hudictl waits for writers that have just begun, in each operation."""
REQUEST = re.compile(rb"[A-Z]+ \S+ HTTP/1\.1\r\n")
"""How what a client sends begins: it waits for each answer. A request of several parts has such lines inside, too."""


@dataclass(frozen=True)
class Settings:
    """What the command line chose, and the table that all get a copy of, without and with a savepoint."""

    plan: TablePlan
    tables: dict[str, Path]
    scratch: Path
    jar: str
    rounds: int
    counts: bool


def main(argv: Sequence[str] | None = None) -> int:
    """Measures on each server, and prints a table; 1 if a contender failed."""
    args = parser().parse_args(argv)
    plan = TablePlan(args.partitions, COMMITS, args.files, yesterday())
    scratch = Path(tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch))
    contenders, operations = args.contenders.split(","), args.operations.split(",")
    tables = {operation: scratch / operation for operation in operations}
    for operation, folder in tables.items():
        generate(str(folder), plan)
        if operation == "restore":
            write_savepoint(str(folder), plan)
    jar = hudi_jar() if "hudi" in contenders else ""
    settings = Settings(plan, tables, scratch, jar, args.rounds, not args.no_counts)
    print(
        f"{plan.partitions} partitions, {plan.kept_files + plan.removed_files:,} files; a restore deletes "
        f"{plan.removed_files:,}, over {COMMITS} commits, a rollback {plan.written[-1]:,}. Rounds: {args.rounds}. "
        f"{os.cpu_count()} cores, load before: {os.getloadavg()[0]:.2f}\n",
        flush=True,
    )
    failed = False
    for name in args.servers.split(","):
        results, requests = measure_server(name, contenders, settings)
        for operation in operations:
            rows = [median(of(results, contender, operation)) for contender in dict.fromkeys(contenders)]
            print_rows(f"{name}, {operation}", rows, requests)
        failed = failed or any(result.problem for result in results)
    if failed:
        print(f"\nLogs: {scratch}")
    else:
        shutil.rmtree(scratch)
    return int(failed)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=__doc__)
    add = options.add_argument
    add("--partitions", type=int, default=50, help="partitions of the table (50)")
    add("--files", type=int, default=34, help="files a partition and commit (34)")
    add("--rounds", type=int, default=1, help="how often each contender runs; medians are shown (1)")
    add("--servers", default="versitygw,fake-gcs-server,azurite", help="comma list, in the order to run (%(default)s)")
    add("--operations", default=",".join(OPERATIONS), help="comma list (%(default)s)")
    add("--contenders", default=",".join(CONTENDERS), help="comma list, in the order to run (%(default)s)")
    add("--no-counts", action="store_true", help="do not run each operation once more to count its requests")
    add("--scratch", help="folder for the tables and the servers' data (the system's)")
    return options


@contextmanager
def start_server(name: str, folder: Path, port: int | None = None) -> Iterator[Server]:
    """A server of the tests; ``port`` is for Azurite alone."""
    if name == "versitygw":
        with versity.start(folder) as server:
            yield server
    elif name == "azurite":
        with azurite.start(folder, port) as server:
            yield server
    else:
        with fake_gcs.start(folder) as server:
            yield server


def measure_server(
    name: str, contenders: Sequence[str], settings: Settings
) -> tuple[list[Result], dict[tuple[str, str], int]]:
    """All rounds on one server; the requests of each contender and operation, on another one of its kind."""
    requests: dict[tuple[str, str], int] = {}
    with start_server(name, settings.scratch / name, EMULATOR_PORT) as server:
        results = [
            run(name, contender, operation, server, settings)
            for _ in range(settings.rounds)
            for operation in settings.tables
            for contender in contenders
        ]
    if not settings.counts:
        return results, requests
    with start_server(name, settings.scratch / name) as server:
        for operation in settings.tables:
            for contender in dict.fromkeys(contenders):
                port = EMULATOR_PORT if (name, contender) == ("azurite", "hudi") else 0
                with counting(server, port) as (reached, counted):
                    result = run(name, contender, operation, reached, settings)
                results.append(replace(result, operation=f"{operation}, counted"))
                requests[contender, operation] = len(counted)
    return results, requests


def run(name: str, contender: str, operation: str, server: Server, settings: Settings) -> Result:
    """One operation of one contender, as a process of its own on a copy of its own, and what is there afterwards."""
    plan, prefix = settings.plan, f"{operation}/{contender}"
    uri = server.upload(settings.tables[operation], prefix)
    target = plan.savepoint if operation == "restore" else plan.instants[-1]
    if contender == "hudi":
        reached = connector(name, server, server.endpoint)
        jars = ",".join([settings.jar, *reached.jars])
        base = f"{reached.root}/{prefix}"
        command = [sys.executable, str(HERE / "hudi_peer.py"), operation, base, target, "--jar", jars]
        command += [part for key, value in reached.settings.items() for part in ("--conf", f"{key}={value}")]
    else:
        command = [sys.executable, "-m", "hudictl", operation, target, "-t", uri, "--yes", "--timezone", "UTC"]
        command += ["--engine", contender.removeprefix("hudictl-"), *server.arguments]
    measured = measure(command, str(settings.scratch / f"{name}-{contender}-{operation}.log"), environment())
    problem = exit_problem(measured) or problem_of(server.names(prefix), operation, plan)
    server.drop(prefix)
    say(f"{name}, {operation}, {LABELS[contender]}: {measured.wall_s:.1f} s, {problem or 'verified'}")
    return result_of(operation, contender, measured, problem)


def problem_of(names: set[str], operation: str, plan: TablePlan) -> str:
    """What is wrong with the table; empty if exactly the files of the removed commits are gone, and it is recorded."""
    commits = range(2 if operation == "restore" else COMMITS + 1)
    wanted = {
        f"{partition}/{file}"
        for index, partition in enumerate(plan.partition_names)
        for file in [METAFILE, *(name for commit in commits for name in plan.file_names_of(commit, index))]
    }
    # Besides, connectors write objects that stand for folders.
    found = {name for name in names if name.endswith(f"/{METAFILE}") or instant_of(name)}
    if found != wanted:
        return f"{len(found - wanted)} files too many, {len(wanted - found)} missing"
    timeline = [name.removeprefix(".hoodie/") for name in names if name.startswith(".hoodie/")]
    left = [name for name in timeline if name.partition(".")[0] in plan.instants[len(commits) :]]
    if left:
        return f"{len(left)} instant files left, first {left[0]}"
    return "" if any(name.endswith(f".{operation}") for name in timeline) else f"no completed {operation}"


def print_rows(title: str, rows: Sequence[Result], requests: dict[tuple[str, str], int]) -> None:
    """Prints one table."""
    hudi = next((row for row in rows if row.contender == "hudi" and not row.problem), None)
    table = [["contender", "wall s", "from - to", "to Hudi", "cpu s", "requests", "verified"]]
    for row in rows:
        spread = "{:.1f} - {:.1f}".format(*row.spread) if row.spread else ""
        verdict = f"FAILED: {row.problem}" if row.problem else "yes"
        counted = str(requests.get((row.contender, row.operation), ""))
        cells = [f"{row.wall_s:.1f}", spread, ratio(row, hudi), f"{row.usage.cpu_s:.1f}", counted, verdict]
        table.append([LABELS[row.contender], *cells])
        rest = replace(row, wall_s=row.parts.get("call", row.wall_s - SETTLING_S))
        label = "- its call" if row.contender == "hudi" else "- without its settling"
        table.append([label, f"{rest.wall_s:.1f}", "", ratio(rest, hudi)])
    print(f"\n### {title}\n")
    print_table(table)
    sys.stdout.flush()


@contextmanager
def counting(server: Server, port: int = 0) -> Iterator[tuple[Server, list[None]]]:
    """The server as it is reached through this process, and one entry for each of its requests; 0 is any port."""
    address = urlsplit(server.endpoint)
    requests: list[None] = []
    with socket.create_server(("127.0.0.1", port)) as listening:
        host, found = listening.getsockname()

        def serve() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:
                    return
                upstream = socket.create_connection((address.hostname, address.port or 80))
                threading.Thread(target=pump, args=(client, upstream, requests), daemon=True).start()
                threading.Thread(target=pump, args=(upstream, client, None), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        through = f"{host}:{found}"
        options = {key: value.replace(address.netloc, through) for key, value in server.options.items()}
        yield replace(server, options=options, endpoint=server.endpoint.replace(address.netloc, through)), requests


def pump(source: socket.socket, target: socket.socket, requests: list[None] | None) -> None:
    """Passes bytes on, and counts the requests in them."""
    with source, target:
        try:
            while data := source.recv(1 << 16):
                if requests is not None:
                    requests.extend([None] * bool(REQUEST.match(data)))
                target.sendall(data)
        except OSError:
            return


if __name__ == "__main__":
    sys.exit(main())
