"""Heartbeats of lazy writers."""

import os

import pytest

from hudictl.table.heartbeats import heartbeat_path, list_heartbeats
from tests import support
from tests.table.conftest import Real, Small, put

T1, T2 = "20261121000001000", "20261121000002000"


@pytest.mark.parametrize(
    ("age_ms", "live"), [(0, True), (119_999, True), (120_000, True), (120_001, False), (-5_000, True)]
)
def test_age_decides(small: Small, age_ms: int, live: bool) -> None:
    """Hudi's default of two missed minutes; one in the future (a clock that is off) is alive."""
    table = small(9)
    os.utime(put(table, heartbeat_path(T1)), ns=(0, 1_000_000 * 10**9))
    (beat,) = list_heartbeats(table, 1_000_000_000 + age_ms)
    assert (beat.time, beat.age_ms, beat.live) == (T1, age_ms, live)


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
