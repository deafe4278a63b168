"""Heartbeats of lazy writers."""

import os

import pytest

from hudictl.table.heartbeats import HeartbeatRule, heartbeat_path, list_heartbeats
from tests import support
from tests.table.conftest import Real, Small, put

T1, T2 = "20261121000001000", "20261121000002000"
BEAT_MS = 1_000_000_000_001


@pytest.mark.parametrize(
    ("age_ms", "live"), [(0, True), (119_999, True), (120_010, True), (120_011, False), (-5_000, True)]
)
def test_age_decides(small: Small, age_ms: int, live: bool) -> None:
    """Hudi's default of two missed minutes, and the file system's tick; a beat in the future is alive."""
    table = small(9)
    os.utime(put(table, heartbeat_path(T1)), ns=(0, BEAT_MS * 10**6))
    (beat,) = list_heartbeats(table, BEAT_MS + age_ms)
    assert (beat.time, beat.modified_ms, beat.age_ms, beat.live) == (T1, BEAT_MS, age_ms, live)


@pytest.mark.parametrize(("age_ms", "live"), [(6_010, True), (6_011, False)])
def test_the_rule_is_the_writers(small: Small, age_ms: int, live: bool) -> None:
    table = small(9)
    os.utime(put(table, heartbeat_path(T1)), ns=(0, BEAT_MS * 10**6))
    (beat,) = list_heartbeats(table, BEAT_MS + age_ms, HeartbeatRule(2_000, 3))
    assert beat.live is live


@pytest.mark.parametrize(("age_ms", "live"), [(120_999, True), (121_000, False)])
def test_a_store_that_tells_whole_seconds(small: Small, age_ms: int, live: bool) -> None:
    """The beat may be almost a second younger than it looks, and what may live does."""
    table = small(9)
    os.utime(put(table, heartbeat_path(T1)), ns=(0, 1_000_000 * 10**9))
    (beat,) = list_heartbeats(table, 1_000_000_000 + age_ms)
    assert beat.live is live


def test_by_time_and_without_sidecars(small: Small) -> None:
    table = small(9)
    for name in (T2, T1, f".{T1}.crc", "notes"):
        put(table, heartbeat_path(name))
    assert [beat.time for beat in list_heartbeats(table, 0)] == [T1, T2]


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
