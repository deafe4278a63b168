"""Pending writes of the real Hudi: its living writers are never called dead, its markers are read as it reads them."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.state.writers.failed_writes import PendingWrite, pending_writes
from hudictl.state.writers.heartbeats import heartbeat_rows
from hudictl.table.beat_rule import HeartbeatRule
from hudictl.table.clock import try_clock
from hudictl.table.open import open_table
from hudictl.table.writers.markers import marker_folders, read_markers
from tests import support
from tests.helpers import HUDIS_OWN, put
from tests.interop.judge import Judge, JudgeError
from tests.interop.scenarios import MERGE_ON_READ, batch

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
# Hudi's two misses are not enough for it: on a loaded host its timer was seen to be late by more than two seconds.
EVERY_SECOND = HeartbeatRule(1_000, 20, assumed=False)
LAZY = {
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.client.heartbeat.interval_in_ms": str(EVERY_SECOND.interval_ms),
    "hoodie.client.heartbeat.tolerable.misses": str(EVERY_SECOND.misses),
}
COMPACT = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"}
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def watch(base: Path, work: Callable[[], object]) -> tuple[list[PendingWrite], dict[str, set[str]]]:
    """All rows that ``failed-writes list`` has while some work goes on, and the states of heartbeats by instant."""
    table = open_table(str(base), rule=EVERY_SECOND)
    rows: list[PendingWrite] = []
    beats: dict[str, set[str]] = {}
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(work)
        while not working.done():
            clock = try_clock(table.storage)
            for beat in heartbeat_rows(table, clock):
                beats.setdefault(beat.instant, set()).add(beat.state)
            rows += pending_writes(table, 0, clock)
            time.sleep(0.01)  # Hudi needs the processor, too
        working.result()
    return rows, beats


@pytest.mark.full
@VERSIONS
@pytest.mark.parametrize("kind", [{}, MERGE_ON_READ | COMPACT], ids=["cow", "mor"])
def test_a_lazy_writer_is_running_at_any_moment_of_its_commits(
    judge: Judges, version: str, kind: dict[str, str], tmp_path: Path
) -> None:
    """With heartbeats every second, in both lists; its table services, which do not beat, are unknown."""
    hudi = judge(version)
    base = tmp_path / "lazy" / "table"
    hudi.create(base, batch(range(300), 1), kind | LAZY)
    done: list[str] = []

    def write() -> None:
        done.extend(hudi.upsert(base, batch(range(300), ts), options=kind | LAZY) for ts in range(2, 8))

    rows, beats = watch(base, write)
    assert len(done) == 6
    services = [row for row in rows if row.operation == "COMPACT"]
    assert bool(services) is bool(kind)
    assert {row.verdict for row in services} <= {"running", "unknown"}
    written = [row for row in rows if row.operation != "COMPACT"]
    assert [row for row in written if row.verdict != "running"] == []
    assert {row.instant for row in written} == set(done)
    assert {row.state for row in written} == {"REQUESTED", "INFLIGHT"}
    assert {state for instant in done for state in beats[instant]} == {"live"}
    assert hudi.both_rows(base)["count"] == 300


@pytest.mark.short("v6-100", "v9-140")
@VERSIONS
@pytest.mark.parametrize(("age_s", "expired"), [(100, False), (140, True)])
def test_hudi_agrees_on_who_is_dead(judge: Judges, version: str, age_s: int, expired: bool, tmp_path: Path) -> None:
    """By its defaults."""
    base = support.unpack(version, "mor_failed_lazy", tmp_path)
    table = open_table(str(base), rule=HUDIS_OWN)
    (beat,) = (base / ".hoodie/.heartbeat").glob("[0-9]*")
    moment = time.time() - age_s
    os.utime(beat, (moment, moment))
    (row,) = heartbeat_rows(table, try_clock(table.storage))
    assert (row.instant, row.state) == (beat.name, "expired" if expired else "live")
    assert judge(version).heartbeat_expired(base, beat.name, HUDIS_OWN.interval_ms, HUDIS_OWN.misses) is expired


def drop_type(folder: Path) -> None:
    (folder / "MARKERS.type").unlink()
    (folder / ".MARKERS.type.crc").unlink(missing_ok=True)


def empty_type(folder: Path) -> None:
    put(folder / "MARKERS.type")


def direct_type(folder: Path) -> None:
    put(folder / "MARKERS.type", "DIRECT")


def strange_type(folder: Path) -> None:
    put(folder / "MARKERS.type", "BROADCAST")


def type_and_newline(folder: Path) -> None:
    put(folder / "MARKERS.type", "TIMELINE_SERVER_BASED\n")


def as_it_is(folder: Path) -> None:
    """Nothing is changed."""


SERVER = [as_it_is, drop_type, empty_type, direct_type, strange_type, type_and_newline]
CASES = [
    *((name, as_it_is) for name in ("cow_failed_direct", "mor_failed_direct", "mor_failed_lazy")),
    *(("cow_failed_tls", change) for change in SERVER),
]


@VERSIONS
@pytest.mark.parametrize(("name", "change"), CASES, ids=lambda value: getattr(value, "__name__", value))
def test_markers_are_read_as_hudi_reads_them(
    judge: Judges, version: str, name: str, change: Callable[[Path], None], tmp_path: Path
) -> None:
    """Those of writers that were killed, also where the file with their type is damaged; what Hudi refuses is
    unreadable here."""
    base = support.unpack(version, name, tmp_path)
    table = open_table(str(base))
    (instant,) = marker_folders(table)
    change(base / ".hoodie/.temp" / instant)
    try:
        expected = judge(version).markers(base, instant)
    except JudgeError:
        expected = None
    try:
        found = read_markers(table, instant)
        paths = sorted(f"{marker.path}.marker.{marker.kind}" for marker in found.markers) if found else []
    except Unreadable:
        paths = None
    assert paths == expected
