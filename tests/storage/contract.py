"""What every Storage promises: to readers, to writers, and, where it creates exclusively, to two at once."""

import multiprocessing
import pickle
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.storage import Folders, Storage, base, read_whole
from hudictl.storage.azure import AzureStorage
from hudictl.storage.gcs import GcsStorage
from hudictl.storage.s3 import S3Storage
from hudictl.storage.swap import Swapping, Versioned, read_version, swap
from tests.storage.move_contract import MoveContract

FILES = {"a": b"0123456789", "folder/b": b"", "folder/sub/c": b"c", "folder/Z": b"zz", "folder/.hidden": b"."}
ROUNDS = 10
NAMES = [
    "with space",
    "100%25.parquet",
    "a#b",
    "a+b&c",
    "p=1:2",
    "p;q=1",
    "q?x=3",
    "it's",
    "[a]*{b}",
    "tilde~",
    "größe-\u6771\u4eac-\U0001f600",
    ".f_2026.log.1_0-1-0",
]


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

    def test_above(self, store: Storage) -> None:
        """Folder by folder to the top, and down again."""
        inner = store.below("folder/sub")
        above = inner.above()
        assert above is not None
        assert (above.uri, above.read("b")) == (store.below("folder").uri, b"")
        base = above.above()
        assert base is not None
        assert (base.uri, base.read("a"), base.below("folder/sub").uri) == (store.uri, FILES["a"], inner.uri)
        folders = 0
        while base is not None:
            base, last = base.above(), base
            folders += 1
            assert folders < 20
        assert last.list("")

    @pytest.mark.parametrize("path", ["nowhere", "a", "folder/b"])
    def test_list_what_is_no_folder(self, store: Storage, path: str) -> None:
        """Absent, or a file."""
        with pytest.raises(FileNotFoundError):
            store.list(path)

    def test_stat(self, store: Storage) -> None:
        found = store.stat("folder/Z")
        assert found is not None
        assert (found.name, found.is_dir, found.size) == ("Z", False, 2)

    @pytest.mark.parametrize("path", ["", "folder", "folder/sub"])
    def test_stat_is_of_files_alone(self, store: Storage, path: str) -> None:
        assert store.has_folder(path)
        assert store.stat(path) is None

    @pytest.mark.parametrize("path", ["a", "folder/Z", "fold", "folder/su"])
    def test_a_file_and_the_beginning_of_a_name_are_no_folders(self, store: Storage, path: str) -> None:
        assert not store.has_folder(path)

    @pytest.mark.parametrize("path", ["nowhere", "folder/nowhere", "nowhere/at/all"])
    def test_absent(self, store: Storage, path: str) -> None:
        """No status, and no bytes."""
        assert store.stat(path) is None
        assert not store.has_folder(path)
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

    @pytest.mark.parametrize("few", [4, 10, 100])
    def test_read_whole(self, store: Storage, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
        """No more than the caller expects, also of a file that is large; a limit far above the size costs nothing."""
        monkeypatch.setattr(base, "_FEW", few)
        for path in ("a", "folder/b"):
            assert read_whole(store, path, 10) == read_whole(store, path, 2**31 - 1) == FILES[path]
        with pytest.raises(StorageFailed, match="a has 10 bytes: of such a file hudictl reads at most 9"):
            read_whole(store, "a", 9)
        with pytest.raises(FileNotFoundError):
            read_whole(store, "nowhere", 9)

    def test_a_folder_is_no_file(self, store: Storage) -> None:
        with pytest.raises((StorageFailed, FileNotFoundError)):
            store.read("folder")


class WriteContract(MoveContract):
    """Subclasses make an empty storage, and change files behind its back."""

    names: Sequence[str] = NAMES
    absent_meanwhile = False
    """Whether a file may be absent for a moment while it is replaced."""

    @pytest.fixture
    @abstractmethod
    def empty(self) -> Storage:
        """A storage under test."""

    @abstractmethod
    def put_behind(self, path: str, body: bytes) -> None:
        """Another program writes a file."""

    @abstractmethod
    def drop_behind(self, path: str) -> None:
        """Another program deletes a file."""

    @abstractmethod
    def set_time(self, path: str, moment: float) -> None:
        """Sets a file's modification time, in epoch seconds."""

    @abstractmethod
    def protect(self, path: str) -> None:
        """Makes the deletion of one file fail."""

    def test_nothing_is_answered_from_a_cache(self, empty: Storage) -> None:
        """A writer's file is listed and seen at once, its new bytes are read, and its deletion is noticed."""
        empty.create("p/mine", b"1")
        for body in (b"theirs", b"theirs, longer"):
            self.put_behind("p/theirs", body)
            assert [(entry.name, entry.size) for entry in empty.list("p")] == [("mine", 1), ("theirs", len(body))]
            assert empty.read("p/theirs") == body
            found = empty.stat("p/theirs")
            assert found is not None
            assert found.size == len(body)
        self.drop_behind("p/theirs")
        assert [entry.name for entry in empty.list("p")] == ["mine"]
        assert empty.stat("p/theirs") is None
        with pytest.raises(FileNotFoundError):
            empty.read("p/theirs")

    def test_create(self, empty: Storage) -> None:
        """In a folder that need not be there; another's file stays as it is."""
        empty.create("a/b/f", b"first")
        empty.create("a/b/empty", b"")
        for path in ("a/b/f", "a/b/empty"):
            with pytest.raises(FileExistsError):
                empty.create(path, b"second")
        assert (empty.read("a/b/f"), empty.read("a/b/empty")) == (b"first", b"")

    @pytest.mark.parametrize("size", [0, 5, base.PIECE_BYTES, 2 * base.PIECE_BYTES + 5])
    def test_create_from_pieces(self, empty: Storage, size: int) -> None:
        """And copied into the same store, whole or the first part; another's file stays as it is."""
        body = bytes(range(251)) * (size // 251 + 1)
        pieces = [body[:size][start : start + base.PIECE_BYTES] for start in range(0, size, base.PIECE_BYTES)]
        empty.create_from("from/a/f", iter(pieces or [b""]), size)
        source, target = empty.below("from"), empty.below("to")
        target.copy_from(source, "a/f", size, grows=False)
        assert empty.read("to/a/f") == body[:size]
        # The same bytes may count as created: a reply may have been lost.
        target.replace("a/f", b"another's")
        with pytest.raises(FileExistsError):
            target.copy_from(source, "a/f", size, grows=False)
        assert empty.read("to/a/f") == b"another's"
        for other in [[piece[::-1] for piece in pieces]] if pieces else []:
            with pytest.raises(FileExistsError):
                empty.create_from("from/a/f", iter(other), size)

    @pytest.mark.parametrize("size", [5, base.PIECE_BYTES + 5])
    def test_a_file_that_changes_is_not_copied(self, empty: Storage, size: int) -> None:
        """It has grown, which may be allowed; it is shorter, or gone."""
        source, target = empty.below("from"), empty.below("to")
        source.create("f", b"x" * (size + 1))
        for path, listed, grows in (("f", size, False), ("f", size + 2, True), ("g", 1, True)):
            with pytest.raises(Conflict):
                target.copy_from(source, path, listed, grows=grows)
            assert target.stat(path) is None
        if not isinstance(empty, S3Storage):
            # Copied in the store itself, a file is whole.
            target.copy_from(source, "f", size, grows=True)
            assert target.read("f") == b"x" * size

    def test_below(self, empty: Storage) -> None:
        """A folder as a storage of its own: each sees what the other makes, in its own words."""
        inner = empty.below("table/inside")
        inner.create("p/f", b"f")
        inner.replace("g", b"g")
        empty.create("table/inside/h", b"h")
        assert (empty.read("table/inside/p/f"), inner.read("h")) == (b"f", b"h")
        assert [entry.name for entry in inner.list("")] == ["g", "h", "p"]
        assert inner.absolute("p/f") == empty.absolute("table/inside/p/f")
        assert (inner.stat("table/inside/h"), inner.uri) == (None, f"{empty.uri}/table/inside")
        assert [outcome.error for outcome in inner.delete(["p/f", "absent"])] == [None, None]
        assert empty.stat("table/inside/p/f") is None
        with pytest.raises(FileExistsError):
            inner.create("h", b"other")

    def test_replace(self, empty: Storage) -> None:
        """What is there, and what is not."""
        for body in (b"one", b"", b"three"):
            empty.replace("f", body)
            assert empty.read("f") == body

    def test_replace_is_atomic(self, empty: Storage) -> None:
        """A reader never sees a half, or none, or a mixture."""
        bodies = {bytes([65 + number]) * 100_000 for number in range(4)}
        empty.create("f", b"A" * 100_000)
        stop, seen = threading.Event(), set()

        def read() -> None:
            while not stop.is_set():
                try:
                    seen.add(empty.read("f"))
                except FileNotFoundError:
                    if not self.absent_meanwhile:
                        seen.add(b"nothing")

        thread = threading.Thread(target=read)
        thread.start()
        try:
            for body in sorted(bodies) * 10:
                empty.replace("f", body)
        finally:
            stop.set()
            thread.join()
        assert seen <= bodies
        assert empty.read("f") == b"D" * 100_000

    def test_touch(self, empty: Storage) -> None:
        """Now, with the bytes that it has, and never a new file."""
        empty.create("f", b"x")
        self.set_time("f", 1_000_000_000)
        empty.touch("f")
        found = empty.stat("f")
        assert found is not None
        assert abs(found.modified_ms / 1000 - time.time()) < 60
        assert empty.read("f") == b"x"
        with pytest.raises(FileNotFoundError):
            empty.touch("absent")
        assert empty.stat("absent") is None

    def test_delete_a_thousand_of_which_one_fails(self, empty: Storage) -> None:
        """An answer for each path, in order: the failing one's with its reason. The others are gone; absent is gone."""
        names = [f"part 1/f{number}.parquet" for number in range(1001)]
        for name in names:
            self.put_behind(name, b"")
        self.protect(names[500])
        for _ in range(2):
            outcomes = empty.delete(names)
            assert [outcome.path for outcome in outcomes] == names
            (failed,) = [outcome for outcome in outcomes if outcome.error is not None]
            assert failed.path == names[500]
            assert failed.error
            assert [entry.name for entry in empty.list("part 1")] == ["f500.parquet"]

    def test_delete_nothing(self, empty: Storage) -> None:
        assert list(empty.delete([])) == []

    def test_only_an_empty_folder_is_removed(self, empty: Storage) -> None:
        """Where folders exist by themselves; an absent one is no error."""
        if not isinstance(empty, Folders):
            pytest.skip("a store without folders of their own")
        empty.create("a/b/f", b"x")
        empty.remove_empty("a/b")
        assert empty.read("a/b/f") == b"x"
        empty.delete(["a/b/f"])
        for folder in ("a/b", "a/b", "a"):
            empty.remove_empty(folder)
        assert not empty.has_folder("a")

    def test_set_time(self, empty: Storage) -> None:
        if not isinstance(empty, Folders):
            pytest.skip("the store gives each file the time of its writing")
        empty.create("f", b"x")
        empty.set_time("f", 1_700_000_000_123)
        assert (found := empty.stat("f")) is not None
        assert found.modified_ms == 1_700_000_000_123
        with pytest.raises(FileNotFoundError):
            empty.set_time("absent", 1)

    def test_delete_folder(self, empty: Storage) -> None:
        """With all below it, and no neighbour whose name begins alike; an absent one is no error."""
        for path in ("a/f", "a/b/c/f", "ab/f", "a.b", "c/f"):
            empty.create(path, b"")
        for _ in range(2):
            empty.delete_folder("a")
            assert empty.stat("a") is None
            assert {"a", "a.b", "ab", "c"} & {entry.name for entry in empty.list("")} == {"a.b", "ab", "c"}

    def test_delete_folder_whose_name_is_a_pattern(self, empty: Storage) -> None:
        """No other one that the pattern finds."""
        for path in ("p*/f", "p*/sub/f", "pq/f", "[a]/f", "a/f", "q?/f", "qr/f"):
            empty.create(path, b"")
        for folder in ("p*", "[a]", "q?"):
            empty.delete_folder(folder)
        folders = {"p*", "pq", "[a]", "a", "q?", "qr"}
        assert folders & {entry.name for entry in empty.list("")} == {"a", "pq", "qr"}

    def test_move_folder(self, empty: Storage) -> None:
        """In one step, or not at all; without a source nothing is done."""
        empty.create("a/b/f", b"x")
        moved = empty.move("a", "c")
        assert (not empty.has_folder("a"), empty.stat("c/b/f") is not None) == (moved, moved)
        assert not empty.move("absent", "d")
        assert empty.stat("d") is None

    def test_names_are_taken_to_the_letter(self, empty: Storage) -> None:
        """Of files, and of the folder that they are in."""
        for name in self.names:
            empty.create(f"in/{name}/{name}", b"body")
        assert [entry.name for entry in empty.list("in")] == sorted(self.names)
        for name in self.names:
            path = f"in/{name}/{name}"
            assert [entry.name for entry in empty.list(f"in/{name}")] == [name]
            found = empty.stat(path)
            assert found is not None
            assert (found.name, empty.read(path, 1, 2)) == (name, b"od")
            empty.replace(path, b"new")
            assert empty.read(path) == b"new"
        paths = [f"in/{name}/{name}" for name in self.names]
        assert [outcome.error for outcome in empty.delete(paths)] == [None] * len(self.names)
        assert [empty.stat(path) for path in paths] == [None] * len(self.names)


class ExclusiveContract(WriteContract):
    """For the storages on which processes meet."""

    def test_it_travels_to_executors(self, empty: Storage) -> None:
        """As a pickle, into a process that was not forked from this one."""
        empty.create("f", b"from here")
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            assert pool.apply(read_and_create, (pickle.dumps(empty),)) == b"from here"
        assert empty.read("g") == b"from there"

    def test_create_raced_by_threads(self, empty: Storage) -> None:
        """Exactly one of many wins each name, and the file holds the winner's body whole."""
        for number in range(10):
            barrier, winners = threading.Barrier(6), []

            def attempt(body: bytes, number: int = number, barrier: threading.Barrier = barrier) -> None:
                barrier.wait()
                try:
                    empty.create(f"f{number}", body)
                except FileExistsError:
                    return
                winners.append(body)  # noqa: B023

            threads = [threading.Thread(target=attempt, args=(bytes([65 + i]) * 5000,)) for i in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [empty.read(f"f{number}")] == winners

    def test_create_raced_by_processes(self, empty: Storage) -> None:
        """The same for two processes, each with a storage of its own."""
        context = multiprocessing.get_context("spawn")
        barrier: Barrier = context.Barrier(2)
        answers: multiprocessing.Queue[list[int]] = context.Queue()
        bodies = [b"A" * 5000, b"B" * 5000]
        processes = [
            context.Process(target=race, args=(pickle.dumps(empty), body, barrier, answers)) for body in bodies
        ]
        for process in processes:
            process.start()
        won = [answers.get(timeout=300) for _ in processes]
        for process in processes:
            process.join()
        assert sorted(won[0] + won[1]) == [*range(ROUNDS)]
        assert {empty.read(f"f{number}") for number in range(ROUNDS)} <= set(bodies)


def read_and_create(pickled: bytes) -> bytes:
    store: Storage = pickle.loads(pickled)
    store.create("g", b"from there")
    return store.read("f")


def race(pickled: bytes, body: bytes, barrier: Barrier, answers: "multiprocessing.Queue[Any]") -> None:
    store: Storage = pickle.loads(pickled)
    won = []
    for number in range(ROUNDS):
        barrier.wait(60)
        try:
            store.create(f"f{number}", body)
        except FileExistsError:
            continue
        won.append(number)
    answers.put(won)


SwappingStorage = S3Storage | GcsStorage | AzureStorage


def swapping(store: Storage) -> SwappingStorage:
    """The store, if it can hold a lock."""
    assert isinstance(store, Swapping)
    assert isinstance(store, SwappingStorage)
    return store


class SwapContract:
    """What a lock in a store rests on; ``store`` is an empty folder of it."""

    @pytest.fixture
    def store(self) -> SwappingStorage:
        raise NotImplementedError

    def test_an_absent_object_has_no_version(self, store: SwappingStorage) -> None:
        assert read_version(store, "locks/a lock.json") is None

    def test_an_object_is_created_once(self, store: SwappingStorage) -> None:
        version = swap(store, "locks/a lock.json", b"one", None)
        assert version is not None
        assert swap(store, "locks/a lock.json", b"two", None) is None
        assert read_version(store, "locks/a lock.json") == Versioned(b"one", version)
        assert store.read("locks/a lock.json") == b"one"

    def test_only_the_version_that_was_read_is_replaced(self, store: SwappingStorage) -> None:
        first = swap(store, "f", b"one", None)
        second = swap(store, "f", b"two", first)
        assert second not in (None, first)
        assert swap(store, "f", b"three", first) is None
        assert read_version(store, "f") == Versioned(b"two", second or "")

    def test_a_deleted_object_is_not_replaced(self, store: SwappingStorage) -> None:
        version = swap(store, "f", b"one", None)
        store.delete(["f"])
        assert swap(store, "f", b"two", version) is None
        assert read_version(store, "f") is None
