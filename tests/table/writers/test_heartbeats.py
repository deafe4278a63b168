"""Heartbeats of lazy writers."""

import os
import threading
import time
from dataclasses import replace

import pytest

from hudictl.errors import StorageFailed
from hudictl.formats.layouts import HEARTBEATS
from hudictl.table.beat_rule import HeartbeatRule
from hudictl.table.clock import host_now_ms
from hudictl.table.writers.heartbeats import beating, heartbeat_path, list_heartbeats
from tests import support
from tests.helpers import HUDIS_OWN
from tests.table.conftest import Real, Small, base_of, put

T1, T2 = "20261121000001000", "20261121000002000"
BEAT_MS = 1_000_000_000_001


@pytest.mark.parametrize(
    ("age_ms", "live"), [(0, True), (119_999, True), (120_010, True), (120_011, False), (-5_000, True)]
)
def test_age_decides(small: Small, age_ms: int, live: bool) -> None:
    """Hudi's default of two missed minutes, and the file system's tick; a beat in the future is alive."""
    table = replace(small(9), heartbeat_rule=HUDIS_OWN)
    os.utime(put(table, heartbeat_path(T1)), ns=(0, BEAT_MS * 10**6))
    (beat,) = list_heartbeats(table, BEAT_MS + age_ms)
    assert (beat.time, beat.modified_ms, beat.age_ms, beat.live) == (T1, BEAT_MS, age_ms, live)


@pytest.mark.parametrize(("age_ms", "live"), [(6_010, True), (6_011, False)])
def test_the_rule_is_the_writers(small: Small, age_ms: int, live: bool) -> None:
    table = small(9)
    os.utime(put(table, heartbeat_path(T1)), ns=(0, BEAT_MS * 10**6))
    (beat,) = list_heartbeats(replace(table, heartbeat_rule=HeartbeatRule(2_000, 3, False)), BEAT_MS + age_ms)
    assert (beat.live, beat.doubtful) == (live, False)


@pytest.mark.parametrize(
    ("age_ms", "live", "doubtful"),
    [(120_010, True, False), (120_011, True, True), (3_600_010, True, True), (3_600_011, False, False)],
)
def test_a_young_beat_proves_no_death_where_the_writers_settings_are_not_known(
    small: Small, age_ms: int, live: bool, doubtful: bool
) -> None:
    table = small(9)
    os.utime(put(table, heartbeat_path(T1)), ns=(0, BEAT_MS * 10**6))
    (beat,) = list_heartbeats(table, BEAT_MS + age_ms)
    assert (beat.live, beat.doubtful) == (live, doubtful)


@pytest.mark.parametrize(("age_ms", "live"), [(120_999, True), (121_000, False)])
def test_a_store_that_tells_whole_seconds(small: Small, age_ms: int, live: bool) -> None:
    """The beat may be almost a second younger than it looks, and what may live does."""
    table = replace(small(9), heartbeat_rule=HUDIS_OWN)
    os.utime(put(table, heartbeat_path(T1)), ns=(0, 1_000_000 * 10**9))
    (beat,) = list_heartbeats(table, 1_000_000_000 + age_ms)
    assert beat.live is live


def test_by_time_and_without_sidecars(small: Small) -> None:
    table = small(9)
    for name in (T2, T1, f".{T1}.crc", "notes", "²"):
        put(table, heartbeat_path(name))
    assert [beat.time for beat in list_heartbeats(table, 0)] == [T1, T2]


def test_a_folder_is_no_beat(small: Small) -> None:
    """Its age proves no death."""
    table = small(9)
    (base_of(table) / heartbeat_path(T1)).mkdir(parents=True)
    assert list_heartbeats(table, BEAT_MS) == []


def test_none(small: Small) -> None:
    assert list_heartbeats(small(9), 0) == []


@pytest.mark.parametrize("version", support.VERSIONS)
def test_real_one(real: Real, version: str) -> None:
    """Of the lazy writer that was killed: its write is still pending."""
    table = real(version, "mor_failed_lazy")
    (beat,) = list_heartbeats(table, 0)
    folder = table.layout.timeline
    pending = [entry.name for entry in table.storage.list(folder) if entry.name.startswith(beat.time)]
    assert f"{beat.time}.deltacommit.inflight" in pending
    assert f"{beat.time}.deltacommit" not in pending


def test_beating(small: Small) -> None:
    """At once, and again and again; the file stays, and is not touched any more."""
    table = small(9)
    beat = base_of(table) / heartbeat_path(T1)

    def next_beat(last_ns: int) -> int:
        until = time.monotonic() + 60
        while (now_ns := beat.stat().st_mtime_ns) == last_ns:
            assert time.monotonic() < until
            time.sleep(0.005)
        return now_ns

    with beating(table, [T1], 0.01):
        first = beat.stat().st_mtime_ns
        assert next_beat(next_beat(first)) > first
    os.utime(beat, ns=(0, BEAT_MS * 10**6))
    time.sleep(0.05)
    assert beat.stat().st_mtime_ns == BEAT_MS * 10**6


def test_beating_takes_up_what_an_earlier_attempt_has_left(small: Small) -> None:
    table = small(9)
    os.utime(put(table, heartbeat_path(T1)), ns=(0, 1))
    with beating(table, [T1], 60):
        (beat,) = list_heartbeats(table, host_now_ms())
        assert beat.live


def test_beating_does_not_bring_back_what_was_deleted(small: Small) -> None:
    """Nor does it beat on after the end."""
    table = small(9)
    beat = base_of(table) / heartbeat_path(T1)
    with beating(table, [T1], 0.01):
        beat.unlink()
        time.sleep(0.05)
        assert not beat.exists()
        assert "beat" in {thread.name for thread in threading.enumerate()}
    assert not beat.exists()
    assert "beat" not in {thread.name for thread in threading.enumerate()}


def test_a_first_beat_that_fails_is_told(small: Small) -> None:
    table = small(9)
    put(table, HEARTBEATS, b"a file")
    with pytest.raises((StorageFailed, FileNotFoundError)), beating(table, [T1], 0.01):
        pytest.fail("it has not begun")
