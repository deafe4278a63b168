"""The lock in DynamoDB, beside Hudi's own provider and AWS's lock client: one at a time, whoever comes first.

Hudi 0.15.0 is the judge: hudi-aws of 1.x is not on Maven Central. Of the implicit provider, which came with 1.0, only
the key is judged, by the bundles of 1.x.
"""

import os
import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Silent
from hudictl.table.locks import hold as module_of_hold
from hudictl.table.locks.config import DYNAMODB, Locking, hash_of
from hudictl.table.locks.hold import Hold, hold
from hudictl.table.locks.providers import contender_of
from hudictl.table.open import open_table
from tests import support
from tests.dynamodb import KEY, Dynamo, make_dynamo
from tests.interop import product
from tests.interop.dynamo import ENVIRONMENT, Contender, aws_jars, contender
from tests.interop.judge import BUNDLE, RELEASES, Judge, prepare, start
from tests.interop.locks_support import WRITER, completed, waits
from tests.s3 import S3

pytestmark = pytest.mark.hudi

LEASE_MS = 3000
Settings = dict[str, str]


@pytest.fixture(autouse=True)
def _credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def dynamo(s3: S3) -> Dynamo:
    return make_dynamo(s3)


@pytest.fixture
def settings(dynamo: Dynamo) -> Settings:
    """With a short lease: 3 s."""
    return WRITER | dynamo.settings(DYNAMODB) | {"hoodie.write.lock.wait_time_ms": str(LEASE_MS)}


@pytest.fixture(scope="module")
def contenders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Contender]]:
    """The running contender, or a new one where a test has killed it."""
    running: list[Contender] = []
    with ExitStack() as stack:

        def get() -> Contender:
            if not running or running[-1].process.poll() is not None:
                running.append(stack.enter_context(contender(tmp_path_factory.mktemp("contender") / "log")))
            return running[-1]

        yield get


@pytest.fixture
def hudi(contenders: Callable[[], Contender], settings: Settings) -> Contender:
    found = contenders()
    found.use(settings)
    return found


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return support.unpack("v6", "cow_savepoints", tmp_path)


@pytest.fixture(scope="module")
def writer() -> Iterator[Judge]:
    """A Hudi 0.15.0 with hudi-aws."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        with start("v6", more_jars=aws_jars()) as running:
            yield running


def held(base: Path, settings: Settings, wait_ms: int = 60_000) -> AbstractContextManager[Hold]:
    return hold(open_table(str(base)), "test", Silent(), Locking(settings, wait_ms), contender_of)


@pytest.mark.full
def test_hudi_waits_for_hudictl(hudi: Contender, base: Path, settings: Settings, dynamo: Dynamo) -> None:
    """For several leases: each of hudictl's heartbeats counts. Then it has the lock at once."""
    with held(base, settings) as own:
        assert not hudi.lock(2 * LEASE_MS)
        own.check()
    assert dynamo.item is None
    assert hudi.lock(0)
    hudi.unlock()
    with held(base, settings, 0) as own:
        own.check()


@pytest.mark.full
def test_hudictl_waits_for_hudi(hudi: Contender, base: Path, settings: Settings) -> None:
    """For several leases, too."""
    assert hudi.lock(0)
    with pytest.raises(Conflict, match="another process holds dynamodb:"), held(base, settings, 3 * LEASE_MS):
        pass

    def work() -> str:
        with held(base, settings) as own:
            own.check()
            return "done"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(work)
        assert waits(waiting)
        hudi.unlock()
        assert waiting.result(30) == "done"


def test_a_killed_hudi_is_waited_out(hudi: Contender, base: Path, settings: Settings, dynamo: Dynamo) -> None:
    assert hudi.lock(0)
    hudi.kill()
    begun = time.monotonic()
    with held(base, settings) as own:
        assert time.monotonic() - begun > LEASE_MS / 1000
        own.check()
        assert b'"command": "test"' in (dynamo.item or {})["data"]["B"]
    assert dynamo.item is None


@pytest.mark.full
def test_a_killed_hudictl_is_waited_out(hudi: Contender, base: Path, settings: Settings, dynamo: Dynamo) -> None:
    """Its name and its data are no harm to AWS's client, which writes an item of its own."""
    product.hold_and_die(base, settings)
    assert (dynamo.item or {})["ownerName"]["S"].startswith("hudictl-")
    begun = time.monotonic()
    # AWS's client adds the holder's lease to the waiting time.
    assert hudi.lock(LEASE_MS)
    assert time.monotonic() - begun > LEASE_MS / 1000
    assert "data" not in (dynamo.item or {})
    hudi.unlock()


