"""The storage's clock against this host's."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.errors import StorageFailed
from hudictl.storage import FileStatus
from hudictl.storage.local import LocalStorage
from hudictl.table.clock import (
    StorageClock,
    clock_sentence,
    compare_clocks,
    left_out_ms,
    measure_clock,
    storage_now_ms,
    try_clock,
)

NOW_MS = 1_800_000_000_123


@pytest.fixture
def store(tmp_path: Path) -> LocalStorage:
    return LocalStorage(str(tmp_path), ".hoodie/.hudictl/tmp")


def stamp(monkeypatch: pytest.MonkeyPatch, modified_ms: int) -> None:
    """A host at NOW_MS, and a storage that gives every file one time."""
    real = LocalStorage.stat

    def stat(self: LocalStorage, path: str) -> FileStatus | None:
        found = real(self, path)
        return found and found._replace(modified_ms=modified_ms)

    monkeypatch.setattr(LocalStorage, "stat", stat)
    monkeypatch.setattr(time, "time", lambda: NOW_MS / 1000)


def test_this_host_and_its_own_disk_agree(store: LocalStorage) -> None:
    """And nothing is left of the look."""
    clock = measure_clock(store)
    assert clock.skew_ms == 0
    assert not list(Path(store.absolute(".hoodie/.hudictl")).glob("probe-*"))
    assert "agree within" in clock_sentence(clock)


@pytest.mark.parametrize(
    ("modified_ms", "skew_ms", "said"),
    [
        (NOW_MS + 5_000, 5_000, "5000 ms ahead of this host's"),
        (NOW_MS - 5_000, -4_990, "4990 ms behind this host's"),
        (NOW_MS - 10, 0, "agree within 10 ms"),
        (NOW_MS - 123, 0, "agree within 999 ms"),
        (NOW_MS - 2_123, -1_124, "1124 ms behind this host's"),
    ],
    ids=["ahead", "behind", "a tick", "whole seconds", "whole seconds, behind"],
)
def test_skew(store: LocalStorage, monkeypatch: pytest.MonkeyPatch, modified_ms: int, skew_ms: int, said: str) -> None:
    """What the store leaves out of its times is no skew of its clock."""
    stamp(monkeypatch, modified_ms)
    clock = measure_clock(store)
    assert clock.skew_ms == skew_ms
    assert said in clock_sentence(clock)


@given(
    truth=st.integers(-100_000, 100_000),
    moments=st.lists(st.integers(0, 3_000), min_size=3, max_size=3).map(sorted),
    whole=st.booleans(),
)
def test_counted_with_it_nothing_looks_older_than_it_is(truth: int, moments: list[int], whole: bool) -> None:
    """Whatever the skew, the time that a look takes, and the store's precision."""
    before, made, after = (NOW_MS + moment for moment in moments)
    stored = made + truth
    clock = compare_clocks(stored // 1000 * 1000 if whole else stored, before, after)
    assert clock.skew_ms - clock.precision_ms <= truth <= clock.skew_ms + clock.precision_ms
    assert clock.precision_ms <= after - before + 999


def test_whole_seconds_leave_up_to_a_second_out() -> None:
    assert (left_out_ms(5_000), left_out_ms(5_001)) == (999, 10)


def test_a_storage_that_cannot_be_written_to(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look goes on with this host's clock, and says so."""

    def replace(self: LocalStorage, path: str, body: bytes) -> None:
        raise StorageFailed("read-only file system")

    monkeypatch.setattr(LocalStorage, "replace", replace)
    monkeypatch.setattr(time, "time", lambda: NOW_MS / 1000)
    assert try_clock(store) is None
    assert storage_now_ms(None) == NOW_MS
    assert "could not be measured" in clock_sentence(None)
    with pytest.raises(StorageFailed):
        measure_clock(store)


def test_a_store_that_tells_no_times_has_no_clock(store: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp(monkeypatch, 0)
    assert try_clock(store) is None


def test_the_storages_time_is_the_earliest_that_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: NOW_MS / 1000)
    assert storage_now_ms(StorageClock(5_000, 20)) == NOW_MS + 4_980
