"""Hudi's own restore, killed at each of its crash points, is finished by hudictl."""

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.open import open_table
from tests import support
from tests.crash import reader
from tests.crash.reader_logs import Unreadable
from tests.helpers import session
from tests.interop import product
from tests.interop.judge import Judge, JudgeDied, JudgeError, kill, start

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
Instants = set[tuple[str, str, str]]
TRIES = 6
NO_WAIT = RestoreOptions(idle_ms=0)
WRITES = {"commit", "deltacommit", "replacecommit", "compaction", "clustering"}


def of(instants: Instants, action: str, *states: str) -> list[str]:
    return [time for time, found, state in instants if found == action and (not states or state in states)]


def planned(base: Path, before: Instants, now: Instants) -> bool:
    """Requested, and nothing else."""
    return bool(of(now, "restore", "REQUESTED")) and not of(now, "rollback")


def between_entries(base: Path, before: Instants, now: Instants) -> bool:
    """Instants are gone, and the rollback of the next has not touched it."""
    gone = {entry[0] for entry in before if entry[1] in WRITES} - {entry[0] for entry in now}
    return bool(gone and of(now, "restore", "INFLIGHT")) and not taken_back(before, now)


def in_a_rollback(base: Path, before: Instants, now: Instants) -> bool:
    """An instant is un-published, and still there."""
    return bool(of(now, "restore", "INFLIGHT") and taken_back(before, now))


def metadata_table_restored(base: Path, before: Instants, now: Instants) -> bool:
    """All instants are gone, the metadata table's own restore is done, and the restore is not published."""
    done = list((base / ".hoodie/metadata/.hoodie").rglob("[0-9]*.restore"))
    return bool(of(now, "restore", "INFLIGHT") and done)


def published(base: Path, before: Instants, now: Instants) -> bool:
    """Completed, with rollbacks that nobody needs any more. A kill before the file has its content is another case:
    Hudi's own readers then fail at the metadata table."""
    meta = base / ".hoodie"
    done = [*meta.glob("[0-9]*.restore"), *meta.glob("timeline/[0-9]*.restore")]
    return bool(of(now, "restore", "COMPLETED") and of(now, "rollback")) and all(path.stat().st_size for path in done)


def taken_back(before: Instants, now: Instants) -> set[str]:
    completed = {entry[0] for entry in before if entry[1] in WRITES and entry[2] == "COMPLETED"}
    return completed & {entry[0] for entry in now if entry[1] in WRITES and entry[2] != "COMPLETED"}


POINTS = (planned, between_entries, in_a_rollback, metadata_table_restored, published)
# The window of the last two is a few milliseconds: they are tried where it is widest.
QUICK = [("v6", in_a_rollback)]
FULL = [(version, point) for version in support.VERSIONS for point in POINTS if (version, point) not in QUICK]


def interrupted(version: str, name: str, target: str, point: Callable[..., bool], folder: Path) -> Path:
    """A table in which Hudi's restore was killed at a point; skips where no kill has hit it."""
    for attempt in range(TRIES):
        base = support.unpack(version, name, folder / str(attempt))
        before = set(reader.instants(base))
        with start(version) as hudi:
            if not any(entry[:2] == (target, "savepoint") for entry in before):
                hudi.savepoint(base, target)
            before = set(reader.instants(base))
            work = threading.Thread(target=_restore, args=(hudi, base, target))
            work.start()
            while work.is_alive() and not _reached(base, before, point):
                time.sleep(0.0005)
            kill(hudi.process)
            work.join()
        if _reached(base, before, point):
            return base
        shutil.rmtree(folder / str(attempt))
    pytest.skip(f"{TRIES} kills have not hit {point.__name__}")


def _restore(hudi: Judge, base: Path, target: str) -> None:
    with suppress(JudgeDied, JudgeError):
        hudi.restore(base, target)


def _reached(base: Path, before: Instants, point: Callable[..., bool]) -> bool:
    # Hudi is at work on the files that are being listed, and on the table's properties, too.
    with suppress(OSError, Unreadable):
        return point(base, before, set(reader.instants(base)))
    return False


def check(judge: Judges, version: str, point: Callable[..., bool], folder: Path) -> None:
    name = "mor_part"
    facts = support.facts(version, name)
    target = sorted(facts["rows"])[1]
    base = interrupted(version, name, target, point, folder)
    table = open_table(str(base))
    leftovers = plan_leftovers(session(table), 0)
    # A kill in the very moment of the request leaves one without a plan.
    assert leftovers.nothing is (point is not published) or leftovers.restores
    if point is not published:
        product.restore(base, target, NO_WAIT)
    else:
        assert product.restore(base, target, NO_WAIT) is None
        remove_leftovers(session(table), leftovers, 0)
    assert not of(set(reader.instants(base)), "rollback")
    hudi = judge(version)
    assert hudi.both_rows(base) == facts["rows"][target]
    product.upsert(hudi, base)


@pytest.mark.full
@pytest.mark.parametrize(("version", "point"), QUICK)
def test_hudictl_finishes_it(judge: Judges, version: str, point: Callable[..., bool], tmp_path: Path) -> None:
    check(judge, version, point, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(("version", "point"), FULL)
def test_hudictl_finishes_it_from_every_point(
    judge: Judges, version: str, point: Callable[..., bool], tmp_path: Path
) -> None:
    check(judge, version, point, tmp_path)
