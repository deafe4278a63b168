"""The contract that both engines keep."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")
Progress = Callable[[float], None]
"""Told now and then which share of the work is done, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class TaskResult(Generic[Value]):
    """A function's value for one item, or the error (as text) that it raised."""

    value: Value | None
    error: str | None = None


class Engine(Protocol):
    """Functions are module-level and idempotent: Spark may run one twice."""

    def start(self) -> None:
        """Begins to start what the engine needs, in the background."""

    def ready(self) -> None:
        """Waits until the engine can work.

        Raises EngineFailed, Unsupported: before a change, not in the middle of one.
        """

    def map(
        self, label: str, function: Callable[[Item], Value], items: Sequence[Item], progress: Progress | None = None
    ) -> list[TaskResult[Value]]:
        """Applies the function to each item, answers in item order. One failing item does not stop the others;
        no items start nothing.

        Raises EngineFailed; also where the function needs a module that is not there: then no item can be done.
        """

    def close(self) -> None:
        """Ends what the engine started."""
