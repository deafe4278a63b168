"""The real Hudi as a judge: one long-lived Spark process per Hudi release, asked over JSON lines.

The process runs ``judge_server.py`` with PySpark 3.5: in the environment of the tests, or where that has another, in
a virtual environment of its own. This and the Hudi jars are made once, in a cache folder, and used again.
"""

import fcntl
import importlib.metadata
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RELEASES = {"v6": "0.15.0", "v8": "1.0.2", "v9": "1.2.0"}
BUNDLE = "org.apache.hudi:hudi-spark3.5-bundle_2.12"
UTILITIES = "org.apache.hudi:hudi-utilities-slim-bundle_2.12"
# Hadoop's S3A, of the Hadoop that PySpark 3.5 brings.
S3A = ("org.apache.hadoop:hadoop-aws:3.3.4", "com.amazonaws:aws-java-sdk-bundle:1.12.262")
# What Hudi 1.2.0 needs besides its bundle for base files in Lance, of the releases in its pom. They come before Spark's
# own Arrow on the class path.
LANCE = (
    "org.lance:lance-core:4.0.0",
    "org.lance:lance-spark-3.5_2.12:0.4.0",
    "org.lance:lance-spark-base_2.12:0.4.0",
    *(
        f"org.apache.arrow:arrow-{part}:18.3.0"
        for part in ("vector", "format", "memory-core", "memory-netty", "c-data")
    ),
    "org.apache.arrow:arrow-memory-netty-buffer-patch:18.3.0",
    "com.google.flatbuffers:flatbuffers-java:25.2.10",
    "org.questdb:jar-jni:1.1.1",
)
REQUIREMENTS = ("pyspark>=3.5,<3.6", "setuptools; python_version >= '3.12'")
SERVER = Path(__file__).with_name("judge_server.py")
LOCK_CLIENT = Path(__file__).with_name("S3StorageLockClient.java")
START_SECONDS = 180
ANSWER_SECONDS = 240

Row = Sequence[Any]
Options = Mapping[str, Any]
Rows = dict[str, Any]


class JudgeError(Exception):
    """Hudi refused or failed: ``errors`` are its exceptions as "Class: message", outermost first."""

    def __init__(self, op: str, errors: Sequence[str]) -> None:
        super().__init__(f"{op}: " + "\n  caused by ".join(errors))
        self.errors = tuple(errors)


class JudgeDied(Exception):
    """The judge's process is gone, hangs or could not be started: nothing to do with the table under test."""


@dataclass(frozen=True)
class Connector:
    """How a judge reaches an object store: the jars of Hadoop's connector, by group:name:version, and its settings."""

    jars: Sequence[str]
    settings: Options


def s3a(endpoint: str, key: str = "any", secret: str = "any") -> Connector:
    """An S3 on this host."""
    settings = {
        "fs.s3a.endpoint": endpoint,
        "fs.s3a.access.key": key,
        "fs.s3a.secret.key": secret,
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.maximum": "2000",  # the default, 96, is not enough for Hudi 1.2.0
    }
    return Connector(S3A, settings)


