"""A standalone cluster of Spark on hosts of its own, an S3 on another, and hudictl on one more; they share nothing."""

import hashlib
import sys
from collections.abc import Mapping
from pathlib import Path

from hudictl.ops.restore.plan import RestoreOptions
from tests import support
from tests.datacentre.hosts import start_hosts
from tests.datacentre.services import (
    PYTHON,
    SMALL,
    base,
    edge,
    executors_of,
    hudictl,
    make_python,
    process_of,
    start_s3,
    start_spark,
    storage_options,
    stored,
    upload,
    worker,
)
from tests.helpers import Copy, plan, restore

EXECUTORS = ("--conf", "spark.executor.memory=512m", "--conf", f"spark.executor.extraJavaOptions={SMALL}")


OPTIONS = RestoreOptions(delete_later_savepoints=True)


def data(found: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in found.items() if not name.startswith(".hoodie/")}


def digests(folder: Path) -> dict[str, str]:
    """As the S3 tells them."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc"]
    return {path.relative_to(folder).as_posix(): hashlib.md5(path.read_bytes()).hexdigest() for path in files}


def test_a_restore_by_executors_on_other_hosts(tmp_path: Path) -> None:
    """Savepoint, plan, restore and check: what is kept and deleted is what this machine decides alone."""
    executors = make_python(tmp_path / "python", "s3fs")
    copy = Copy("v9", "cow_savepoints", support.unpack("v9", "cow_savepoints", tmp_path))
    target = copy.savepoints[0]
    planned = plan(copy, target, OPTIONS)
    hosts = {
        "edge": edge(),
        "master": worker(executors),
        "w1": worker(executors),
        "w2": worker(executors),
        "s3": {**base(), Path(sys.prefix): sys.prefix},
    }
    with start_hosts(tmp_path / "logs", hosts) as running:
        endpoint = start_s3(running, "s3")
        uri = upload(running, "s3", endpoint, copy.path, "table")
        master = start_spark(running, "master", ["w1", "w2"])
        before = stored(running, "s3", endpoint, "table")
        table = ("-t", uri, *storage_options(endpoint))
        spark = (*table, "--master", master, *EXECUTORS)
        env = {"PYSPARK_PYTHON": f"{PYTHON}/bin/python"}

        said = hudictl(running, "edge", "savepoint", "create", *spark, "--yes", "-o", "json", env=env)
        assert said.code == 0, said.err
        assert executors_of(process_of(running, "master")) == {"w1", "w2"}
        words = ("restore", target, "--delete-later-savepoints")
        said = hudictl(running, "edge", *words, *table, "--engine", "local", "--plan", "-o", "json")
        assert said.code == 0, said.err
        assert said.json["result"]["files_to_delete"] == planned.undo.files_to_delete
        said = hudictl(running, "edge", *words, *spark, "--yes", "-o", "json", env=env)
        assert said.code == 0, said.err
        said = hudictl(running, "edge", "check", *spark, "-o", "json", env=env)
        assert (said.code, said.json["rows"]) == (0, []), said.err
        after = stored(running, "s3", endpoint, "table")
    assert data(before) == data(digests(copy.path))
    restore(copy, target, options=OPTIONS)
    assert data(after) == data(digests(copy.path))
    assert len(data(before)) - len(data(after)) == planned.undo.files_to_delete
