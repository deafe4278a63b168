"""ZooKeeper's own server, out of Spark's jars, which bring Curator too."""

import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from tests.interop.judge import JudgeDied, prepare

START_SECONDS = 60
CURATOR = """
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

public class Mutex {
  public static void main(String[] arguments) throws Exception {
    var client = CuratorFrameworkFactory.newClient(arguments[0], new RetryOneTime(1000));
    client.start();
    var mutex = new InterProcessMutex(client, arguments[1]);
    if (!mutex.acquire(1, java.util.concurrent.TimeUnit.SECONDS)) {
      System.out.println("waiting");
      mutex.acquire();
    }
    System.out.println("held");
    System.in.read();
    mutex.release();
    client.close();
  }
}
"""


@dataclass(frozen=True)
class ZooKeeper:
    """A running server; ``hosts`` as clients name it."""

    hosts: str
    process: subprocess.Popen[bytes]

    def pause(self) -> None:
        """Stops it until it is killed or continued: on a busy host one thread may answer after another has stopped."""
        self.process.send_signal(signal.SIGSTOP)
        threads = [psutil.Process(thread.id) for thread in psutil.Process(self.process.pid).threads()]
        while any(thread.status() != psutil.STATUS_STOPPED for thread in threads):
            time.sleep(0.01)


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
    command = [*java(), "org.apache.zookeeper.server.ZooKeeperServerMain", str(config)]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        yield ZooKeeper(f"127.0.0.1:{port}", process)
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Curator:
    """A process that takes a lock by Curator's own recipe."""

    process: subprocess.Popen[str]

    def says(self) -> str:
        """``held``, once it is; ``waiting`` before, after a second."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def let_go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()


@contextmanager
def curator(server: ZooKeeper, path: str) -> Iterator[Curator]:
    """A contender for the lock at a path; gone at the end."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "Mutex.java"
        source.write_text(CURATOR)
        command = [*java(), str(source), server.hosts, path]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            yield Curator(process)
        finally:
            process.kill()
            process.wait()


def java() -> list[str]:
    """Java with Spark's jars."""
    python, _ = prepare()
    (jars,) = python.parent.parent.glob("lib/python*/site-packages/pyspark/jars")
    return ["java", "-Xmx256m", "-cp", f"{jars}/*"]


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    """Until it serves sessions: its port is open before, and a session that is asked for then may never be answered."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        client = KazooClient(f"127.0.0.1:{port}")
        with suppress(KazooTimeoutError):
            client.start(3)
            client.stop()
            client.close()
            return
    raise JudgeDied("ZooKeeper's server does not start")
