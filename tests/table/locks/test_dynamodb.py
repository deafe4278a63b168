"""The item of AWS's lock client, in moto's DynamoDB: one contender at a time, and the dead are waited out."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hudictl.errors import Conflict, StorageFailed, Unreadable
from hudictl.ops.session import Silent
from hudictl.table.locks import dynamodb as module
from hudictl.table.locks.config import DYNAMODB, ItemLock, Locking
from hudictl.table.locks.dynamodb import lock_item
from hudictl.table.locks.hold import hold
from hudictl.table.locks.providers import contender_of
from hudictl.table.writers.beat import kept_alive
from tests.dynamodb import KEY, Dynamo, before, fails, loses
from tests.s3 import SECRET
from tests.table.conftest import Small
from tests.table.locks.conftest import BODY, Clock, Contend, make_client

# The server of these tests


def test_the_server_keeps_conditions(dynamo: Dynamo) -> None:
    """Or no other test here would prove anything."""
    put = {"TableName": dynamo.table, "Item": {"key": {"S": KEY}, "v": {"S": "1"}}}
    names = {"ExpressionAttributeNames": {"#key": "key"}}
    dynamo.client.put_item(**put, ConditionExpression="attribute_not_exists(#key)", **names)
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        dynamo.client.put_item(**put, ConditionExpression="attribute_not_exists(#key)", **names)
    one = {"TableName": dynamo.table, "Key": {"key": {"S": KEY}}}
    values = {"ExpressionAttributeValues": {":v": {"S": "2"}}, "ExpressionAttributeNames": {"#v": "v"}}
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        dynamo.client.delete_item(**one, ConditionExpression="#v = :v", **values)
    with pytest.raises(ClientError, match="ConditionalCheckFailed"):
        dynamo.client.update_item(**one, UpdateExpression="SET #v = :v", ConditionExpression="#v = :v", **values)


def test_the_item_is_always_read_consistently(dynamo: Dynamo, contend: Contend) -> None:
    """An old answer may say anything; moto has none."""
    own = contend()
    asked: list[Any] = []

    def note(params: dict[str, Any], **_: Any) -> None:
        asked.append(params["ConsistentRead"])

    own.client.meta.events.register("before-parameter-build.dynamodb.GetItem", note)
    try:
        assert own.holder() is None
        own.check()
    finally:
        own.client.meta.events.unregister("before-parameter-build.dynamodb.GetItem", note)
    assert asked == [True, True]


# Taking it


def test_a_free_lock_is_taken_with_the_attributes_of_awss_client(dynamo: Dynamo, contend: Contend) -> None:
    own = contend()
    assert own.holder() is None
    own.check()
    item = dynamo.item
    assert item is not None
    version = item.pop("recordVersionNumber")["S"]
    assert len(version) == 36
    assert item == {
        "key": {"S": KEY},
        "ownerName": {"S": "own"},
        "leaseDuration": {"S": "60000"},
        "data": {"B": BODY},
    }


def test_a_second_contender_is_told_the_holder_and_has_it_after_the_release(contend: Contend, dynamo: Dynamo) -> None:
    first, second = contend("first"), contend("second")
    assert first.holder() is None
    assert second.holder() == f"first {BODY.decode()}"
    with pytest.raises(Conflict, match="belongs to first"):
        second.check()
    second.release()
    first.check()
    first.release()
    assert dynamo.item is None
    assert second.holder() is None
    second.check()


def test_a_released_item_is_taken_at_once(dynamo: Dynamo, contend: Contend) -> None:
    """AWS's client leaves it with a mark if it is told to; another mark means nothing to it."""
    dynamo.put(isReleased={"S": "0"})
    assert contend().holder() == "writer"
    dynamo.put(isReleased={"S": "1"})
    own = contend()
    assert own.holder() is None
    own.check()
    assert "isReleased" not in (dynamo.item or {})