@dataclass(frozen=True)
class Judge:
    """One running judge. Paths are absolute local base paths, or URIs; what Hudi refuses raises JudgeError."""

    version: str
    process: subprocess.Popen[bytes] = field(repr=False)
    log: Path

    def call(self, op: str, timeout: float = ANSWER_SECONDS, **arguments: Any) -> Any:
        """Sends one request and returns what is under ``ok`` of its reply."""
        request = json.dumps({"op": op, **arguments}, default=str) + "\n"
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(request.encode())
            self.process.stdin.flush()
        except OSError:
            raise self.died(f"it was gone before {op}") from None
        reply = json.loads(self.read_line(op, timeout))
        if "error" in reply:
            raise JudgeError(op, reply["error"])
        return reply["ok"]

    def read_line(self, op: str, timeout: float) -> bytes:
        """One reply. A judge that is late is killed: its reply would be taken for the next request's."""
        assert self.process.stdout is not None
        deadline = time.monotonic() + timeout
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    kill(self.process)
                    raise self.died(f"no answer to {op} in {timeout:.0f} s")
                part = os.read(self.process.stdout.fileno(), 1 << 16)
                if not part:
                    raise self.died(f"it ended during {op}, exit code {self.process.wait()}")
                line += part
        return line

    def died(self, reason: str) -> JudgeDied:
        """The exception for a dead judge, with the end of its log."""
        tail = self.log.read_text(errors="replace").splitlines()[-40:] if self.log.exists() else ["(no log)"]
        return JudgeDied(f"judge {self.version}: {reason}; the end of its log:\n" + "\n".join(tail))

    # Reading

    def rows(self, path: Path, metadata: bool = True, as_of: str | None = None, query: str = "snapshot") -> Rows:
        """A read of (id, ts, val), through the metadata table or by listing: {"count", "digest"}."""
        return dict(self.call("rows", path=path, metadata=metadata, as_of=as_of, query=query))

    def both_rows(self, path: Path, as_of: str | None = None) -> Rows:
        """What both kinds of reader see; raises AssertionError when they differ."""
        listing, table = self.rows(path, False, as_of), self.rows(path, True, as_of)
        assert listing == table, f"by listing {listing}, through the metadata table {table}"
        return listing

    def read(
        self,
        path: Path,
        metadata: bool = True,
        as_of: str | None = None,
        columns: Sequence[str] = ("id", "ts", "val"),
    ) -> list[list[Any]]:
        """The rows themselves, sorted."""
        return list(self.call("read", path=path, metadata=metadata, as_of=as_of, columns=columns))

    def files(self, path: Path, metadata: bool = True) -> list[str]:
        """Base and log files of the latest merged slices, relative to the table, sorted."""
        return list(self.call("files", path=path, metadata=metadata))

    def slices(self, path: Path) -> list[list[Any]]:
        """All visible slices: [partition, file id, base instant, base file or None, [logs]], sorted."""
        return list(self.call("slices", path=path))

    def listing(self, path: Path) -> dict[str, dict[str, int]]:
        """What the metadata table lists: sizes in bytes by file name, by partition path."""
        return dict(self.call("listing", path=path))

    def index_differences(
        self,
        path: Path,
        keys: Sequence[Any] = (),
        values: Sequence[str] = (),
        columns: Sequence[str] = ("id", "ts", "val"),
        conditions: Sequence[str] = (),
    ) -> list[str]:
        """What the metadata table says wrongly of files, of records by key (also of ``keys`` that are not there) and by
        ``val``, of columns and of bloom filters, and which ``conditions`` find other rows by its indexes."""
        named = {"keys": keys, "values": values, "columns": columns, "conditions": conditions}
        return list(self.call("index_differences", path=path, **named))

    def timeline(self, path: Path) -> list[list[str]]:
        """The active timeline as Hudi loads it: [requested time, action, state, completion time or ""]."""
        return list(self.call("timeline", path=path))

    def properties(self, path: Path) -> dict[str, str]:
        """hoodie.properties as Hudi's HoodieTableConfig loads it."""
        return dict(self.call("properties", path=path))

    # Writing: each returns the instant time of the write

    def create(self, path: Path, rows: Sequence[Row], options: Options | None = None, operation: str = "insert") -> str:
        """A new table of columns id, ts, val and the partition fields (``p``, unless the options name others)."""
        return str(self.call("create", path=path, rows=rows, operation=operation, options=options or {}))

    def upsert(self, path: Path, rows: Sequence[Row], operation: str = "upsert", options: Options | None = None) -> str:
        """Writes with the settings of the table's own hoodie.properties; options come on top."""
        return str(self.call("upsert", path=path, rows=rows, operation=operation, options=options or {}))

    def delete(self, path: Path, ids: Sequence[int], options: Options | None = None) -> str:
        """Deletes records by id (their partitions are looked up in a snapshot read)."""
        return str(self.call("delete", path=path, ids=ids, options=options or {}))

    def delete_partitions(self, path: Path, partitions: Sequence[str], options: Options | None = None) -> str:
        """Drops whole partitions, named as in the table's paths."""
        return str(self.call("delete_partitions", path=path, partitions=partitions, options=options or {}))

    # Administration, through Hudi's own write client

    def savepoint(self, path: Path, instant: str, options: Options | None = None) -> None:
        """Makes a savepoint."""
        self.call("savepoint", path=path, instant=instant, options=options or {})

    def delete_savepoint(self, path: Path, instant: str, options: Options | None = None) -> None:
        """Deletes a savepoint."""
        self.call("delete_savepoint", path=path, instant=instant, options=options or {})

    def restore(self, path: Path, savepoint: str, options: Options | None = None) -> None:
        """Restores to a savepoint; one that was interrupted is carried on."""
        self.call("restore", path=path, savepoint=savepoint, options=options or {})

    def rollback(self, path: Path, instant: str, options: Options | None = None) -> bool:
        """Rolls back one instant; False when Hudi found nothing to do."""
        return bool(self.call("rollback", path=path, instant=instant, options=options or {}))

    def rollback_failed(self, path: Path, options: Options | None = None) -> bool:
        """What a writer does before it starts: rolls back failed writes, by the options' cleaning policy."""
        return bool(self.call("rollback_failed", path=path, options=options or {}))

    def clean(self, path: Path, options: Options | None = None) -> None:
        """Runs the cleaner; what it keeps is in the options (``hoodie.cleaner.*``)."""
        self.call("clean", path=path, options=options or {})

    def archive(self, path: Path, options: Options | None = None) -> None:
        """Archives the timeline; what stays is in the options (``hoodie.keep.min.commits``, ``.max``)."""
        self.call("archive", path=path, options=options or {})

    def compact(self, path: Path, op: str = "scheduleAndExecute", options: Options | None = None) -> None:
        """Compaction: ``schedule``, ``run`` (all that is pending) or ``scheduleAndExecute``."""
        self.call("compact", path=path, mode=op, options=options or {})

    def cluster(self, path: Path, op: str = "scheduleAndExecute", options: Options | None = None) -> None:
        """Clustering: ``schedule``, ``execute`` (all that is pending) or ``scheduleAndExecute``."""
        self.call("cluster", path=path, mode=op, options=options or {})

    def index(self, path: Path, op: str, kind: str, options: Options | None = None) -> str:
        """Indexing, as Hudi's HoodieIndexer does it: ``schedule`` one kind (returns the instant, "" where Hudi plans
        nothing), ``run`` the instant that is given as kind, ``drop`` one kind."""
        return str(self.call("index", path=path, mode=op, kind=kind, options=options or {}))

    def show_rollbacks(self, path: Path) -> list[list[Any]]:
        """What Hudi's procedures show of each rollback: [its time, rolled back, files deleted, [their paths]]."""
        return list(self.call("show_rollbacks", path=path))

    # Deaths

    @contextmanager
    def dying(
        self, path: Path, *events: str, number: int = 1, after: bool = False, halt: bool = False
    ) -> Iterator[None]:
        """Runs the body as a writer that dies at a change to the table; raises AssertionError when it lived.

        Changes are "create", "close", "delete", "rename", "mkdir" and a path; the last pattern must find ``number`` of
        them once each pattern before has found one. Nothing reaches the table from that change on, or ``after`` it.
        With ``halt`` the JVM ends in that moment, and with it this judge.
        """
        self.call("die_at", path=path, events=events, number=number, after=after, halt=halt)
        with suppress(JudgeError, *([JudgeDied] if halt else [])):
            yield
        if not halt:
            assert self.call("revive", path=path), f"it did not come to {events}"

    def changes_of(self, path: Path, work: Callable[[], object]) -> list[str]:
        """The changes that some work does to the table, in their order, as ``dying`` knows them."""
        self.call("die_at", path=path, events=["$never"], number=1, after=False, halt=False)
        work()
        seen = list(self.call("changes_seen", path=path))
        self.call("revive", path=path)
        return seen

    # Configuration, and locks by the provider that the options name

    def settings(self, file: Path) -> dict[str, str]:
        """A file of settings, as Hudi's tools read it."""
        return dict(self.call("settings", file=file))

    def lock(self, path: Path, options: Options, wait_ms: int = 0) -> bool:
        """Takes the table's lock; False where another has it."""
        return bool(self.call("lock", path=path, options=options, wait_ms=wait_ms))

    def unlock(self, path: Path, close_only: bool = False) -> None:
        """Ends what ``lock`` began; ``close_only`` as a writer does that has not got it."""
        self.call("unlock", path=path, close_only=close_only)

    # What a writer leaves

    def heartbeat_expired(self, path: Path, instant: str, interval_ms: int, misses: int) -> bool:
        """Whether Hudi's heartbeat client, with these settings, calls the writer of an instant dead."""
        settings = {"interval_ms": interval_ms, "misses": misses}
        return bool(self.call("heartbeat_expired", path=path, instant=instant, **settings))

    def markers(self, path: Path, instant: str) -> list[str]:
        """The markers of an instant, as Hudi's rollback reads them: ``<partition>/<data file>.marker.<kind>``."""
        return list(self.call("markers", path=path, instant=instant))

    # Formats

    def avro_schema(self, record: str) -> dict[str, Any]:
        """The schema compiled into ``org.apache.hudi.avro.model.<record>``."""
        return dict(self.call("avro_schema", record=record))

    def decode(self, file: Path, record: str) -> dict[str, Any]:
        """An Avro instant file, read into Hudi's own class."""
        return dict(self.call("decode", file=file, record=record))

    def log_blocks(self, file: Path) -> list[dict[str, Any]]:
        """The blocks that Hudi's log reader finds: type, header, footer, content_offset, content_bytes."""
        return list(self.call("log_blocks", file=file))

    def log_records(self, file: Path) -> list[dict[str, Any]]:
        """The same with the ``records`` of each block; a delete block's as recordKey, partitionPath and ordering."""
        return list(self.call("log_records", file=file))

    def log_counts(self, files: Sequence[Path]) -> dict[str, list[list[Any]]]:
        """[type, instant, number of records or None] of each block of each file, by decoding every record."""
        return dict(self.call("log_counts", files=files))

    def replay(self, folder: Path) -> dict[str, dict[str, Any]]:
        """What the log reader yields of each file of a folder, up to its end or an error: {"blocks", "error"}.

        A block is [type, header, content position, content length], an error the chain of exceptions. Not a file of
        Hadoop's checksums may be there, or another reader than Hudi's refuses the bytes.
        """
        return dict(self.call("replay", folder=folder))

    def show_logfile_metadata(self, path: Path, pattern: str) -> list[list[Any]]:
        """Hudi's procedure for the logs of a table that a glob finds: a row for each block."""
        call = f"CALL show_logfile_metadata(table => 'judged', log_file_path_pattern => '{pattern}')"
        return self.sql(path, [call])

    def show_logfile_records(self, path: Path, pattern: str, merge: bool = False) -> list[list[Any]]:
        """The same for up to a thousand records."""
        named = f"log_file_path_pattern => '{pattern}', merge => {str(merge).lower()}, limit => 1000"
        return self.sql(path, [f"CALL show_logfile_records(table => 'judged', {named})"])

    # Tables of any schema

    def state(self, path: Path, key: str | None = None) -> dict[str, Any]:
        """A snapshot query of all columns as text: {"columns", "rows"}; of the record with a key alone, if asked."""
        return dict(self.call("state", path=path, key=key))

    def write_query(self, path: Path, query: str, operation: str, options: Options, mode: str = "append") -> None:
        """Writes what a query of Spark SQL yields, with these options and no others."""
        self.call("write_query", path=path, query=query, operation=operation, options=options, mode=mode)

    def write_avro(self, path: Path, schema: str, records: Sequence[Any], options: Options) -> None:
        """Upserts records of any schema, in Avro's JSON encoding; keys are in ``id``, ordering values in ``ts``."""
        self.call("write_avro", path=path, schema=schema, records=records, options=options)

    def sql(self, path: Path, statements: Sequence[str], options: Options | None = None) -> list[list[Any]]:
        """Runs Spark SQL, in which the table is called ``judged``; the rows of the last statement."""
        return list(self.call("sql", path=path, statements=statements, options=options or {}))

    def hiveql(self, metastore: str, statements: Sequence[str]) -> list[str]:
        """Runs statements in Hive, on the metastore at a URI; the rows of the last one."""
        return list(self.call("hiveql", metastore=metastore, statements=statements))

    def read_hfile(self, file: Path, library: str, keys: Sequence[str]) -> dict[str, list[list[str]]]:
        """An HFile's ``entries``, and those ``found`` by ascending keys, by the library "hbase" or "hudi"; in hex."""
        return dict(self.call("read_hfile", file=file, library=library, keys=keys))

    def write_hfile(self, file: Path, entries: list[list[str]], codec: str, block_bytes: int, index_bytes: int) -> None:
        """An HFile of hexadecimal keys and values, with a block and a fact beside them."""
        sizes = {"block_bytes": block_bytes, "index_bytes": index_bytes}
        self.call("write_hfile", file=file, entries=entries, codec=codec, **sizes)


