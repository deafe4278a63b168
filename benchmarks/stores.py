"""Restore and rollback by hudictl on servers of S3, Google Cloud Storage and Azure: wall time and requests.

The servers are those of the tests, on this host: they share its cores, and answer at once. The times are the servers'
as much as hudictl's; the requests are what counts on a real store.
"""

import argparse
import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.measure import measure
from benchmarks.restore import environment, exit_problem, print_table, say
from benchmarks.table import TablePlan, generate, write_savepoint, yesterday
from tests.stores import azurite, fake_gcs, versity
from tests.stores.server import Server

COMMITS = 3
OPERATIONS = ("restore", "rollback")
REQUEST = re.compile(rb"[A-Z]+ \S+ HTTP/1\.1\r\n")
"""How what a client sends begins: it waits for each answer. A request of several parts has such lines inside, too."""


def main(argv: Sequence[str] | None = None) -> int:
    """Measures on each server, and prints a table; 1 if hudictl failed."""
    args = parser().parse_args(argv)
    plan = TablePlan(args.partitions, COMMITS, args.files, yesterday())
    scratch = Path(tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch))
    table = scratch / "table"
    generate(str(table), plan)
    rows = [["server", "operation", "wall", "requests", "problem"]]
    for name in args.servers.split(","):
        with start_server(name, scratch / name) as server:
            rows += [run(name, operation, server, table, plan, scratch) for operation in OPERATIONS]
    print(f"{plan.partitions} partitions; a restore deletes {plan.removed_files:,} files, over {COMMITS} commits.\n")
    print_table(rows)
    failed = any(row[-1] for row in rows[1:])
    if not failed:
        shutil.rmtree(scratch)
    return int(failed)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.stores", description=__doc__)
    add = options.add_argument
    add("--partitions", type=int, default=20, help="partitions of the table (20)")
    add("--files", type=int, default=20, help="files a partition and commit (20)")
    add("--servers", default="versitygw,fake-gcs-server,azurite", help="comma list, in the order to run (%(default)s)")
    add("--scratch", help="folder for the tables and the servers' data (the system's)")
    return options


@contextmanager
def start_server(name: str, folder: Path) -> Iterator[Server]:
    """A server of the tests."""
    if name == "versitygw":
        with versity.start(folder) as server:
            yield server
    elif name == "azurite":
        with azurite.start(folder) as server:
            yield server
    else:
        with fake_gcs.start(folder) as server:
            yield server


def run(name: str, operation: str, server: Server, table: Path, plan: TablePlan, scratch: Path) -> list[str]:
    """One operation, and once more on another table, to count its requests."""
    say(f"{name}, {operation}")
    made = scratch / operation
    if not made.exists():
        shutil.copytree(table, made, copy_function=shutil.copy2)
        if operation == "restore":
            write_savepoint(str(made), plan)
    wall_s, problem = hudictl(operation, server.upload(made, f"{operation}/timed"), server.options, plan, scratch)
    uri = server.upload(made, f"{operation}/counted")
    with counting(server) as (options, requests):
        hudictl(operation, uri, options, plan, scratch)
    return [name, operation, f"{wall_s:.1f} s", str(len(requests)), problem]


def hudictl(operation: str, uri: str, options: Mapping[str, str], plan: TablePlan, scratch: Path) -> tuple[float, str]:
    """The seconds that hudictl takes, and what went wrong."""
    target = plan.savepoint if operation == "restore" else plan.instants[-1]
    given = [part for key, value in options.items() for part in ("--storage-option", f"{key}={value}")]
    words = [operation, target, "-t", uri, "--engine", "local", "--yes", "--timezone", "UTC", *given]
    measured = measure([sys.executable, "-m", "hudictl", *words], str(scratch / "log"), environment())
    return measured.wall_s, exit_problem(measured)


@contextmanager
def counting(server: Server) -> Iterator[tuple[Mapping[str, str], list[None]]]:
    """Options by which hudictl reaches the server through this process, and one entry for each of its requests."""
    address = urlsplit(server.endpoint)
    requests: list[None] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()

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
        through = f"{host}:{port}"
        yield {key: value.replace(address.netloc, through) for key, value in server.options.items()}, requests


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