def test_a_lock_that_is_taken_between_look_and_put_stays_the_others(dynamo: Dynamo, contend: Contend) -> None:
    for mark in (None, {"S": "1"}):
        dynamo.delete() if mark is None else dynamo.put(isReleased=mark)
        own = contend()
        with before(own.client, "PutItem", dynamo.put):
            assert own.holder() is not None
        assert dynamo.item is not None
        assert dynamo.item["ownerName"] == {"S": "writer"}
        with pytest.raises(Conflict):
            own.check()


# The dead, and the living


def test_a_dead_holder_is_waited_out_for_its_own_lease(dynamo: Dynamo, contend: Contend, clock: Clock) -> None:
    """Its lease counts, not this contender's; from the first look on, not before."""
    dynamo.put(leaseDuration={"S": "20000"})
    clock.now += 500
    own = contend(lease_ms=5000)
    assert own.holder() == "writer"
    clock.now += 20
    assert own.holder() == "writer"
    clock.now += 0.01
    assert own.holder() is None
    own.check()


def test_a_heartbeat_begins_the_wait_anew(contend: Contend, clock: Clock) -> None:
    first, second = contend("first"), contend("second")
    assert first.holder() is None
    for _ in range(4):
        assert second.holder() is not None
        clock.now += 59
        assert second.holder() is not None
        first.beat()
        clock.now += 2
    first.check()
    assert second.holder() is not None
    clock.now += 61
    assert second.holder() is None


def test_a_holder_that_beats_at_the_last_moment_keeps_it(dynamo: Dynamo, contend: Contend, clock: Clock) -> None:
    first, second = contend("first"), contend("second")
    assert first.holder() is None
    assert second.holder() is not None
    clock.now += 61
    with before(second.client, "PutItem", first.beat):
        assert second.holder() is not None
    first.check()


def test_the_wait_counts_from_answer_to_question(dynamo: Dynamo, contend: Contend, clock: Clock) -> None:
    """A slow answer is no time in which the holder was silent."""
    dynamo.put()
    own = contend()

    def slow() -> None:
        clock.now += 61

    for _ in range(2):
        with before(own.client, "GetItem", slow):
            assert own.holder() is not None


def test_heartbeats_keep_it_for_longer_than_its_lease(dynamo: Dynamo, contend: Contend, clock: Clock) -> None:
    own = contend()
    assert own.holder() is None
    versions = set()
    for _ in range(5):
        clock.now += 50
        own.beat()
        own.check()
        versions.add((dynamo.item or {})["recordVersionNumber"]["S"])
    assert len(versions) == 5


# Losing it


def test_without_heartbeats_it_counts_as_lost(dynamo: Dynamo, contend: Contend, clock: Clock) -> None:
    """Before another contender can have it; a heartbeat that succeeds says that none has."""
    own = contend()
    assert own.holder() is None
    clock.now += 59.9
    own.check()
    clock.now += 0.1
    with pytest.raises(Conflict, match="no heartbeat succeeded for 60 s") as caught:
        own.check()
    assert caught.value.exit_code == 12
    own.beat()
    own.check()


def test_a_slow_heartbeat_counts_from_when_it_was_sent(dynamo: Dynamo, contend: Contend, clock: Clock) -> None:
    own = contend()

    def slow() -> None:
        clock.now += 50

    with before(own.client, "PutItem", slow):
        assert own.holder() is None
    clock.now += 11
    with pytest.raises(Conflict, match="no heartbeat"):
        own.check()
    with before(own.client, "UpdateItem", slow):
        own.beat()
    clock.now += 11
    with pytest.raises(Conflict, match="no heartbeat"):
        own.check()


def test_a_stolen_lock_is_noticed_and_left_alone(dynamo: Dynamo, contend: Contend) -> None:
    own = contend()
    assert own.holder() is None
    dynamo.put()
    stolen = dynamo.item
    own.beat()
    with pytest.raises(Conflict, match="belongs to writer"):
        own.check()
    own.release()
    assert dynamo.item == stolen


