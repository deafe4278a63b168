"""What a storage that keeps versions promises, on the bucket in memory and on servers."""

from abc import ABC, abstractmethod
from dataclasses import replace

import pytest

from hudictl.errors import StorageFailed
from hudictl.storage import FileVersion, delete_all
from hudictl.storage.s3 import S3Storage

STRANGE = "p=1/with space+größe#%25.parquet"


class VersionsContract(ABC):
    """Subclasses make an empty folder of a bucket that keeps versions, and delete one version for ever."""

    keeps_times = True
    """Whether what comes back has its old time, as in S3."""

    @pytest.fixture
    @abstractmethod
    def store(self) -> S3Storage:
        """A storage under test."""

    @abstractmethod
    def expire(self, store: S3Storage, version: FileVersion) -> None:
        """As a rule of the bucket does it."""

    def seen(self, store: S3Storage, path: str) -> FileVersion:
        return store.versions_now([path])[path]

    def test_it_is_known_that_versions_are_kept(self, store: S3Storage) -> None:
        store.create("properties", b"x")
        found = store.keeps_versions("properties")
        assert found is not None
        assert (found.where, found.why_not) == ("the bucket lake", None)

    def test_versions_of_the_files_that_are_there(self, store: S3Storage) -> None:
        store.create("a", b"one")
        store.create("gone", b"")
        store.delete(["gone"])
        (found,) = store.versions_now(["a", "gone", "never"]).values()
        status = store.stat("a")
        assert status is not None
        assert (found.path, found.size, found.modified_ms) == ("a", 3, status.modified_ms)
        store.replace("a", b"two")
        assert self.seen(store, "a").version not in ("", "null", found.version)

    @pytest.mark.parametrize("path", ["a", STRANGE])
    def test_what_is_deleted_comes_back_with_its_version_and_time(self, store: S3Storage, path: str) -> None:
        """Also if it was deleted more than once. A neighbour whose name begins so stays deleted."""
        store.create(path, b"one")
        store.create(f"{path}2", b"another")
        before = self.seen(store, path)
        for _ in range(2):
            delete_all(store, [path, f"{path}2"])
        for _ in range(2):
            assert [outcome.error for outcome in store.bring_back([before])] == [None]
            now = self.seen(store, path)
            assert (now if self.keeps_times else replace(now, modified_ms=before.modified_ms)) == before
        assert store.read(path) == b"one"
        assert store.stat(f"{path}2") is None

    def test_what_was_replaced_is_copied(self, store: S3Storage) -> None:
        """Also if the later one was deleted: it is not seen again. Once more changes nothing."""
        for deleted in (False, True):
            path = f"f{deleted}"
            store.create(path, b"one")
            before = self.seen(store, path)
            store.replace(path, b"another")
            if deleted:
                store.delete([path])
            for _ in range(2):
                assert [outcome.error for outcome in store.bring_back([before])] == [None]
                assert store.read(path) == b"one"
            later = self.seen(store, path)
            assert store.bring_back([before])[0].error is None
            assert self.seen(store, path) == later != before

    def test_a_version_that_is_gone(self, store: S3Storage) -> None:
        """It is known, nothing is changed, and the others come back. A neighbour of the same bytes does not count."""
        for path in ("a", "b"):
            store.create(path, path.encode())
        store.create("a2", b"a")
        versions = list(store.versions_now(["a", "b"]).values())
        store.delete(["a", "b"])
        assert store.versions_gone(versions) == []
        self.expire(store, versions[0])
        assert store.versions_gone(versions) == [("a", "the bucket does not have its old version any more")]
        gone, back = store.bring_back(versions)
        assert (gone.path, gone.error) == ("a", "the bucket does not have its old version any more")
        assert (back.path, back.error, store.read("b")) == ("b", None, b"b")
        assert store.stat("a") is None
        with pytest.raises((FileNotFoundError, StorageFailed)):
            store.read_version_of(versions[0], 10)

    def test_the_bytes_of_a_version(self, store: S3Storage) -> None:
        store.create("a", b"one")
        before = self.seen(store, "a")
        store.replace("a", b"another")
        assert store.read_version_of(before, 10) == b"one"
        with pytest.raises(StorageFailed, match="at most 2"):
            store.read_version_of(before, 2)
