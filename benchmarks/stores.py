"""Restore and rollback on servers of S3, Google Cloud Storage and Azure: hudictl against the real Hudi there.

The servers are those of the tests, on this host: they share its cores with the contenders, and answer at once. Hudi
reaches that of S3 alone. Its time is without the start of its JVM, hudictl's with that of its process.
"""

import argparse
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks.measure import measure
from benchmarks.restore import environment, exit_problem, print_table, say
from benchmarks.table import TablePlan, generate, write_savepoint, yesterday
from tests.interop.judge import Judge, start
from tests.interop.test_stores import connector
from tests.stores import azurite, fake_gcs, versity
from tests.stores.server import Server

COMMITS = 3
OPERATIONS = ("restore", "rollback")
BY_LISTING = {"hoodie.metadata.enable": "false"}
REQUEST = b" HTTP/1.1\r\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measures on each server, and prints a table; 1 if hudictl failed."""
    args = parser().parse_args(argv)
    plan = TablePlan(args.partitions, COMMITS, args.files, yesterday())
    scratch = Path(tempfile.mkdtemp(prefix="hudictl-benchmark-", dir=args.scratch))
    table = scratch / "table"
    generate(str(table), plan)
    rows = [["server", "operation", "hudictl", "requests", "Hudi 0.15.0", "ratio", "problem"]]
    for name in args.servers.split(","):
        with ExitStack() as stack:
            server = stack.enter_context(start_server(name, scratch / name))
            judge = stack.enter_context(start("v6", connector(server))) if name == "versitygw" else None
            rows += [run(name, operation, server, judge, table, plan, scratch) for operation in OPERATIONS]
    print(f"{plan.partitions} partitions, {args.files} files a partition and commit; a restore over two commits.\n")
    print_table(rows)
    failed = any(row[-1].startswith("hudictl") for row in rows[1:])
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


def run(
    name: str, operation: str, server: Server, judge: Judge | None, table: Path, plan: TablePlan, scratch: Path
) -> list[str]:
    """One operation by each contender, on a table of its own; hudictl's once more, to count its requests."""
    problems = []
    say(f"{name}, {operation}")
    made = scratch / operation
    if not made.exists():
        shutil.copytree(table, made, copy_function=shutil.copy2)
        if operation == "restore":
            write_savepoint(str(made), plan)
    wall_s, problem = hudictl(operation, server.upload(made, f"{operation}/timed"), server.options, plan, scratch)
    problems += [f"hudictl: {problem}"] if problem else []
    uri = server.upload(made, f"{operation}/counted")
    with counting(server) as (options, requests):
        hudictl(operation, uri, options, plan, scratch)
    theirs_s = None
    if judge is not None:
        try:
            theirs_s = hudis(operation, judge, server.upload(made, f"{operation}/hudi"), plan)
        except Exception as error:
            problems.append(f"Hudi: {str(error).splitlines()[0][:80]}")
    theirs = [f"{theirs_s:.1f} s", f"{theirs_s / wall_s:.1f}"] if theirs_s is not None else ["", ""]
    return [name, operation, f"{wall_s:.1f} s", str(len(requests)), *theirs, "; ".join(problems)]


def hudictl(operation: str, uri: str, options: Mapping[str, str], plan: TablePlan, scratch: Path) -> tuple[float, str]:
    """The seconds that hudictl takes, and what went wrong."""
    target = plan.savepoint if operation == "restore" else plan.instants[-1]
    given = [part for key, value in options.items() for part in ("--storage-option", f"{key}={value}")]
    words = [operation, target, "-t", uri, "--engine", "local", "--yes", "--timezone", "UTC", *given]
    measured = measure([sys.executable, "-m", "hudictl", *words], str(scratch / "log"), environment())
    return measured.wall_s, exit_problem(measured)


def hudis(operation: str, judge: Judge, uri: str, plan: TablePlan) -> float:
    """The seconds that Hudi takes. Raises JudgeError."""
    begun = time.monotonic()
    if operation == "restore":
        judge.restore(uri, plan.savepoint, BY_LISTING)  # type: ignore[arg-type]
    else:
        judge.rollback(uri, plan.instants[-1], BY_LISTING)  # type: ignore[arg-type]
    return time.monotonic() - begun


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
                    requests.extend([None] * data.count(REQUEST))
                target.sendall(data)
        except OSError:
            return


if __name__ == "__main__":
    sys.exit(main())
