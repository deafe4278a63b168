"""Hudi's locks, beside the real Hudi: one at a time, whoever comes first."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from hudictl.errors import Conflict
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.config_file import read_settings
from hudictl.table.locks.config import ZOOKEEPER, ZOOKEEPER_IMPLICIT, Locking
from hudictl.table.locks.zookeeper import LockNode
from tests import support
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.locks_support import WRITER, Settings, completed, held_by_hudictl, settings, waits, zookeeper
from tests.interop.zookeeper import ZooKeeper, curator, start_zookeeper

__all__ = ["settings", "zookeeper"]

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
KINDS = ("file_system", "zookeeper")


@pytest.mark.short("v6-zookeeper", "v9-file_system")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_hudis_provider_waits_for_hudictl(judge: Judges, settings: Settings, version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    with held_by_hudictl(base, settings) as held:
        held.check()
        assert not hudi.lock(base, settings, 500)
    assert hudi.lock(base, settings, 5000)
    hudi.unlock(base)
    with held_by_hudictl(base, settings, 0) as held:
        held.check()


@pytest.mark.short("v9-zookeeper")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_hudictl_waits_for_hudis_provider(judge: Judges, settings: Settings, version: str, tmp_path: Path) -> None:
    """For as long as it may; then it has left no trace in the queue, and the other still has the lock."""
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    assert hudi.lock(base, settings, 5000)
    with pytest.raises(Conflict, match="another process holds"), held_by_hudictl(base, settings, 0):
        pass

    def work() -> str:
        with held_by_hudictl(base, settings) as held:
            held.check()
            return "done"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(work)
        assert waits(waiting)
        hudi.unlock(base)
        assert waiting.result(30) == "done"


@pytest.mark.short("v6-zookeeper")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_hudi_writer_waits_for_hudictl(judge: Judges, settings: Settings, version: str, tmp_path: Path) -> None:
    """And commits once hudictl is through."""
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    rows = hudi.read(base, columns=("id", "ts", "val", "p"))[:3]
    commits = completed(hudi, base)
    with ThreadPoolExecutor(1) as pool:
        with held_by_hudictl(base, settings) as held:
            written = pool.submit(
                hudi.upsert, base, [[row[0], 9_999_999, "x", row[3]] for row in rows], "upsert", settings
            )
            assert waits(written, 8)
            held.check()
        instant = written.result(120)
    assert completed(hudi, base) == commits | {instant}


@pytest.mark.short("v9-file_system")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_restore_waits_for_a_hudi_writer(judge: Judges, settings: Settings, version: str, tmp_path: Path) -> None:
    """With the writer's lock released the restore runs through, and Hudi's writers, under the lock, go on."""
    base = support.unpack(version, "cow_savepoints", tmp_path)
    hudi = judge(version)
    rows = support.facts(version, "cow_savepoints")["rows"]
    target = max(entry[0] for entry in hudi.timeline(base) if entry[1] == "savepoint")
    assert hudi.lock(base, settings, 5000)
    with ThreadPoolExecutor(1) as pool:
        restored = pool.submit(product.restore, base, target, RestoreOptions(), Locking(settings))
        assert waits(restored)
        assert not list((base / ".hoodie").rglob("*.restore.*"))
        hudi.unlock(base)
        assert restored.result(60) is not None
    assert hudi.both_rows(base) == rows[target]
    first = hudi.read(base, columns=("id", "ts", "val", "p"))[0]
    hudi.upsert(base, [[first[0], 9_999_999, "x", first[3]]], options=settings)
    assert not (base / ".hoodie/lock").exists()


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["file_system"])
def test_a_writer_that_gives_up_takes_the_lock_away(
    judge: Judges, settings: Settings, version: str, tmp_path: Path
) -> None:
    """Hudi's provider deletes whatever file is there when it is closed: hudictl notices before its next step."""
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    with held_by_hudictl(base, settings) as held:
        assert not hudi.lock(base, settings)
        held.check()
        hudi.unlock(base, close_only=True)
        with pytest.raises(Conflict, match="has lost the lock"):
            held.check()


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("kind", ["file_system"])
def test_hudi_and_hudictl_let_a_lock_expire_alike(
    judge: Judges, settings: Settings, version: str, tmp_path: Path
) -> None:
    """Not before its minutes are over, then at once; one that hudictl holds is renewed, and so never expires."""
    base = support.unpack(version, "cow_part", tmp_path)
    hudi = judge(version)
    lock = base / ".hoodie/lock"
    settings = settings | {"hoodie.write.lock.filesystem.expire": "1"}
    assert hudi.lock(base, settings)
    age(lock, 55)
    with pytest.raises(Conflict), held_by_hudictl(base, settings, 0):
        pass
    age(lock, 65)
    with held_by_hudictl(base, settings, 0) as held:
        held.check()
        age(lock, 55)
        assert not hudi.lock(base, settings)
        # As if this process had slept: Hudi deletes what has expired, and takes it.
        age(lock, 65)
        assert hudi.lock(base, settings)
        with pytest.raises(Conflict):
            held.check()
    assert lock.exists(), "the writer's, and not hudictl's to delete"