def queue(hudi: Contender, base: Path, settings: Settings, rounds: int) -> list[str]:
    """Both take the lock so many times; who was inside, in order."""
    inside: list[str] = []
    entered: list[str] = []
    busy = threading.Lock()

    def be_inside(name: str) -> None:
        assert busy.acquire(blocking=False), f"{name} came in while {inside} was inside"
        inside.append(name)
        entered.append(name)
        time.sleep(0.05)
        inside.clear()
        busy.release()

    def of_hudi() -> None:
        for _ in range(rounds):
            while not hudi.lock(60_000):
                pass
            be_inside("hudi")
            hudi.unlock()

    def of_hudictl() -> None:
        for _ in range(rounds):
            with held(base, settings) as own:
                own.check()
                be_inside("hudictl")

    with ThreadPoolExecutor(2) as pool:
        for work in (pool.submit(of_hudi), pool.submit(of_hudictl)):
            work.result()
    return entered


def test_they_queue_and_are_never_inside_together(
    hudi: Contender, base: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_of_hold, "_POLL_SECONDS", 0.2)
    entered = queue(hudi, base, settings, 10)
    assert len(entered) == 20


@pytest.mark.full
def test_they_queue_a_thousand_times(
    hudi: Contender, base: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_of_hold, "_POLL_SECONDS", 0.2)
    assert len(queue(hudi, base, settings, 500)) == 1000


@pytest.mark.full
def test_a_hudi_writer_waits_for_hudictl(writer: Judge, base: Path, settings: Settings) -> None:
    """And commits once hudictl is through."""
    rows = writer.read(base, columns=("id", "ts", "val", "p"))[:3]
    commits = completed(writer, base)
    with ThreadPoolExecutor(1) as pool:
        with held(base, settings) as own:
            written = pool.submit(
                writer.upsert, base, [[row[0], 9_999_999, "x", row[3]] for row in rows], "upsert", settings
            )
            assert waits(written, 8)
            own.check()
        instant = written.result(120)
    assert completed(writer, base) == commits | {instant}


@pytest.mark.full
def test_a_restore_waits_for_hudi_and_its_writers_go_on(
    writer: Judge, hudi: Contender, base: Path, settings: Settings, dynamo: Dynamo
) -> None:
    rows = support.facts("v6", "cow_savepoints")["rows"]
    target = max(entry[0] for entry in writer.timeline(base) if entry[1] == "savepoint")
    assert hudi.lock(0)
    with ThreadPoolExecutor(1) as pool:
        restored = pool.submit(product.restore, base, target, RestoreOptions(), Locking(settings))
        assert waits(restored)
        assert not list((base / ".hoodie").rglob("*.restore.*"))
        hudi.unlock()
        assert restored.result(60) is not None
    assert writer.both_rows(base) == rows[target]
    first = writer.read(base, columns=("id", "ts", "val", "p"))[0]
    writer.upsert(base, [[first[0], 9_999_999, "x", first[3]]], options=settings)
    assert dynamo.item is None


@pytest.mark.full
def test_hudi_makes_the_table_that_hudictl_expects(
    contenders: Callable[[], Contender], base: Path, settings: Settings, tmp_path: Path
) -> None:
    """With its own key; until then hudictl says that there is none."""
    other = settings | {"hoodie.write.lock.dynamodb.table": f"made-by-{tmp_path.name}"}
    with pytest.raises(StorageFailed, match="does not exist"), held(base, other):
        pass
    hudi = contenders()
    hudi.use(other)
    assert hudi.lock(0)
    with pytest.raises(Conflict, match=f"/{KEY} "), held(base, other, 0):
        pass
    hudi.unlock()
    with held(base, other, 0) as own:
        own.check()


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_the_key_of_implicit_locks(version: str) -> None:
    paths = ["s3a://lake/trips", "S3A://lake/trips/", "s3://lake/trips", "file:/lake", "file:///lake", "/lake/é"]
    dice = random.Random(7)
    paths += ["".join(dice.choices("ab/:é€🙂 ", k=length)) for length in range(1, 100)]
    python, (bundle,) = prepare(f"{BUNDLE}:{RELEASES[version]}")
    (spark,) = python.parent.parent.glob("lib/python*/site-packages/pyspark/jars")
    source = Path(__file__).with_name("HashedPaths.java")
    command = ["java", "-cp", f"{bundle}{os.pathsep}{spark}/*", str(source), *paths]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == [hash_of(path) for path in paths]
