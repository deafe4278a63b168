"""The contracts of storages on a real HDFS."""

import uuid
from collections.abc import Mapping

import pytest

from hudictl.storage import Storage, open_storage
from tests.hdfs.cluster import Hdfs
from tests.storage.contract import NAMES, ExclusiveContract, ReadContract

pytestmark = pytest.mark.hdfs

OPERATOR = "alice"
"""Not the superuser, who may do all."""


def options(hdfs: Hdfs) -> dict[str, str]:
    return {"http_address": ",".join(hdfs.http), "user": OPERATOR}


class TestReads(ReadContract):
    """The read contract."""

    @pytest.fixture(autouse=True)
    def _server(self, hdfs: Hdfs) -> None:
        self.hdfs = hdfs

    def storage(self, files: Mapping[str, bytes]) -> Storage:
        base = f"/reads/{uuid.uuid4()}/table"
        for path, body in files.items():
            self.hdfs.put(f"{base}/{path}", body)
        return open_storage(f"{self.hdfs.uri}{base}", ".tmp", options(self.hdfs))


class TestWrites(ExclusiveContract):
    """The write contract; HDFS has no names with a colon."""

    names = tuple(name for name in NAMES if ":" not in name)

    @pytest.fixture
    def empty(self, hdfs: Hdfs) -> Storage:
        self.hdfs = hdfs
        self.base = f"/writes/{uuid.uuid4()}/a table"
        hdfs.ask("mkdirs", path=self.base, permission="777")
        return open_storage(f"{hdfs.uri}{self.base}", ".tmp", options(hdfs))

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
                self.hdfs.ask("chown", path=entry if entry.startswith("/") else f"{folder}/{entry}", owner=OPERATOR)
