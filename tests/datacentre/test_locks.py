"""Locks that other hosts keep: as long as nobody answers for one, nothing is changed."""

import sys
from pathlib import Path

import pytest

from tests.datacentre.hosts import start_hosts
from tests.datacentre.outcome_support import WORDS, data, restored
from tests.datacentre.services import (
    COMMAND_SECONDS,
    KEYS,
    SERVES,
    edge,
    hudictl,
    lock_options,
    start_s3,
    start_zookeeper,
    storage_options,
    store,
    stored,
    upload,
    zookeeper,
    zookeeper_lock,
)

pytestmark = [pytest.mark.datacentre, pytest.mark.full]

SERVERS = ("z1", "z2", "z3")
DYNAMO = {
    "provider": "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider",
    "dynamodb.table": "locks",
    "dynamodb.partition_key": "trips",
    "dynamodb.region": "us-east-1",
    "dynamodb.endpoint_url": "http://dynamo:9000",
}
CREATE = """
import boto3
boto3.client("dynamodb", endpoint_url="http://dynamo:9000").create_table(
    TableName="locks",
    KeySchema=[{"AttributeName": "key", "KeyType": "HASH"}],
    AttributeDefinitions=[{"AttributeName": "key", "AttributeType": "S"}],
    BillingMode="PAY_PER_REQUEST",
)
"""


def test_dynamodb(tmp_path: Path) -> None:
    """Moto's, on a host that is cut off and comes back."""
    table = restored("v9", tmp_path)
    with start_hosts(tmp_path / "logs", {"edge": edge(), "s3": store(), "dynamo": store()}) as running:
        endpoint = start_s3(running, "s3")
        start_s3(running, "dynamo")
        running.check("dynamo", [sys.executable, "-c", CREATE], KEYS)
        uri = upload(running, "s3", endpoint, table.path, "table")
        reached = ("-t", uri, *storage_options(endpoint), *lock_options(DYNAMO))
        common = (*reached, "--engine", "local", "--yes", "-o", "json")
        restore = ("restore", table.target, *WORDS, *common)

        said = hudictl(running, "edge", "savepoint", "create", *common, env=KEYS)
        assert said.code == 0, said.err
        running.cut("edge", "dynamo")
        said = hudictl(running, "edge", *restore, env=KEYS)
        assert said.code == 15, said.out
        assert "DynamoDB" in said.error["message"]
        assert data(stored(running, "s3", endpoint, "table")) == table.before
        running.heal("edge", "dynamo")
        said = hudictl(running, "edge", *restore, env=KEYS)
        assert said.code == 0, said.err
        assert data(stored(running, "s3", endpoint, "table")) == table.after


def test_zookeeper_with_and_without_a_majority(tmp_path: Path) -> None:
    """The lock holds as long as two of three servers are there."""
    table = restored("v9", tmp_path)
    hosts = {"edge": edge(), "s3": store(), **dict.fromkeys(SERVERS, zookeeper())}
    with start_hosts(tmp_path / "logs", hosts) as running:
        endpoint = start_s3(running, "s3")
        start_zookeeper(running, SERVERS)
        uri = upload(running, "s3", endpoint, table.path, "table")
        reached = ("-t", uri, *storage_options(endpoint), *zookeeper_lock(SERVERS))
        common = (*reached, "--engine", "local", "--yes", "-o", "json")

        running.power_off("z1")
        said = hudictl(running, "edge", "savepoint", "create", *common)
        assert said.code == 0, said.err
        running.cut("z2")
        said = hudictl(running, "edge", "restore", table.target, *WORDS, *common)
        assert said.code == 15, said.out
        assert "ZooKeeper" in said.error["message"]
        assert data(stored(running, "s3", endpoint, "table")) == table.before
        running.heal("z2")
        for process in running.processes:
            if process.host in ("z2", "z3"):
                running.wait_for_words(process, SERVES, COMMAND_SECONDS, times=2)
        said = hudictl(running, "edge", "restore", table.target, *WORDS, *common)
        assert said.code == 0, said.err
        assert data(stored(running, "s3", endpoint, "table")) == table.after
