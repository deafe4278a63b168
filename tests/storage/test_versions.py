"""Old versions of a bucket: the contract in memory and on moto, rights, rules, and what a server does not know."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from hudictl.storage import FileVersion, KeepsVersions
from hudictl.storage.open import open_storage
from hudictl.storage.s3 import S3Storage
from tests.s3 import BUCKET, S3
from tests.storage.bucket import Bucket, storage
from tests.storage.versions_contract import VersionsContract


class TestInMemory(VersionsContract):
    """The contract on the bucket in memory, whose listings have few entries a page."""

    @pytest.fixture
    def store(self) -> S3Storage:
        self.bucket = Bucket(page=1)
        return storage(self.bucket)

    def expire(self, store: S3Storage, version: FileVersion) -> None:
        self.bucket.call_s3("delete_object", Bucket="", Key=f"t/{version.path}", VersionId=version.version)


@pytest.mark.slow
class TestMoto(VersionsContract):
    """The contract on moto."""

    @pytest.fixture
    def store(self, s3: S3) -> Iterator[S3Storage]:
        s3.backend.put_bucket_versioning(BUCKET, "Enabled")
        opened = open_storage(f"{s3.root}/versions/{uuid.uuid4()}", ".tmp", s3.options)
        assert isinstance(opened, S3Storage)
        yield opened
        s3.backend.put_bucket_versioning(BUCKET, "Suspended")

    def expire(self, store: S3Storage, version: FileVersion) -> None:
        bucket, key = store._bucket_and_key(version.path)
        store.filesystem.call_s3("delete_object", Bucket=bucket, Key=key, VersionId=version.version)


@pytest.fixture
def bucket() -> Bucket:
    return Bucket()


def test_what_is_older_than_the_versioning_has_no_version_that_stays(bucket: Bucket) -> None:
    """A deletion while versions are suspended would be for ever."""
    bucket.status = "Suspended"
    store = storage(bucket)
    store.create("a", b"")
    assert [entry.version for entry in store.versions_now(["a"]).values()] == [""]


@pytest.mark.parametrize("status", ["Suspended", ""])
def test_a_bucket_without_versions(bucket: Bucket, status: str) -> None:
    bucket.status = status
    store = storage(bucket)
    store.create("a", b"")
    assert store.keeps_versions("a") is None


@pytest.mark.parametrize("denied", ["get_bucket_versioning", "list_object_versions", "head_object_version"])
def test_what_may_not_be_asked_or_read_is_not_relied_upon(bucket: Bucket, denied: str) -> None:
    """Before anything is deleted; the reason is told."""
    store = storage(bucket)
    store.create("a", b"")
    bucket.denied = frozenset({denied})
    found = store.keeps_versions("a")
    assert found is not None
    assert found.why_not is not None
    assert "Access Denied" in found.why_not


def test_a_marker_that_may_not_be_removed(bucket: Bucket) -> None:
    """As with MFA, or without the right: the version is copied."""
    store = storage(bucket)
    store.create("a", b"one")
    (before,) = store.versions_now(["a"]).values()
    store.delete(["a"])
    bucket.denied = frozenset({"delete_object"})
    assert [outcome.error for outcome in store.bring_back([before])] == [None]
    assert store.read("a") == b"one"
    assert store.versions_now(["a"])["a"].version != before.version


def test_only_markers_are_removed(bucket: Bucket) -> None:
    """Never a version, whatever is above the one to bring back."""
    store = storage(bucket)
    store.create("a", b"one")
    (before,) = store.versions_now(["a"]).values()
    for body in (b"two", None, b"three", None):
        bucket.put("t/a", body)
    assert store.bring_back([before])[0].error is None
    assert [entry.body for entry in bucket.stacks["t/a"]] == [b"one", None, b"three", None, b"two", b"one"]


def test_a_version_in_an_archive_cannot_come_back(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule may have put it there: readers could not read it."""
    store = storage(bucket)
    store.create("a", b"one")
    versions = list(store.versions_now(["a"]).values())
    store.delete(["a"])
    listed = bucket._list_object_versions

    def archived(**asked: Any) -> dict[str, Any]:
        answer = listed(**asked)
        for entry in answer["Versions"]:
            entry["StorageClass"] = "GLACIER"
        return answer

    monkeypatch.setattr(bucket, "_list_object_versions", archived)
    ((path, reason),) = store.versions_gone(versions)
    assert (path, "storage class GLACIER" in reason) == ("a", True)


def rule(days: int | None, prefix: str = "", **more: Any) -> dict[str, Any]:
    expires = {} if days is None else {"NoncurrentVersionExpiration": {"NoncurrentDays": days}}
    return {"Status": "Enabled", "Filter": {"Prefix": prefix}, **expires, **more}


@pytest.mark.parametrize(
    ("rules", "days"),
    [
        ([], None),
        ([rule(None)], None),
        ([rule(30), rule(7)], 7),
        ([rule(30, "lake/t/"), rule(7, "another/")], 30),
        ([rule(5, "lake/t/part-0/")], 5),
        ([rule(5, Status="Disabled")], None),
        ([rule(30), rule(3) | {"Filter": {"And": {"Prefix": "lake/", "Tags": []}}}], 3),
        ([rule(30), {**rule(2), "Filter": {}, "Prefix": "another/"}], 30),
        ([rule(30), {**rule(2), "Filter": {}, "Prefix": "lake"}], 2),
    ],
)
def test_how_long_the_rules_of_the_bucket_keep_old_versions(
    bucket: Bucket, rules: list[dict[str, Any]], days: int | None
) -> None:
    """The shortest time of a rule that may be for a part of the table."""
    store = storage(bucket, "lake/t")
    store.create("a", b"")
    bucket.rules = rules
    assert store.keeps_versions("a") == KeepsVersions("the bucket lake", None, days)


def test_rules_that_may_not_be_read_are_not_known(bucket: Bucket) -> None:
    store = storage(bucket)
    store.create("a", b"")
    bucket.rules, bucket.denied = [rule(1)], frozenset({"get_bucket_lifecycle_configuration"})
    assert store.keeps_versions("a") == KeepsVersions("the bucket lake", None, None)


def test_a_copy_of_which_the_size_is_wrong(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    store = storage(bucket)
    store.create("a", b"one")
    (before,) = store.versions_now(["a"]).values()
    store.replace("a", b"another")
    monkeypatch.setattr(bucket, "_copy_object", lambda **_: {})
    assert store.bring_back([before])[0].error == "the copy of its old version has another size"
