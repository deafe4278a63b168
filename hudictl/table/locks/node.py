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

from hudictl.errors import Conflict, HudictlError, StorageFailed
from hudictl.table.locks.kinds import NodeLock

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
            names = sorted(self._ask("get_children", self.lock.path), key=_sequence)
            if names and names[0] == self.node.rpartition("/")[2]:
                return None
            if self.node.rpartition("/")[2] not in names:
                raise self._lost("its node was removed")
            try:
                content, status = self._ask("get", f"{self.lock.path}/{names[0]}")
            except NoNodeError:
                content, status = b"", None
        age = f"for {int(_age_s(status))} s, " if status else ""
        return f"{age}{names[0]} {content[:200].decode('utf-8', 'replace')}".rstrip()

    def check(self) -> None:
        """Raises Conflict: ZooKeeper does not confirm that the node exists and belongs to this session."""
        try:
            with _answers(self.lock):
                status = self._ask("exists", self.node)
        except StorageFailed as error:
            raise self._lost(error.message) from error
        if status is None or self.client.client_id is None or status.owner_session_id != self.client.client_id[0]:
            raise self._lost("its node was removed")

    def _ask(self, request: str, path: str) -> Any:
        """One request, with the timeout of a connection."""
        return getattr(self.client, f"{request}_async")(path).get(timeout=self.lock.connection_ms / 1000)

    def _lost(self, reason: str) -> HudictlError:
        return Conflict(
            f"{self.lock.place}: this process may have lost the lock: {reason}",
            hint="once ZooKeeper answers, run the same command again, or `hudictl resume`",
            node=self.node,
        )


@contextmanager
def lock_node(lock: NodeLock, body: bytes) -> Iterator[LockNode]:
    """A contender for the lock, in the queue from now on; its node ends with the session.

    Raises:
        StorageFailed: no ZooKeeper answers.
    """
    with _answers(lock):
        client = KazooClient(lock.hosts, timeout=lock.session_ms / 1000, logger=_log)
    try:
        with _answers(lock):
            client.start(lock.connection_ms / 1000)
            client.ensure_path(lock.path)
            node = client.create(f"{lock.path}/_c_{uuid.uuid4()}-lock-", body, ephemeral=True, sequence=True)
        yield LockNode(client, lock, node)
    finally:
        # A session that cannot be closed expires, and its node with it.
        with suppress(KazooException, KazooTimeoutError, OSError):
            client.stop()
            client.close()


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