@contextmanager
def start(
    version: str,
    store: Connector | None = None,
    release: str = "",
    utilities: bool = False,
    hadoop: Path | None = None,
    lance: bool = False,
    more_jars: Sequence[Path] = (),
    network_of: int | None = None,
) -> Iterator[Judge]:
    """A judge of the release that writes a table version (``v6``, ``v8``, ``v9``), or of another, stopped at the end.

    With a ``store`` it knows its URIs, too; that of S3 is three hundred megabytes to fetch once. With Hudi's utilities
    it can validate. ``hadoop`` is the folder of an HDFS' settings. With ``lance`` it reads and writes base files in
    Lance (1.2.0; 170 megabytes to fetch once). ``network_of`` is a process whose network it has.
    """
    release = release or RELEASES[version]
    store = store or Connector((), {})
    more = (*store.jars, *([f"{UTILITIES}:{release}"] if utilities else ()), *(LANCE if lance else ()))
    scratch = Path(tempfile.mkdtemp(prefix=f"hudictl-judge-{version}-"))
    try:
        python, jars = prepare(f"{BUNDLE}:{release}", *more)
        if store.jars == S3A and version != "v6":
            jars.append(compile_client(scratch, jars))
        log = scratch / "log"
        inside = () if network_of is None else ("nsenter", "-t", str(network_of), "-n")
        command = [*inside, str(python), str(SERVER), os.pathsep.join(map(str, (*jars, *more_jars))), str(scratch)]
        with log.open("wb") as stderr:
            process = subprocess.Popen(
                [*command, json.dumps(store.settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=server_environment() | ({"HADOOP_CONF_DIR": str(hadoop)} if hadoop else {}),
                start_new_session=True,  # so that the JVM under it can be killed with it
            )
        try:
            judge = Judge(version, process, log)
            judge.read_line("start", START_SECONDS)
            yield judge
        finally:
            stop(process)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def server_environment() -> dict[str, str]:
    """The caller's environment without what would make the judge use another Spark or Python."""
    foreign = ("PYSPARK_", "SPARK_", "PYTHONPATH", "PYTHONHOME")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    # Without a UTF-8 locale Java 17 cannot open files with non-ASCII names.
    return kept | {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a judge: the end of its input asks it to, a kill makes sure."""
    assert process.stdin is not None
    with suppress(OSError, subprocess.TimeoutExpired):  # one that died or hangs is killed like any other
        process.stdin.close()
        process.wait(20)
    kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills the judge's whole process group: its JVM outlives a killed Python."""
    with suppress(ProcessLookupError):  # it may have ended by itself
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def prepare(*artifacts: str) -> tuple[Path, list[Path]]:
    """The judge's Python and its jars; made first where they are not in the cache."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise JudgeDied(f"{program} is not on the PATH: the tests marked 'hudi' need Java 17 and Maven")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hudictl-judge"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # pytest-xdist starts several judges at once
        return make_environment(cache), [fetch_jar(cache, artifact) for artifact in artifacts]


def make_environment(cache: Path) -> Path:
    """A virtual environment with PySpark 3.5: the one that runs the tests, or else one of the same Python."""
    if sys.prefix != sys.base_prefix and importlib.metadata.version("pyspark").startswith("3.5."):
        return Path(sys.executable)
    folder = cache / f"venv-{sys.version_info.major}.{sys.version_info.minor}"
    python, ready = folder / "bin" / "python", folder / "ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)  # what an interrupted attempt left
        run([sys.executable, "-m", "venv", str(folder)])
        run([str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS])
        ready.touch()
    return python


def fetch_jar(cache: Path, artifact: str) -> Path:
    """A jar from Maven Central (or the local Maven repository, where it is there already), by group:name:version, or
    group:name:version:jar:classifier."""
    group, name, release, *kind = artifact.split(":")
    jar = cache / "jars" / f"{'-'.join([name, release, *kind[1:]])}.jar"
    # Maven takes seconds to find what is there, and there are up to a dozen jars.
    local = Path.home() / ".m2/repository" / group.replace(".", "/") / name / release / jar.name
    if local.exists():
        return local
    if not jar.exists():
        partial = cache / "jars" / "partial"
        run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={partial}"])
        (partial / jar.name).rename(jar)
    return jar


def compile_client(folder: Path, jars: list[Path]) -> Path:
    """The store's part of Hudi's storage lock, as a folder of classes."""
    classes = folder / "classes"
    spark = Path(sys.prefix).glob("lib/python*/site-packages/pyspark/jars/*.jar")
    run(["javac", "-nowarn", "-d", str(classes), "-cp", os.pathsep.join(map(str, [*jars, *spark])), str(LOCK_CLIENT)])
    return classes


def run(command: list[str]) -> None:
    """Runs a command; its output is shown only when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise JudgeDied(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")
