"""The operator's host stands still; its lock ends, and the real Hudi gets it and writes. Then the host goes on.

No row of the writer's is lost, and the same command again ends.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import support
from tests.datacentre.hosts import Datacentre, Process, start_hosts
from tests.datacentre.services import (
    COMMAND_SECONDS,
    base,
    edge,
    hudictl,
    spawn_hudictl,
    start_s3,
    start_zookeeper,
    storage_options,
    upload,
    zookeeper,
    zookeeper_lock,
)
from tests.helpers import Copy
from tests.interop import judge, product
from tests.interop.scenarios import batch
from tests.s3 import SECRET

pytestmark = [pytest.mark.datacentre, pytest.mark.full]

NAME = "cow_savepoints"
SESSION_SECONDS = 6
WRITTEN = batch(range(0, 60, 7), 99)
CASES = {
    "restore": ["begin the restore", "delete files", "remove instants"],
    "rollback": ["begin the rollback", "delete files", "roll the metadata table back"],
    "savepoint create": ["check again", "write the savepoint"],
}


@dataclass(frozen=True)
class Shore:
    """Running hosts: the operator's, a store, a lock's server, and one with the real Hudi."""

    running: Datacentre
    endpoint: str
    hudi: judge.Judge
    lock: dict[str, str]
    """The writer's settings."""


@pytest.fixture(scope="module", params=support.VERSIONS)
def shore(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shore]:
    hosts = {"edge": edge(), "s3": {**base(), Path(sys.prefix): sys.prefix}, "zk": zookeeper(), "writer": {}}
    with start_hosts(tmp_path_factory.mktemp("shore"), hosts) as running:
        endpoint = start_s3(running, "s3")
        start_zookeeper(running, ["zk"])
        # The judge knows addresses alone: its files are this machine's.
        lock = dict(word.split("=", 1) for word in zookeeper_lock([running.hosts["zk"].address])[1::2])
        lock |= {
            "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
            "hoodie.cleaner.policy.failed.writes": "LAZY",
            "hoodie.write.lock.wait_time_ms": "20000",
        }
        store = judge.s3a(f"http://{running.hosts['s3'].address}:9000", "the-key", SECRET)
        with judge.start(request.param, store, network_of=running.hosts["writer"].pid) as hudi:
            yield Shore(running, endpoint, hudi, lock)


@contextmanager
def standing_still(shore: Shore, process: Process, phase: str) -> Iterator[None]:
    """The operator's host stops soon after a phase has begun. The store is slow until then: else all would be over."""
    manner = shore.running.hosts["s3"].path("/tmp/manner")
    manner.write_text("late 0.3")
    try:
        shore.running.wait_for_words(process, f"step: {phase}\n", COMMAND_SECONDS)
        time.sleep(0.3)
        shore.running.pause("edge")
        assert process.outside.poll() is None, process.said()
        manner.unlink()
        yield
    finally:
        manner.unlink(missing_ok=True)
        shore.running.resume("edge")


@pytest.mark.parametrize(
    ("operation", "phase"), [(operation, phase) for operation, phases in CASES.items() for phase in phases]
)
def test_a_writer_gets_the_lock(shore: Shore, operation: str, phase: str, tmp_path: Path) -> None:
    hudi, running = shore.hudi, shore.running
    copy = Copy(hudi.version, NAME, support.unpack(hudi.version, NAME, tmp_path))
    uri = upload(running, "s3", shore.endpoint, copy.path, f"{operation}-{phase}".replace(" ", "-"))
    table: Any = uri  # a URI is not a path
    target = copy.savepoints[0] if operation == "restore" else copy.commits[-1]
    command = [*operation.split(), target, *(["--delete-later-savepoints"] if operation == "restore" else [])]
    reached = ("-t", uri, *storage_options(shore.endpoint), "--engine", "local", "-o", "json")
    zone = () if operation == "savepoint create" else ("--timezone", "UTC")
    words = (*command, "--idle", "0s", *zone, *zookeeper_lock(["zk"]), "--yes", *reached)

    process = spawn_hudictl(running, "edge", *words, "--verbose")
    with standing_still(shore, process, phase):
        time.sleep(SESSION_SECONDS + 1)
        refused = pytest.raises(judge.JudgeError, match="Found pending restore in active timeline")
        with refused if operation == "restore" else nullcontext():
            hudi.upsert(table, WRITTEN, options=shore.lock)
    code = process.wait(COMMAND_SECONDS)
    assert code in (0, 12), process.said()
    for _ in range(3):
        if code:
            said = hudictl(running, "edge", *words)
            code = said.code
    assert code == 0, said.err

    # The same without a host that stands still.
    assert product.command(copy.path, *command, idle="0s") == 0
    for path in (copy.path, *((table,) if operation == "restore" else ())):
        hudi.upsert(path, WRITTEN, options=shore.lock)
    assert hudi.both_rows(table) == hudi.both_rows(copy.path)
    said = hudictl(running, "edge", "check", *reached)
    assert (said.code, said.json["rows"]) == (0, []), said.err
