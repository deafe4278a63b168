"""Hudi's DynamoDB lock providers, as hudictl takes their lock: the protocol of AWS's DynamoDB lock client (release
1.2.0, as of Hudi 0.15.0).

The lock is an item. Its holder gives it a new ``recordVersionNumber`` with each heartbeat, and deletes it at the end.
The item has no time. A contender waits until it has seen the same version for the item's own ``leaseDuration``; then
the holder is dead, and the item is replaced, if it still has this version. So clocks need not agree.

Each contender of hudictl has its own ``ownerName``: an item with this name is its own, also if the reply to the request
that wrote it was lost. AWS's client reads ``data`` as bytes, and drops it when it takes the lock over.
"""

import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from hudictl.errors import Conflict, StorageFailed, Unreadable
from hudictl.table.locks.config import DYNAMODB, ItemLock, LockSign, may_be_lost
from hudictl.table.locks.look import own_process
from hudictl.table.writers.beat import kept_alive

_ATTRIBUTES = {
    "#key": "key",
    "#owner": "ownerName",
    "#lease": "leaseDuration",
    "#version": "recordVersionNumber",
    "#released": "isReleased",
}
_RELEASED = "1"
_ABSENT = "attribute_not_exists(#key)"
_FREE = "attribute_exists(#key) AND #released = :released"
_UNCHANGED = "attribute_exists(#key) AND #version = :seen"
_OWN = "attribute_exists(#key) AND #owner = :own"
_ATTEMPTS = 3
_POLL_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class _Item:
    """The item as it is stored."""

    owner: str
    version: str
    lease_ms: int
    released: bool
    data: str


@dataclass(frozen=True, slots=True)
class _Since:
    """A version of the item, and a time: it was first seen then, or the request that wrote it was sent then."""

    version: str
    moment: float


@dataclass
class LockItem:
    """A contender for the item: ``owner`` is its name there, ``body`` its data."""

    client: Any
    lock: ItemLock
    owner: str
    body: bytes
    watched: _Since | None = None
    held: _Since | None = None
    tried: bool = False

    def holder(self) -> str | None:
        """Takes the lock, or returns its holder. Raises StorageFailed, Unreadable."""
        asked = time.monotonic()
        item = _read(self.client, self.lock)
        if item is not None and item.owner == self.owner and not item.released:
            # The reply to this process's own request was lost.
            taken = self._renewed(item.version)
        elif item is None:
            taken = self._put(_ABSENT)
        elif item.released:
            taken = self._put(_FREE, {":released": _RELEASED})
        else:
            taken = self._is_dead(item, asked) and self._put(_UNCHANGED, {":seen": item.version})
        if taken:
            return None
        if item is None:
            return "a writer that took it at the same moment"
        return f"{item.owner} {own_process(item.data) or item.data}".rstrip()

    def beat(self) -> None:
        """Renews the lease, if the lock is held. Raises StorageFailed, Unreadable."""
        if self.held is None or self._renewed(self.held.version):
            return
        # The reply to an earlier heartbeat may have been lost: then the item has its version.
        item = _read(self.client, self.lock)
        if item is not None and item.owner == self.owner:
            self._renewed(item.version)

    def check(self) -> None:
        """Raises Conflict: the lock is not held any more, or that is not certain."""
        try:
            item = _read(self.client, self.lock)
        except (StorageFailed, Unreadable) as error:
            raise self._lost(error.message) from error
        if item is None or item.released:
            raise self._lost("its item was deleted or released")
        if item.owner != self.owner:
            raise self._lost(f"it belongs to {item.owner}")
        quiet_s = time.monotonic() - self.held.moment if self.held else float("inf")
        if quiet_s * 1000 >= self.lock.lease_ms:
            raise self._lost(f"no heartbeat succeeded for {quiet_s:.0f} s")

    def release(self) -> None:
        """Deletes the item, if it is this contender's. Raises StorageFailed."""
        if self.tried:
            with _answers(self.lock):
                key = _texts({"key": self.lock.key})
                _changed(self.client.delete_item, _OWN, {":own": self.owner}, TableName=self.lock.table, Key=key)

    def _is_dead(self, item: _Item, asked: float) -> bool:
        """Whether its version has been the same for its lease, at the time ``asked``."""
        if self.watched is None or self.watched.version != item.version:
            self.watched = _Since(item.version, time.monotonic())
        return (asked - self.watched.moment) * 1000 > item.lease_ms

    def _put(self, condition: str, values: Mapping[str, str] | None = None) -> bool:
        """Writes the item as this contender's own; False: the condition is not met."""
        self.tried = True
        version, sent = str(uuid.uuid4()), time.monotonic()
        item = {
            "key": self.lock.key,
            "ownerName": self.owner,
            "leaseDuration": str(self.lock.lease_ms),
            "recordVersionNumber": version,
        }
        with _answers(self.lock):
            done = _changed(
                self.client.put_item,
                condition,
                values or {},
                TableName=self.lock.table,
                Item={**_texts(item), "data": {"B": self.body}},
            )
        if done:
            self.held = _Since(version, sent)
        return done

    def _renewed(self, version: str) -> bool:
        """Gives the own item a new version; False: it has another one, or another owner."""
        new, sent = str(uuid.uuid4()), time.monotonic()
        values = {":own": self.owner, ":seen": version, ":new": new, ":lease": str(self.lock.lease_ms)}
        with _answers(self.lock):
            done = _changed(
                self.client.update_item,
                f"{_OWN} AND #version = :seen",
                values,
                TableName=self.lock.table,
                Key=_texts({"key": self.lock.key}),
                UpdateExpression="SET #lease = :lease, #version = :new",
            )
        if done:
            self.held = _Since(new, sent)
        return done

    def _lost(self, reason: str) -> Conflict:
        return may_be_lost(self.lock, "DynamoDB", reason, lock=self.lock.place)


