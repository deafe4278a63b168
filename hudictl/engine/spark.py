"""Spark, which is imported only when it is asked for."""

import atexit
import logging
import os
import shutil
import struct
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial, reduce
from importlib.util import MAGIC_NUMBER, cache_from_source
from itertools import islice
from pathlib import Path
from subprocess import Popen
from typing import Any

from hudictl.engine import cluster
from hudictl.engine.base import Gathered, Item, Kept, Progress, TaskResult, Value, here
from hudictl.engine.java import java_home
from hudictl.engine.jvm import end, forget_ended, last_words, launch, not_started, own_folder
from hudictl.engine.work import Bucket, bucket_of, each, each_pair, fold, pairs_of
from hudictl.errors import EngineFailed, HudictlError, UsageError
from hudictl.secrets import looks_secret

_log = logging.getLogger(__name__)

# Features that a batch tool does not need, and that cost time at every start.
_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.rdd.compress": "false",
}
_LISTENING = ("spark.driver.host", "spark.driver.bindAddress")
"""Else Spark listens on this host's own address, for everyone, and runs what it is sent as the operator."""
_ARCHIVE = "hudictl.zip"
_UNCHANGING = (f"/{_ARCHIVE}", "/pyspark.zip", "/py4j-", "/spark-core_")
"""Archives in the path of an executor's Python that stay as they are: Spark's own, with a jar of its classes, too."""
_PARTS = 64
"""How many buckets the values of a partition are: Spark holds each one whole, in an array of the JVM."""
_RESULTS = 8
"""How many results travel together: each of a savepoint can name very many files, and such a batch is held twice."""
_SILENT_SECONDS = 10
_LOOK_SECONDS = 0.25
_SILENT = "no executor of %s has answered yet: its cores or memory may be in use; nothing was changed, Ctrl-C stops"
_STARTS = "Spark has not started yet: its JVM, downloads or master may need longer; Ctrl-C stops"


