"""The local engine: threads."""

import threading
import time
from collections.abc import Iterator

import pytest

from hudictl.engine import local
from hudictl.engine.base import Engine
from hudictl.engine.local import LocalEngine
from hudictl.engine.open import open_engine
from hudictl.errors import EngineFailed
from tests.engine.contract import EngineContract, refuse_seven


class TestLocalEngine(EngineContract):
    """The contract on threads."""

    @pytest.fixture
    def engine(self) -> Iterator[Engine]:
        engine = open_engine("local")
        yield engine
        engine.close()


def test_items_that_wait_run_at_once() -> None:
    """As many as it says: after the first, which shows that it waits, each of these waits until all are there."""
    engine = LocalEngine(parallelism=6)
    barrier = threading.Barrier(6)

    def meet(number: int) -> int:
        if number:
            barrier.wait(10)
        else:
            time.sleep(0.05)
        return 0

    assert [result.error for result in engine.map("meet", meet, range(7))] == [None] * 7


def test_items_that_do_not_wait_need_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would only fight for the interpreter."""
    monkeypatch.setattr(local, "ThreadPoolExecutor", None)
    assert [result.value for result in LocalEngine().map("count", lambda number: sum(range(number)), range(100))]


def test_no_items_start_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "ThreadPoolExecutor", None)
    assert LocalEngine().map("none", refuse_seven, []) == []


def test_a_full_disk_is_the_engines_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 16 with what to do, before anything is changed."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local.pickle, "dump", full)
    with pytest.raises(EngineFailed, match="No space left on device") as caught:
        LocalEngine().keep([("a", 1)])
    assert "TMPDIR" in caught.value.hint
