"""A standalone cluster of Spark on hosts of its own, an S3 on another, and hudictl on one more; they share nothing."""

import re
from pathlib import Path

import pytest

from tests.datacentre.hosts import Datacentre, start_hosts
from tests.datacentre.jobs_support import do, done_here
from tests.datacentre.outcome_support import WORDS, data, restored
from tests.datacentre.services import (
    PYTHON,
    edge,
    hudictl,
    make_python,
    settings,
    start_s3,
    start_spark,
    storage_options,
    store,
    stored,
    upload,
    worker,
)

pytestmark = pytest.mark.datacentre


def executors_of(datacentre: Datacentre, name: str) -> set[str]:
    """The hosts that a standalone master has started executors on, by its log."""
    (log,) = [process.said() for process in datacentre.processes if process.name == name]
    return set(re.findall(r"Launching executor \S+ on worker worker-\d+-([\w.]+)-\d+", log))


@pytest.mark.parametrize("by_executors", ["restore", pytest.param("all", marks=pytest.mark.full)])
def test_a_restore_by_executors_on_other_hosts(tmp_path: Path, by_executors: str) -> None:
    """Savepoint, plan, restore and check: what is kept and deleted is what this machine decides alone."""
    table = restored("v9", tmp_path)
    executors = worker(make_python(tmp_path / "python", "s3fs"))
    hosts = {"edge": edge(), "master": executors, "w1": executors, "w2": executors, "s3": store()}
    with start_hosts(tmp_path / "logs", hosts) as running:
        endpoint = start_s3(running, "s3")
        uri = upload(running, "s3", endpoint, table.path, "table")
        assert data(stored(running, "s3", endpoint, "table")) == table.before
        master = start_spark(running, "master", ["w1", "w2"])
        options = ("-t", uri, *storage_options(endpoint), "-o", "json")
        spark = (*options, "--master", master, *settings())
        local = (*options, "--engine", "local")
        others = spark if by_executors == "all" else local
        env = {"PYSPARK_PYTHON": f"{PYTHON}/bin/python"}

        said = hudictl(running, "edge", "savepoint", "create", *others, "--yes", env=env)
        assert said.code == 0, said.err
        said = hudictl(running, "edge", "restore", table.target, *WORDS, *local, "--plan")
        assert said.code == 0, said.err
        assert said.json["result"]["files_to_delete"] == len(table.before) - len(table.after)
        assert data(stored(running, "s3", endpoint, "table")) == table.before
        said = hudictl(running, "edge", "restore", table.target, *WORDS, *spark, "--yes", env=env)
        assert said.code == 0, said.err
        assert executors_of(running, "master") == {"w1", "w2"}
        assert data(stored(running, "s3", endpoint, "table")) == table.after
        said = hudictl(running, "edge", "check", *others, env=env)
        assert (said.code, said.json["rows"]) == (0, []), said.err


@pytest.mark.full
def test_other_jobs_by_executors_on_other_hosts(tmp_path: Path) -> None:
    jobs, executors = done_here(tmp_path), worker(make_python(tmp_path / "python", "s3fs", "fastavro"))
    hosts = {"edge": edge(), "master": executors, "w1": executors, "w2": executors, "s3": store()}
    with start_hosts(tmp_path / "logs", hosts) as running:
        endpoint = start_s3(running, "s3")
        master = start_spark(running, "master", ["w1", "w2"])
        reached = ("-t", upload(running, "s3", endpoint, jobs.path, "table"), *storage_options(endpoint))
        spark = ("--master", master, *settings())
        env = {"PYSPARK_PYTHON": f"{PYTHON}/bin/python"}
        do(jobs, lambda *words: hudictl(running, "edge", *words, *reached, *spark, "-o", "json", env=env))
        assert data(stored(running, "s3", endpoint, "table")) == jobs.after