def test_a_deleted_item_is_noticed_and_not_made_again(dynamo: Dynamo, contend: Contend) -> None:
    own = contend()
    assert own.holder() is None
    dynamo.delete()
    own.beat()
    assert dynamo.item is None
    with pytest.raises(Conflict, match="was deleted"):
        own.check()
    own.release()


def test_a_marked_item_is_lost(dynamo: Dynamo, contend: Contend) -> None:
    own = contend()
    assert own.holder() is None
    dynamo.put(ownerName={"S": "own"}, isReleased={"S": "1"})
    with pytest.raises(Conflict):
        own.check()


def test_nobody_answers_a_check(dynamo: Dynamo, contend: Contend) -> None:
    own = contend()
    assert own.holder() is None
    failing = fails("InternalServerError", "GetItem")
    with dynamo.s3.interfering(failing), pytest.raises(Conflict, match="may have lost the lock"):
        own.check()
    own.check()


# Lost answers, and errors


LOST = pytest.mark.parametrize("times", [1, 3])
"""Only the answer to the first attempt, or those to all attempts of one request."""


@LOST
@pytest.mark.parametrize("state", ["absent", "released", "dead"])
def test_an_answer_that_is_lost_while_taking_it(
    dynamo: Dynamo, contend: Contend, clock: Clock, state: str, times: int
) -> None:
    """The item has this contender's name: so it is its own."""
    own = contend()
    if state != "absent":
        dynamo.put(isReleased={"S": "1"} if state == "released" else None)
    if state == "dead":
        assert own.holder() is not None
        clock.now += 61
    with dynamo.s3.interfering(loses("PutItem", times)), suppress(StorageFailed):
        assert own.holder() is not None
    clock.now += 50
    assert own.holder() is None
    clock.now += 50
    own.check()


@LOST
def test_a_lock_whose_answer_was_lost_is_released_too(dynamo: Dynamo, times: int) -> None:
    with dynamo.s3.interfering(loses("PutItem", times)), suppress(StorageFailed), lock_item(dynamo.lock(), BODY) as own:
        own.holder()
    assert own.tried
    assert dynamo.item is None


@LOST
def test_an_answer_that_is_lost_at_a_heartbeat(dynamo: Dynamo, contend: Contend, clock: Clock, times: int) -> None:
    own = contend()
    assert own.holder() is None
    with dynamo.s3.interfering(loses("UpdateItem", times)), suppress(StorageFailed):
        own.beat()
    clock.now += 59
    own.beat()
    clock.now += 59
    own.check()
    own.release()
    assert dynamo.item is None


def test_a_release_whose_answer_is_lost(dynamo: Dynamo) -> None:
    with dynamo.s3.interfering(loses("DeleteItem", 3)), lock_item(dynamo.lock(), BODY) as own:
        assert own.holder() is None
    assert dynamo.item is None


def test_a_heartbeat_that_fails_is_made_up_for(dynamo: Dynamo, contend: Contend, clock: Clock) -> None:
    own = contend()
    assert own.holder() is None
    throttled = fails("ProvisionedThroughputExceededException", "UpdateItem")
    with dynamo.s3.interfering(throttled), pytest.raises(StorageFailed):
        own.beat()
    clock.now += 40
    own.check()
    own.beat()
    clock.now += 40
    own.check()


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("ProvisionedThroughputExceededException", "does not answer, or refuses"),
        ("AccessDeniedException", "the reason"),
        ("ResourceNotFoundException", "does not exist in us-east-1"),
    ],
)
def test_errors_while_waiting(dynamo: Dynamo, contend: Contend, kind: str, said: str) -> None:
    own = contend()
    with dynamo.s3.interfering(fails(kind, "GetItem")), pytest.raises(StorageFailed, match=said) as caught:
        own.holder()
    assert caught.value.hint
    assert SECRET not in f"{caught.value.message}{caught.value.hint}{caught.value.fields}"


