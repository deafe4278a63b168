"""The contract of both engines."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from hudictl.errors import StorageFailed
from hudictl.phrases import first_few

Item = TypeVar("Item")
Value = TypeVar("Value")
Kept = TypeVar("Kept", covariant=True)
Progress = Callable[[float], None]
"""Called from time to time with the completed share of the work, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class TaskResult(Generic[Value]):
    """A function's value for one item, or the error (as text) that it raised."""

    value: Value | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Gathered(Generic[Kept]):
    """Values by key, kept where they were computed, until the last reference to this object is gone. What ``kept`` is,
    only its engine knows."""

    engine: "Engine"
    kept: Any


class Engine(Protocol):
    """Functions are module-level, or ``partial`` of such, and idempotent: Spark may run one twice."""

    def start(self) -> None:
        """Begins to start what the engine needs, in the background."""

    def ready(self) -> None:
        """Waits until the engine can work; the second time, just before a change, also until Spark's workers do.

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
        self, label: str, function: Callable[[Item], Iterable[tuple[str, Kept]]], items: Sequence[Item]
    ) -> Gathered[Kept]:
        """Applies the function to each item, and keeps its values by their keys: the driver does not hold them.

        Spark may do this only when the values are used, and again if an executor is lost. An error of the function is
        an error of each ``over``.

        Raises EngineFailed.
        """

    def keep(self, pairs: Iterable[tuple[str, Kept]]) -> Gathered[Kept]:
        """The same with values that the driver has, as keys and values. Raises EngineFailed."""

    def over(
        self,
        label: str,
        gathered: Sequence[Gathered[Any]],
        function: Callable[[str, Sequence[Sequence[Any]]], Value | None],
    ) -> list[TaskResult[Value]]:
        """Applies the function to each key that one of ``gathered`` has, and to the key's values in each of them. None
        is no result. The results are in no order. What another engine has gathered is brought here first.

        Raises EngineFailed, as ``map``.
        """

    def pairs(self, gathered: Gathered[Kept]) -> Iterator[tuple[str, Kept]]:
        """The keys and values, one after the other. Raises EngineFailed, also for an error of ``gather``'s function."""

    def close(self) -> None:
        """Stops everything that the engine started."""


def here(engine: Engine, gathered: Gathered[Kept]) -> Gathered[Kept]:
    """The same values, kept by this engine. Raises EngineFailed."""
    return gathered if gathered.engine == engine else engine.keep(gathered.engine.pairs(gathered))


def values(results: Sequence[TaskResult[Value]], verb: str) -> list[Value]:
    """The values of an engine's results. Raises StorageFailed: some tasks failed."""
    errors = [result.error for result in results if result.error is not None]
    if errors:
        raise StorageFailed(
            f"cannot {verb}: {first_few(errors, most=1, rest=' (and {} more)')}",
            hint="fix the cause, then run the same command again",
            failed=len(errors),
        )
    return [result.value for result in results if result.value is not None]


def look_at(
    gathered: Gathered[Kept], label: str, function: Callable[[str, Sequence[Kept]], Value | None]
) -> list[Value]:
    """Applies the function to each key with its values, as ``Engine.over``. Raises StorageFailed, EngineFailed."""
    return values(gathered.engine.over(label, [gathered], partial(_alone, function)), label)


def _alone(
    function: Callable[[str, Sequence[Kept]], Value | None], key: str, found: Sequence[Sequence[Kept]]
) -> Value | None:
    return function(key, found[0])


def picked(gathered: Gathered[Kept], keys: Collection[str]) -> dict[str, Sequence[Kept]]:
    """The values of some keys. Raises StorageFailed, EngineFailed."""
    return dict(look_at(gathered, "look up", partial(_pick, frozenset(keys)))) if keys else {}


def _pick(keys: Collection[str], key: str, found: Sequence[Kept]) -> tuple[str, Sequence[Kept]] | None:
    return (key, [*found]) if key in keys else None
