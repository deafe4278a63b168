"""What every Storage promises to those who move and copy files in it."""

from abc import ABC, abstractmethod

import pytest

from hudictl.storage import Storage


class MoveContract(ABC):
    """A part of the contract of writers."""

    @abstractmethod
    def put_behind(self, path: str, body: bytes) -> None:
        """Another program writes a file."""

    @abstractmethod
    def protect(self, path: str) -> None:
        """Nobody may delete a file."""

    def test_move_files(self, empty: Storage) -> None:
        """Into folders that are made; an absent one is no error, and what is at the target stays."""
        for name in ("a", "b", "c"):
            empty.create(f"from/{name}", name.encode())
        empty.create("to/here/c", b"before")
        moves = [(f"from/{name}", f"to/here/{name}") for name in ("a", "b", "c", "absent")]
        for _ in range(2):
            outcomes = empty.move_files(moves)
            assert not [outcome for outcome in outcomes if outcome.error is not None]
            assert {outcome.path for outcome in outcomes} <= {source for source, _ in moves}
            assert [empty.stat(source) for source, _ in moves] == [None] * 4
            assert [empty.read(f"to/here/{name}") for name in ("a", "b", "c")] == [b"a", b"b", b"before"]

    def test_move_files_over_others(self, empty: Storage) -> None:
        empty.create("from/a", b"new")
        empty.create("to/a", b"old")
        for _ in range(2):
            assert not [entry for entry in empty.move_files([("from/a", "to/a")], over=True) if entry.error is not None]
            assert (empty.stat("from/a"), empty.read("to/a")) == (None, b"new")

    def test_move_files_of_which_one_cannot_go(self, empty: Storage) -> None:
        for name in ("a", "b"):
            self.put_behind(f"from/{name}", name.encode())
        self.protect("from/b")
        outcomes = empty.move_files([("from/a", "to/a"), ("from/b", "to/b")])
        (failed,) = [outcome for outcome in outcomes if outcome.error is not None]
        assert failed.path == "from/b"
        assert [entry.name for entry in empty.list("from")] == ["b"]
        assert empty.read("to/a") == b"a"

    def test_copy_file(self, empty: Storage) -> None:
        """What is replaced later is another file; a copy that is there stays."""
        empty.create("f", b"first")
        empty.copy_file("f", "kept/f")
        empty.replace("f", b"second")
        empty.copy_file("f", "kept/f")
        assert (empty.read("f"), empty.read("kept/f")) == (b"second", b"first")
        with pytest.raises(FileNotFoundError):
            empty.copy_file("absent", "kept/absent")
