"""Random faults on several hosts: one operation, one fault at a random time, what comes of both; the same by a seed.

The operation runs on Spark's executors of two hosts, against an S3 on a third. After the fault all is healed, and the
command is run again until it ends. Then a later writer uses the names again that the operation has deleted: no task
that comes late may touch them.
"""

import hashlib
import json
import random
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hudictl.ops.restore.plan import RestoreOptions
from tests import support
from tests.cli.conftest import Said
from tests.datacentre import services
from tests.datacentre.hosts import Datacentre, HostError, start_hosts
from tests.datacentre.outcome_support import data, digests
from tests.helpers import Copy, restore, roll_back
from tests.s3 import BUCKET

OPERATIONS = ("restore", "restore --keep-files", "rollback", "savepoint create", "undo")
NAMES = ("cow_savepoints", "mor_savepoints")
AT_MOST_SECONDS = 14.0
"""Of a run without a fault."""
_LATE_SECONDS = 8.0
"""How long a task that comes late has for its harm, once the operation has ended and all hosts see each other."""
_TRIES = 5
# Executors that do not answer are given up in seconds, not in minutes; their tasks are run again.
_HASTY = {
    "spark_network_timeout": "10s",
    "spark_network_timeoutInterval": "5s",
    "spark_executor_heartbeatInterval": "2s",
    "spark_task_maxFailures": "8",
    "spark_stage_maxConsecutiveAttempts": "20",
}


@dataclass(frozen=True)
class Fault:
    """Something that happens to a host for some seconds, or at once."""

    begin: Callable[[Datacentre], object]
    end: Callable[[Datacentre], object] = lambda _: None
    least_s: float = 2
    most_s: float = 25


def _cut(host: str, other: str = "") -> Fault:
    return Fault(lambda running: running.cut(host, other), lambda running: running.heal(host, other))


def _pause(host: str, most_s: float = 25) -> Fault:
    return Fault(lambda running: running.pause(host), lambda running: running.resume(host), most_s=most_s)


def _kill(host: str, text: str) -> Fault:
    """Kills the processes of a host whose command line has a text."""
    return Fault(lambda running: running.run(host, ["pkill", "-9", "-f", text]), most_s=2)


FAULTS: Mapping[str, Fault] = {
    "an executor's host is cut off": _cut("w1"),
    "an executor's host is cut off the store": _cut("w1", "s3"),
    "an executor's host is cut off the driver": _cut("w1", "edge"),
    "the driver is cut off the store": _cut("edge", "s3"),
    "the driver is cut off": _cut("edge"),
    "the store is cut off": _cut("s3"),
    "an executor's host is paused": _pause("w1"),
    "the store is paused": _pause("s3", 15),
    "the driver is paused": _pause("edge", 20),
    "the driver is paused until its claim is dead": Fault(
        lambda running: running.pause("edge"), lambda running: running.resume("edge"), 70, 80
    ),
    "the driver is killed": _kill("edge", "hudictl"),
    "an executor is killed": _kill("w1", "CoarseGrainedExecutorBackend"),
    "a worker's Python is killed": _kill("w2", "pyspark.daemon"),
}


@dataclass(frozen=True)
class Run:
    """What came of one. ``problems``: what must not be; empty if all is well."""

    seed: int
    version: str
    table: str
    operation: str
    fault: str
    after_s: float
    for_s: float
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

    def words(self, prefix: str, *, spark: bool = True) -> list[str]:
        master = ["--master", self.master, *services.settings(**_HASTY)] if spark else ["--engine", "local"]
        return ["-t", f"s3a://{BUCKET}/{prefix}", *services.storage_options(self.endpoint), *master, "-o", "json"]

    def hudictl(self, prefix: str, *command: str, spark: bool = True) -> Said:
        words = (*command, *self.words(prefix, spark=spark))
        return services.hudictl(self.running, "edge", *words, env=_ENVIRONMENT, seconds=240)

    def stored(self, prefix: str) -> dict[str, str]:
        return data(services.stored(self.running, "s3", self.endpoint, prefix))

    def write(self, prefix: str, names: Collection[str]) -> None:
        """A later writer's files."""
        words = [sys.executable, "-c", _WRITE, self.endpoint, BUCKET, prefix, *names]
        self.running.check("s3", words, services.KEYS)


_ENVIRONMENT = {"PYSPARK_PYTHON": f"{services.PYTHON}/bin/python"}
_LATER = "of a later writer"
_WRITE = f"""
import boto3, sys
for name in sys.argv[4:]:
    key = f"{{sys.argv[3]}}/{{name}}"
    boto3.client("s3", endpoint_url=sys.argv[1]).put_object(Bucket=sys.argv[2], Key=key, Body=b"{_LATER}")
"""


@contextmanager
def start_lake(folder: Path) -> Iterator[Lake]:
    """Five hosts: the operator's, Spark's master, two of its workers, and a store."""
    executors = services.worker(services.make_python(folder / "python", "s3fs"))
    s3 = {**services.base(), Path(sys.prefix): sys.prefix}
    hosts = {"edge": services.edge(), "master": executors, "w1": executors, "w2": executors, "s3": s3}
    with start_hosts(folder / "logs", hosts) as running:
        endpoint = services.start_s3(running, "s3")
        yield Lake(running, endpoint, services.start_spark(running, "master", ["w1", "w2"]))


