"""Whole restores on clusters: the same outcome as on this host, whatever becomes of executors meanwhile."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from hudictl import workers
from hudictl.storage import Storage
from hudictl.workers import BlockFile, BlockTask
from tests import support
from tests.cli.conftest import Tell, Unpack, _plain, no_waiting, tell, unpack
from tests.cluster.conftest import travelling_whole
from tests.cluster.engine_support import kill_executor
from tests.cluster.restore_support import executors_list, on_cluster
from tests.engine.contract import leave_mark
from tests.helpers import Copy, plan, tree

__all__ = ["_plain", "executors_list", "no_waiting", "tell", "unpack"]

ROOT = Path(__file__).parents[2]
LOCAL_CLUSTER = "local-cluster[2,1,512]"

Names = Sequence[tuple[str, Sequence[str]]]
delete_files, write_rollback_blocks = workers.delete_files, workers.write_rollback_blocks


def delete_and_kill(storage: Storage, files: Names, mark: str) -> list[tuple[str, str]]:
    """The first time, the executor dies with half of the files deleted."""
    if leave_mark(mark):
        delete_files(storage, [(partition, names[: len(names) // 2]) for partition, names in files])
        kill_executor()
    return delete_files(storage, files)


def write_and_kill(task: BlockTask, mark: str) -> list[BlockFile]:
    """The first time, the executor dies with the blocks written, and nobody is told."""
    written = write_rollback_blocks(task)
    if leave_mark(mark):
        kill_executor()
    return written


def die(storage: Storage, files: Names) -> list[tuple[str, str]]:
    """Whatever the retry."""
    os._exit(3)


@pytest.fixture
def travelling() -> Iterator[None]:
    with travelling_whole(delete_and_kill, kill_executor, leave_mark):
        yield


def data(copy: Copy) -> dict[str, str]:
    """Every file outside .hoodie, by its digest."""
    return {path: digest for path, (digest, _) in tree(copy.path, ".hoodie").items()}


def timeline(copy: Copy) -> list[str]:
    """Names on the timeline; of restores, which have times of their own, the ends."""
    return sorted(name.partition(".")[2] if ".restore" in name else name for name in copy.instants())


def undisturbed(unpack: Unpack, tell: Tell, version: str, name: str) -> tuple[Copy, str]:
    """A copy that was restored on this host, and its savepoint."""
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    done = tell("restore", target, "-t", copy.path, "--engine", "local", "--yes", "-o", "json")
    assert done.code == 0
    return replace(copy, path=copy.path.rename(copy.path.with_name("undisturbed"))), target


@pytest.mark.short("standalone")
@pytest.mark.parametrize(
    ("kind", "version", "name"), [("standalone", "v9", "cow_savepoints"), ("local-cluster", "v6", "mor_savepoints")]
)
def test_a_cluster_does_the_same(
    unpack: Unpack,
    tell: Tell,
    master: str,
    fsspec_only: str,
    python: Callable[..., str],
    kind: str,
    version: str,
    name: str,
) -> None:
    """Executors with fastavro decode commits and the metadata table, too."""
    other, target = undisturbed(unpack, tell, version, name)
    copy = unpack(version, name)
    alone = kind == "standalone"
    options = on_cluster(master if alone else LOCAL_CLUSTER, fsspec_only if alone else python("fsspec", "fastavro"))
    said = tell("restore", target, "-t", copy.path, *options, "--yes", "-o", "json")
    assert (said.code, said.err) == (0, "")
    assert (data(copy), timeline(copy)) == (data(other), timeline(other))


@pytest.mark.usefixtures("travelling")
def test_an_executor_killed_during_the_deletion(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, master: str, fsspec_only: str
) -> None:
    """Spark runs its tasks again: same files, same timeline, same answer."""
    other, target = undisturbed(unpack, tell, "v9", "mor_savepoints")
    copy = unpack("v9", "mor_savepoints")
    deleted = plan(copy, target).undo.files_to_delete
    mark = tmp_path / "killed"
    monkeypatch.setattr(workers, "delete_files", partial(delete_and_kill, mark=str(mark)))
    said = tell("restore", target, "-t", copy.path, *on_cluster(master, fsspec_only), "--yes", "-o", "json")
    assert mark.exists()
    assert (said.code, said.err) == (0, "")
    assert said.json["result"]["files_deleted"] == deleted
    assert (data(copy), timeline(copy)) == (data(other), timeline(other))


@pytest.mark.full
@pytest.mark.usefixtures("travelling")
def test_an_executor_killed_behind_its_rollback_blocks(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, master: str, fsspec_only: str
) -> None:
    """The second run finds the blocks of the first: no slice has two for one commit."""
    other, target = undisturbed(unpack, tell, "v6", "mor_savepoints")
    copy = unpack("v6", "mor_savepoints")
    mark = tmp_path / "killed"
    monkeypatch.setattr(workers, "write_rollback_blocks", partial(write_and_kill, mark=str(mark)))
    said = tell("restore", target, "-t", copy.path, *on_cluster(master, fsspec_only), "--yes", "-o", "json")
    assert mark.exists()
    assert (said.code, said.err) == (0, "")
    assert said.json["result"]["rollback_blocks"] > 0
    assert (data(copy), timeline(copy)) == (data(other), timeline(other))


@pytest.mark.full
@pytest.mark.usefixtures("travelling")
def test_16_tasks_that_fail_at_every_retry(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch, master: str, fsspec_only: str
) -> None:
    """Spark gives up after its fourth: the restore stays pending, with readers back, and the same command ends it."""
    other, target = undisturbed(unpack, tell, "v9", "cow_savepoints")
    copy = unpack("v9", "cow_savepoints")
    command = ["restore", target, "-t", copy.path, *on_cluster(master, fsspec_only), "--yes", "-o", "json"]
    with monkeypatch.context() as patched:
        patched.setattr(workers, "delete_files", die)
        said = tell(*command)
    assert said.error["exit_code"] == 16
    assert "Spark failed in 'delete files'" in said.error["message"]
    assert copy.having("restore.inflight")
    assert copy.commits[-1] == target
    assert tell(*command).code == 0
    assert (data(copy), timeline(copy)) == (data(other), timeline(other))


def test_16_without_a_python_nothing_is_changed(unpack: Unpack, tell: Tell, master: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    options = on_cluster(master, "/nowhere/python")
    said = tell("restore", copy.savepoints[-1], "-t", copy.path, *options, "--yes")
    assert said.code == 16
    assert "cannot run the Python /nowhere/python" in said.line
    assert tree(copy.path) == before


@pytest.mark.full
def test_a_full_cluster_is_said_and_can_be_left(unpack: Unpack, master: str) -> None:
    """No worker has that much memory: after some seconds a line says so, and Ctrl-C ends it. Nothing is changed."""
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    options = ["--master", master, "--shared-filesystem", "--conf", "spark.executor.memory=900g", "--yes"]
    command = [sys.executable, "-m", "hudictl", "restore", copy.savepoints[-1], "-t", str(copy.path), *options]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=support.interruptible,
    )
    assert process.stderr is not None
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    assert f"no executor of {master} has answered yet" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    assert process.wait() == 130
    watchdog.cancel()
    assert said.startswith("hudictl: interrupted")
    assert len(said.splitlines()) == 1
    assert tree(copy.path) == before
