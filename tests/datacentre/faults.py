"""Random faults on several hosts: one operation, one fault at a random time, what comes of both; the same by a seed.

The operation runs on Spark's executors of two hosts, or on the operator's host alone, against an S3 on another. The
fault comes at some time, or soon after some phase has begun. Then all is healed, and the command is run again until it
ends. The real Hudi reads and writes a copy. Then a later writer uses the names again that the operation has deleted: no
task that comes late may touch them.
"""

import hashlib
import json
import random
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.undo.phases import Phase
from tests import support
from tests.cli.conftest import Said
from tests.datacentre import services
from tests.datacentre.hosts import Datacentre, HostError, Process, start_hosts
from tests.datacentre.outcome_support import data, digests
from tests.helpers import Copy, restore, roll_back
from tests.interop import judge
from tests.interop.scenarios import batch
from tests.s3 import BUCKET

_ONE = {Phase.UNPUBLISH_ONE, Phase.PUBLISH_ROLLBACK}
_MANY = {Phase.UNPUBLISH, Phase.PUBLISH_RESTORE}
_RESTORE = ("check again", "request the restore", "begin the restore", *(one.label for one in Phase if one not in _ONE))
OPERATIONS: Mapping[str, Sequence[str]] = {
    "restore": _RESTORE,
    "restore --keep-files": _RESTORE,
    "rollback": ("check again", "begin the rollback", *(one.label for one in Phase if one not in _MANY)),
    "savepoint create": ("plan", "check again", "write the savepoint"),
    "undo": ("check again", "publish instants again", "take the metadata table out of use", "verify"),
}
"""The operations, each with the phases that faults may wait for; not each table has each."""
NAMES = ("cow_savepoints", "mor_savepoints")
AT_MOST_SECONDS = 25.0
"""Of a run without a fault, beside others of its kind."""
_LATE_SECONDS = 8.0
"""How long a task that comes late has for its harm, once the operation has ended and all hosts see each other."""
_TRIES = 5
# Executors that do not answer are given up in seconds, not in minutes; their tasks are run again.
HASTY = {
    "spark_network_timeout": "10s",
    "spark_network_timeoutInterval": "5s",
    "spark_executor_heartbeatInterval": "2s",
    "spark_task_maxFailures": "8",
    "spark_stage_maxConsecutiveAttempts": "20",
    "spark_executorEnv_TZ": "Asia/Kathmandu",
}


@dataclass(frozen=True)
class Fault:
    """Something that happens to hosts for some seconds, or at once.

    ``locked``: with the lock of the writers. ``late``: while files are deleted, slowly, and until others have written.
    """

    begin: Callable[[Datacentre], object]
    end: Callable[[Datacentre], object] = lambda _: None
    least_s: float = 2
    most_s: float = 25
    locked: bool = False
    late: bool = False


def _cut(host: str, other: str = "", *, locked: bool = False) -> Fault:
    begin, end = (lambda running: running.cut(host, other)), (lambda running: running.heal(host, other))
    return Fault(begin, end, locked=locked)


def _pause(host: str, most_s: float = 25) -> Fault:
    return Fault(lambda running: running.pause(host), lambda running: running.resume(host), most_s=most_s)


def _kill(host: str, text: str) -> Fault:
    """Kills the processes of a host whose command line has a text."""
    return Fault(lambda running: running.run(host, ["pkill", "-9", "-f", text]), most_s=2)


def _bad(manner: str, least_s: float = 2, most_s: float = 25) -> Fault:
    """The store as store.py says."""

    def begin(running: Datacentre) -> None:
        running.hosts["s3"].path("/tmp/manner").write_text(manner)

    return Fault(begin, lambda running: running.hosts["s3"].path("/tmp/manner").unlink(), least_s, most_s)


