"""Two operators at two hosts do the same to one table at the same time."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudictl.table.locks.claim import DEAD_AFTER_MS
from tests.datacentre.hosts import Datacentre, start_hosts
from tests.datacentre.outcome_support import WORDS, data, restored
from tests.datacentre.pause_support import standing_still
from tests.datacentre.services import (
    COMMAND_SECONDS,
    edge,
    hudictl,
    spawn_hudictl,
    start_s3,
    storage_options,
    store,
    stored,
    upload,
    write,
)

pytestmark = [pytest.mark.datacentre, pytest.mark.full]

ENDPOINT = "http://s3:9000"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Datacentre]:
    with start_hosts(tmp_path_factory.mktemp("operators"), {"one": edge(), "two": edge(), "s3": store()}) as running:
        start_s3(running, "s3")
        yield running


def test_at_the_same_time(hosts: Datacentre, tmp_path: Path) -> None:
    """One of them does it; the other is told so, and finds nothing to do afterwards."""
    table = restored("v9", tmp_path)
    options = ("-t", upload(hosts, "s3", ENDPOINT, table.path, "both"), *storage_options(ENDPOINT), "-o", "json")
    words = ("restore", table.target, *WORDS, "--engine", "local", "--yes", *options)
    both = [spawn_hudictl(hosts, host, *words) for host in ("one", "two")]
    codes = [process.wait(COMMAND_SECONDS) for process in both]
    assert sorted(codes) == [0, 12], [process.said() for process in both]
    refused = both[codes.index(12)]
    # Whether it has found the other's claim, or both tried to create the same one.
    assert re.search("another hudictl (is using this table|claimed the table at the same moment)", refused.said())
    said = hudictl(hosts, refused.host, *words)
    assert (said.code, said.json["outcome"]) == (0, "nothing to do"), said.err
    assert data(stored(hosts, "s3", ENDPOINT, "both")) == table.after


@pytest.mark.parametrize(
    "phase",
    [
        "begin the restore",
        "write rollback plans",
        "un-publish instants",
        "delete files",
        "remove instants",
        "roll the metadata table back",
        "publish the restore",
    ],
)
def test_the_first_host_stands_still(hosts: Datacentre, tmp_path: Path, phase: str) -> None:
    """Its claim dies, the second operator ends the restore, and others write. Then the first one changes nothing."""
    table, name = restored("v9", tmp_path), phase.replace(" ", "-")
    options = ("-t", upload(hosts, "s3", ENDPOINT, table.path, name), *storage_options(ENDPOINT), "-o", "json")
    words = ("restore", table.target, *WORDS, "--engine", "local", "--yes", *options)
    first = spawn_hudictl(hosts, "one", *words, "--verbose")
    with standing_still(hosts, first, phase):
        time.sleep(DEAD_AFTER_MS / 1000 + 1)
        said = hudictl(hosts, "two", *words)
        assert said.code == 0, said.err
        assert data(stored(hosts, "s3", ENDPOINT, name)) == table.after
        # A later operation, and files of a writer's under names that come back.
        said = hudictl(hosts, "two", "savepoint", "create", "--engine", "local", "--yes", *options)
        assert said.code == 0, said.err
        write(hosts, "s3", ENDPOINT, name, table.before.keys() - table.after.keys())
        before = stored(hosts, "s3", ENDPOINT, name)
    assert first.wait(COMMAND_SECONDS) == 12, first.said()
    now = stored(hosts, "s3", ENDPOINT, name)
    changed = {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)}
    # Its own record of what it has done, and that its old claim is released.
    own = (".hoodie/.hudictl/operations/", ".hoodie/.hudictl/claim-1")
    assert {path for path in changed if not path.startswith(own)} == set()
    said = hudictl(hosts, "two", "check", "--engine", "local", *options)
    # The files that were written last are orphans.
    assert (said.code, said.error["fields"]["errors"]) == (3, 0), said.err


def test_the_first_host_is_lost(hosts: Datacentre, tmp_path: Path) -> None:
    """The last test of these hosts. The second operator has to wait until the first one's claim is dead."""
    table = restored("v9", tmp_path)
    options = ("-t", upload(hosts, "s3", ENDPOINT, table.path, "lost"), *storage_options(ENDPOINT), "-o", "json")
    words = ("restore", table.target, *WORDS, "--engine", "local", "--yes", *options)
    first = spawn_hudictl(hosts, "one", *words, "--verbose")
    hosts.wait_for_words(first, "step: write rollback plans", COMMAND_SECONDS)
    hosts.power_off("one")
    said = hudictl(hosts, "two", *words)
    assert said.code == 12, said.out
    time.sleep(DEAD_AFTER_MS / 1000)
    said = hudictl(hosts, "two", *words)
    assert said.code == 0, said.err
    assert data(stored(hosts, "s3", ENDPOINT, "lost")) == table.after
