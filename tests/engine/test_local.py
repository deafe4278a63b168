"""The local engine: threads."""

import threading
from collections.abc import Iterator

import pytest

from hudictl.engine import local
from hudictl.engine.base import Engine
from hudictl.engine.local import LocalEngine
from hudictl.engine.open import open_engine
from tests.engine.contract import EngineContract, refuse_seven


class TestLocalEngine(EngineContract):
    """The contract on threads."""

    @pytest.fixture
    def engine(self) -> Iterator[Engine]:
        engine = open_engine("local")
        yield engine
        engine.close()


def test_items_run_at_once() -> None:
    """As many as it says: each of these waits until all are there."""
    engine = LocalEngine(parallelism=6)
    barrier = threading.Barrier(6)
    assert [result.error for result in engine.map("meet", lambda _: barrier.wait(10) * 0, range(6))] == [None] * 6


def test_no_items_start_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "ThreadPoolExecutor", None)
    assert LocalEngine().map("none", refuse_seven, []) == []
