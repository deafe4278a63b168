"""A real HDFS on this host, for tests: one process of Hadoop's mini cluster, asked over JSON lines.

Its release is that of the Hadoop client in PySpark 3.5's jars, which it needs, too. Its own jar is fetched and its
program compiled once, in the judge's cache folder.
"""

import base64
import json
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.sax.saxutils import escape

from tests.hdfs.build import compiled
from tests.interop.judge import ANSWER_SECONDS, Judge, prepare, stop

CLUSTER = "org.apache.hadoop:hadoop-client-minicluster:3.3.4"
# Of the last two WebHDFS needs classes that Java has no more.
SPARKS = ("hadoop-client-*", "slf4j-api-*", "log4j-*", "commons-logging-*", "jakarta.xml.bind-api-*", "activation-*")
SOURCE = Path(__file__).with_name("MiniCluster.java")
FLAGS = (
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",  # JAXB's, too
    "-Dorg.apache.logging.log4j.level=WARN",
)
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class HdfsError(Exception):
    """Hadoop refused a request: "Class: message"."""


@dataclass(frozen=True)
class Hdfs:
    """A running HDFS: ``conf`` is a client's HADOOP_CONF_DIR, ``http`` the host and port of each name node."""

    process: subprocess.Popen[bytes] = field(repr=False)
    conf: Path
    uri: str
    http: tuple[str, ...]

    def ask(self, op: str, **arguments: Any) -> Any:
        """Sends one request, of those in ``MiniCluster.java``; raises HdfsError where Hadoop refuses it."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"op": op, **arguments}).encode() + b"\n")
        self.process.stdin.flush()
        return answer(self.process, self.conf.parent / "log", op)

    def put(self, path: str, body: bytes) -> None:
        """Writes a whole file, over one that is there."""
        self.ask("put", path=path, body=base64.b64encode(body).decode())

    def read(self, path: str) -> bytes:
        """All bytes that a reader gets."""
        return base64.b64decode(self.ask("read", path=path))

    def leave_open(
        self, path: str, body: bytes, *, append: bool = False, unseen: bool = False, holder: str = "writer"
    ) -> None:
        """Begins a file, or to append to one, as a client of its own that keeps its lease. Where it is ``unseen``,
        the name node knows of its first byte alone."""
        arguments = {"append": append, "unseen": unseen, "holder": holder}
        self.ask("leave_open", path=path, body=base64.b64encode(body).decode(), **arguments)


@contextmanager
def start(
    folder: Path, *, name_nodes: int = 1, settings: Mapping[str, str] = NO_SETTINGS, flags: Sequence[str] = ()
) -> Iterator[Hdfs]:
    """An HDFS with empty storage that keeps all it writes in a folder, stopped at the end.

    The user who runs it is its superuser, and clients are whom they say they are. The first of several name nodes is
    active.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        *java(f"-Djava.io.tmpdir={folder}", *flags),
        "MiniCluster",
        str(folder),
        str(name_nodes),
        json.dumps(dict(settings)),
    ]
    with serving(command, folder / "log") as (process, facts):
        yield Hdfs(process, folder / "conf", facts["uri"], tuple(facts["http"]))


@contextmanager
def serving(command: list[str], log: Path) -> Iterator[tuple[subprocess.Popen[bytes], Any]]:
    """A process that says one line when it is ready and ends with its input; yields it and what it said."""
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=log.parent,
            start_new_session=True,
        )
    try:
        yield process, answer(process, log, "start")
    finally:
        stop(process)


def answer(process: subprocess.Popen[bytes], log: Path, op: str) -> Any:
    """What is under ``ok`` of the next line that a process says."""
    reply = json.loads(Judge("of HDFS", process, log).read_line(op, ANSWER_SECONDS))
    if "error" in reply:
        raise HdfsError(reply["error"])
    return reply["ok"]


def java(*flags: str) -> list[str]:
    """The command that runs a class of this folder with the mini cluster's jars, up to the class's name."""
    python, jars = prepare(CLUSTER)
    (spark,) = python.parent.parent.glob("lib/python*/site-packages/pyspark/jars")
    jars += [jar for pattern in SPARKS for jar in sorted(spark.glob(f"{pattern}.jar"))]
    classpath = os.pathsep.join(map(str, jars))
    return ["java", *FLAGS, *flags, "-cp", f"{compiled(SOURCE, classpath)}{os.pathsep}{classpath}"]


def site(file: Path, settings: Mapping[str, str]) -> None:
    """Writes a file of Hadoop's settings."""
    properties = "".join(
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in settings.items()
    )
    file.write_text(f"<configuration>\n{properties}</configuration>\n")
