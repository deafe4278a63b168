"""What every engine promises; functions are module-level, so that executors can import them."""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from hudictl.engine.base import Engine, TaskResult
from hudictl.engine.local import LocalEngine
from hudictl.errors import Conflict, EngineFailed
from tests.engine.elsewhere import Elsewhere


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


def letters(word: str) -> Iterator[tuple[str, str]]:
    """Each letter with the word."""
    if word == "refused":
        raise ValueError("this word is refused")
    yield from ((letter, word) for letter in word)


def letters_until_a_sign(word: str) -> Iterator[tuple[str, str]]:
    """The same, with an error after some."""
    for letter, found in letters(word):
        if letter == "!":
            raise ValueError("a sign")
        yield letter, found


def refuse_at_once(word: str) -> list[tuple[str, str]]:
    """No generator: the call itself fails."""
    raise ValueError("refused before the first value")


def letters_of_a_module(word: str) -> Iterator[tuple[str, str]]:
    """The same, and then a module is missing."""
    yield from letters(word)
    lack_a_module(0)


def words_of(letter: str, found: Sequence[Sequence[str]]) -> tuple[str, list[list[str]]] | None:
    """What was gathered for a letter; nothing for b."""
    return None if letter == "b" else (letter, [sorted(words) for words in found])


def refuse_a(letter: str, found: Sequence[Sequence[str]]) -> str:
    if letter == "a":
        raise ValueError("a is refused")
    return letter


def lack_a_module_at(letter: str, found: Sequence[Sequence[str]]) -> None:
    lack_a_module(0)


def many(number: int) -> Iterator[tuple[str, bytes]]:
    """More than is kept in memory, by few keys."""
    yield from ((f"key {number % 3}", bytes([number]) * 100_000) for _ in range(10))


def lengths(key: str, found: Sequence[Sequence[bytes]]) -> tuple[str, int]:
    return key, sum(len(value) for values in found for value in values)


def mark_slowly(path: str) -> bool:
    time.sleep(1)
    return leave_mark(path)


def nothing(number: int) -> None:
    return None