@dataclass(eq=False)
class SparkEngine:
    """A Spark context that starts in the background, so that the plan's first reads need not wait for it.

    ``look`` must return the same on every executor as on this host; ``one_jvm`` refuses executors on other hosts.
    ``hidden``: keys of ``conf`` that are kept out of the JVM's command line, besides those that look secret.

    A context that is active in this process, as in a notebook, is used, and goes on: Spark allows only one.
    """

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    look: Callable[[], object] = lambda: None
    one_jvm: bool = False
    hidden: frozenset[str] = frozenset()
    _starting: threading.Thread | None = field(default=None, repr=False)
    _context: Any = field(default=None, repr=False)
    _borrowed: bool = field(default=False, repr=False)
    _settled: threading.Event = field(default_factory=threading.Event, repr=False)
    _error: HudictlError | None = field(default=None, repr=False)
    _looked: bool = field(default=False, repr=False)
    _warming: threading.Thread | None = field(default=None, repr=False)
    _cold: HudictlError | None = field(default=None, repr=False)
    _jvm: "Popen[bytes] | None" = field(default=None, repr=False)
    _closing: bool = field(default=False, repr=False)
    _folder: str = field(default_factory=own_folder, repr=False)

    def start(self) -> None:
        if self._starting is None:
            self._starting = threading.Thread(target=self._start, name="spark-start", daemon=True)
            self._starting.start()

    def ready(self) -> None:
        self._look_around()
        if self._warming is None and cluster.one_jvm(self._started().master):
            # The first job starts Python's workers: they are there when it comes, after the plan was shown or settled.
            # Those of a cluster are there since its executors were asked.
            self._warming = threading.Thread(target=self._warm, name="spark-warm", daemon=True)
            self._warming.start()
        elif self._warming is not None:
            self._warming.join()
        if self._cold is not None:
            raise self._cold

    def map(
        self, label: str, function: Callable[[Item], Value], items: Sequence[Item], progress: Progress | None = None
    ) -> list[TaskResult[Value]]:
        if not items:
            return []
        self._look_around()
        return self._map(label, function, items, progress)

    def _map(
        self, label: str, function: Callable[[Item], Value], items: Sequence[Item], progress: Progress | None = None
    ) -> list[TaskResult[Value]]:
        context = self._started()
        return self._wait_for(label, lambda: _collect(context, label, function, items), progress)

    def gather(
        self, label: str, function: Callable[[Item], Iterable[tuple[str, Kept]]], items: Sequence[Item]
    ) -> Gathered[Kept]:
        self._look_around()
        context = self._started()
        return self._wait_for(label, lambda: Gathered(self, _gathered(context, function, items)))

    def keep(self, pairs: Iterable[tuple[str, Kept]]) -> Gathered[Kept]:
        context = self._started()
        return self._wait_for("send", lambda: Gathered(self, _sent(context, pairs)))

    def over(
        self,
        label: str,
        gathered: Sequence[Gathered[Any]],
        function: Callable[[str, Sequence[Sequence[Any]]], Value | None],
    ) -> list[TaskResult[Value]]:
        context = self._started()
        kept = [here(self, entry).kept for entry in gathered]
        return self._wait_for(label, lambda: _over(context, label, kept, function))

    def pairs(self, gathered: Gathered[Kept]) -> Iterator[tuple[str, Kept]]:
        for number in range(gathered.kept.getNumPartitions()):
            yield from pairs_of(self._wait_for("collect", partial(_part, self._started(), gathered.kept, number)))

    def _wait_for(self, label: str, job_of: Callable[[], Value], progress: Progress | None = None) -> Value:
        context = self._started()
        # Not in this thread: py4j cannot handle Ctrl-C while it waits for a reply.
        with ThreadPoolExecutor(2, thread_name_prefix="spark-job") as pool:
            job = pool.submit(self._grouped, context, job_of)
            try:
                share = 0.0
                while progress is not None and not wait([job], _LOOK_SECONDS).done:
                    # Between the last task and the reply no stage is active.
                    share = max(share, pool.submit(_share_done, context).result())
                    progress(share)
                return job.result()
            except KeyboardInterrupt:
                self.close()
                raise
            except HudictlError:
                # That of whoever was told the progress: nothing of the job is to go on. Spark may not have it yet.
                while not wait([job], _LOOK_SECONDS).done:
                    context.cancelJobGroup(self._folder)
                raise
            except Exception as error:  # py4j and pyspark raise many types; each of them is the engine's failure
                raise self._failure(label, error) from error

    def _failure(self, label: str, error: Exception) -> EngineFailed:
        words = last_words(self._jvm, Path(self._folder), error)
        return cluster.failure(label, EngineFailed(words) if words else error)

    def _grouped(self, context: Any, job_of: Callable[[], Value]) -> Value:
        # In the thread of the job: what others run in a borrowed context is not of this group.
        context.setJobGroup(self._folder, "hudictl", interruptOnCancel=True)
        return job_of()

    def close(self) -> None:
        self._end_start()
        if self._context is not None and self._borrowed:
            with suppress(Exception):
                self._context.cancelJobGroup(self._folder)
            self._context = None
        if self._context is not None:
            _end_accumulators(self._context)
            # A JVM that has ended, as without memory, cannot stop: what counts is the error of its job.
            with suppress(Exception):
                self._context.stop()
            self._context = None
        shutil.rmtree(self._folder, ignore_errors=True)

    def _end_start(self) -> None:
        """What still starts is ended: it may never do, and a JVM that has not answered would outlive this process."""
        self._closing = True
        if self._starting is not None and not self._settled.is_set():
            if self._jvm is not None:
                end(self._jvm)
            self._settled.wait(_SILENT_SECONDS)

    def _begun(self, jvm: "Popen[bytes]") -> None:
        self._jvm = jvm
        if self._closing:
            jvm.terminate()

    def _look_around(self) -> None:
        context = self._started()
        if not self._looked and not cluster.one_jvm(context.master):
            self._ask_executors(context)
        self._looked = True

    def _warm(self) -> None:
        try:
            context = self._started()
            _collect(context, "start workers", str, range(context.defaultParallelism))
        except Exception as error:  # see map
            self._cold = self._failure("start workers", error)

    def _ask_executors(self, context: Any) -> None:
        """Waits for executors, and lets them check: missing things are reported before anything is changed."""
        warning = threading.Timer(_SILENT_SECONDS, _log.warning, [_SILENT, context.master])
        warning.daemon = True
        warning.start()
        try:
            # The first task waits for an executor; the second job uses every core that is available by then.
            self._map("wait for executors", cluster.look_from_here, [self.look])
            looks = [self.look] * context.defaultParallelism
            seen = [result.value for result in self._map("compare the executors' view", cluster.look_from_here, looks)]
        finally:
            warning.cancel()
        _, expected = cluster.look_from_here(self.look)
        others = {host: found for host, found in filter(None, seen) if found != expected}
        if others:
            found = next(iter(others.values()))
            reason = f": {found}" if isinstance(found, str) else ""
            raise EngineFailed(
                f"Spark's executors on {', '.join(sorted(others))} do not see the table as this host does{reason}",
                hint="make it readable on every host of the cluster, or use --master 'local[*]' or --engine local",
                hosts=sorted(others),
            )

    def _started(self) -> Any:
        self.start()
        # Not Thread.join: up to Python 3.12 a thread whose join was interrupted counts as ended.
        if not self._settled.wait(_SILENT_SECONDS):
            _log.warning(_STARTS)
            self._settled.wait()
        if self._error is not None:
            raise self._error
        return self._context

    def _start(self) -> None:
        try:
            self._create_context(Path(self._folder))
        except HudictlError as error:
            self._error = error
        except Exception as error:  # see map
            words = last_words(self._jvm, Path(self._folder), error)
            self._error = not_started(words or cluster.first_line(error), "--master")
        finally:
            self._settled.set()

    def _create_context(self, folder: Path) -> None:
        try:
            import pyspark
        except ImportError as error:
            raise EngineFailed(f"pyspark cannot be imported: {error}", hint="use --engine local") from error
        forget_ended()
        active = pyspark.SparkContext._active_spark_context
        if active is not None:
            self._borrow(active, folder)
            return
        home = java_home(pyspark.__version__)
        if home is not None:
            os.environ["JAVA_HOME"] = home
        asked = dict(self.conf) | ({"spark.master": self.master} if self.master else {})
        hidden = {key for key in asked if key in self.hidden or looks_secret(key)}
        # Before the JVM, which may wait for ever on a full disk.
        archive = _package_archive(folder)
        gateway = launch({key: value for key, value in asked.items() if key not in hidden}, folder, self._begun)
        settings = pyspark.SparkConf(_jvm=gateway.jvm).setAll(list(asked.items()))
        # Under spark-submit the master and the rest are set already.
        for key, value in {"spark.master": "local[*]", **_DEFAULTS}.items():
            settings.setIfMissing(key, value)
        master = str(settings.get("spark.master"))
        if self.one_jvm:
            cluster.refuse_cluster(master)
        cluster.check_master(master)
        said = any(map(settings.contains, _LISTENING)) or cluster.names_address(os.environ)
        if cluster.on_this_host(master) and not said:
            settings.setAll([(key, cluster.LOOPBACK) for key in _LISTENING])
        # Unbatched: what travels is already large, and the parts of gathered values are paired one by one.
        self._context = context = pyspark.SparkContext(conf=settings, gateway=gateway, batchSize=1)
        _silence(context)
        context.pythonExec = _executors_python(settings, master)
        context.setLogLevel("ERROR")
        context.addPyFile(str(archive))

    def _borrow(self, active: Any, folder: Path) -> None:
        """Works in a context of others, which keeps its settings: hudictl's own are in a view of it."""
        from pyspark.serializers import BatchedSerializer

        has = dict(active.getConf().getAll())
        asked = dict(self.conf) | ({"spark.master": self.master} if self.master else {})
        others = sorted(key for key, value in asked.items() if has.get(key) != value)
        if others:
            raise UsageError(
                f"Spark runs in this process already, with another {', '.join(others)}",
                hint="leave master and conf out, or use engine='local', or a process of its own",
            )
        master = str(active.master)
        if self.one_jvm:
            cluster.refuse_cluster(master)
        if _ARCHIVE not in active._python_includes:
            # It stays as long as the context may ask for it.
            kept = Path(tempfile.mkdtemp(prefix="hudictl-"))
            atexit.register(shutil.rmtree, kept, ignore_errors=True)
            active.addPyFile(str(_package_archive(kept)))
        view = object.__new__(type(active))
        vars(view).update(vars(active))
        view.serializer = BatchedSerializer(view._unbatched_serializer, 1)  # type: ignore[no-untyped-call]
        view.pythonExec = _executors_python(active.getConf(), master)
        self._context, self._borrowed = view, True