@pytest.mark.parametrize("version", ["v9"])
@pytest.mark.parametrize("kind", ["zookeeper"])
def test_a_lost_session_is_noticed(judge: Judges, settings: Settings, version: str, tmp_path: Path) -> None:
    """The server takes the node when the session ends: another may have the lock then."""
    base = support.unpack(version, "cow_part", tmp_path)
    more = settings | {"hoodie.write.lock.zookeeper.connection_timeout_ms": "3000"}
    with held_by_hudictl(base, more) as held:
        held.check()
        assert isinstance(held.lock, LockNode)
        # A second client of the same session, which ends it.
        thief = KazooClient(settings["hoodie.write.lock.zookeeper.url"], client_id=held.lock.client.client_id)
        thief.start(5)
        thief.stop()
        thief.close()
        with pytest.raises(Conflict, match="may have lost the lock"):
            held.check()


def test_without_a_server_a_lock_that_is_held_counts_as_lost(tmp_path: Path) -> None:
    base = support.unpack("v9", "cow_part", tmp_path)
    (tmp_path / "own").mkdir()
    with start_zookeeper(tmp_path / "own") as server:
        settings = {
            "hoodie.write.lock.provider": ZOOKEEPER,
            "hoodie.write.lock.zookeeper.url": server.hosts,
            "hoodie.write.lock.zookeeper.base_path": "/hudi",
            "hoodie.write.lock.zookeeper.connection_timeout_ms": "4000",
        }
        with held_by_hudictl(base, settings) as held:
            server.pause()
            with pytest.raises(Conflict, match="may have lost the lock"):
                held.check()
            server.process.send_signal(signal.SIGCONT)


@pytest.mark.short("v6-zookeeper", "v9-file_system")
@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_hudictl_locks_nobody_out(judge: Judges, settings: Settings, version: str, tmp_path: Path) -> None:
    """Its file is taken over by the next hudictl, which knows by the claim that it is dead; its node goes by itself."""
    base = support.unpack(version, "cow_part", tmp_path)
    product.hold_and_die(base, settings)
    hudi = judge(version)
    if "hoodie.write.lock.zookeeper.url" not in settings:
        assert json.loads((base / ".hoodie/lock").read_text())["command"] == "the killed one"
        assert not hudi.lock(base, settings)
    with held_by_hudictl(base, settings) as held:
        held.check()
    assert hudi.lock(base, settings, 5000)
    hudi.unlock(base)


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_hudis_implicit_zookeeper_lock_is_the_same(
    judge: Judges, zookeeper: ZooKeeper, version: str, tmp_path: Path
) -> None:
    """Named by the base path as the writer spells it; the provider came with Hudi 1.0."""
    base = support.unpack(version, "cow_part", tmp_path)
    settings = WRITER | {
        "hoodie.write.lock.provider": ZOOKEEPER_IMPLICIT,
        "hoodie.write.lock.zookeeper.url": zookeeper.hosts,
        "hoodie.base.path": f"file://{base}",
    }
    hudi = judge(version)
    with held_by_hudictl(base, settings):
        assert not hudi.lock(base, settings, 500)
    assert hudi.lock(base, settings, 5000)
    with pytest.raises(Conflict, match="another process holds"), held_by_hudictl(base, settings, 0):
        pass
    # Another spelling is another lock: so hudictl does not guess.
    other = settings | {"hoodie.base.path": f"file:{base}"}
    with held_by_hudictl(base, other, 0) as held:
        held.check()
    hudi.unlock(base)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_files_of_settings_are_read_as_hudi_reads_them(judge: Judges, version: str, tmp_path: Path) -> None:
    (tmp_path / "included").write_text("in=cluded\nlater=1\n")
    lines = (
        *("a=b", "  c = d ", "e f g", "h\ti", "j k=l", "m==n", "o:p=q", "r=s\\:t\\", "u=v  w", "x=é", "y=", "later=0"),
        *("# no=1", "no", "", "include=included", "z = \u2028 z"),
    )
    file = tmp_path / "own.properties"
    file.write_text("\n".join(lines), encoding="utf-8")
    assert judge(version).settings(file) == read_settings(str(file), {})


@pytest.mark.full
def test_curator_of_spark_and_hudictl_queue_in_one_order(zookeeper: ZooKeeper, tmp_path: Path) -> None:
    """First Curator, then hudictl, then Curator again, which came later."""
    settings = {
        "hoodie.write.lock.provider": ZOOKEEPER,
        "hoodie.write.lock.zookeeper.url": zookeeper.hosts,
        "hoodie.write.lock.zookeeper.base_path": f"/hudi/{tmp_path.name}",
        "hoodie.write.lock.zookeeper.lock_key": "key",
    }
    base = support.unpack("v9", "cow_part", tmp_path)
    path = f"/hudi/{tmp_path.name}/key"
    let_go = threading.Event()

    def work() -> str:
        with held_by_hudictl(base, settings) as held:
            let_go.wait(60)
            held.check()
            return "done"

    with ThreadPoolExecutor(1) as pool, curator(zookeeper, path) as first:
        assert first.says() == "held"
        ours = pool.submit(work)
        assert waits(ours)
        with curator(zookeeper, path) as second:
            assert second.says() == "waiting"
            first.let_go()
            assert waits(ours)
            let_go.set()
            assert ours.result(30) == "done"
            assert second.says() == "held"


def age(file: Path, seconds: float) -> None:
    os.utime(file, (time.time() - seconds,) * 2)