FAULTS: Mapping[str, Fault] = {
    "an executor's host is cut off": _cut("w1"),
    "an executor's host is cut off the store": _cut("w1", "s3"),
    "an executor's host is cut off the driver": _cut("w1", "edge"),
    "the driver is cut off the store": _cut("edge", "s3"),
    "the driver is cut off": _cut("edge"),
    "the store is cut off": _cut("s3"),
    "an executor's host is paused": _pause("w1"),
    "an executor's host is paused until the next write": replace(_pause("w1"), late=True),
    "the store is paused": _pause("s3", 15),
    "the driver is paused": _pause("edge", 20),
    "the driver is paused until its claim is dead": replace(_pause("edge", 80), least_s=70),
    "the driver is killed": _kill("edge", "hudictl"),
    "an executor is killed": _kill("w1", "CoarseGrainedExecutorBackend"),
    "a worker's Python is killed": _kill("w2", "pyspark.daemon"),
    "the store refuses with 503": _bad("refuse", most_s=60),
    "the store does its work and does not answer": _bad("deaf"),
    "the store answers after the client gave up": _bad("late 8"),
    "deletions are slow": _bad("slow 4", 20, 40),
    "the lock's server is cut off": _cut("zk", locked=True),
    "the lock's server is cut off the driver": _cut("zk", "edge", locked=True),
}


@dataclass(frozen=True)
class Run:
    """What came of one. ``met``: the command had not ended. ``problems``: what must not be; empty if all is well."""

    seed: int
    version: str
    table: str
    operation: str
    fault: str
    locked: bool
    spark: bool
    phase: str
    after_s: float
    for_s: float
    met: list[bool] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Lake:
    """Running hosts, and how hudictl is called on one."""

    running: Datacentre
    endpoint: str
    master: str
    judges: Mapping[str, judge.Judge]
    """Of the versions; none, where the real Hudi is not asked."""

    def words(self, prefix: str, *, spark: bool = True) -> list[str]:
        master = ["--master", self.master, *services.settings(**HASTY)] if spark else ["--engine", "local"]
        store = services.storage_options(self.endpoint, config_kwargs='{"read_timeout": 5}')
        return ["-t", f"s3a://{BUCKET}/{prefix}", *store, *master, "-o", "json"]

    def hudictl(self, prefix: str, *command: str, spark: bool = True) -> Said:
        words = (*command, *self.words(prefix, spark=spark))
        return services.hudictl(self.running, "edge", *words, env=_ENVIRONMENT, seconds=240)

    def stored(self, prefix: str) -> dict[str, str]:
        return data(services.stored(self.running, "s3", self.endpoint, prefix))


_ENVIRONMENT = {"PYSPARK_PYTHON": f"{services.PYTHON}/bin/python", "TZ": "America/St_Johns"}


@contextmanager
def start_lake(folder: Path, *, hudi: bool) -> Iterator[Lake]:
    """Six hosts: the operator's, Spark's master, two of its workers, a store, and a lock's server."""
    executors = services.worker(services.make_python(folder / "python", "s3fs"))
    hosts = {"edge": services.edge(), "master": executors, "w1": executors, "w2": executors}
    hosts |= {"s3": services.store(), "zk": services.zookeeper()}
    with ExitStack() as stack:
        versions = support.VERSIONS if hudi else ()
        judges = {version: stack.enter_context(judge.start(version)) for version in versions}
        running = stack.enter_context(start_hosts(folder / "logs", hosts))
        endpoint = services.start_s3(running, "s3")
        services.start_zookeeper(running, ["zk"])
        yield Lake(running, endpoint, services.start_spark(running, "master", ["w1", "w2"]), judges)


