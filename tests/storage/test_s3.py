"""S3, by moto: the contracts, requests that are counted, slow and forgetful stores, versions of deleted objects."""

import gc
import threading
import time
import uuid
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.utils import parse_timestamp
from hypothesis import given
from hypothesis.strategies import datetimes

from hudictl.engine.work import AT_ONCE
from hudictl.errors import OutcomeUnknown, StorageFailed, UsageError
from hudictl.storage import Storage
from hudictl.storage.open import open_storage
from hudictl.storage.remote import RemoteStorage
from hudictl.storage.s3 import S3Storage
from hudictl.storage.s3_names import _moment
from tests.s3 import BUCKET, S3, Application, Environment, Start
from tests.storage.contract import ExclusiveContract, ReadContract

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def opened(s3: S3) -> S3Storage:
    """The bucket; a client takes half a second to make."""
    store = open_storage(f"s3a://{BUCKET}", ".tmp", s3.options)
    assert isinstance(store, S3Storage)
    return store


def below(opened: S3Storage, prefix: str) -> S3Storage:
    return replace(opened, base=f"{opened.base}/{prefix}", root=f"{opened.root}/{prefix}")


class TestS3Reads(ReadContract):
    """The read contract on S3, by Hadoop's name for it."""

    @pytest.fixture(autouse=True)
    def _server(self, s3: S3, opened: S3Storage) -> None:
        self.s3, self.opened = s3, opened

    def storage(self, files: Mapping[str, bytes]) -> Storage:
        prefix = str(uuid.uuid4())
        self.s3.put({f"{prefix}/{path}": body for path, body in files.items()})
        return below(self.opened, prefix)


@pytest.mark.parametrize("name", ["a?versionId=1", "a?versionId=", "a?b", "a#1", "p?versionId=2/a"])
def test_a_name_with_the_signs_of_a_version_is_that_name(s3: S3, opened: S3Storage, name: str) -> None:
    """s3fs would write and delete the file ``a``."""
    store = below(opened, str(uuid.uuid4()))
    for other in ("a", "p"):
        store.create(other, b"other")
    store.create(name, b"one")
    store.replace(name, b"two")
    found = store.stat(name)
    assert (store.read(name), found and found.size) == (b"two", 3)
    assert [outcome.error for outcome in store.delete([name])] == [None]
    assert store.stat(name) is None
    assert [store.read(other) for other in ("a", "p")] == [b"other"] * 2


class TestS3Writes(ExclusiveContract):
    """The write contract on S3."""

    @pytest.fixture
    def empty(self, s3: S3, opened: S3Storage) -> Iterator[Storage]:
        self.s3 = s3
        self.prefix = f"a table/{uuid.uuid4()}"
        yield below(opened, self.prefix)
        s3.unprotect()

    def put_behind(self, path: str, body: bytes) -> None:
        self.s3.put({f"{self.prefix}/{path}": body})

    def drop_behind(self, path: str) -> None:
        self.s3.backend.delete_object(BUCKET, f"{self.prefix}/{path}")

    def set_time(self, path: str, moment: float) -> None:
        self.s3.set_time(f"{self.prefix}/{path}", moment)

    def protect(self, path: str) -> None:
        self.s3.protect(f"{self.prefix}/{path}")


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_the_uri_is_kept_as_it_was_given(s3: S3, scheme: str) -> None:
    """Hudi's own writers must be able to open the paths in stored plans, by the scheme that they use."""
    store = open_storage(f"{scheme}://{BUCKET}/lake/t/", ".tmp", s3.options)
    assert (store.uri, store.absolute("")) == (f"{scheme}://{BUCKET}/lake/t", f"{scheme}://{BUCKET}/lake/t")
    assert store.absolute("p/f") == f"{scheme}://{BUCKET}/lake/t/p/f"
    store.create(f"{scheme}-f", b"x")
    assert f"{scheme}-f" in s3.names("lake/t")


@pytest.mark.parametrize("option", ["anon=false", "max_concurrency=4", 'config_kwargs={"connect_timeout": 3}'])
def test_options_have_the_drivers_types(s3: S3, option: str) -> None:
    """A command line knows text alone; "false" is not true there."""
    key, _, text = option.partition("=")
    store = open_storage(f"s3://{BUCKET}/t", ".tmp", {**s3.options, key: text})
    assert isinstance(store, RemoteStorage)
    assert getattr(store.filesystem, key) in (False, 4, {"connect_timeout": 3, "max_pool_connections": 16})
    assert store.stat("absent") is None


