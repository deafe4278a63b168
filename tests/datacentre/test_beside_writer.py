"""The real Hudi writes on a host of its own: beside an operator's host that stands still, or whose clock is off."""

import re
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests import support
from tests.datacentre.hosts import Datacentre, start_hosts
from tests.datacentre.pause_support import standing_still
from tests.datacentre.services import (
    COMMAND_SECONDS,
    clock,
    edge,
    hudictl,
    spawn_hudictl,
    start_s3,
    start_zookeeper,
    storage_options,
    store,
    stored,
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
    hosts = {"edge": edge(), "s3": store(), "zk": zookeeper(), "writer": {}}
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
        connector = judge.s3a(f"http://{running.hosts['s3'].address}:9000", "the-key", SECRET)
        with judge.start(request.param, connector, network_of=running.hosts["writer"].pid) as hudi:
            yield Shore(running, endpoint, hudi, lock)


@pytest.mark.parametrize(
    ("operation", "phase"), [(operation, phase) for operation, phases in CASES.items() for phase in phases]
)
def test_a_writer_gets_the_lock(shore: Shore, operation: str, phase: str, tmp_path: Path) -> None:
    """The operator's host stands still, and loses its lock to the writer. Then it goes on.

    No row of the writer's is lost, and the same command again ends.
    """
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
    with standing_still(running, process, phase):
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
    # Uploads do not keep times, from which version 6 has its completion times: a warning.
    assert said.code == 0 or (hudi.version == "v6" and said.error["fields"]["errors"] == 0), said.out


@pytest.mark.parametrize("off", ["-3s", "+3s"])
def test_the_operators_clock_is_off(shore: Shore, off: str, tmp_path: Path) -> None:
    """Times of instants could not be trusted: nothing is changed."""
    copy = Copy(shore.hudi.version, NAME, support.unpack(shore.hudi.version, NAME, tmp_path))
    uri = upload(shore.running, "s3", shore.endpoint, copy.path, f"off{off}")
    reached = ("-t", uri, *storage_options(shore.endpoint), "--engine", "local", "-o", "json")
    before = stored(shore.running, "s3", shore.endpoint, f"off{off}")
    said = hudictl(shore.running, "edge", "savepoint", "create", "--idle", "0s", "--yes", *reached, env=clock(off))
    assert said.code == 13, said.out
    assert re.search(
        rf"this host's clock differs from the storage's by {'-' * (off[0] == '-')}[234]\d{{3}} ms", said.err
    )
    after = stored(shore.running, "s3", shore.endpoint, f"off{off}")
    assert [name for name in after if name not in before and "/.hudictl/" not in name] == []


@pytest.mark.parametrize("off", ["-0.5s", "+0.5s"])
def test_the_operators_clock_is_a_little_off(shore: Shore, off: str, tmp_path: Path) -> None:
    """And in another zone. The writer writes before and after each operation, and sees what it would see without."""
    hudi = shore.hudi
    copy = Copy(hudi.version, NAME, support.unpack(hudi.version, NAME, tmp_path))
    uri = upload(shore.running, "s3", shore.endpoint, copy.path, f"clock{off}")
    reached = ("-t", uri, *storage_options(shore.endpoint), "--engine", "local", "-o", "json")
    env = {**clock(off), "TZ": "America/St_Johns"}
    there: Any = uri
    here: Any = copy.path

    def write(ts: int) -> dict[Any, str]:
        """Writes to the table and to its twin; the two commits."""
        return {path: hudi.upsert(path, batch(range(ts % 7, 60, 7), ts)) for path in (there, here)}

    def operate(operation: str, commits: dict[Any, str], *words: str) -> None:
        """The same to both: there with the wrong clock."""
        command = [*operation.split(), commits[there], *words, "--idle", "0s", "--yes"]
        said = hudictl(shore.running, "edge", *command, *reached, env=env)
        assert said.code == 0, said.err
        assert product.command(here, *operation.split(), commits[here], *words, idle="0s") == 0
        assert hudi.both_rows(there) == hudi.both_rows(here)

    saved = write(101)
    operate("savepoint create", saved)
    operate("rollback", write(102), "--timezone", "UTC")
    write(103)
    operate("restore", saved, "--timezone", "UTC")
    write(104)
    assert hudi.both_rows(there) == hudi.both_rows(here)
    said = hudictl(shore.running, "edge", "check", *reached)
    assert (said.code, said.json["rows"]) == (0, []), said.err