def test_a_missing_table(dynamo: Dynamo) -> None:
    """A writer with these settings would have created it: hudictl does not."""
    lock = ItemLock("dynamodb://x/none/t", "none", "t", "us-east-1", dynamo.s3.endpoint, 60_000)
    with pytest.raises(StorageFailed, match="the table none does not exist") as caught, lock_item(lock, BODY) as own:
        own.holder()
    assert "region" in caught.value.hint
    assert "none" not in dynamo.client.list_tables()["TableNames"]


@pytest.mark.slow
@pytest.mark.usefixtures("clock")
def test_nobody_listens(free_port: int) -> None:
    lock = ItemLock("dynamodb://x/none/t", "none", "t", "us-east-1", f"http://127.0.0.1:{free_port}", 60_000)
    with pytest.raises(StorageFailed, match="Could not connect"), lock_item(lock, BODY) as own:
        own.holder()


def test_no_credentials(dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setattr(module, "_client", make_client)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/none")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/none")
    with pytest.raises(StorageFailed, match="no AWS credentials"), lock_item(dynamo.lock(), BODY) as own:
        own.holder()


@pytest.mark.parametrize("without", ["ownerName", "leaseDuration", "recordVersionNumber"])
def test_an_item_of_another_kind(dynamo: Dynamo, contend: Contend, without: str) -> None:
    own = contend()
    assert own.holder() is None
    dynamo.put(**{without: None})
    with pytest.raises(Unreadable, match="not an item of AWS's lock client"):
        contend("other").holder()
    with pytest.raises(Conflict):
        own.check()
    dynamo.put(leaseDuration={"S": "soon"})
    with pytest.raises(Unreadable):
        own.holder()


# A whole hold


def test_it_is_renewed_in_the_background_and_released_also_after_an_error(
    dynamo: Dynamo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three times a lease, as Hudi does."""
    beats = []

    def note(beat: Callable[[], None], every_s: float | None = None) -> Any:
        beats.append((beat, every_s))
        return kept_alive(lambda: None)

    monkeypatch.setattr(module, "kept_alive", note)

    def work() -> None:
        with lock_item(dynamo.lock(30_000), BODY) as own:
            assert own.holder() is None
            assert beats == [(own.beat, 10)]
            raise RuntimeError

    with pytest.raises(RuntimeError):
        work()
    assert dynamo.item is None


def test_each_contender_has_a_name_of_its_own_that_can_be_read(dynamo: Dynamo) -> None:
    import os
    import socket

    with lock_item(dynamo.lock(), BODY) as one, lock_item(dynamo.lock(), BODY) as other:
        assert one.owner != other.owner
        assert one.owner.startswith(f"hudictl-{socket.gethostname()}-{os.getpid()}-")


def test_a_lock_that_cannot_be_released_expires(dynamo: Dynamo) -> None:
    with (
        dynamo.s3.interfering(fails("AccessDeniedException", "DeleteItem")),
        lock_item(dynamo.lock(), BODY) as own,
    ):
        assert own.holder() is None
    assert dynamo.item is not None


def test_a_table_is_held_by_its_item(small: Small, dynamo: Dynamo) -> None:
    """Another process's lock is waited for as long as may be; its holder is said."""
    table = small(9)
    locking = Locking(dynamo.settings(DYNAMODB), 0)
    with hold(table, "the command", Silent(), locking, contender_of) as held:
        held.check()
        item = dynamo.item
        assert item is not None
        assert json.loads(item["data"]["B"])["command"] == "the command"
    assert dynamo.item is None
    dynamo.put()
    with pytest.raises(Conflict, match=r"another process holds dynamodb://.*writer"):
        hold(table, "the command", Silent(), locking, contender_of).__enter__()
    assert (dynamo.item or {})["ownerName"] == {"S": "writer"}
