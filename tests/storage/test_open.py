"""From a URI to a storage."""

from pathlib import Path

import pytest

from hudictl.errors import Unsupported, UsageError
from hudictl.storage import elsewhere
from hudictl.storage.local import LocalStorage
from hudictl.storage.open import open_storage


@pytest.mark.parametrize(
    ("uri", "root"),
    [
        ("/data/t", "/data/t"),
        ("/data/t/", "/data/t"),
        ("file:///data/t", "/data/t"),
        ("file:/data/t/", "/data/t"),
        ("file://localhost/data/t", "/data/t"),
        ("file:///data/a%20b", "/data/a%20b"),
        ("file:///data/a#b?c=%3D d", "/data/a#b?c=%3D d"),
        ("/data/a#b?c", "/data/a#b?c"),
        ("/data/a%20b", "/data/a%20b"),
        ("/data/p=1:2/t", "/data/p=1:2/t"),
    ],
)
def test_local_uris(uri: str, root: str) -> None:
    """Paths and file: URIs are the same table; what a name may hold is taken to the letter, as Hadoop does."""
    store = open_storage(uri, ".tmp")
    assert isinstance(store, LocalStorage)
    assert store.uri == f"file://{root}"
    assert store.absolute("") == root
    assert store.absolute("p/f") == f"{root}/p/f"


@pytest.mark.parametrize("uri", ["foo://bar/x", "FILE:///x"])
def test_a_scheme_of_no_store(uri: str) -> None:
    with pytest.raises(Unsupported, match=f"no store for {uri.partition(':')[0]}"):
        open_storage(uri, ".tmp")


def test_a_relative_path_in_a_folder_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(UsageError, match="the working folder is gone"):
        open_storage("lake/t", ".tmp")


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors have another working directory."""
    monkeypatch.chdir(tmp_path)
    assert open_storage("lake/t", ".tmp").absolute("") == str(tmp_path / "lake/t")


@pytest.mark.parametrize(
    "uri", ["", "file://host/data/t", "file://data", "file:", "s3://ann:word@b/t", "hdfs://a:b@h/t"]
)
def test_uris_that_name_no_place(uri: str) -> None:
    with pytest.raises(UsageError):
        open_storage(uri, ".tmp")


@pytest.mark.parametrize("uri", ["s3a:///b/t", "s3a:/b/t", "s3a://", "s3:", "gs:///b/t", "abfss:///t", "oss:///b/t"])
def test_a_uri_of_an_object_store_without_a_bucket(uri: str) -> None:
    """fsspec would find a table behind three slashes; Hudi's writers would not find the files of its plans."""
    with pytest.raises(UsageError, match="has no bucket"):
        open_storage(uri, ".tmp")


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("s3a://b/t", "s3://b/t", False),
        ("s3a://b/t", "s3a://other/t", True),
        ("s3a://b/t", "gs://b/t", True),
        ("hdfs://lake/t", "webhdfs://node:9870/t", False),
        ("hdfs://lake/t", "hdfs://lake/u", True),
        ("hdfs://lake/t", "s3a://b/t", True),
        ("file:/data/t", "file:///data/t", False),
        ("file:/data/t", "file:///data/u", True),
        # A mount, and names of stores that hudictl does not know.
        ("s3a://b/t", "file:///mnt/b/t", False),
        ("viewfs://lake/t", "hdfs://lake/u", False),
        ("/data/t", "s3a://b/t", False),
        ("/data/t", "file:///data/t", False),
        ("/data/t", "file:///data/u", True),
        ("/data/t", "hdfs://lake/data/t", False),
        ("/data/t", "hdfs://lake/data/u", True),
    ],
)
def test_folders_that_surely_differ(one: str, other: str, found: bool) -> None:
    assert elsewhere(one, other) == found


def test_a_link_is_the_folder_that_it_names(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "t")
    assert not elsewhere(f"file:{link}", f"file://{tmp_path}/t")