def _silence(context: Any) -> None:
    """PySpark's thread for accumulators would print a traceback where the JVM ends."""
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        server.handle_error = lambda *_: None


def _end_accumulators(context: Any) -> None:
    """Ends this thread without waiting for it: it looks only once a second whether it should end."""
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        context._accumulatorServer = None
        threading.Thread(target=server.shutdown, daemon=True).start()


def _collect(
    context: Any, label: str, function: Callable[[Item], Value], items: Sequence[Item]
) -> list[TaskResult[Value]]:
    """Deals the items out to the tasks like cards: with the largest items first, tasks are of similar size."""
    context.setJobDescription(label)
    slices = min(len(items), 4 * context.defaultParallelism)
    hands = [list(items[number::slices]) for number in range(slices)]
    done: list[list[TaskResult[Value]]] = context.parallelize(hands, slices).map(_runner(function)).collect()
    results: list[TaskResult[Value]] = [TaskResult(None)] * len(items)
    for number, hand in enumerate(done):
        results[number::slices] = hand
    return results


def _gathered(context: Any, function: Callable[[Item], Iterable[tuple[str, Any]]], items: Sequence[Item]) -> Any:
    """An RDD with ``_PARTS`` buckets a partition, kept by the executors once it is used."""
    buckets = _buckets(context)
    slices = max(1, min(len(items), 4 * context.defaultParallelism))
    hands = [list(items[number::slices]) for number in range(slices)]
    dealt = context.parallelize(hands, slices).flatMap(_dealer(function, buckets))
    parts = dealt.partitionBy(buckets, int).mapPartitions(_bucket, preservesPartitioning=True)
    return parts.persist(_kept_level())


