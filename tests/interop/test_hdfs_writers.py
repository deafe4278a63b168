"""Processes of the real Hudi that are killed while they write to a real HDFS, and Hudi's lock there."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudictl.errors import Conflict
from hudictl.ops.session import Silent
from hudictl.table.locks.config import FILE_SYSTEM, Locking
from hudictl.table.locks.hold import hold
from hudictl.table.locks.providers import contender_of
from tests import support
from tests.hdfs.cluster import Hdfs
from tests.interop import product
from tests.interop.hdfs_lake import HdfsLake, hdfs, lake_of, settings
from tests.interop.judge import JudgeDied, kill, start
from tests.interop.killed import LAZY
from tests.interop.lake import LakeTable
from tests.interop.scenarios import batch

__all__ = ["hdfs", "settings"]

pytestmark = [pytest.mark.hudi, pytest.mark.hdfs, pytest.mark.full]

Seen = Callable[[HdfsLake, LakeTable, str], bool]
WRITTEN = batch(range(3000), 9, text="killed-")


def inflight(lake: HdfsLake, made: LakeTable, instant: str) -> bool:
    """The write has told what it will do."""
    return any(file.rpartition("/")[2].endswith(".inflight") and instant in file for file in lake.files(made.uri))


def marked(lake: HdfsLake, made: LakeTable, instant: str) -> bool:
    """It has marked its first file."""
    return any(f".temp/{instant}/" in file and ".marker." in file for file in lake.files(made.uri))


def written(lake: HdfsLake, made: LakeTable, instant: str) -> bool:
    """There is a first file of it, or a log that it has open."""
    files = [file for file in lake.files(made.uri) if not file.startswith(".hoodie")]
    new = any(instant in file for file in files)
    return new or any(
        lake.hdfs.ask("is_open", path=lake.path(f"{made.uri}/{file}")) for file in files if ".log." in file
    )


STATES: Mapping[str, Seen] = {"inflight": inflight, "marked": marked, "written": written}


@pytest.fixture(scope="module", params=support.VERSIONS)
def lake(request: pytest.FixtureRequest, hdfs: Hdfs) -> Iterator[HdfsLake]:
    yield from lake_of(request.param, hdfs)


def killed_write(lake: HdfsLake, kind: str, state: str, options: Mapping[str, str]) -> tuple[LakeTable, str]:
    """A table in which an upsert of a process of its own was killed in a state, and the upsert's instant."""
    made = lake.copy(kind)
    before = set(times(lake, made))
    with start(lake.version, hadoop=lake.hdfs.conf) as writer, ThreadPoolExecutor(1) as pool:
        writing = pool.submit(
            writer.upsert, made.uri, WRITTEN, options={**lake.lake.writer, "hoodie.compact.inline": "false", **options}
        )
        until = time.monotonic() + 120
        while time.monotonic() < until and not writing.done():
            begun = set(times(lake, made)) - before
            if begun and STATES[state](lake, made, min(begun)):
                break
        kill(writer.process)
        with pytest.raises(JudgeDied):
            writing.result()
    (instant,) = set(times(lake, made)) - before
    return made, instant


def times(lake: HdfsLake, made: LakeTable) -> list[str]:
    """The requested times of the timeline."""
    names = [file.rpartition("/") for file in lake.files(made.uri)]
    return [name[:17] for folder, _, name in names if folder in (".hoodie", ".hoodie/timeline") and name[:17].isdigit()]


def check_cleaned(lake: HdfsLake, made: LakeTable, instant: str) -> None:
    """Nothing is left of the write but blocks against it; Hudi reads the rows of before, and writes on."""
    assert lake.lake.rows(made.uri) == made.seen(-1)
    files = lake.files(made.uri)
    assert [file for file in files if instant in file and not file.startswith(".hoodie/metadata")] == []
    assert [file for file in files if file.startswith((".hoodie/.temp/", ".hoodie/.heartbeat/2"))] == []
    rows = lake.lake.go_on(made.uri, made.rows[made.writes[-1]])
    lake.lake.go_on(made.uri, rows, ids=range(10, 40))


@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("state", STATES)
def test_a_killed_write_is_cleaned_up(lake: HdfsLake, kind: str, state: str) -> None:
    """Wherever it was; without heartbeats, by its silence."""
    made, instant = killed_write(lake, kind, state, {})
    with lake.short_leases():
        lake.clean_until_done(made)
    check_cleaned(lake, made, instant)


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_killed_write_with_a_heartbeat_is_cleaned_up_once_it_has_expired(lake: HdfsLake, kind: str) -> None:
    made, instant = killed_write(lake, kind, "written", LAZY)
    assert product.clean_failed(made.uri, "lazy", interval="1h") == 0
    assert instant in times(lake, made)
    time.sleep(3)
    with lake.short_leases():
        lake.clean_until_done(made, "lazy", interval="1s", misses="2")
    check_cleaned(lake, made, instant)


def test_hudis_lock_excludes(lake: HdfsLake) -> None:
    """Hudi's writer and hudictl, whoever comes first: the lock file is that of FileSystemBasedLockProvider."""
    made = lake.copy("cow")
    settings = {**LAZY, "hoodie.write.lock.provider": FILE_SYSTEM}
    judge = lake.lake.judge
    with hold(lake.lake.table(made.uri), "test", Silent(), Locking(settings, 0), contender_of) as held:
        held.check()
        assert not judge.lock(made.uri, settings, 500)
        held.check()
    assert judge.lock(made.uri, settings, 5000)
    with (
        pytest.raises(Conflict, match="another process holds"),
        hold(lake.lake.table(made.uri), "test", Silent(), Locking(settings, 0), contender_of),
    ):
        pass
    judge.unlock(made.uri)
    lake.lake.savepoint(made.uri, made.writes[1])
    lake.lake.restore(made.uri, made.writes[1], locking=Locking(settings, 0))
    lake.lake.go_on(made.uri, made.rows[made.writes[1]], options=settings)
    assert ".hoodie/lock" not in lake.files(made.uri)
