"""A live writer of the real Hudi, with heartbeats, is never rolled back by lazy cleaning beside it."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.killed import LAZY, rollbacks, timeline_files
from tests.interop.scenarios import MERGE_ON_READ, batch, digest

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]

# What the cleaner is told of the writers' heartbeats is what they do. On a busy host a beat comes late: after two
# seconds of silence Hudi's own cleaner would take a live writer for dead, too.
EVERY_SECOND = {"interval": "1s", "misses": "20"}
PATIENT = LAZY | {"hoodie.client.heartbeat.tolerable.misses": EVERY_SECOND["misses"]}
KINDS = {"cow": {}, "mor": MERGE_ON_READ}


def pending(base: Path) -> set[str]:
    """Requested times of the writes that are not completed."""
    names = [path.name for path in timeline_files(base)]
    done = {name[:17] for name in names if name.endswith(("commit", "deltacommit"))}
    return {name[:17] for name in names if "commit" in name or name.endswith(".inflight")} - done


def check(hudi: Judge, kind: str, commits: int, folder: Path, clean: Callable[[Path], int]) -> list[int]:
    """Cleans in a loop beside commits, all of which survive; returns the exit codes."""
    base = folder / "table"
    options = {**KINDS[kind], **PATIENT, "hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
    hudi.create(base, batch(range(30), 1), options)
    written: list[str] = []

    def write() -> None:
        written.extend(hudi.upsert(base, batch(range(30), ts), options=options) for ts in range(2, 2 + commits))

    writer = threading.Thread(target=write)
    writer.start()
    codes, beside = [], set()
    while writer.is_alive():
        running = pending(base)
        codes.append(clean(base))
        beside |= running & pending(base)
    assert len(written) == commits
    # Not one clean beside nothing: nearly every commit was pending before and after one.
    assert len(beside) > commits // 2
    completed = {entry[0] for entry in hudi.timeline(base) if entry[2] == "COMPLETED"}
    assert set(written) <= completed
    assert rollbacks(hudi, base) == []
    assert hudi.both_rows(base) == digest(batch(range(30), 1 + commits))
    return codes


def lazily(base: Path) -> int:
    return product.clean_failed(base, "lazy", hurry=False, **EVERY_SECOND)


def assert_harmless(codes: list[int]) -> None:
    assert set(codes) == {0}


@pytest.mark.full
@pytest.mark.short("v9-cow")
@pytest.mark.parametrize(("version", "kind"), [("v6", "mor"), ("v9", "cow")])
def test_five_commits_survive(judge: Judges, version: str, kind: str, tmp_path: Path) -> None:
    assert_harmless(check(judge(version), kind, 5, tmp_path, lazily))


@pytest.mark.full
@pytest.mark.parametrize(("version", "kind"), [("v6", "mor"), ("v8", "cow"), ("v9", "mor")])
def test_a_hundred_commits_survive(judge: Judges, version: str, kind: str, tmp_path: Path) -> None:
    assert_harmless(check(judge(version), kind, 100, tmp_path, lazily))


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_eager_cleaning_is_refused_beside_a_heartbeat(judge: Judges, version: str, tmp_path: Path) -> None:
    def eagerly(base: Path) -> int:
        return product.clean_failed(base, "eager", hurry=False, **EVERY_SECOND) if pending(base) else 0

    assert 12 in check(judge(version), "cow", 5, tmp_path, eagerly)
