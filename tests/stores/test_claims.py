"""Two processes that claim a table at the same moment: exactly one of them is inside."""

import multiprocessing
from multiprocessing.synchronize import Barrier
from typing import Any

import pytest

from hudictl.errors import Conflict
from hudictl.storage.open import open_storage
from hudictl.table.locks.claim import claim
from tests.stores.server import Server

pytestmark = pytest.mark.stores

WAIT_S = 60


@pytest.mark.short("20")
@pytest.mark.parametrize("rounds", [20, 200])
def test_claims_raced_by_processes(server: Server, rounds: int) -> None:
    """Who has it keeps it until the other one has tried, too; then it is free for the next round."""
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(2), context.Queue()
    arguments = (f"{server.root}/claims/{rounds}", dict(server.options), rounds, barrier, answers)
    processes = [context.Process(target=race, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    won = [answers.get(timeout=20 + rounds * 5) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(won[0] + won[1]) == [*range(rounds)]


def race(
    uri: str, options: dict[str, str], rounds: int, barrier: Barrier, answers: "multiprocessing.Queue[Any]"
) -> None:
    """The rounds in which this process had the claim; the exception that stopped it."""
    won: list[Any] = []
    storage = open_storage(uri, ".tmp", options)
    try:
        for number in range(rounds):
            barrier.wait(WAIT_S)
            try:
                with claim(storage, "race") as held:
                    won.append(number)
                    barrier.wait(WAIT_S)
                    held.check()
            except Conflict:
                barrier.wait(WAIT_S)
            barrier.wait(WAIT_S)
    except Exception as error:
        won.append(repr(error))
        barrier.abort()
    answers.put(won)