@pytest.mark.parametrize(("key", "text"), [("anon", "the-secret"), ("client_kwargs", "{the-secret")])
def test_an_option_of_another_type_is_told_without_its_value(key: str, text: str) -> None:
    with pytest.raises(UsageError, match=key) as caught:
        open_storage(f"s3://{BUCKET}/t", ".tmp", {key: text})
    assert "the-secret" not in caught.value.message


def test_credentials_are_not_in_what_is_printed(s3: S3) -> None:
    assert s3.options["secret"] not in repr(open_storage(f"s3://{BUCKET}/t", ".tmp", s3.options))


def test_a_table_that_is_not_used_any_more_leaves_the_memory(s3: S3) -> None:
    store = open_storage(f"s3://{BUCKET}/t", ".tmp", s3.options)
    assert isinstance(store, S3Storage)
    assert store.stat("absent") is None
    driver = weakref.ref(store.filesystem)
    del store
    gc.collect()
    assert driver() is None


def test_objects_that_stand_for_folders(s3: S3, opened: S3Storage) -> None:
    """Hadoop's ``folder/``, and the ``folder_$folder$`` of older and Amazon's connectors: folders may be empty then,
    and a deleted one is gone with them, or those connectors would go on to see it."""
    s3.put({"marked/p/": b"", "marked/p/sub/": b"", "marked/p/sub/f": b"x", "marked/p_$folder$": b"", "marked/q/": b""})
    store = below(opened, "marked")
    assert [(entry.name, entry.is_dir) for entry in store.list("p")] == [("sub", True)]
    assert store.list("q") == []
    assert store.has_folder("q")
    store.delete_folder("p")
    assert not store.has_folder("p")
    assert s3.names("marked") == {"q/"}


@pytest.mark.parametrize("text", ["Mon, 30 Nov 2026 05:00:00 GMT", "2026-11-30T05:00:00+05:45", "2026-11-30", 7])
def test_times_are_those_that_botocore_reads(text: str) -> None:
    """In headers, and of servers that are not Amazon's."""
    assert _moment(text) == parse_timestamp(text)


@given(datetimes(min_value=datetime(1970, 1, 2)))
def test_times_of_listings_are_those_that_botocore_reads(moment: datetime) -> None:
    text = f"{moment.isoformat(timespec='milliseconds')}Z"
    assert _moment(text) == parse_timestamp(text)


