"""The contract of both engines."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")
Progress = Callable[[float], None]
"""Called from time to time with the completed share of the work, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class TaskResult(Generic[Value]):
    """A function's value for one item, or the error (as text) that it raised."""

    value: Value | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Gathered:
    """Values by key, kept where they were computed, until the last reference to this object is gone. What ``kept`` is,
    only their engine knows."""

    kept: Any


class Engine(Protocol):
    """Functions are module-level, or ``partial`` of such, and idempotent: Spark may run one twice."""

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

    def gather(
        self, label: str, function: Callable[[Item], Iterable[tuple[str, Any]]], items: Sequence[Item]
    ) -> Gathered:
        """Applies the function to each item, and keeps its values by their keys: the driver does not hold them.

        Spark may do this only when the values are used, and again if an executor is lost. An error of the function is
        an error of each ``over``.

        Raises EngineFailed.
        """

    def keep(self, pairs: Iterable[tuple[str, Any]]) -> Gathered:
        """The same with values that the driver has, as keys and values. Raises EngineFailed."""

    def over(
        self,
        label: str,
        gathered: Sequence[Gathered],
        function: Callable[[str, Sequence[Sequence[Any]]], Value | None],
    ) -> list[TaskResult[Value]]:
        """Applies the function to each key that one of ``gathered`` has, and to the key's values in each of them. None
        is no result. The results are in no order.

        Raises EngineFailed, as ``map``.
        """

    def close(self) -> None:
        """Stops everything that the engine started."""
