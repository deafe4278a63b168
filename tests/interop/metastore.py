"""Hive's own metastore, out of Spark's jars, with an embedded Derby and the housekeeping that removes dead locks."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.interop.judge import JudgeDied, prepare

START_SECONDS = 120
TIMEOUT_S = 6
"""Of a lock without a heartbeat."""
SERVER = """
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.hadoop.hive.ql.txn.AcidHouseKeeperService;

public class Server {
  public static void main(String[] arguments) throws Throwable {
    TxnDbUtil.prepDb(new HiveConf());
    if (arguments[1].equals("true")) {
      new AcidHouseKeeperService().start(new HiveConf());
    }
    HiveMetaStore.main(new String[] {"-p", arguments[0]});
  }
}
"""
SETTINGS = {
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    "hive.txn.manager": "org.apache.hadoop.hive.ql.lockmgr.DbTxnManager",
    "hive.support.concurrency": "true",
    "hive.txn.timeout": f"{TIMEOUT_S}s",
    "hive.timedout.txn.reaper.start": "1s",
    "hive.timedout.txn.reaper.interval": "1s",
    "hive.async.log.enabled": "false",
}
OPENED = (
    "lang",
    "lang.invoke",
    "lang.reflect",
    "io",
    "net",
    "nio",
    "util",
    "util.concurrent",
    "util.concurrent.atomic",
)


@dataclass(frozen=True)
class Metastore:
    """A running metastore; ``uri`` as clients name it."""

    uri: str
    process: subprocess.Popen[bytes]


@contextmanager
def start_metastore(folder: Path, housekeeping: bool = True) -> Iterator[Metastore]:
    """A metastore on this host alone, with an empty database in a folder that is removed at the end.

    Without ``housekeeping`` it is as Hive 2 starts it: the lock of a dead owner stays.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder.mkdir(parents=True)
    places = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/db;create=true",
        "hive.metastore.warehouse.dir": f"{folder}/warehouse",
    }
    entries = (
        f"<property><name>{name}</name><value>{value}</value></property>" for name, value in (SETTINGS | places).items()
    )
    (folder / "hive-site.xml").write_text(f"<configuration>{''.join(entries)}</configuration>")
    (folder / "Server.java").write_text(SERVER)
    python, _ = prepare()
    (jars,) = python.parent.parent.glob("lib/python*/site-packages/pyspark/jars")
    command = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
    command += ["-cp", f"{folder}:{jars}/*", str(folder / "Server.java"), str(port), str(housekeeping).lower()]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)
    try:
        _wait_for(port, process, folder / "log")
        yield Metastore(f"thrift://127.0.0.1:{port}", process)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until its port is open: it is only when the metastore is ready."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    tail = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
    raise JudgeDied(f"the metastore does not start; the end of its log:\n{tail}")