def walk(lake: Lake, seed: int, folder: Path, kind: str = "") -> Run:
    """One operation with one fault. ``kind``: the faults to choose from have this in their names."""
    dice = random.Random(seed)
    version, name = dice.choice(support.VERSIONS), dice.choice(NAMES)
    operation = dice.choice(list(OPERATIONS))
    what = dice.choice([fault for fault in FAULTS if kind in fault])
    fault = FAULTS[what]
    phase = dice.choice(OPERATIONS[operation]) if dice.random() < 0.7 else ""
    if fault.late:
        operation = dice.choice(["restore", "restore --keep-files", "rollback"])
        phase = Phase.DELETE_FILES.label
    for_s = dice.uniform(fault.least_s, fault.most_s)
    locked = fault.locked or dice.random() < 0.2
    spark = bool(re.search("executor|Python", what)) or dice.random() < 0.5
    # With Spark a phase takes longer.
    after_s = dice.uniform(0, (6 if fault.late else 2 if spark else 0.5) if phase else AT_MOST_SECONDS if spark else 4)
    run = Run(seed, version, name, operation, what, locked, spark, phase, round(after_s, 1), round(for_s, 1))

    begun = time.monotonic()
    scene = _arranged(lake, run, folder)
    with ExitStack() as healing:
        if fault.late:
            slow = _bad("slow 1")
            slow.begin(lake.running)
            healing.callback(slow.end, lake.running)
        process = scene.spawn(lake, run)
        if phase:
            _wait_for(process, f"step: {phase}")
        time.sleep(after_s)
        run.met.append(process.outside.poll() is None)
        fault.begin(lake.running)
        healing.callback(fault.end, lake.running)
        if not fault.late:
            time.sleep(for_s)
            healing.close()
        _end(lake, scene, run, process, dice)
        run.problems.extend(_problems(lake, scene, run))
        if lake.judges and not run.problems:
            run.problems.extend(_problems_of_hudi(lake, scene, folder))
        if not run.problems:
            run.problems.extend(_problems_of_later_writers(lake, scene, run, healing.close))
    run.seconds.append(round(time.monotonic() - begun))
    shutil.rmtree(folder)
    return run


@dataclass(frozen=True)
class Scene:
    """A table at the store, the command for it, and its data files now and afterwards; ``here`` it is done already."""

    prefix: str
    command: Sequence[str]
    before: Mapping[str, str]
    done: Mapping[str, str]
    here: Copy

    def spawn(self, lake: Lake, run: Run) -> Process:
        words = (*self.command, "--yes", "--verbose", *lake.words(self.prefix, spark=run.spark))
        return services.spawn_hudictl(lake.running, "edge", *words, env=_ENVIRONMENT)


def _arranged(lake: Lake, run: Run, folder: Path) -> Scene:
    prefix = f"table-{run.seed}-{uuid.uuid4().hex[:8]}"
    copy = Copy(run.version, run.table, support.unpack(run.version, run.table, folder / "there"))
    here = Copy(run.version, run.table, support.unpack(run.version, run.table, folder / "here"))
    lock = services.zookeeper_lock(["zk"]) if run.locked else []
    command = [*_done_here(here, run.operation), *lock]
    services.upload(lake.running, "s3", lake.endpoint, copy.path, prefix)
    before = lake.stored(prefix)
    # Version 6: what is in a rollback block has the time of the rollback.
    done = {name: digest for name, digest in data(digests(here.path)).items() if name in before}
    if run.operation != "undo":
        return Scene(prefix, command, before, done, here)
    said = lake.hudictl(prefix, *command, "--keep-files", "--yes", spark=False)
    assert said.code == 0, said.err
    return Scene(prefix, ["undo", str(said.json["result"]["undo"]), "--idle", "0s", *lock], before, before, copy)


def _end(lake: Lake, scene: Scene, run: Run, process: Process, dice: random.Random) -> None:
    """Waits for the command, and runs it again until it has done its work."""
    try:
        run.codes.append(process.wait(300))
    except HostError:
        run.problems.append("the command does not end")
        lake.running.run("edge", ["pkill", "-9", "-f", "hudictl"])
    run.said.append(_told(process.said()))
    while run.codes[-1:] != [0] and len(run.codes) < _TRIES:
        if run.operation in ("restore", "rollback") and dice.random() < 0.3:
            lock = services.zookeeper_lock(["zk"]) if run.locked else []
            said = lake.hudictl(scene.prefix, "resume", "--yes", *lock, spark=run.spark)
            run.said.append(said.err.strip()[-400:])
        said = lake.hudictl(scene.prefix, *scene.command, "--yes", spark=run.spark)
        assert said.code != 2, said.err
        run.codes.append(said.code)
        run.said.append(f"{said.err}\n{said.out}".strip())
        if said.code:
            # The claim of a process on another host that was killed is dead only after a while.
            time.sleep(10)


def _wait_for(process: Process, words: str) -> None:
    """Until a process writes something, or has ended."""
    until = time.monotonic() + 120
    while words not in process.said() and process.outside.poll() is None and time.monotonic() < until:
        time.sleep(0.02)


