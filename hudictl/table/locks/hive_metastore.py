"""Hudi's ``HiveMetastoreBasedLockProvider``, as hudictl takes its lock: an exclusive lock on a table's name in a Hive
metastore, through thriftpy2. The named table need not exist.

The metastore queues the requests. Hudi's provider removes a request that is not granted at once, and makes a new one
(0.15.0 to 1.2.0). hudictl's request stays in the queue, so that it is granted next. A request whose owner has been
silent for ``hive.txn.timeout`` is removed by the metastore, if its housekeeping runs.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import thriftpy2
from thriftpy2.rpc import make_client
from thriftpy2.thrift import TException
from thriftpy2.transport import TTransportException

from hudictl.errors import Conflict, StorageFailed
from hudictl.table.locks.claim import Owner
from hudictl.table.locks.config import LockSign, MetastoreLock, may_be_lost
from hudictl.table.writers.beat import kept_alive

_PROVIDER = "HiveMetastoreBasedLockProvider"
_PORT = 9083
_ANSWER_MS = 20_000
_TEXT_LENGTH = 128
"""Of a text in the metastore's tables of locks."""
_TIMEOUT_KEY, _TIMEOUT_MS = "hive.txn.timeout", 300_000
_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
_LETTERS = {"day": "d", "days": "d", "hour": "h", "hours": "h", "min": "m", "minute": "m", "minutes": "m", "sec": "s"}


@cache
def idl() -> Any:
    """The part of the metastore's interface that hudictl calls."""
    return thriftpy2.load(str(Path(__file__).with_name("metastore.thrift")), module_name="hudictl_metastore_thrift")


@dataclass(frozen=True)
class QueuedLock:
    """This process's request in the metastore's queue."""

    lock: MetastoreLock
    lockid: int

    def holder(self) -> str | None:
        """None if this process holds the lock; otherwise its holder.

        Raises Conflict: the metastore has removed the request; StorageFailed.
        """
        if self._state() == idl().LockState.ACQUIRED:
            return None
        held = next((entry for entry in _shown(self.lock) if entry.state == idl().LockState.ACQUIRED), None)
        return _owner_of(held) if held is not None else "another request is before it"

    def check(self) -> None:
        """Raises Conflict: the metastore does not confirm that this process holds the lock."""
        try:
            state = self._state()
        except StorageFailed as error:
            raise self._lost(error.message) from error
        if state != idl().LockState.ACQUIRED:
            raise self._lost("the metastore has not granted it")

    def beat(self) -> None:
        """Renews the request. Raises Conflict: it was removed; StorageFailed."""
        request = idl().HeartbeatRequest(lockid=self.lockid)
        try:
            _ask(self.lock, lambda client: client.heartbeat(request))
        except idl().NoSuchLockException as error:
            raise self._lost("the metastore has removed it") from error

    def release(self) -> None:
        """Removes the request, whether it is granted or not. Raises StorageFailed."""
        with suppress(idl().NoSuchLockException):
            _unlock(self.lock, self.lockid)

    def _state(self) -> int:
        """The state of the request; asking renews it."""
        request = idl().CheckLockRequest(lockid=self.lockid)
        try:
            return int(_ask(self.lock, lambda client: client.check_lock(request)).state)
        except idl().NoSuchLockException as error:
            raise self._lost("the metastore has removed it") from error

    def _lost(self, reason: str) -> Conflict:
        return may_be_lost(self.lock, "the metastore", reason, lockid=self.lockid)


