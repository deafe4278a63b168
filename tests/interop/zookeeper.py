"""ZooKeeper's own server, out of Spark's jars, which bring Curator too."""

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.interop.judge import JudgeDied, prepare

START_SECONDS = 60


@dataclass(frozen=True)
class ZooKeeper:
    """A running server; ``hosts`` as clients name it."""

    hosts: str
    process: subprocess.Popen[bytes]


@contextmanager
def start_zookeeper(folder: Path) -> Iterator[ZooKeeper]:
    """A server on this host alone, with an empty store; sessions may be as short as a second."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "dataDir": folder / "data",
        "clientPort": port,
        "clientPortAddress": "127.0.0.1",
        "tickTime": 500,
        "admin.enableServer": "false",
    }
    config = folder / "zoo.cfg"
    config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
    python, _ = prepare()
    (jars,) = python.parent.parent.glob("lib/python*/site-packages/pyspark/jars")
    command = ["java", "-Xmx128m", "-cp", f"{jars}/*", "org.apache.zookeeper.server.ZooKeeperServerMain", str(config)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        yield ZooKeeper(f"127.0.0.1:{port}", process)
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise JudgeDied("ZooKeeper's server does not start")
