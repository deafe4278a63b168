"""What both engines do with the items of one process."""

import threading
import time
from collections.abc import Iterator, Sequence

import pytest

from hudictl.engine import work
from hudictl.engine.base import TaskResult
from hudictl.engine.work import Bucket, each, fold
from tests.engine.contract import lack_a_module, refuse_seven


def wait(number: int) -> int:
    """As a call of a store."""
    time.sleep(0.05)
    return number


def test_items_that_wait_run_at_once() -> None:
    """As many as it says: after the first, which shows that it waits, each of these waits until all are there."""
    barrier = threading.Barrier(6)

    def meet(number: int) -> int:
        return barrier.wait(10) if number else wait(number)

    assert [result.error for result in each(meet, range(7), 6)] == [None] * 7


@pytest.mark.slow
def test_items_that_do_not_wait_need_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would only fight for the interpreter. Nor does time count that the caller takes between them."""
    monkeypatch.setattr(work, "ThreadPoolExecutor", None)
    for number, result in enumerate(each(lambda number: sum(range(number)), range(100))):
        assert result.error is None
        if number < 3:
            wait(number)


def test_no_items_start_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "ThreadPoolExecutor", None)
    assert list(each(refuse_seven, [])) == []


@pytest.mark.slow
def test_a_slow_item_lets_others_pass_it_and_keeps_their_answers_in_order() -> None:
    released = threading.Event()

    def slow_at_first(number: int) -> int:
        if number == 1:
            assert released.wait(10)
        elif number == 5:
            released.set()
        return wait(number)

    assert [result.value for result in each(slow_at_first, range(20), 2)] == [*range(20)]


@pytest.mark.slow
def test_results_that_nobody_has_taken_are_few() -> None:
    """Each may be the listing of a partition: millions of files do not wait in memory."""
    drawn = 0

    def draw() -> Iterator[int]:
        nonlocal drawn
        for number in range(200):
            drawn += 1
            yield number

    results = each(wait, draw(), 2)
    assert [next(results).value for _ in range(3)] == [0, 1, 2]
    assert drawn < 20
    results.close()  # type: ignore[attr-defined]
    assert drawn < 20


@pytest.mark.slow
def test_what_is_left_is_not_begun() -> None:
    """Ctrl-C does not wait for all items."""
    begun: list[int] = []

    def begin(number: int) -> int:
        begun.append(number)
        return wait(number)

    results = each(begin, range(200), 2)
    next(results), next(results)
    results.close()  # type: ignore[attr-defined]
    assert len(begun) < 10


def test_a_module_that_is_not_there_ends_it() -> None:
    def lack(number: int) -> None:
        if number:
            lack_a_module(number)
        wait(number)

    with pytest.raises(ModuleNotFoundError):
        list(each(lack, range(5)))


def test_few_parts_of_the_keys_are_in_memory() -> None:
    read = 0

    def parts() -> Iterator[Sequence[Bucket]]:
        nonlocal read
        for number in range(100):
            read += 1
            yield [Bucket({f"{number} {key}": [key] for key in range(10)}, [])]

    results = fold(parts(), lambda key, found: found[0][0], 2)
    assert next(results) == TaskResult(0)
    assert read == 1
    assert sum(1 for _ in results) == 999
    assert read == 100