@contextmanager
def metastore_lock(lock: MetastoreLock, owner: Owner) -> Iterator[QueuedLock]:
    """A request for the lock, in the queue from now on; removed at the end. Raises StorageFailed: no metastore answers,
    or it refuses the request."""
    agent = f"hudictl {owner.uuid} pid {owner.pid}: {owner.command}"
    try:
        queued = QueuedLock(lock, _enqueue(lock, owner.host, agent))
    except StorageFailed:
        # The request may be in the queue, although the reply was lost.
        with suppress(StorageFailed, TException):
            _withdraw(lock, agent)
        raise
    try:
        every_ms = min(lock.heartbeat_ms, _timeout_ms(lock) // 3)
        with kept_alive(queued.beat, every_ms / 1000):
            yield queued
    finally:
        # A request that cannot be removed ends with the metastore's timeout.
        with suppress(StorageFailed, TException):
            queued.release()


def look_at_metastore_lock(lock: MetastoreLock, now_ms: int) -> LockSign | None:
    """The lock as it is held now, without a request for it; None if it is free. Raises StorageFailed."""
    held = next((entry for entry in _shown(lock) if entry.state == idl().LockState.ACQUIRED), None)
    if held is None:
        return None
    told = {name: getattr(held, name) for name in ("lockid", "user", "hostname", "agentInfo", "lastheartbeat")}
    expires_in_ms = int(held.lastheartbeat) + _timeout_ms(lock) - now_ms
    return LockSign(
        path=lock.place,
        provider=_PROVIDER,
        held=True,
        expired=expires_in_ms < 0,
        owner=_owner_of(held),
        age_ms=now_ms - int(held.acquiredat) if held.acquiredat else None,
        expires_in_ms=expires_in_ms,
        content=json.dumps(told),
    )


def free_expired_metastore_lock(lock: MetastoreLock, sign: LockSign, owner: Owner) -> bool:
    """Removes a lock that was seen, if its owner has been silent for longer than the metastore's timeout. By the
    metastore's own clock: that of a new request in its queue, which is removed again.

    Returns False: it is not held any more, or it is not past its expiry. Raises StorageFailed.
    """
    seen = json.loads(sign.content)
    with metastore_lock(lock, owner) as own:
        by_id = {int(entry.lockid): entry for entry in _shown(lock)}
        held, ours = by_id.get(seen["lockid"]), by_id.get(own.lockid)
        if held is None or ours is None or held.lastheartbeat != seen["lastheartbeat"]:
            return False
        if int(ours.lastheartbeat) - int(held.lastheartbeat) <= _timeout_ms(lock):
            return False
        with suppress(idl().NoSuchLockException):
            _unlock(lock, seen["lockid"])
    return True


def _enqueue(lock: MetastoreLock, host: str, agent: str) -> int:
    component = idl().LockComponent(
        type=idl().LockType.EXCLUSIVE, level=idl().LockLevel.TABLE, dbname=lock.database, tablename=lock.table
    )
    request = idl().LockRequest(component=[component], user="hudictl", hostname=host, agentInfo=agent[:_TEXT_LENGTH])
    return int(_ask(lock, lambda client: client.lock(request)).lockid)


def _withdraw(lock: MetastoreLock, agent: str) -> None:
    for entry in _shown(lock):
        if entry.agentInfo == agent[:_TEXT_LENGTH]:
            _unlock(lock, entry.lockid)


def _unlock(lock: MetastoreLock, lockid: int) -> None:
    request = idl().UnlockRequest(lockid=lockid)
    _ask(lock, lambda client: client.unlock(request))


def _shown(lock: MetastoreLock) -> list[Any]:
    """The requests for the lock, oldest first. Hive 3 and later store names in lower case."""
    names = dict.fromkeys([(lock.database, lock.table), (lock.database.lower(), lock.table.lower())])
    requests = [idl().ShowLocksRequest(dbname=database, tablename=table) for database, table in names]
    answers = _ask(lock, lambda client: [client.show_locks(request) for request in requests])
    found = {int(entry.lockid): entry for answer in answers for entry in answer.locks or ()}
    return [found[lockid] for lockid in sorted(found)]


def _owner_of(entry: Any) -> str:
    agent = f" ({entry.agentInfo})" if entry.agentInfo and entry.agentInfo != "Unknown" else ""
    return f"{entry.user}@{entry.hostname}{agent}"


def _timeout_ms(lock: MetastoreLock) -> int:
    """After this time without a heartbeat the metastore removes a request; its default, if it does not tell."""
    with suppress(idl().ConfigValSecurityException):
        told = _ask(lock, lambda client: client.get_config_value(_TIMEOUT_KEY, ""))
        return duration_ms(str(told)) or _TIMEOUT_MS
    return _TIMEOUT_MS


def duration_ms(text: str) -> int | None:
    """A time span as in Hive's settings (``300s``, ``5min``; seconds without a unit); None if it is none."""
    match = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if match is None:
        return None
    unit = _UNITS_MS.get(_LETTERS.get(match[2], match[2]) or "s")
    return int(match[1]) * unit if unit else None


def _ask(lock: MetastoreLock, call: Callable[[Any], Any]) -> Any:
    """One request, to the first metastore that can be reached, on a connection of its own: two threads ask, and a
    metastore may be started again between two requests."""
    problem: Exception | None = None
    for uri in lock.uris.split(","):
        host, _, port = uri.strip().removeprefix("thrift://").rstrip("/").rpartition(":")
        try:
            client = make_client(
                idl().ThriftHiveMetastore, host or port, int(port) if host else _PORT, timeout=_ANSWER_MS
            )
        except (TTransportException, OSError) as error:
            problem = error
            continue
        try:
            return call(client)
        except _told_errors():
            raise
        except (TException, OSError) as error:
            problem = error
            break
        finally:
            client.close()
    raise StorageFailed(
        f"the Hive metastore {lock.uris} does not answer: {problem or 'no URI'}",
        hint="one that requires Kerberos or TLS is not supported. Fix the cause, then run the same command again",
        uris=lock.uris,
    ) from problem


@cache
def _told_errors() -> tuple[type[Exception], ...]:
    """Answers that the callers expect."""
    return (idl().NoSuchLockException, idl().ConfigValSecurityException)
