"""The local engine: threads."""

from collections.abc import Iterator

import pytest

from hudictl.engine import local
from hudictl.engine.base import Engine
from hudictl.engine.local import LocalEngine, Spilled
from hudictl.engine.open import open_engine
from hudictl.errors import EngineFailed
from tests.engine.contract import EngineContract


class TestLocalEngine(EngineContract):
    """The contract on threads."""

    @pytest.fixture
    def engine(self) -> Iterator[Engine]:
        engine = open_engine("local")
        yield engine
        engine.close()


def test_a_full_disk_is_the_engines_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 16 with what to do, before anything is changed."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(local.tempfile.SpooledTemporaryFile, "write", full)
    with pytest.raises(EngineFailed, match="No space left on device") as caught:
        LocalEngine().keep(("a", number) for number in range(100))
    assert "TMPDIR" in caught.value.hint


def test_a_temporary_file_that_cannot_be_read_is_the_engines_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a key with fewer values."""

    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    engine = LocalEngine()
    kept = engine.keep([("a", 1)])
    monkeypatch.setattr(local.tempfile.SpooledTemporaryFile, "read", broken)
    with pytest.raises(EngineFailed, match="Input/output error"):
        engine.over("look", [kept], lambda key, found: key)


def test_the_values_of_a_single_item_are_kept_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A savepoint can name more files than memory holds."""
    events: list[str] = []
    add = Spilled.add

    def kept(self: Spilled, key: str, value: object) -> None:
        events.append(f"kept {key}")
        add(self, key, value)

    def made(word: str) -> Iterator[tuple[str, str]]:
        for letter in word:
            events.append(f"made {letter}")
            yield letter, word

    monkeypatch.setattr(Spilled, "add", kept)
    LocalEngine().gather("letters", made, ["abc"])
    assert events == [f"{what} {letter}" for letter in "abc" for what in ("made", "kept")]