@contextmanager
def lock_item(lock: ItemLock, body: bytes) -> Iterator[LockItem]:
    """A contender for the lock, which releases it at the end if it holds it. Raises StorageFailed: DynamoDB does not
    answer, or refuses."""
    own = LockItem(_client(lock), lock, f"hudictl-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4()}", body)
    try:
        with kept_alive(own.beat, lock.lease_ms / 3000):
            yield own
    finally:
        # An item that cannot be deleted expires.
        with suppress(StorageFailed):
            own.release()


def look_at_item(lock: ItemLock) -> LockSign | None:
    """The lock that exists now. Its item has no time. Raises StorageFailed, Unreadable."""
    item = _read(_client(lock), lock)
    if item is None:
        return None
    content = {
        "ownerName": item.owner,
        "leaseDuration": item.lease_ms,
        "recordVersionNumber": item.version,
        "data": item.data,
    }
    name = DYNAMODB.rpartition(".")[2]
    return LockSign(lock.place, name, not item.released, False, item.owner, None, None, json.dumps(content))


def _client(lock: ItemLock) -> Any:
    """A client whose attempts all end long before the lease. Raises StorageFailed."""
    timeout_s = max(1.0, min(10.0, lock.lease_ms / 12_000))
    with _answers(lock):
        return boto3.session.Session().client(
            "dynamodb",
            region_name=lock.region,
            endpoint_url=lock.endpoint,
            config=Config(
                connect_timeout=timeout_s,
                read_timeout=timeout_s,
                retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            ),
        )


def _read(client: Any, lock: ItemLock) -> _Item | None:
    """Raises StorageFailed; Unreadable: an item of another kind."""
    with _answers(lock):
        reply = client.get_item(TableName=lock.table, Key=_texts({"key": lock.key}), ConsistentRead=True)
    found = reply.get("Item")
    if not found:
        return None
    try:
        return _Item(
            found["ownerName"]["S"],
            found["recordVersionNumber"]["S"],
            int(found["leaseDuration"]["S"]),
            found.get("isReleased", {}).get("S") == _RELEASED,
            found.get("data", {}).get("B", b"").decode("utf-8", "replace"),
        )
    except (KeyError, ValueError) as error:
        raise Unreadable(
            f"{lock.place} is not an item of AWS's lock client",
            hint="check hoodie.write.lock.dynamodb.table and .partition_key",
            lock=lock.place,
        ) from error


def _changed(request: Callable[..., Any], condition: str, values: Mapping[str, str], **arguments: Any) -> bool:
    """A conditional request; False: the condition is not met."""
    said = condition + arguments.get("UpdateExpression", "")
    arguments["ExpressionAttributeNames"] = {key: name for key, name in _ATTRIBUTES.items() if key in said}
    if values:
        arguments["ExpressionAttributeValues"] = _texts(values)
    try:
        request(ConditionExpression=condition, **arguments)
    except ClientError as error:
        if _code(error) == "ConditionalCheckFailedException":
            return False
        raise
    return True


@contextmanager
def _answers(lock: ItemLock) -> Iterator[None]:
    try:
        yield
    except NoCredentialsError as error:
        raise StorageFailed(
            "no AWS credentials were found",
            hint="boto3 reads the environment, ~/.aws and the role of this host; hoodie.aws.* is not used",
        ) from error
    except (BotoCoreError, ClientError, ValueError) as error:
        missing = isinstance(error, ClientError) and _code(error) == "ResourceNotFoundException"
        raise StorageFailed(
            f"{lock.place}: the table {lock.table} does not exist in {lock.region}"
            if missing
            else f"{lock.place}: DynamoDB does not answer, or refuses: {error}",
            hint="writers create the table when they first lock: check the settings of table, region and endpoint"
            if missing
            else "nothing was changed while waiting for the lock: fix the cause, then run the same command again",
            lock=lock.place,
        ) from error


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _texts(values: Mapping[str, str]) -> dict[str, Any]:
    return {name: {"S": value} for name, value in values.items()}