def test_a_listing_does_not_use_botocores_slow_way(s3: S3, opened: S3Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    below(opened, "times").create("a", b"")
    slow: list[object] = []
    monkeypatch.setattr("botocore.parsers.DEFAULT_TIMESTAMP_PARSER", slow.append)
    monkeypatch.setattr("hudictl.storage.s3_names.parse_timestamp", slow.append)
    (found,) = below(opened, "times").list("")
    assert abs(found.modified_ms / 1000 - time.time()) < 60
    assert slow == []


def test_a_range_of_folders_is_listed_by_keys(s3: S3, opened: S3Storage) -> None:
    """From a folder to another, both whole, a thousand files a request; what sorts beside them is not asked for."""
    inside = ["p/", *(f"p/{number:04}" for number in range(1100)), "p/sub/f", "p0", "q.x/f", "q/a#b", "q/\u6771/f"]
    s3.put({f"range/{name}": b"xy" for name in [*inside, "o/f", "p-1/f", "p.x/f", "q0/f", "r/f"]})
    listings = 0

    def note(environment: Environment, start: Start, application: Application) -> None:
        nonlocal listings
        listings += 1

    store = below(opened, "range")
    assert store.files_in_one_listing == 1000
    with s3.interfering(note):
        found = [*store.files_between("p", "q")]
    assert ([path for path, _ in found], listings) == (inside, 2)
    assert found[1][1] == store.stat("p/0000")
    with s3.interfering(note):
        assert [path for path, _ in store.files_between("r", "r")] == ["r/f"]
    assert listings == 3
    assert [*store.files_between("s", "z")] == []


class Listing:
    """A driver of a store that answers each listing with the same keys."""

    def __init__(self, *keys: str) -> None:
        self.keys, self.kwargs = keys, dict[str, Any]()

    def split_path(self, path: str) -> tuple[str, str, None]:
        bucket, _, key = path.partition("/")
        return bucket, key, None

    def call_s3(self, *_: Any, **__: Any) -> Any:
        return {"Contents": [{"Key": key, "Size": 1, "LastModified": 1} for key in self.keys]}


@pytest.mark.parametrize("keys", [("t/p/2", "t/p/1"), ("t/z/1", "t/p/1"), ("t/o/1", "t/p/1"), ("t/p/1", "t/p/1")])
def test_a_store_that_lists_keys_in_another_order_is_not_believed(keys: tuple[str, ...]) -> None:
    """Behind the end of the range files of it may come, which would count as gone."""
    store = S3Storage("s3://b/t", Listing(*keys), "b/t", False)
    with pytest.raises(StorageFailed, match="in their order"):
        list(store.files_between("p", "q"))


@pytest.mark.parametrize(("uri", "at_once"), [("s3://b/t", 1000), ("s3a://b--use1-az4--x-s3/t", 0)])
def test_which_stores_list_keys_in_their_order(uri: str, at_once: int) -> None:
    """S3 Express does not."""
    assert S3Storage(uri, Listing(), uri.partition("//")[2], False).files_in_one_listing == at_once


def test_an_absent_folder_is_one_request(s3: S3, opened: S3Storage) -> None:
    """As a large one is one for each thousand entries, folders counted in."""
    s3.put({f"wide/{number:04}/f": b"" for number in range(1001)})
    asked: list[str] = []

    def note(environment: Environment, start: Start, application: Application) -> None:
        asked.append(environment["QUERY_STRING"])

    with s3.interfering(note):
        with pytest.raises(FileNotFoundError):
            opened.list("wide/nowhere")
        assert len(asked) == 1
        assert len(opened.list("wide")) == 1001
    assert len(asked) == 3


def test_a_folder_that_cannot_be_deleted(s3: S3, opened: S3Storage) -> None:
    """Is no silent success."""
    s3.put({"protected/p/f": b"", "protected/p/g": b""})
    s3.protect("protected/p/g")
    try:
        with pytest.raises(StorageFailed, match="p/g"):
            below(opened, "protected").delete_folder("p")
    finally:
        s3.unprotect()
    assert s3.names("protected") == {"p/g"}


def test_a_full_batch_is_one_request(s3: S3, opened: S3Storage) -> None:
    """And one file more is a second."""
    requests: list[str] = []

    def note(environment: Environment, start: Start, application: Application) -> None:
        requests.append(environment["REQUEST_METHOD"])

    names = [f"f{number}" for number in range(opened.delete_batch + 1)]
    with s3.interfering(note):
        opened.delete(names[:-1])
        assert requests == ["POST"]
        opened.delete(names)
    assert requests == ["POST"] * 3


def test_calls_of_threads_do_not_wait_for_each_other() -> None:
    """Each request is answered when all of them are there: as many connections as the engine has threads."""
    barrier = threading.Barrier(AT_ONCE)

    class Together(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            barrier.wait(20)
            body = b'<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"></DeleteResult>'
            self.send_response(200)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Together) as server, ThreadPoolExecutor(AT_ONCE) as pool:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        store = open_storage("s3://lake/t", ".tmp", S3(f"http://127.0.0.1:{server.server_port}").options)
        found = [outcome for outcomes in pool.map(store.delete, [["f"]] * AT_ONCE) for outcome in outcomes]
        server.shutdown()
    assert [outcome.error for outcome in found] == [None] * AT_ONCE


@pytest.fixture
def impatient(s3: S3) -> Storage:
    """A client that does not try for minutes."""
    retries = 'config_kwargs={"retries": {"total_max_attempts": 2}, "read_timeout": 60}'.partition("=")
    store = open_storage(f"s3://{BUCKET}/{uuid.uuid4()}", ".tmp", {**s3.options, retries[0]: retries[2]})
    assert isinstance(store, RemoteStorage)
    store.filesystem.retries = 2
    return store


def failing(environment: Environment, start: Start, application: Application) -> list[bytes]:
    start("500 Internal Server Error", [("Content-Length", "0")])
    return [b""]


def puts_are_lost(environment: Environment, start: Start, application: Application) -> Any:
    """The put is done, and its answer never comes."""
    if environment["REQUEST_METHOD"] != "PUT":
        return None
    list(application(environment, lambda *_: None))
    return failing(environment, start, application)


def puts_fail(environment: Environment, start: Start, application: Application) -> Any:
    return failing(environment, start, application) if environment["REQUEST_METHOD"] == "PUT" else None


def all_is_lost(environment: Environment, start: Start, application: Application) -> Any:
    return puts_are_lost(environment, start, application) or failing(environment, start, application)


@pytest.mark.parametrize("verb", ["create", "replace"])
def test_a_lost_answer(s3: S3, impatient: Storage, verb: str) -> None:
    """Our own bytes are there: done, though the second try met the first one's file."""
    with s3.interfering(puts_are_lost):
        getattr(impatient, verb)("f", b"body")
    assert impatient.read("f") == b"body"


def test_a_lost_answer_to_a_create_that_came_too_late(s3: S3, impatient: Storage) -> None:
    """Another's bytes are there: it was not ours."""
    impatient.create("f", b"theirs")
    with s3.interfering(puts_are_lost), pytest.raises(FileExistsError):
        impatient.create("f", b"mine")
    assert impatient.read("f") == b"theirs"


@pytest.mark.parametrize("verb", ["create", "replace"])
def test_a_put_that_fails(s3: S3, impatient: Storage, verb: str) -> None:
    """Nothing is there: 15."""
    with s3.interfering(puts_fail), pytest.raises(StorageFailed) as caught:
        getattr(impatient, verb)("f", b"body")
    assert (caught.value.exit_code, caught.value.fields["path"]) == (15, "f")
    assert impatient.stat("f") is None


@pytest.mark.parametrize("verb", ["create", "replace"])
def test_a_lost_answer_and_no_way_to_look(s3: S3, impatient: Storage, verb: str) -> None:
    """17: it may be there."""
    with s3.interfering(all_is_lost), pytest.raises(OutcomeUnknown) as caught:
        getattr(impatient, verb)("f", b"body")
    assert (caught.value.exit_code, caught.value.fields["path"]) == (17, "f")


def test_a_lost_answer_to_a_deletion(s3: S3, impatient: Storage) -> None:
    """Each path has the error; once more finds them gone."""
    impatient.create("f", b"")
    with s3.interfering(failing):
        (outcome,) = impatient.delete(["f"])
    assert outcome.error
    assert [outcome.error for outcome in impatient.delete(["f"])] == [None]


def test_a_store_that_calls_an_absent_key_an_error() -> None:
    """Some that speak S3 do: the object is gone, as it should be."""

    class Driver:
        def split_path(self, path: str) -> tuple[str, str]:
            return tuple(path.split("/", 1))  # type: ignore[return-value]

        def call_s3(self, _: str, **__: Any) -> Any:
            codes = {"t/absent": "NoSuchKey", "t/kept": "AccessDenied"}
            return {"Errors": [{"Key": key, "Code": code, "Message": "no"} for key, code in codes.items()]}

    outcomes = S3Storage("s3://b/t", Driver(), "b/t", False).delete(["absent", "gone", "kept"])
    assert [outcome.error for outcome in outcomes] == [None, None, "AccessDenied: no"]


class Slow:
    """A driver of a store that deletes one file in each call, and puts off the others."""

    def split_path(self, path: str) -> tuple[str, str]:
        bucket, _, key = path.partition("/")
        return bucket, key

    def call_s3(self, _: str, *, Delete: Any, **__: Any) -> Any:
        keys = [entry["Key"] for entry in Delete["Objects"]]
        return {"Errors": [{"Key": key, "Code": "SlowDown", "Message": "reduce"} for key in keys[1:]]}


def test_a_store_that_deletes_slowly_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it takes: only a store that deletes nothing is given up."""
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    outcomes = S3Storage("s3://b/t", Slow(), "b/t", False).delete([str(number) for number in range(50)])
    assert {outcome.error for outcome in outcomes} == {None}
    assert len(waited) == 49
    assert max(waited) <= 3


class Limiting:
    """A driver of a store that answers ``SlowDown`` for some keys, the first times."""

    def __init__(self, times: int) -> None:
        self.left = dict.fromkeys(("t/a", "t/b"), times)
        self.asked: list[list[str]] = []

    def split_path(self, path: str) -> tuple[str, str]:
        bucket, _, key = path.partition("/")
        return bucket, key

    def call_s3(self, _: str, *, Delete: Any, **__: Any) -> Any:
        keys = [entry["Key"] for entry in Delete["Objects"]]
        self.asked.append(keys)
        slow = [key for key in keys if self.left.get(key, 0) > 0]
        for key in slow:
            self.left[key] -= 1
        errors = [{"Key": key, "Code": "SlowDown", "Message": "reduce your request rate"} for key in slow]
        kept = [{"Key": key, "Code": "AccessDenied", "Message": "no"} for key in keys if key == "t/kept"]
        return {"Errors": errors + kept}


def test_what_a_store_has_put_off_is_deleted_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Only these keys are asked for again; a store that goes on limiting is told, and at last it is their error."""
    waited: list[float] = []
    monkeypatch.setattr("time.sleep", waited.append)
    driver = Limiting(2)
    outcomes = S3Storage("s3://b/t", driver, "b/t", False).delete(["a", "b", "c", "kept"])
    assert [outcome.error for outcome in outcomes] == [None, None, None, "AccessDenied: no"]
    assert driver.asked == [["t/a", "t/b", "t/c", "t/kept"], ["t/a", "t/b"], ["t/a", "t/b"]]
    assert (len(waited), caplog.messages) == (2, [])

    never = Limiting(99)
    outcomes = S3Storage("s3://b/t", never, "b/t", False).delete(["a", "b", "c"])
    assert [outcome.error for outcome in outcomes] == ["SlowDown: reduce your request rate"] * 2 + [None]
    assert "2 of 3 files" in caplog.messages[0]
    assert 15 < sum(waited) < 90


@pytest.fixture
def kept(s3: S3) -> Storage:
    return open_storage(f"{s3.root}/{uuid.uuid4()}", ".tmp", s3.options)


def test_versions_of_deleted_objects_are_told(s3: S3, kept: Storage) -> None:
    """Where the bucket has them now."""
    for status, told in (("Enabled", "keeps deleted objects as versions"), ("Suspended", None)):
        s3.backend.put_bucket_versioning(BUCKET, status)
        assert (told or "") in str(kept.keeps_deleted())
        assert (kept.keeps_deleted() is None) == (told is None)


def test_who_may_not_ask_for_versions_works_all_the_same(s3: S3, kept: Storage) -> None:
    def denied(environment: Environment, start: Start, application: Application) -> list[bytes] | None:
        if "versioning" not in environment["QUERY_STRING"]:
            return None
        start("403 Forbidden", [])
        return [b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"]

    s3.backend.put_bucket_versioning(BUCKET, "Enabled")
    try:
        with s3.interfering(denied):
            assert kept.keeps_deleted() is None
            kept.create("f", b"")
    finally:
        s3.backend.put_bucket_versioning(BUCKET, "Suspended")


def test_the_stores_reason_is_told_though_a_head_has_none(s3: S3, opened: S3Storage) -> None:
    """After a range that fails, the size is asked for: not in place of what the store has said."""
    store = below(opened, str(uuid.uuid4()))

    def expired(environment: Environment, start: Start, _: Application) -> list[bytes]:
        start("400 Bad Request", [("Content-Type", "application/xml")])
        said = b"<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>"
        return [b"" if environment["REQUEST_METHOD"] == "HEAD" else said]

    with s3.interfering(expired), pytest.raises(StorageFailed, match=r"The provided token has expired\."):
        store.read("f", 0, 10)


def test_a_bucket_that_is_not_there(s3: S3) -> None:
    """No file of it is absent, none of its folders is empty, and nothing is written: all for the same reason."""
    store = open_storage("s3a://no-such-bucket/t", ".tmp", s3.options)
    calls = (lambda: store.list("p"), lambda: store.read("f"), lambda: store.has_folder("p"))
    writes = (lambda: store.create("f", b"body"), lambda: store.replace("f", b"body"))
    for call in (*calls, *writes):
        with pytest.raises(StorageFailed, match="bucket does not exist") as caught:
            call()
        assert "bucket" in str(caught.value.hint)
