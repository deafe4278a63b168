"""Contenders for the item of AWS's lock client, in moto's DynamoDB, at a time that the tests set."""

import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.retries import standard

from hudictl.table.locks import dynamodb as module
from hudictl.table.locks.config import ItemLock
from hudictl.table.locks.dynamodb import LockItem
from tests.dynamodb import CREDENTIALS, REGION, Dynamo, make_dynamo
from tests.s3 import S3

Contend = Callable[..., LockItem]
BODY = b'{"owner": "me"}'
LEASE_MS = 60_000


@dataclass
class Clock:
    """The time of this process's contenders, in seconds."""

    now: float = 1000.0
    pauses: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return set_clock(monkeypatch)


def set_clock(patch: pytest.MonkeyPatch) -> Clock:
    """Nobody waits: neither for a lease, nor before a request is sent again."""
    for name, value in CREDENTIALS.items():
        patch.setenv(name, value)
    made = Clock()
    patch.setattr(module, "time", SimpleNamespace(monotonic=made.monotonic))
    patch.setattr(module, "_client", lambda lock: client_of(lock.endpoint))
    patch.setattr(standard.ExponentialBackoff, "delay_amount", lambda *_: 0)
    return made


@pytest.fixture
def dynamo(s3: S3, clock: Clock) -> Dynamo:
    return make_dynamo(s3)


make_client = module._client


@cache
def client_of(endpoint: str) -> Any:
    """The client of a contender: to make one takes a while."""
    return make_client(ItemLock("", "", "", REGION, endpoint, LEASE_MS))


@pytest.fixture
def contend(dynamo: Dynamo) -> Contend:
    """``contend()``: one more contender, without a thread of its own for heartbeats."""
    client = client_of(dynamo.s3.endpoint)

    def make(name: str = "own", lease_ms: int = LEASE_MS) -> LockItem:
        return LockItem(client, dynamo.lock(lease_ms), name, BODY)

    return make


@pytest.fixture
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