def _buckets(context: Any) -> int:
    """The same for all gathered values: they are paired. In each look, each part costs a task of its own (some 10 ms,
    seen on Spark 3.5), and keys are spread evenly enough."""
    return int(2 * context.defaultParallelism)


def _sent(context: Any, pairs: Iterable[tuple[str, Any]]) -> Any:
    """An RDD as of ``_gathered``, out of values of the driver."""
    partitions = _buckets(context)
    buckets = [Bucket({}, []) for _ in range(partitions * _PARTS)]
    for key, value in pairs:
        buckets[bucket_of(key, len(buckets))].values.setdefault(key, []).append(value)
    return context.parallelize(buckets, partitions)


def _kept_level() -> Any:
    from pyspark import StorageLevel

    return StorageLevel.MEMORY_AND_DISK


def _dealer(
    function: Callable[[Item], Iterable[tuple[str, Any]]], buckets: int
) -> Callable[[Sequence[Item]], Iterator[tuple[int, Any]]]:
    """Pairs by the number of their partition, and in it of their bucket; the text of an error instead of a pair."""

    def deal(hand: Sequence[Item]) -> Iterator[tuple[int, Any]]:
        _forget_archives()
        for result in each_pair(function, hand):
            if result.error is not None:
                yield 0, result.error
            for key, value in result.value or ():
                partition, part = divmod(bucket_of(key, buckets * _PARTS), _PARTS)
                yield partition, (part, key, value)

    return deal