def _told(said: str) -> str:
    """What a process has said, without the lines of ``--verbose``."""
    return "\n".join(line for line in said.splitlines() if not re.match(r"\d{4}-\d\d-\d\d ", line)).strip()


def _problems_of_hudi(lake: Lake, scene: Scene, folder: Path) -> list[str]:
    """What the real Hudi sees and writes otherwise than in the table where nothing has happened."""
    hudi, here = lake.judges[scene.here.version], scene.here.path
    there = services.download(lake.running, "s3", lake.endpoint, scene.prefix, folder / "found")
    try:
        wanted, found = hudi.both_rows(here), hudi.both_rows(there)
        if wanted != found:
            return [f"Hudi reads {found}, not {wanted}"]
        for path in (here, there):
            hudi.upsert(path, batch(range(0, 60, 7), 99))
        wanted, found = hudi.both_rows(here), hudi.both_rows(there)
        return [] if wanted == found else [f"after a write Hudi reads {found}, not {wanted}"]
    except (judge.JudgeError, AssertionError) as error:
        return [f"Hudi: {error}"[:2000]]


def _problems(lake: Lake, scene: Scene, run: Run) -> list[str]:
    """What must not be at the end."""
    if run.codes[-1:] != [0]:
        return [f"it does not end: {run.codes}"]
    problems = _wrong(lake.stored(scene.prefix), scene.done, scene.before, run.version)
    said = lake.hudictl(scene.prefix, "check", spark=False)
    if said.code not in (0, 3) or (said.code and said.error["fields"]["errors"]):
        problems.append(f"check ends with {said.code}: {(said.err or said.out)[-400:]}")
    return problems


def _problems_of_later_writers(lake: Lake, scene: Scene, run: Run, heal: Callable[[], None]) -> list[str]:
    """What a task that comes late has done to others' files, a while after all is healed."""
    problems, done = [], scene.done
    if "keep" in run.operation:
        command = ["undo", _document(run.said[-1])["result"]["undo"], "--idle", "0s", "--yes"]
        said = lake.hudictl(scene.prefix, *command, spark=False)
        problems += [f"undo ends with {said.code}: {said.err}"] if said.code else []
        done = scene.before
    later = sorted(scene.before.keys() - done.keys())[:20] or sorted(done)[:2]
    services.write(lake.running, "s3", lake.endpoint, scene.prefix, later)
    heal()
    time.sleep(_LATE_SECONDS)
    now = lake.stored(scene.prefix)
    written = hashlib.md5(services.LATER.encode()).hexdigest()
    problems += [f"{name} of a later writer is touched" for name in later if now.get(name) != written]
    return problems + _wrong({**now, **{name: done[name] for name in later if name in done}}, done, {}, run.version)


def _document(said: str) -> Any:
    """The JSON among what a process has written."""
    (line,) = [line for line in said.splitlines() if line.startswith('{"schema_version"')]
    return json.loads(line)


def _wrong(now: Mapping[str, str], done: Mapping[str, str], before: Mapping[str, str], version: str) -> list[str]:
    """Files that are not as they are to be. Version 6 has new logs, with rollback blocks."""
    lost = [f"{name} is lost or changed" for name, digest in done.items() if now.get(name) != digest]
    left = [f"{name} is left" for name in before.keys() - done.keys() if name in now]
    more = [f"{name} is new" for name in now.keys() - done.keys() - before.keys()] if before and version != "v6" else []
    return sorted(lost + left + more)


def _done_here(here: Copy, operation: str) -> list[str]:
    """Does an operation on this machine; the command for the same elsewhere. An undo: what is to be undone."""
    newest, target = here.commits[-1], here.savepoints[0]
    if operation == "savepoint create":
        return ["savepoint", "create", newest, "--idle", "0s"]
    if operation == "rollback":
        roll_back(here, newest)
        return ["rollback", newest, "--idle", "0s", "--timezone", "UTC"]
    restore(here, target, options=RestoreOptions(delete_later_savepoints=True))
    kept = ["--keep-files"] if "keep" in operation else []
    return ["restore", target, "--idle", "0s", "--timezone", "UTC", "--delete-later-savepoints", *kept]