def walk(lake: Lake, seed: int, folder: Path, kind: str = "") -> Run:
    """One operation with one fault. ``kind``: the faults to choose from have this in their names."""
    dice = random.Random(seed)
    version, name = dice.choice(support.VERSIONS), dice.choice(NAMES)
    operation = dice.choice(OPERATIONS)
    what = dice.choice([fault for fault in FAULTS if kind in fault])
    fault = FAULTS[what]
    after_s, for_s = dice.uniform(0, AT_MOST_SECONDS), dice.uniform(fault.least_s, fault.most_s)
    run = Run(seed, version, name, operation, what, round(after_s, 1), round(for_s, 1))

    prefix, begun = f"table-{seed}-{uuid.uuid4().hex[:8]}", time.monotonic()
    copy = Copy(version, name, support.unpack(version, name, folder / "there"))
    command, done = _prepared(copy, operation, folder)
    services.upload(lake.running, "s3", lake.endpoint, copy.path, prefix)
    before = lake.stored(prefix)
    if operation == "undo":
        said = lake.hudictl(prefix, *command, "--keep-files", "--yes", spark=False)
        assert said.code == 0, said.err
        command, done = ["undo", str(said.json["result"]["undo"]), "--idle", "0s"], before

    process = services.spawn_hudictl(lake.running, "edge", *command, "--yes", *lake.words(prefix), env=_ENVIRONMENT)
    time.sleep(after_s)
    fault.begin(lake.running)
    try:
        time.sleep(for_s)
    finally:
        fault.end(lake.running)
    try:
        run.codes.append(process.wait(300))
    except HostError:
        run.problems.append("the command does not end")
        lake.running.run("edge", ["pkill", "-9", "-f", "hudictl"])
    run.said.append(process.said().strip())
    while run.codes[-1:] != [0] and len(run.codes) < _TRIES:
        if operation in ("restore", "rollback") and dice.random() < 0.3:
            run.said.append(lake.hudictl(prefix, "resume", "--yes").err.strip()[-400:])
        said = lake.hudictl(prefix, *command, "--yes")
        assert said.code != 2, said.err
        run.codes.append(said.code)
        run.said.append((said.err or said.out).strip())
        if said.code:
            # The claim of a process on another host that was killed is dead only after a while.
            time.sleep(10)
    run.problems.extend(_problems(lake, prefix, done, before, run))
    run.seconds.append(round(time.monotonic() - begun))
    shutil.rmtree(folder)
    return run


def _problems(lake: Lake, prefix: str, done: Mapping[str, str], before: Mapping[str, str], run: Run) -> list[str]:
    """What must not be, at the end and after a while."""
    if run.codes[-1:] != [0]:
        return [f"it does not end: {run.codes}"]
    problems = _wrong(lake.stored(prefix), done, before, run.version)
    said = lake.hudictl(prefix, "check", spark=False)
    if said.code not in (0, 3) or (said.code and said.error["fields"]["errors"]):
        problems.append(f"check ends with {said.code}: {(said.err or said.out)[-400:]}")
    if "keep" in run.operation:
        said = lake.hudictl(
            prefix, "undo", _document(run.said[-1])["result"]["undo"], "--idle", "0s", "--yes", spark=False
        )
        problems += [f"undo ends with {said.code}: {said.err}"] if said.code else []
        done = before
    later = sorted(before.keys() - done.keys())[:20] or sorted(done)[:2]
    if later:
        lake.write(prefix, later)
    time.sleep(_LATE_SECONDS)
    now = lake.stored(prefix)
    written = hashlib.md5(_LATER.encode()).hexdigest()
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


def _prepared(copy: Copy, operation: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command for a table, and what data files it leaves, by the same on this machine."""
    command, left = _done_here(copy, operation, folder)
    # Version 6: what is in a rollback block has the time of the rollback.
    before = digests(copy.path)
    return command, {name: digest for name, digest in left.items() if name in before}


def _done_here(copy: Copy, operation: str, folder: Path) -> tuple[list[str], dict[str, str]]:
    here = Copy(copy.version, copy.name, support.unpack(copy.version, copy.name, folder / "here"))
    settled = ["--idle", "0s", "--timezone", "UTC"]
    newest = copy.commits[-1]
    if operation == "savepoint create":
        return ["savepoint", "create", newest, "--idle", "0s"], data(digests(copy.path))
    if operation == "rollback":
        roll_back(here, newest)
        return ["rollback", newest, *settled], data(digests(here.path))
    restore(here, copy.savepoints[0], options=RestoreOptions(delete_later_savepoints=True))
    kept = ["--keep-files"] if "keep" in operation else []
    return ["restore", copy.savepoints[0], "--delete-later-savepoints", *settled, *kept], data(digests(here.path))
