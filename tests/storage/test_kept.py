"""What a bucket keeps of deleted objects."""

import uuid

import pytest

from hudictl.storage import Storage, open_storage
from tests.s3 import BUCKET, S3, Application, Environment, Start


@pytest.fixture
def opened(s3: S3) -> Storage:
    return open_storage(f"{s3.root}/{uuid.uuid4()}", ".tmp", s3.options)


def test_versions_of_deleted_objects_are_told(s3: S3, opened: Storage) -> None:
    """Where the bucket has them now."""
    for status, told in (("Enabled", "keeps deleted objects as versions"), ("Suspended", None)):
        s3.backend.put_bucket_versioning(BUCKET, status)
        assert (told or "") in str(opened.keeps_deleted())
        assert (opened.keeps_deleted() is None) == (told is None)


def test_who_may_not_ask_for_versions_works_all_the_same(s3: S3, opened: Storage) -> None:
    def denied(environment: Environment, start: Start, application: Application) -> list[bytes] | None:
        if "versioning" not in environment["QUERY_STRING"]:
            return None
        start("403 Forbidden", [])
        return [b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"]

    s3.backend.put_bucket_versioning(BUCKET, "Enabled")
    try:
        with s3.interfering(denied):
            assert opened.keeps_deleted() is None
            opened.create("f", b"")
    finally:
        s3.backend.put_bucket_versioning(BUCKET, "Suspended")