def _forget_archives() -> None:
    """Drops Python's finders of such archives. PySpark has all finders refreshed before each task: up to Python 3.12
    each of these, one for each package, would read the archive's whole directory again (most of a small task)."""
    for path in [path for path in sys.path_importer_cache if any(name in path for name in _UNCHANGING)]:
        sys.path_importer_cache.pop(path, None)


def _bucket(dealt: Iterable[tuple[int, Any]]) -> Iterator[Bucket]:
    parts = [Bucket({}, []) for _ in range(_PARTS)]
    for _, found in dealt:
        if isinstance(found, str):
            parts[0].errors.append(found)
        else:
            part, key, value = found
            parts[part].values.setdefault(key, []).append(value)
    yield from parts


def _over(
    context: Any,
    label: str,
    kept: Sequence[Any],
    function: Callable[[str, Sequence[Sequence[Any]]], Value | None],
) -> list[TaskResult[Value]]:
    context.setJobDescription(label)
    # Without a Python function between them: each would be one more Python process for each core.
    together = reduce(lambda left, right: left.zip(right), kept)
    depth = len(kept)

    def look(found: Iterable[Any]) -> Iterator[list[TaskResult[Value]]]:
        _forget_archives()
        results = fold((_flat(entry, depth) for entry in found), function)
        while some := list(islice(results, _RESULTS)):
            yield some

    done: list[list[TaskResult[Value]]] = together.mapPartitions(look).collect()
    return [result for results in done for result in results]


def _part(context: Any, kept: Any, number: int) -> list[Bucket]:
    """The buckets of one part."""
    return [*context.runJob(kept, lambda buckets: buckets, [number])]


def _flat(found: Any, depth: int) -> list[Bucket]:
    """The buckets of ((first, second), third), and so on."""
    buckets = []
    for _ in range(depth - 1):
        found, last = found
        buckets.append(last)
    return [found, *reversed(buckets)]


def _share_done(context: Any) -> float:
    """The completed share of the running job; there is one job at a time, with one stage."""
    tracker = context.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    done, all_tasks = (sum(getattr(stage, name) for stage in stages) for name in ("numCompletedTasks", "numTasks"))
    return float(done / max(1, all_tasks))


def _runner(function: Callable[[Item], Value]) -> Callable[[Sequence[Item]], list[TaskResult[Value]]]:
    def run(items: Sequence[Item]) -> list[TaskResult[Value]]:
        _forget_archives()
        return list(each(function, items))

    return run


def _executors_python(settings: Any, master: str) -> str:
    """The operator's choice; else the driver's interpreter on this host, and Spark's own default on others."""
    default = sys.executable if cluster.one_jvm(master) else "python3"
    # Spark uses the setting in scripts of spark-submit, but not if a Python process starts Spark.
    return str(settings.get("spark.pyspark.python", None) or os.environ.get("PYSPARK_PYTHON") or default)


def _package_archive(folder: Path) -> Path:
    """The package's own modules as an archive: executors need no installation of hudictl.

    Beside the sources are the compiled modules that this host has: without these, each Python process of an executor
    would compile them for itself, because Python keeps nothing that it compiles out of an archive.
    """
    package = Path(__file__).parent.parent
    archive = folder / _ARCHIVE
    with zipfile.ZipFile(archive, "w") as file:
        for source in sorted(package.rglob("*.py")):
            name = source.relative_to(package.parent)
            file.write(source, name)
            compiled = _compiled(source)
            if compiled is not None:
                file.writestr(str(name.with_suffix(".pyc")), compiled)
    return archive


def _compiled(source: Path) -> bytes | None:
    """A module as this Python has compiled it, if that is of the source as it is now. Another Python skips it."""
    try:
        body = Path(cache_from_source(str(source))).read_bytes()
        status = source.stat()
    except (OSError, NotImplementedError):
        return None
    stamp = struct.pack("<III", 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    if body[: len(MAGIC_NUMBER)] != MAGIC_NUMBER or body[4:16] != stamp:
        return None
    # PEP 552: marked as not to be compared with the source, whose time in the archive is rounded.
    return MAGIC_NUMBER + struct.pack("<IQ", 1, 0) + body[16:]
