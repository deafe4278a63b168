"""A lock that three hosts keep: it holds as long as two of them are there, and without them nothing is changed."""

from pathlib import Path

import pytest

from tests.datacentre.hosts import start_hosts
from tests.datacentre.outcome_support import WORDS, data, restored
from tests.datacentre.services import (
    COMMAND_SECONDS,
    SERVES,
    edge,
    hudictl,
    start_s3,
    start_zookeeper,
    storage_options,
    store,
    stored,
    upload,
    zookeeper,
    zookeeper_lock,
)

pytestmark = [pytest.mark.datacentre, pytest.mark.full]

SERVERS = ("z1", "z2", "z3")


def test_a_lock_with_and_without_a_majority(tmp_path: Path) -> None:
    table = restored("v9", tmp_path)
    hosts = {"edge": edge(), "s3": store(), **dict.fromkeys(SERVERS, zookeeper())}
    with start_hosts(tmp_path / "logs", hosts) as running:
        endpoint = start_s3(running, "s3")
        start_zookeeper(running, SERVERS)
        uri = upload(running, "s3", endpoint, table.path, "table")
        reached = ("-t", uri, *storage_options(endpoint), *zookeeper_lock(SERVERS))
        common = (*reached, "--engine", "local", "--yes", "-o", "json")

        running.power_off("z1")
        said = hudictl(running, "edge", "savepoint", "create", *common)
        assert said.code == 0, said.err
        running.cut("z2")
        said = hudictl(running, "edge", "restore", table.target, *WORDS, *common)
        assert said.code == 15, said.out
        assert "ZooKeeper" in said.error["message"]
        assert data(stored(running, "s3", endpoint, "table")) == table.before
        running.heal("z2")
        for process in running.processes:
            if process.host in ("z2", "z3"):
                running.wait_for_words(process, SERVES, COMMAND_SECONDS, times=2)
        said = hudictl(running, "edge", "restore", table.target, *WORDS, *common)
        assert said.code == 0, said.err
        assert data(stored(running, "s3", endpoint, "table")) == table.after
