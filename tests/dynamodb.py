"""DynamoDB in this process: moto's, in the server of ``tests/s3.py``, which answers one request at a time."""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3

from hudictl.table.locks.config import ItemLock
from tests.s3 import S3, SECRET, Application, Environment, Interference, Start

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "the-key", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_EC2_METADATA_DISABLED": "true"}
REGION = "us-east-1"
KEY = "trips"


@dataclass(frozen=True)
class Dynamo:
    """A table for locks, as Hudi creates it."""

    s3: S3
    table: str
    client: Any

    def lock(self, lease_ms: int = 60_000, key: str = KEY) -> ItemLock:
        host = self.s3.endpoint.partition("://")[2]
        return ItemLock(f"dynamodb://{host}/{self.table}/{key}", self.table, key, REGION, self.s3.endpoint, lease_ms)

    @property
    def item(self) -> dict[str, Any] | None:
        """What is stored, with the types of its attributes."""
        found: dict[str, Any] | None = self.client.get_item(TableName=self.table, Key={"key": {"S": KEY}}).get("Item")
        return found

    def put(self, **attributes: Any) -> None:
        """The item of another contender; None: without this attribute."""
        usual: dict[str, Any] = {
            "key": {"S": KEY},
            "ownerName": {"S": "writer"},
            "leaseDuration": {"S": "60000"},
            "recordVersionNumber": {"S": str(uuid.uuid4())},
        }
        item = {name: value for name, value in (usual | attributes).items() if value is not None}
        self.client.put_item(TableName=self.table, Item=item)

    def delete(self) -> None:
        self.client.delete_item(TableName=self.table, Key={"key": {"S": KEY}})

    def settings(self, provider: str) -> dict[str, str]:
        """Those of the writers that use it."""
        return {
            "hoodie.write.lock.provider": provider,
            "hoodie.write.lock.dynamodb.table": self.table,
            "hoodie.write.lock.dynamodb.partition_key": KEY,
            "hoodie.write.lock.dynamodb.region": REGION,
            "hoodie.write.lock.dynamodb.endpoint_url": self.s3.endpoint,
        }


def make_dynamo(s3: S3, region: str = REGION) -> Dynamo:
    """A table of its own for each test."""
    client = _client(s3.endpoint, region)
    table = f"locks-{uuid.uuid4()}"
    client.create_table(
        TableName=table,
        KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return Dynamo(s3, table, client)


@cache
def _client(endpoint: str, region: str) -> Any:
    return boto3.session.Session().client(
        "dynamodb",
        region_name=region,
        endpoint_url=endpoint,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=SECRET,
    )


def operation(environment: Environment) -> str:
    """Which request it is: ``PutItem``."""
    return str(environment.get("HTTP_X_AMZ_TARGET", "")).rpartition(".")[2]


def fails(kind: str, *operations: str) -> Interference:
    """These requests get an error."""

    def interfere(environment: Environment, start: Start, _application: Application) -> Iterable[bytes] | None:
        return _error(start, kind) if operation(environment) in operations else None

    return interfere


def loses(name: str, times: int) -> Interference:
    """The first requests of a kind are carried out, but their answers are lost."""
    lost: list[str] = []

    def interfere(environment: Environment, start: Start, application: Application) -> Iterable[bytes] | None:
        if operation(environment) != name or len(lost) == times:
            return None
        lost.append(name)
        list(application(environment, lambda *_: lambda _: None))
        return _error(start, "InternalServerError")

    return interfere


def _error(start: Start, kind: str) -> Iterable[bytes]:
    status = "500 Internal Server Error" if kind == "InternalServerError" else "400 Bad Request"
    start(status, [("Content-Type", "application/x-amz-json-1.0")])
    return [f'{{"__type": "com.amazonaws.dynamodb.v20120810#{kind}", "message": "the reason"}}'.encode()]


@contextmanager
def before(client: Any, name: str, deed: Callable[[], None]) -> Iterator[None]:
    """Something happens just before a client's first request of a kind is sent."""
    done: list[bool] = []

    def act(**_: Any) -> None:
        if not done:
            done.append(True)
            deed()

    client.meta.events.register(f"before-call.dynamodb.{name}", act)
    try:
        yield
    finally:
        client.meta.events.unregister(f"before-call.dynamodb.{name}", act)
