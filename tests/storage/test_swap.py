"""Writing one version of an object: the condition, and what a lost reply does not change."""

import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudictl.errors import OutcomeUnknown, StorageFailed
from hudictl.storage import Storage
from hudictl.storage.open import open_storage
from hudictl.storage.swap import LOCK_BYTES, Swapping, Versioned, read_version, swap
from tests.s3 import BUCKET, ONE_TRY, S3, Application, Environment, Start, fail_with
from tests.storage.contract import SwapContract, SwappingStorage, swapping


@pytest.fixture(scope="module")
def bucket(s3: S3) -> Storage:
    store = open_storage(f"s3a://{BUCKET}", ".tmp", s3.options | ONE_TRY)
    store.filesystem.retries = 2  # type: ignore[attr-defined]
    return store


class TestS3(SwapContract):
    """The contract on moto."""

    @pytest.fixture
    def store(self, bucket: Storage) -> SwappingStorage:
        return swapping(bucket.below(str(uuid.uuid4())))


@pytest.mark.parametrize(
    ("uri", "can"),
    [("memory://x/t", False), ("file:///t", False), ("s3://b/t", True), ("s3a://b/t", True), ("s3n://b/t", True)],
)
def test_which_stores_can(uri: str, can: bool) -> None:
    store = open_storage(uri, ".tmp", {"anon": "true"} if uri.startswith("s3") else {})
    assert isinstance(store, Swapping) is can


@pytest.fixture
def store(bucket: Storage) -> SwappingStorage:
    return swapping(bucket.below(str(uuid.uuid4())))


def lose_reply(environment: Environment, start: Start, application: Application) -> Iterator[bytes] | None:
    """The write happens; its client is told that it does not know."""
    if environment["REQUEST_METHOD"] != "PUT":
        return None
    list(application(environment, lambda *_: None))
    return fail_with("503 Service Unavailable", "ServiceUnavailable")(environment, start, application)


def test_a_write_whose_reply_was_lost_is_done(s3: S3, store: SwappingStorage) -> None:
    """The driver tries again, and meets its own object: this is no other process's."""
    with s3.interfering(lose_reply):
        version = swap(store, "f", b"one", None)
    assert read_version(store, "f") == Versioned(b"one", version or "")
    with s3.interfering(lose_reply):
        second = swap(store, "f", b"two", version)
    assert read_version(store, "f") == Versioned(b"two", second or "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("status", "code"),
    [("409 Conflict", "ConditionalRequestConflict"), ("503 Service Unavailable", "SlowDown"), ("429 Busy", "Busy")],
)
def test_a_store_that_asks_to_try_later_is_not_another_owner(s3: S3, store: Storage, status: str, code: str) -> None:
    with s3.interfering(fail_with(status, code, "PUT")), pytest.raises(OutcomeUnknown, match="not known whether"):
        swap(store, "f", b"x", None)
    assert read_version(store, "f") is None


def test_a_write_that_is_refused_is_a_failure(s3: S3, store: SwappingStorage) -> None:
    denied = fail_with("403 Forbidden", "AccessDenied")
    with s3.interfering(denied), pytest.raises(StorageFailed, match="AccessDenied") as caught:
        swap(store, "f", b"x", None)
    assert not isinstance(caught.value, OutcomeUnknown)
    with s3.interfering(denied), pytest.raises(StorageFailed, match="cannot read f"):
        read_version(store, "f")


@pytest.mark.slow
def test_of_two_at_once_one_succeeds(store: SwappingStorage) -> None:
    """Each time, from one version on."""
    version = swap(store, "f", b"0", None)
    both = threading.Barrier(2)

    def work(name: bytes) -> str | None:
        both.wait()
        return swap(store, "f", name, version)

    for turn in range(10):
        with ThreadPoolExecutor(2) as pool:
            answers = [answer for answer in pool.map(work, (b"a%d" % turn, b"b%d" % turn)) if answer]
        assert len(answers) == 1
        version = answers[0]


def test_what_is_too_large_for_a_lock_is_not_read(store: SwappingStorage) -> None:
    store.create("f", b"x" * (LOCK_BYTES + 1))
    with pytest.raises(StorageFailed, match="65,537 bytes: of such a file hudictl reads at most 65,536"):
        read_version(store, "f")
    store.replace("f", b"x" * LOCK_BYTES)
    found = read_version(store, "f")
    assert found is not None
    assert len(found.body) == LOCK_BYTES
