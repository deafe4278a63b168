"""Tasks go on when their operation has ended, and others write under the names that were free."""

import hashlib
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.table import TablePlan, generate, yesterday
from tests.datacentre.faults import HASTY
from tests.datacentre.hosts import Datacentre, start_hosts
from tests.datacentre.outcome_support import data
from tests.datacentre.services import (
    COMMAND_SECONDS,
    LATER,
    PYTHON,
    edge,
    hudictl,
    make_python,
    settings,
    spawn_hudictl,
    start_s3,
    start_spark,
    storage_options,
    store,
    stored,
    upload,
    worker,
    write,
)

pytestmark = [pytest.mark.datacentre, pytest.mark.full]

ENDPOINT = "http://s3:9000"
LATE_SECONDS = 50
NO_FENCE = """
from hudictl.ops import session
session.Fenced = lambda fence, function: function
"""
# Two files a request, eight tasks: each has some requests.
PLAN = TablePlan(partitions=2, commits=2, files=20, first=yesterday())


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Datacentre]:
    executors = worker(make_python(tmp_path_factory.mktemp("python"), "s3fs"))
    hosts = {"edge": edge(), "master": executors, "w1": executors, "w2": executors, "s3": store()}
    with start_hosts(tmp_path_factory.mktemp("logs"), hosts) as running:
        start_s3(running, "s3")
        start_spark(running, "master", ["w1", "w2"])
        yield running


@dataclass(frozen=True)
class Late:
    """An operation that has ended without a host, whose tasks went on."""

    code: int
    said: str
    deleted: list[str]
    touched: list[str]
    """Those of the deleted names that others have written again, and that are not as they wrote them."""


def late(running: Datacentre, folder: Path, name: str, changed: str) -> Late:
    """A restore in which an executor is cut off all but the store, and waits there for an answer."""
    table = folder / "table"
    generate(str(table), PLAN)
    options = ("-t", upload(running, "s3", ENDPOINT, table, name), *storage_options(ENDPOINT), "-o", "json")
    said = hudictl(running, "edge", "savepoint", "create", PLAN.savepoint, "--idle", "0s", "--yes", *options)
    assert said.code == 0, said.err
    before = data(stored(running, "s3", ENDPOINT, name))
    address, manner = running.hosts["w1"].address, running.hosts["s3"].path("/tmp/manner")
    (s3,) = [process for process in running.processes if process.name == "s3"]
    deletions = len(re.findall(f"{address} deletes", s3.said()))
    words = ("restore", PLAN.savepoint, "--idle", "0s", "--timezone", "UTC", "--yes", "--verbose", *options)
    spark = ("--master", "spark://master:7077", *settings(**HASTY))
    env = {"PYSPARK_PYTHON": f"{PYTHON}/bin/python"}
    with ExitStack() as healing:
        manner.write_text(f"late {LATE_SECONDS} {address}")
        healing.callback(manner.unlink)
        process = spawn_hudictl(running, "edge", *words, *spark, env=env, changed=changed)
        running.wait_for_words(s3, f"{address} deletes", COMMAND_SECONDS, times=deletions + 1)
        begun = time.monotonic()
        for other in ("edge", "master"):
            running.cut("w1", other)
            healing.callback(running.heal, "w1", other)
        code = process.wait(COMMAND_SECONDS)
        deleted = sorted(before.keys() - data(stored(running, "s3", ENDPOINT, name)).keys())
        write(running, "s3", ENDPOINT, name, deleted)
        left = begun + LATE_SECONDS - time.monotonic()
        assert left > 0, process.said()
        time.sleep(left + 5)
    now, written = stored(running, "s3", ENDPOINT, name), hashlib.md5(LATER.encode()).hexdigest()
    return Late(code, process.said(), deleted, [name for name in deleted if now.get(name) != written])


def test_a_task_that_comes_late_changes_nothing(hosts: Datacentre, tmp_path: Path) -> None:
    found = late(hosts, tmp_path, "fenced", "")
    assert (found.code, len(found.deleted), found.touched) == (0, PLAN.removed_files, []), found.said


def test_it_would_without_the_fence(hosts: Datacentre, tmp_path: Path) -> None:
    """Else the test before proves nothing."""
    found = late(hosts, tmp_path, "without", NO_FENCE)
    assert (found.code, len(found.deleted), bool(found.touched)) == (0, PLAN.removed_files, True), found.said
