"""The contracts of storages on a real HDFS: by its name node, and by HttpFS in front of it."""

import time
import uuid
from collections.abc import Iterator, Mapping

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.storage import Storage
from hudictl.storage.open import open_storage
from tests.hdfs.cluster import Hdfs
from tests.hdfs.httpfs import start_httpfs
from tests.storage.contract import NAMES, ExclusiveContract, ReadContract

pytestmark = pytest.mark.hdfs

OPERATOR = "alice"
"""Not the superuser, who may do all."""


@pytest.fixture(scope="session")
def gateway(hdfs: Hdfs, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with start_httpfs(hdfs, tmp_path_factory.mktemp("gateway")) as address:
        yield address


class TestReads(ReadContract):
    """The read contract."""

    @pytest.fixture(autouse=True)
    def _server(self, hdfs: Hdfs) -> None:
        self.hdfs, self.addresses = hdfs, ",".join(hdfs.http)

    def storage(self, files: Mapping[str, bytes]) -> Storage:
        base = f"/reads/{uuid.uuid4()}/table"
        for path, body in files.items():
            self.hdfs.put(f"{base}/{path}", body)
        return open_storage(f"{self.hdfs.uri}{base}", ".tmp", {"http_address": self.addresses, "user": OPERATOR})


class TestWrites(ExclusiveContract):
    """The write contract; HDFS has no names with a colon."""

    names = tuple(name for name in NAMES if ":" not in name)

    @pytest.fixture
    def addresses(self, hdfs: Hdfs) -> str:
        return ",".join(hdfs.http)

    @pytest.fixture
    def empty(self, hdfs: Hdfs, addresses: str) -> Storage:
        self.hdfs = hdfs
        self.base = f"/writes/{uuid.uuid4()}/a table"
        hdfs.ask("mkdirs", path=self.base, permission="777")
        return open_storage(f"{hdfs.uri}{self.base}", ".tmp", {"http_address": addresses, "user": OPERATOR})

    def put_behind(self, path: str, body: bytes) -> None:
        self.hdfs.put(f"{self.base}/{path}", body)
        folder = f"{self.base}/{path}".rpartition("/")[0]
        self.hdfs.ask("chmod", path=folder, permission="777")

    def drop_behind(self, path: str) -> None:
        self.hdfs.ask("delete", path=f"{self.base}/{path}")

    def set_time(self, path: str, moment: float) -> None:
        self.hdfs.ask("set_time", path=f"{self.base}/{path}", epoch_ms=int(moment * 1000))

    def protect(self, path: str) -> None:
        """In a sticky folder only the owners delete."""
        folder, _, name = f"{self.base}/{path}".rpartition("/")
        self.hdfs.ask("chmod", path=folder, permission="1777")
        for entry in self.hdfs.ask("list", path=folder):
            if not entry.endswith(name):
                self.hdfs.ask("chown", path=entry, owner=OPERATOR)

    def test_append(self, empty: Storage) -> None:
        """To a file of a known size, that no other program has open; what it had there is seen."""
        empty.create("f", b"old")
        assert empty.append("f", 3, b"new")
        assert empty.read("f") == b"oldnew"
        with pytest.raises(Conflict):
            empty.append("f", 3, b"new")
        self.hdfs.leave_open(f"{self.base}/g", b"begun")
        self.hdfs.ask("chmod", path=f"{self.base}/g", permission="666")
        assert empty.read("g") == b"begun"
        assert not empty.append("g", 5, b"more")
        self.hdfs.ask("close", path=f"{self.base}/g")
        assert empty.append("g", 5, b"more")
        assert empty.read("g") == b"begunmore"

    @pytest.mark.parametrize("body", [b"", b"begun"])
    def test_end_writing(self, empty: Storage, body: bytes) -> None:
        """Of a closed file nothing; of a living writer it is refused; what a dead one has flushed is there."""
        path = f"{self.base}/g"
        self.hdfs.leave_open(path, body)
        self.hdfs.ask("chmod", path=path, permission="666")
        with pytest.raises(Conflict, match="lease is currently owned"):
            empty.end_writing("g")
        assert self.hdfs.ask("is_open", path=path)
        self.hdfs.ask("lease_periods", soft_ms=500, hard_ms=600_000)
        try:
            self.hdfs.ask("abandon", path=path)
            time.sleep(1)
            empty.end_writing("g")
        finally:
            self.hdfs.ask("lease_periods", soft_ms=60_000, hard_ms=1_200_000)
        assert not self.hdfs.ask("is_open", path=path)
        modified = self.hdfs.ask("status", path=path)["modified"]
        empty.end_writing("g")
        assert (empty.read("g"), self.hdfs.ask("status", path=path)["modified"]) == (body, modified)
        with pytest.raises(FileNotFoundError):
            empty.end_writing("absent")

    def test_snapshots(self, empty: Storage) -> None:
        self.hdfs.ask("allow_snapshots", path=self.base)
        empty.create("f", b"x")
        assert empty.keeps_deleted() is None
        self.hdfs.ask("snapshot", path=self.base, name="daily")
        empty.delete(["f"])
        assert f"snapshots of {self.base} keep deleted files" in str(empty.keeps_deleted())
        assert empty.read(".snapshot/daily/f") == b"x"

    def test_errors(self, empty: Storage) -> None:
        """Of quotas and access rights, and in safe mode: by their names, and nothing is left."""
        empty.create("in/f", b"x")
        self.hdfs.ask("quota", path=f"{self.base}/in", names=2, bytes=-1)
        with pytest.raises(StorageFailed, match="NSQuotaExceeded"):
            empty.create("in/g", b"x")
        self.hdfs.ask("mkdirs", path=f"{self.base}/closed", permission="755")
        with pytest.raises(StorageFailed, match="Permission denied: user=alice"):
            empty.create("closed/f", b"x")
        self.hdfs.ask("safe_mode", on=True)
        try:
            with pytest.raises(StorageFailed, match="SafeModeException") as caught:
                empty.create("f", b"x")
            assert "safe mode" in caught.value.hint
        finally:
            self.hdfs.ask("safe_mode", on=False)
        assert empty.list(".tmp") == []


class TestGatewayReads(TestReads):
    """The read contract by HttpFS."""

    @pytest.fixture(autouse=True)
    def _gateway(self, _server: None, gateway: str) -> None:
        self.addresses = gateway


class TestGatewayWrites(TestWrites):
    """The write contract by HttpFS: a reader may find no file that is replaced, but never a half or a mixture."""

    absent_meanwhile = True

    @pytest.fixture
    def addresses(self, gateway: str) -> str:
        return gateway
