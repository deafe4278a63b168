"""The lock in the store on servers of S3, Google Cloud Storage and Azure: the contract that it rests on, and races."""

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from hudictl.storage.open import open_storage
from hudictl.table.locks.config import STORAGE_LOCK, StorageLock
from hudictl.table.locks.storage_based import LockObject
from tests.storage.contract import SwapContract, SwappingStorage, swapping
from tests.stores.server import Server

pytestmark = pytest.mark.stores


class TestSwaps(SwapContract):
    """One version of an object is replaced, or none."""

    @pytest.fixture
    def store(self, server: Server) -> SwappingStorage:
        return swapping(open_storage(f"{server.root}/swaps/{uuid.uuid4()}", ".tmp", server.options))


@pytest.mark.short("s3-20", "gcs-20", "azure-20")
@pytest.mark.parametrize("turns", [20, 1000])
def test_two_contenders_are_never_both_inside(server: Server, turns: int) -> None:
    """Each with a client of its own, by the name of a writer: so none takes the other for a dead hudictl."""
    base = f"{server.root}/locks/{uuid.uuid4()}"
    inside: list[str] = []
    most = 0
    done = threading.Event()

    def contend(owner: str) -> int:
        nonlocal most
        storage = swapping(open_storage(base, ".tmp", server.options))
        own = LockObject(storage, StorageLock("", STORAGE_LOCK, 60_000, 6_000), owner)
        taken = 0
        while not done.is_set():
            if own.holder() is not None:
                continue
            inside.append(owner)
            most = max(most, len(inside))
            own.check()
            own.renew()
            own.check()
            most = max(most, len(inside))
            inside.remove(owner)
            own.release()
            taken += 1
            if taken >= turns:
                done.set()
            # The other one's turn.
            time.sleep(0.02)
        return taken

    with ThreadPoolExecutor(2) as pool:
        counts = list(pool.map(contend, ("writer-a", "writer-b")))
    assert most == 1
    assert min(counts) > 0
