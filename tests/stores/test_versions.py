"""Old versions on servers: what a storage promises, and a whole restore with its undo."""

import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hudictl.formats.layouts import OWN
from hudictl.storage import FileVersion
from hudictl.storage.open import open_storage
from hudictl.storage.s3 import S3Storage
from tests import support
from tests.cli.conftest import Tell, _plain, tell
from tests.s3 import BUCKET, S3
from tests.storage.versions_contract import VersionsContract
from tests.stores import versity
from tests.stores.server import Server

__all__ = ["_plain", "tell"]

pytestmark = pytest.mark.stores


@pytest.fixture
def versioned(versitygw: Server) -> Iterator[Server]:
    owner = versity.owner(versitygw.endpoint)
    owner.put_bucket_versioning(Bucket=versity.BUCKET, VersioningConfiguration={"Status": "Enabled"})
    yield versitygw
    owner.put_bucket_versioning(Bucket=versity.BUCKET, VersioningConfiguration={"Status": "Suspended"})
    versity.allow(versitygw.endpoint)


@pytest.fixture
def moto(s3: S3) -> Iterator[S3]:
    s3.backend.put_bucket_versioning(BUCKET, "Enabled")
    yield s3
    s3.backend.put_bucket_versioning(BUCKET, "Suspended")


def opened(server: Server | S3, prefix: str) -> S3Storage:
    store = open_storage(f"{server.root}/{prefix}", ".tmp", server.options)
    assert isinstance(store, S3Storage)
    return store


class TestVersity(VersionsContract):
    """The contract on Versity's gateway, where what comes back gets a new time."""

    keeps_times = False

    @pytest.fixture
    def store(self, versioned: Server) -> S3Storage:
        return opened(versioned, f"versions/{uuid.uuid4()}")

    def expire(self, store: S3Storage, version: FileVersion) -> None:
        bucket, key = store._bucket_and_key(version.path)
        store.filesystem.call_s3("delete_object", Bucket=bucket, Key=key, VersionId=version.version)


@pytest.mark.parametrize("denied", ["ListBucketVersions", "GetObjectVersion", "GetBucketVersioning"])
def test_rights_that_are_missing_are_known_before(versioned: Server, denied: str) -> None:
    store = opened(versioned, f"rights/{uuid.uuid4()}")
    store.create("f", b"x")
    key = "" if "Bucket" in denied else "*"
    versity.allow(versioned.endpoint, **{denied: key})
    found = store.keeps_versions("f")
    assert found is not None
    assert found.why_not


def test_without_the_right_to_remove_a_marker_the_version_is_copied(versioned: Server) -> None:
    store = opened(versioned, f"rights/{uuid.uuid4()}")
    store.create("f", b"x")
    versions = list(store.versions_now(["f"]).values())
    store.delete(["f"])
    versity.allow(versioned.endpoint, DeleteObjectVersion="*")
    assert [outcome.error for outcome in store.bring_back(versions)] == [None]
    assert store.read("f") == b"x"


def test_versions_that_are_suspended_meanwhile(versioned: Server) -> None:
    """A recorded version stays, whatever the bucket is set to when its file is deleted."""
    store = opened(versioned, f"suspended/{uuid.uuid4()}")
    store.create("f", b"x")
    (before,) = versions = list(store.versions_now(["f"]).values())
    owner = versity.owner(versioned.endpoint)
    owner.put_bucket_versioning(Bucket=versity.BUCKET, VersioningConfiguration={"Status": "Suspended"})
    store.delete(["f"])
    assert store.versions_gone(versions) == []
    assert [outcome.error for outcome in store.bring_back(versions)] == [None]
    assert store.versions_now(["f"])["f"].version == before.version


def whole(server: Any, tell: Tell, base: Path, target: str, *, times: bool = True) -> None:
    """Restored with kept files, and undone: versions and times are the old ones, nothing is copied."""
    prefix = f"whole/{uuid.uuid4()}"
    store = opened(server, prefix)
    for path in base.rglob("*"):
        if path.is_file() and not path.name.endswith(".crc"):
            store.replace(path.relative_to(base).as_posix(), path.read_bytes())
    before = seen(store, times)
    common = ("-t", store.uri, "--engine", "local", "--idle", "0s", *server.arguments)
    restoring = ("restore", "--to-instant", target, "--keep-files", *common)
    plan = tell(*restoring, "--plan")
    assert "Kept files stay in the bucket lake as old versions: 0 bytes are copied" in " ".join(plan.out.split())
    said = tell(*restoring, "--yes", "-o", "json")
    assert (said.code, said.err) == (0, "")
    assert seen(store, times) != before
    time = said.json["result"]["undo"]
    assert not store.has_folder(f"{OWN}/undo/{time}/kept")
    said = tell("undo", time, "--yes", *common)
    assert (said.code, said.err) == (0, "")
    assert seen(store, times) == before
    assert not store.has_folder(f"{OWN}/undo")


def seen(store: S3Storage, times: bool) -> dict[str, tuple[str, datetime | None, str]]:
    """Each object of the table: version, time, hash."""
    keys = [entry["Key"] for page in store._pages("") for entry in page.get("Contents", ())]
    paths = (key.removeprefix(store._prefix("")) for key in keys)
    heads = {path: store._head(path) for path in paths if not path.startswith(OWN)}
    return {
        path: (head["VersionId"], head["LastModified"] if times else None, head["ETag"]) for path, head in heads.items()
    }


def test_a_whole_restore_and_its_undo(moto: S3, tell: Tell, tmp_path: Path) -> None:
    """By the command line."""
    base = support.unpack("v9", "cow_flat_nomdt", tmp_path)
    whole(moto, tell, base, sorted(support.facts("v9", "cow_flat_nomdt")["rows"])[1])


def test_a_whole_restore_and_its_undo_on_versity(versioned: Server, tell: Tell, tmp_path: Path) -> None:
    """Of a table without a metadata table: this server refuses to create an object again that was deleted."""
    base = support.unpack("v9", "cow_flat_nomdt", tmp_path)
    whole(versioned, tell, base, sorted(support.facts("v9", "cow_flat_nomdt")["rows"])[1], times=False)
