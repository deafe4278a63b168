"""What the servers keep of deleted objects is told before files are deleted."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from hudictl.storage import Storage
from hudictl.storage.open import open_storage
from tests.stores import fake_gcs, versity
from tests.stores.azurite import Container
from tests.stores.server import Server

pytestmark = pytest.mark.stores


def opened(server: Server) -> Storage:
    """A table, by what hudictl knows one."""
    prefix = f"kept/{uuid.uuid4()}"
    server.put({f"{prefix}/.hoodie/hoodie.properties": b""})
    return open_storage(f"{server.root}/{prefix}", ".tmp", server.options)


@pytest.fixture
def versioned(versitygw: Server) -> Iterator[Server]:
    owner = versity.owner(versitygw.endpoint)
    owner.put_bucket_versioning(Bucket=versity.BUCKET, VersioningConfiguration={"Status": "Enabled"})
    yield versitygw
    owner.put_bucket_versioning(Bucket=versity.BUCKET, VersioningConfiguration={"Status": "Suspended"})


def test_no_store_keeps_anything_by_itself(server: Server) -> None:
    assert opened(server).keeps_deleted() is None


def test_versions_of_s3(versioned: Server) -> None:
    """And the deleted object is there among them."""
    store = opened(versioned)
    assert "The bucket lake keeps deleted objects as versions" in str(store.keeps_deleted())
    store.create("f", b"x")
    store.delete(["f"])
    assert store.stat("f") is None
    key = f"{store.uri.removeprefix('s3a://lake/')}/f"
    found = versity.owner(versioned.endpoint).list_object_versions(Bucket=versity.BUCKET, Prefix=key)
    assert [entry["Key"] for entry in found["Versions"]] == [key]


def test_who_may_not_ask_for_versions_works_all_the_same(versioned: Server) -> None:
    versity.allow(versioned.endpoint, GetBucketVersioning="")
    try:
        store = opened(versioned)
        assert store.keeps_deleted() is None
        store.create("f", b"")
    finally:
        versity.allow(versioned.endpoint)


@pytest.mark.full
def test_versions_of_google_cloud_storage(tmp_path: Path) -> None:
    """Only the server in memory has them."""
    pytest.importorskip("gcsfs", reason="the extra gcs is not installed: pip install 'hudictl[gcs]'")
    with fake_gcs.start(tmp_path / "server", "memory") as server:
        store = opened(server)
        assert store.keeps_deleted() is None
        url = f"{server.endpoint}/storage/v1/b/{fake_gcs.BUCKET}"
        requests.patch(url, json={"versioning": {"enabled": True}}, timeout=30).raise_for_status()
        assert "The bucket lake keeps deleted objects as versions" in str(store.keeps_deleted())


def test_soft_delete_of_azure(azure: Server) -> None:
    from azure.storage.blob import BlobServiceClient, RetentionPolicy

    assert isinstance(azure.behind, Container)
    service = BlobServiceClient.from_connection_string(azure.options["connection_string"])
    store = opened(azure)
    service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=True, days=7))
    try:
        assert "keeps deleted objects for 7 days (soft delete)" in str(store.keeps_deleted())
    finally:
        service.set_service_properties(delete_retention_policy=RetentionPolicy(enabled=False))
