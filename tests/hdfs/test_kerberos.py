"""HDFS with Kerberos: who has a ticket works by it, and executors by a token that they are sent."""

import multiprocessing
import pickle
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudictl.errors import StorageFailed
from hudictl.storage import Storage
from hudictl.storage.open import open_storage
from tests.hdfs.cluster import Hdfs
from tests.hdfs.httpfs import start_httpfs
from tests.hdfs.kerberos import Realm, start_realm, start_secure

pytestmark = pytest.mark.hdfs
pytest.importorskip("requests_gssapi", reason="the extra hdfs is not installed: pip install 'hudictl[hdfs]'")
if not shutil.which("kinit"):
    pytest.skip("there is no kinit: Debian's package krb5-user has it", allow_module_level=True)

OPERATOR = "alice"


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    with start_realm(tmp_path_factory.mktemp("realm"), OPERATOR) as running:
        yield running


@pytest.fixture(scope="module")
def secure(realm: Realm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    with start_secure(tmp_path_factory.mktemp("secure") / "cluster", realm) as running:
        running.ask("mkdirs", path="/t", permission="777")
        yield running


@pytest.fixture
def ticket(realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in realm.log_in(OPERATOR, tmp_path / "ticket").items():
        monkeypatch.setenv(name, value)


def opened(secure: Hdfs, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """By what a client's settings say: that there is Kerberos, too."""
    monkeypatch.setenv("HADOOP_CONF_DIR", str(secure.conf))
    return open_storage("hdfs:///t", ".tmp", {})


@pytest.mark.usefixtures("ticket")
def test_the_owner_of_the_ticket_works(secure: Hdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(secure, monkeypatch)
    store.create("p/f", b"body")
    store.replace("p/f", b"other")
    assert (store.read("p/f"), [entry.name for entry in store.list("p")]) == (b"other", ["f"])
    assert secure.ask("status", path="/t/p/f")["owner"] == OPERATOR
    assert store.move("p", "q")
    assert [outcome.error for outcome in store.delete(["q/f"])] == [None]


@pytest.mark.usefixtures("ticket")
def test_another_process_needs_no_ticket(secure: Hdfs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As Spark's executors: the token comes with the storage."""
    store = opened(secure, monkeypatch)
    store.create("from here", b"body")
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/nothing")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_read, (pickle.dumps(store), "from here")) == b"body"


@pytest.mark.usefixtures("ticket")
def test_a_token_is_extended(secure: Hdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    """At half of its time, for those who were sent it, too; where the ticket is gone, not."""
    client = vars(opened(secure, monkeypatch))["client"]
    token, first = client._token, client._extend_at
    assert 11 * 3600 < first - time.monotonic() <= 12 * 3600
    client._extend_at = 0.0
    pickle.dumps(client)
    assert client._token == token
    assert client._extend_at > first
    client._extend_at = 0.0
    monkeypatch.setenv("KRB5CCNAME", "FILE:/nothing")
    client._session.cookies.clear()  # by which HDFS knows who had a ticket
    client.ask("GET", "GETFILESTATUS", "/t")
    assert 0 < client._extend_at - time.monotonic() <= 60


@pytest.mark.usefixtures("ticket")
def test_a_cluster_that_extends_no_tokens(secure: Hdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token is good as long as it is."""
    monkeypatch.setattr("hudictl.storage.webhdfs._EXTEND_TOKEN", "UNKNOWN")
    monkeypatch.setattr("hudictl.storage.webhdfs._BY_TICKET", ("GETDELEGATIONTOKEN", "UNKNOWN"))
    store = opened(secure, monkeypatch)
    store.create("once", b"body")
    assert store.read("once") == b"body"


@pytest.mark.usefixtures("ticket")
def test_a_token_that_is_no_longer_valid(secure: Hdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a day: by the ticket there is a new one, without a ticket there is no way."""
    store = opened(secure, monkeypatch)
    store.create("kept", b"body")
    sent = pickle.loads(pickle.dumps(store))
    assert sent.read("kept") == b"body"
    client = vars(store)["client"]
    old = vars(client)["_token"]
    client.ask("PUT", "CANCELDELEGATIONTOKEN", "/", token=old)
    assert store.read("kept") == b"body"
    assert vars(client)["_token"] != old
    with pytest.raises(StorageFailed) as caught:
        sent.read("kept")
    assert "run the same command again" in caught.value.hint


def test_no_ticket(secure: Hdfs, realm: Realm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KRB5_CONFIG", str(realm.config))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/nothing")
    with pytest.raises(StorageFailed) as caught:
        opened(secure, monkeypatch)
    assert "kinit" in caught.value.hint


@pytest.mark.usefixtures("ticket")
def test_a_token_is_shown_nowhere(secure: Hdfs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in what is printed of a storage, nor in an error of a cluster that is gone."""
    store = opened(secure, monkeypatch)
    token = vars(vars(store)["client"])["_token"]
    assert len(token) > 20
    client = vars(store)["client"]
    client.addresses, client._active = ("http://localhost:9",), "http://localhost:9"
    monkeypatch.setattr("hudictl.storage.webhdfs._PAUSES_S", ())
    with pytest.raises(StorageFailed) as caught:
        store.list("")
    assert token not in f"{store!r}{caught.value.message}{caught.value.hint}{caught.value.fields}"


@pytest.mark.usefixtures("ticket")
def test_by_a_gateway(secure: Hdfs, realm: Realm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", str(secure.conf))
    with start_httpfs(secure, tmp_path / "gateway", realm=realm) as address:
        store = open_storage("hdfs:///t", ".tmp", {"http_address": address})
        store.create("gate/f", b"body")
        store.replace("gate/f", b"other")
        assert store.read("gate/f") == b"other"
    assert secure.ask("status", path="/t/gate/f")["owner"] == OPERATOR


def _read(pickled: bytes, path: str) -> bytes:
    store: Storage = pickle.loads(pickled)
    return store.read(path)
