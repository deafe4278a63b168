"""Contenders for the item in any order, and what is seen and freed from outside."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudictl.errors import StorageFailed
from hudictl.table.locks.dynamodb import LockItem, look_at_item
from tests.dynamodb import Dynamo, loses, make_dynamo
from tests.s3 import S3
from tests.table.locks.conftest import BODY, Clock, Contend, client_of, set_clock


@pytest.mark.slow
def test_contenders_of_many_threads_are_never_inside_together(dynamo: Dynamo, contend: Contend) -> None:
    inside: list[str] = []
    entered: list[str] = []

    def work(thread: int) -> None:
        for number in range(5):
            own = contend(f"{thread}-{number}")
            while own.holder() is not None:
                time.sleep(0.001)
            inside.append(own.owner)
            own.check()
            assert inside == [own.owner]
            entered.append(own.owner)
            inside.remove(own.owner)
            own.release()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert len(set(entered)) == 20


STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["holder", "holder", "beat", "release", "lost beat", "wait"])),
    max_size=25,
)
WAITS = st.lists(st.sampled_from([1.0, 5.0, 11.0]), min_size=1, max_size=5)


def prove(s3: S3, steps: list[tuple[int, str]], waits: list[float]) -> None:
    """At most one contender may believe that it holds the lock, and then it does."""
    with pytest.MonkeyPatch.context() as patch:
        clock, dynamo, client = set_clock(patch), make_dynamo(s3), client_of(s3.endpoint)
        leases = (10_000, 4_000, 20_000)
        contenders = [LockItem(client, dynamo.lock(lease), str(number), b"") for number, lease in enumerate(leases)]
        for number, (who, step) in enumerate(steps):
            own = contenders[who]
            if step == "holder" and own.held is None:
                own.holder()
            elif step == "beat":
                own.beat()
            elif step == "lost beat":
                with s3.interfering(loses("UpdateItem", 3)), suppress(StorageFailed):
                    own.beat()
            elif step == "release":
                own.release()
                own.held = None
            clock.now += waits[number % len(waits)] if step == "wait" else 0.1
            believing = [one for one in contenders if believes(one, clock)]
            assert len(believing) <= 1
            for one in believing:
                one.check()


def believes(contender: LockItem, clock: Clock) -> bool:
    """Whether its lease is not over, by its own time: it does not look at the item each time."""
    return contender.held is not None and (clock.now - contender.held.moment) * 1000 < contender.lock.lease_ms


@pytest.mark.slow
@given(STEPS, WAITS)
@settings(max_examples=15)
def test_at_most_one_contender_believes_that_it_holds_the_lock(
    s3: S3, steps: list[tuple[int, str]], waits: list[float]
) -> None:
    """Whatever they do, in any order, at any time; some do not beat, or lose answers. Their leases differ."""
    prove(s3, steps, waits)


@pytest.mark.full
@given(STEPS, WAITS)
@settings(max_examples=500)
def test_at_most_one_contender_believes_so_in_many_orders(
    s3: S3, steps: list[tuple[int, str]], waits: list[float]
) -> None:
    prove(s3, steps, waits)


# Looking at it, and freeing it


def test_what_is_seen_of_it(dynamo: Dynamo, contend: Contend) -> None:
    lock = dynamo.lock()
    assert look_at_item(lock) is None
    contend().holder()
    sign = look_at_item(lock)
    assert sign is not None
    assert (sign.path, sign.provider, sign.owner) == (lock.place, "DynamoDBBasedLockProvider", "own")
    assert (sign.held, sign.age_ms, sign.expires_in_ms) == (True, None, None)
    content = json.loads(sign.content)
    assert (content["ownerName"], content["leaseDuration"], content["data"]) == ("own", 60_000, BODY.decode())
    dynamo.put(isReleased={"S": "1"})
    released = look_at_item(lock)
    assert released is not None
    assert not released.held