def leave_mark(path: str) -> bool:
    """Idempotent: the second run finds the first one's mark. Says whether it made it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def company(number: int, folder: str) -> int:
    """How many items are at work in this process while this one waits for a store, itself included."""
    own = f"{os.getpid()}-"
    mark = os.path.join(folder, f"{own}{number}")
    os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
    time.sleep(0.1)
    found = sum(name.startswith(own) for name in os.listdir(folder))
    os.unlink(mark)
    return found


def gathered_company(number: int, folder: str) -> Iterator[tuple[str, int]]:
    yield str(number), company(number, folder)


def looking_company(key: str, found: Sequence[Sequence[int]], folder: str) -> tuple[int, int]:
    """In the gathering, and in the look at what was gathered."""
    return found[0][0], company(int(key), folder)


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

    def test_who_is_told_may_end_the_job(self, engine: Engine, tmp_path: Path) -> None:
        """By an error of its own: the rest is not begun, and the engine can work again."""
        paths = [str(tmp_path / str(number)) for number in range(400)]

        def refuse(_: float) -> None:
            raise Conflict("the lock is lost")

        with pytest.raises(Conflict, match="the lock is lost"):
            engine.map("mark slowly", mark_slowly, paths, refuse)
        begun = len(os.listdir(tmp_path))
        assert begun < 400
        assert [result.value for result in engine.map("squares", square_slowly, range(4))] == [0, 1, 4, 9]

    def test_no_value_is_no_error(self, engine: Engine) -> None:
        assert engine.map("nothing", nothing, [1, 2]) == [TaskResult(None)] * 2

    def test_the_same_work_twice(self, engine: Engine, tmp_path: Path) -> None:
        """Each item is done, and a rerun finds it done."""
        paths = [str(tmp_path / str(number)) for number in range(10)]
        assert [result.value for result in engine.map("mark", leave_mark, paths)] == [True] * 10
        assert [result.value for result in engine.map("mark", leave_mark, paths)] == [False] * 10
        assert len(os.listdir(tmp_path)) == 10

    def test_items_that_wait_are_at_work_at_once(self, engine: Engine, tmp_path: Path) -> None:
        """In one process: each core of a cluster has several calls of the store on their way."""
        found = engine.map("wait", partial(company, folder=str(tmp_path)), range(40))
        assert max(result.value or 0 for result in found) > 1
        gathered = engine.gather("wait", partial(gathered_company, folder=str(tmp_path)), range(40))
        looks = engine.over("wait", [gathered], partial(looking_company, folder=str(tmp_path)))
        for which in (0, 1):
            assert max(result.value[which] for result in looks if result.value) > 1
        assert len(looks) == 40

    def test_no_items(self, engine: Engine) -> None:
        assert engine.map("none", refuse_seven, []) == []

    def test_values_are_gathered_by_key(self, engine: Engine) -> None:
        """From all items, also twice over; a key that only one of them has counts, and None is no result."""
        some = engine.gather("letters", letters, ["ab", "ac", "ab"])
        more = engine.gather("letters", letters, ["d", "a"])
        expected = {"a": [["ab", "ab", "ac"], ["a"]], "c": [["ac"], []], "d": [[], ["d"]]}
        for _ in range(2):
            found = engine.over("words", [some, more], words_of)
            assert {result.error for result in found} == {None}
            assert dict(result.value for result in found if result.value is not None) == expected
        assert dict(result.value for result in engine.over("words", [more], words_of) if result.value) == {
            "a": [["a"]],
            "d": [["d"]],
        }

    def test_values_of_the_driver_are_kept_by_key_too(self, engine: Engine) -> None:
        some, more = engine.gather("letters", letters, ["ac"]), engine.keep([("a", "x"), ("d", "y"), ("a", "z")])
        found = engine.over("words", [some, more, more], words_of)
        assert dict(result.value for result in found if result.value is not None) == {
            "a": [["ac"], ["x", "z"], ["x", "z"]],
            "c": [["ac"], [], []],
            "d": [[], ["y"], ["y"]],
        }

    def test_an_error_while_gathering_is_one_of_each_look(self, engine: Engine) -> None:
        """Else what was gathered would look whole."""
        kept = engine.gather("letters", letters, ["ab", "refused", "c"])
        for _ in range(2):
            found = engine.over("words", [kept], words_of)
            assert [result.error for result in found if result.error is not None] == ["this word is refused"]

    def test_a_single_items_values_are_all_kept_and_its_error_is_told(self, engine: Engine) -> None:
        """They come as they are made."""
        kept = engine.gather("letters", letters, ["abc"])
        found = engine.over("words", [kept], words_of)
        assert sorted(result.value[0] for result in found if result.value is not None) == ["a", "c"]
        refused = engine.over("words", [engine.gather("letters", refuse_at_once, ["a"])], words_of)
        assert [result.error for result in refused] == ["refused before the first value"]
        for item, said in ((["refused"], "this word is refused"), (["bc!"], "a sign")):
            errors = engine.over("words", [engine.gather("letters", letters_until_a_sign, item)], words_of)
            assert [result.error for result in errors if result.error is not None] == [said]
        with pytest.raises(EngineFailed, match="has no module no_such_module"):
            engine.over("words", [engine.gather("letters", letters_of_a_module, ["ab"])], words_of)

    def test_an_error_at_one_key_does_not_stop_the_others(self, engine: Engine) -> None:
        found = engine.over("refuse", [engine.gather("letters", letters, ["abc"])], refuse_a)
        assert sorted(str(result.error or result.value) for result in found) == ["a is refused", "b", "c"]

    def test_a_module_that_a_look_lacks_is_the_engines_failure(self, engine: Engine) -> None:
        with pytest.raises(EngineFailed, match="has no module no_such_module"):
            engine.over("lack", [engine.gather("letters", letters, ["a"])], lack_a_module_at)

    def test_much_is_gathered(self, engine: Engine) -> None:
        """Some of it on the disk."""
        found = engine.over("lengths", [engine.gather("many", many, range(9))], lengths)
        assert sorted(result.value or () for result in found) == [(f"key {number}", 3_000_000) for number in range(3)]

    def test_what_another_engine_has_gathered_is_brought_here(self, engine: Engine) -> None:
        """In both directions; no value is lost."""
        other = LocalEngine(1)
        words, more = ["ab", "ac", "ab"], [("a", "x"), ("a", "z"), ("d", "y")]
        expected = {"a": [["ab", "ab", "ac"], ["x", "z"]], "c": [["ac"], []], "d": [[], ["y"]]}
        for one, two in ((engine, other), (other, engine)):
            gathered = [one.gather("letters", letters, words), two.keep(more)]
            for end in (one, two):
                found = end.over("words", gathered, words_of)
                assert dict(result.value for result in found if result.value is not None) == expected
            assert sorted(one.pairs(gathered[0])) == sorted(pair for word in words for pair in letters(word))

    def test_what_lacks_a_value_is_not_brought_anywhere(self, engine: Engine) -> None:
        kept = engine.gather("letters", letters, ["ab", "refused", "c"])
        with pytest.raises(EngineFailed, match="this word is refused"):
            Elsewhere().over("words", [kept], words_of)

    def test_nothing_is_gathered(self, engine: Engine) -> None:
        assert engine.over("words", [engine.gather("letters", letters, [])], words_of) == []
