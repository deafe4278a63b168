"""The contract of both engines."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")
Progress = Callable[[float], None]
"""Called from time to time with the completed share of the work, from 0 to 1."""


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
        """Applies the function to each item, with results in item order. One failing item does not stop the others.
        Without items the engine is not started.

        Raises EngineFailed; also if a module that the function needs is missing: then every item would fail.
        """

    def close(self) -> None:
        """Stops everything that the engine started."""
