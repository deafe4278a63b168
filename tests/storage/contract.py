"""What every Storage promises to readers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import pytest

from hudictl.errors import StorageFailed
from hudictl.storage import FileStatus, Storage

FILES = {"a": b"0123456789", "folder/b": b"", "folder/sub/c": b"c", "folder/Z": b"zz", "folder/.hidden": b"."}


class ReadContract(ABC):
    """Subclasses say where the files are."""

    @abstractmethod
    def storage(self, files: Mapping[str, bytes]) -> Storage:
        """A storage that holds these files."""

    @pytest.fixture
    def store(self) -> Storage:
        return self.storage(FILES)

    def test_list(self, store: Storage) -> None:
        """A folder's own entries with their sizes, hidden ones too, sorted by the code points of the name."""
        found = store.list("folder")
        assert [(entry.name, entry.is_dir) for entry in found] == [
            (".hidden", False),
            ("Z", False),
            ("b", False),
            ("sub", True),
        ]
        assert [entry.size for entry in found if not entry.is_dir] == [1, 2, 0]

    def test_list_base(self, store: Storage) -> None:
        """The empty path is the table itself."""
        assert [entry.name for entry in store.list("")] == ["a", "folder"]

    def test_list_absent_folder(self, store: Storage) -> None:
        with pytest.raises(FileNotFoundError):
            store.list("nowhere")

    def test_stat(self, store: Storage) -> None:
        found = store.stat("folder/Z")
        assert found is not None
        assert (found.name, found.is_dir, found.size) == ("Z", False, 2)

    def test_stat_folder(self, store: Storage) -> None:
        found = store.stat("folder/sub")
        assert isinstance(found, FileStatus)
        assert (found.name, found.is_dir) == ("sub", True)

    @pytest.mark.parametrize("path", ["nowhere", "folder/nowhere", "nowhere/at/all"])
    def test_absent(self, store: Storage, path: str) -> None:
        """No status, and no bytes."""
        assert store.stat(path) is None
        with pytest.raises(FileNotFoundError):
            store.read(path)

    @pytest.mark.parametrize(
        ("start", "length", "expected"),
        [
            (0, None, b"0123456789"),
            (3, None, b"3456789"),
            (0, 4, b"0123"),
            (3, 4, b"3456"),
            (8, 100, b"89"),
            (10, 5, b""),
            (4, 0, b""),
            (0, 0, b""),
        ],
    )
    def test_read(self, store: Storage, start: int, length: int | None, expected: bytes) -> None:
        """A range; fewer bytes only at the end of the file."""
        assert store.read("a", start, length) == expected

    def test_read_empty(self, store: Storage) -> None:
        assert store.read("folder/b") == b""

    def test_a_folder_is_no_file(self, store: Storage) -> None:
        with pytest.raises((StorageFailed, FileNotFoundError)):
            store.read("folder")
