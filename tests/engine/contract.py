"""What every engine promises; functions are module-level, so that executors can import them."""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudictl.engine.base import Engine, TaskResult
from hudictl.errors import EngineFailed


def square_after_a_while(number: int) -> int:
    """Later items end first."""
    time.sleep(max(0, 20 - number) / 1000)
    return number * number


def square_slowly(number: int) -> int:
    time.sleep(0.03)
    return number * number


def refuse_seven(number: int) -> int:
    if number == 7:
        raise ValueError("seven is refused")
    return number


def raise_without_words(number: int) -> int:
    raise RuntimeError


def lack_a_module(number: int) -> None:
    import no_such_module  # type: ignore[import-not-found]  # noqa: F401


def nothing(number: int) -> None:
    return None


def leave_mark(path: str) -> bool:
    """Idempotent: the second run finds the first one's mark. Says whether it made it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


class EngineContract(ABC):
    """Subclasses make the engine."""

    @pytest.fixture
    @abstractmethod
    def engine(self) -> Iterator[Engine]:
        """The engine under test."""

    @pytest.mark.parametrize("count", [1, 2, 100])
    def test_answers_come_in_item_order(self, engine: Engine, count: int) -> None:
        expected = [TaskResult(number * number) for number in range(count)]
        assert engine.map("squares", square_after_a_while, range(count)) == expected

    def test_one_failing_item_does_not_stop_the_others(self, engine: Engine) -> None:
        """Its error is the answer in its place, as text."""
        found = engine.map("refuse", refuse_seven, [*range(20)])
        assert found[7] == TaskResult(None, "seven is refused")
        assert [result.value for result in found if result.error is None] == [*range(7), *range(8, 20)]

    def test_an_error_without_words_is_still_an_error(self, engine: Engine) -> None:
        """Never an empty text, which would pass for success."""
        assert engine.map("raise", raise_without_words, [1]) == [TaskResult(None, "RuntimeError")]

    def test_a_module_that_is_not_there_is_the_engines_failure(self, engine: Engine) -> None:
        """No item's: none can be done."""
        with pytest.raises(EngineFailed, match="has no module no_such_module") as caught:
            engine.map("lack", lack_a_module, [1, 2])
        assert caught.value.fields == {"module": "no_such_module"}

    def test_progress_is_told(self, engine: Engine) -> None:
        """In shares that do not shrink."""
        shares: list[float] = []
        found = engine.map("squares", square_slowly, range(40), shares.append)
        assert [result.value for result in found] == [number * number for number in range(40)]
        assert shares
        assert 0 <= min(shares) <= max(shares) <= 1
        assert shares == sorted(shares)

    def test_no_value_is_no_error(self, engine: Engine) -> None:
        assert engine.map("nothing", nothing, [1, 2]) == [TaskResult(None)] * 2

    def test_the_same_work_twice(self, engine: Engine, tmp_path: Path) -> None:
        """Each item is done, and a rerun finds it done."""
        paths = [str(tmp_path / str(number)) for number in range(10)]
        assert [result.value for result in engine.map("mark", leave_mark, paths)] == [True] * 10
        assert [result.value for result in engine.map("mark", leave_mark, paths)] == [False] * 10
        assert len(os.listdir(tmp_path)) == 10

    def test_no_items(self, engine: Engine) -> None:
        assert engine.map("none", refuse_seven, []) == []
