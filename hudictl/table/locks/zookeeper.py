"""Hudi's ``ZookeeperBasedLockProvider``, as hudictl takes its lock: Curator's ``InterProcessMutex``, through kazoo.

Each contender makes an ephemeral sequential node ``_c_<uuid>-lock-<number>`` under the lock's path, and the one with
the smallest number holds the lock (seen with Hudi 0.15.0 and 1.0.2, on Spark's Curator 2.13, and with 1.2.0 on its own,
2.7). kazoo's own ``Lock`` is not compatible: Curator orders nodes by the text after ``lock-``. kazoo's names have no
such part, and Curator would order them by their random beginning.
"""

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError

from hudictl.errors import Conflict, StorageFailed
from hudictl.table.locks.config import ZOOKEEPER, LockSign, NodeLock, may_be_lost
from hudictl.table.locks.look import own_process

_log = logging.getLogger(__name__)
# Without --verbose kazoo's messages about lost connections are dropped: `check` reports the result.
_log.addHandler(logging.NullHandler())


@dataclass(frozen=True)
class LockNode:
    """This process's node among the contenders."""

    client: Any
    lock: NodeLock
    node: str

    def holder(self) -> str | None:
        """None if this process holds the lock; otherwise its holder.

        Raises Conflict: the session is lost; StorageFailed.
        """
        with _answers(self.lock):
            names = _contenders(self.client, self.lock)
            if names and names[0] == self.node.rpartition("/")[2]:
                return None
            if self.node.rpartition("/")[2] not in names:
                raise self._lost("its node was removed")
            content, status = _first(self.client, self.lock, names)
        age = f"for {int(_age_s(status))} s, " if status else ""
        return f"{age}{names[0]} {own_process(content) or content[:200]}".rstrip()

    def check(self) -> None:
        """Raises Conflict: ZooKeeper does not confirm that the node exists and belongs to this session."""
        try:
            with _answers(self.lock):
                status = _ask(self.client, self.lock, "exists", self.node)
        except StorageFailed as error:
            raise self._lost(error.message) from error
        if status is None or self.client.client_id is None or status.owner_session_id != self.client.client_id[0]:
            raise self._lost("its node was removed")

    def _lost(self, reason: str) -> Conflict:
        return may_be_lost(self.lock, "ZooKeeper", reason, node=self.node)


@contextmanager
def lock_node(lock: NodeLock, body: bytes) -> Iterator[LockNode]:
    """A contender for the lock, in the queue from now on; its node ends with the session. Raises StorageFailed: no
    ZooKeeper answers."""
    with _session(lock) as client:
        with _answers(lock):
            client.ensure_path(lock.path)
            node = client.create(f"{lock.path}/_c_{uuid.uuid4()}-lock-", body, ephemeral=True, sequence=True)
        yield LockNode(client, lock, node)


def look_at_node(lock: NodeLock) -> LockSign | None:
    """The node that holds the lock; None if there is none. It ends with its session. Raises StorageFailed."""
    with _session(lock) as client, _answers(lock):
        try:
            names = _contenders(client, lock)
        except NoNodeError:
            return None
        if not names:
            return None
        content, status = _first(client, lock, names)
    age_ms = int(_age_s(status) * 1000) if status else None
    name = ZOOKEEPER.rpartition(".")[2]
    # Curator's nodes have the host's address as content.
    return LockSign(lock.place, name, True, False, content or None, age_ms, None, content)


@contextmanager
def _session(lock: NodeLock) -> Iterator[Any]:
    with _answers(lock):
        client = KazooClient(lock.hosts, timeout=lock.session_ms / 1000, logger=_log)
    try:
        with _answers(lock):
            client.start(lock.connection_ms / 1000)
        yield client
    finally:
        # A session that cannot be closed expires, and its node with it.
        with suppress(KazooException, KazooTimeoutError, OSError):
            client.stop()
            client.close()


def _contenders(client: Any, lock: NodeLock) -> list[str]:
    """The names of all nodes, that of the holder first."""
    return sorted(_ask(client, lock, "get_children", lock.path), key=_sequence)


def _first(client: Any, lock: NodeLock, names: list[str]) -> tuple[str, Any]:
    """Content and status of the first node; None as status if it is gone by now."""
    try:
        content, status = _ask(client, lock, "get", f"{lock.path}/{names[0]}")
    except NoNodeError:
        return "", None
    return content.decode("utf-8", "replace"), status


def _ask(client: Any, lock: NodeLock, request: str, path: str) -> Any:
    """One request, with the timeout of a connection."""
    return getattr(client, f"{request}_async")(path).get(timeout=lock.connection_ms / 1000)


@contextmanager
def _answers(lock: NodeLock) -> Iterator[None]:
    try:
        yield
    except (KazooException, KazooTimeoutError, OSError, ValueError) as error:
        raise StorageFailed(
            f"ZooKeeper at {lock.hosts} does not answer: {error or type(error).__name__}",
            hint="nothing was changed while waiting for the lock: fix the cause, then run the same command again",
            hosts=lock.hosts,
        ) from error


def _sequence(name: str) -> str:
    """What Curator orders by (``StandardLockInternalsDriver.standardFixForSorting``), as text."""
    return name.rpartition("lock-")[2]


def _age_s(status: Any) -> float:
    return max(0.0, time.time() - float(status.created))
