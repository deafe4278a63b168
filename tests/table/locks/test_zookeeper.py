"""The order of Curator's nodes, and what counts as a lost lock. ZooKeeper itself is asked in tests/interop."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kazoo.exceptions import ConnectionLoss, NoNodeError, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError

from hudictl.errors import Conflict, StorageFailed
from hudictl.table.locks.config import NodeLock
from hudictl.table.locks.zookeeper import LockNode, lock_node

LOCK = NodeLock("zookeeper://zk/hudi/t", "zk", "/hudi/t", 4000, 1000)
OWN = "_c_ours-lock-0000000005"


@dataclass
class Status:
    owner_session_id: int | None = 7
    created: float = 0.0


@dataclass
class Answer:
    act: Callable[[], Any]

    def get(self, timeout: float) -> Any:
        assert timeout == 1.0
        return self.act()


@dataclass
class Client:
    """The requests that a contender makes."""

    names: list[str]
    status: Status | None = field(default_factory=Status)
    client_id: tuple[int, bytes] | None = (7, b"")
    error: Exception | None = None

    def _answer(self, value: Any) -> Answer:
        def act() -> Any:
            if self.error is not None:
                raise self.error
            return value

        return Answer(act)

    def get_children_async(self, path: str) -> Answer:
        assert path == LOCK.path
        return self._answer(self.names)

    def get_async(self, path: str) -> Answer:
        name = path.removeprefix(f"{LOCK.path}/")
        if name == "_c_gone-lock-0000000001":

            def gone() -> None:
                raise NoNodeError

            return Answer(gone)
        return self._answer((f"of {name}".encode(), Status()))

    def exists_async(self, path: str) -> Answer:
        assert path == f"{LOCK.path}/{OWN}"
        return self._answer(self.status)


def node(*names: str, **changes: Any) -> LockNode:
    return LockNode(Client([*names, OWN], **changes), LOCK, f"{LOCK.path}/{OWN}")


@pytest.mark.parametrize(
    ("others", "first"),
    [
        ([], None),
        (["_c_zz-lock-0000000006", "_c_aa-lock-0000000007"], None),
        (["_c_zz-lock-0000000004"], "_c_zz-lock-0000000004"),
        (["_c_aa-lock-0000000004", "_c_zz-lock-0000000003"], "_c_zz-lock-0000000003"),
        (["lock-0000000001"], "lock-0000000001"),
        (["_c_gone-lock-0000000001"], "_c_gone-lock-0000000001"),
        (["aa-no-contender"], None),
        (["0 that Curator takes for one"], "0 that Curator takes for one"),
    ],
)
def test_the_smallest_number_holds_the_lock(others: list[str], first: str | None) -> None:
    """Whatever stands before ``lock-``; without it Curator compares the whole name."""
    holder = node(*others).holder()
    assert holder is None if first is None else first in (holder or "")


@pytest.mark.slow
@given(st.permutations(range(8)))
def test_in_any_order_of_the_answer(numbers: list[int]) -> None:
    names = [f"_c_{9 - number}-lock-{number:010d}" for number in numbers]
    holder = LockNode(Client([*names]), LOCK, f"{LOCK.path}/{names[numbers.index(0)]}").holder()
    assert holder is None
    assert "lock-0000000000" in str(LockNode(Client([*names]), LOCK, f"{LOCK.path}/{names[numbers.index(1)]}").holder())


def test_a_contender_whose_node_is_gone_does_not_wait() -> None:
    lost = LockNode(Client(["_c_zz-lock-0000000006"]), LOCK, f"{LOCK.path}/{OWN}")
    with pytest.raises(Conflict, match="node was removed"):
        lost.holder()


@pytest.mark.parametrize(
    "changes",
    [
        {"status": None},
        {"status": Status(owner_session_id=8)},
        {"status": Status(owner_session_id=None)},
        {"client_id": None},
        {"error": ConnectionLoss()},
        {"error": SessionExpiredError()},
        {"error": KazooTimeoutError("late")},
    ],
)
def test_what_cannot_be_proved_is_lost(changes: dict[str, Any]) -> None:
    """The node is gone, another session's, or nobody answers: exit 12."""
    node().check()
    with pytest.raises(Conflict, match="may have lost the lock") as caught:
        node(**changes).check()
    assert caught.value.exit_code == 12


def test_waiting_without_an_answer_is_the_stores_failure() -> None:
    with pytest.raises(StorageFailed, match="ZooKeeper at zk does not answer"):
        node(error=ConnectionLoss()).holder()


@pytest.mark.slow
def test_no_server(free_port: int) -> None:
    """Within the connection's own time."""
    lock = NodeLock("zookeeper://here/t", f"127.0.0.1:{free_port}", "/t", 4000, 500)
    with pytest.raises(StorageFailed, match="does not answer") as caught, lock_node(lock, b""):
        pytest.fail("held")
    assert caught.value.exit_code == 15
