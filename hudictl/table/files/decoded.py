"""What records name, partition by partition: decoded by the engine where it is much, and kept there.

Executors import this module: it imports nothing that reads a table.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from hudictl.engine.base import Engine, Gathered, Item, Kept, Value, look_at, picked
from hudictl.engine.local import LocalEngine
from hudictl.errors import EngineFailed
from hudictl.formats.file_names import split_names


def gathered(
    engine: Engine,
    label: str,
    function: Callable[[Item], Iterable[tuple[str, Kept]]],
    items: Sequence[Item],
    look: Callable[[str, Sequence[Kept]], Value | None],
    *,
    much: bool,
) -> tuple[Gathered[Kept], list[Value]]:
    """Gathers values by partition, and what a first look at each partition says.

    Args:
        much: less than that this process decodes by itself: a job of Spark alone would take longer.

    Raises StorageFailed, EngineFailed.
    """
    where = engine if much else LocalEngine()
    try:
        kept = where.gather(label, function, items)
        return kept, look_at(kept, label, look)
    except EngineFailed as error:
        # Executors need fsspec alone: where they have no fastavro, this process decodes.
        if not much or error.fields.get("module") != "fastavro":
            raise
        return gathered(engine, label, function, items, look, much=False)


class Joined(Protocol):
    """A value with file names that are joined by slashes."""

    @property
    def names(self) -> str:
        """The names."""


def names_of(values: Iterable[Joined]) -> frozenset[str]:
    """The names in the gathered values of a partition."""
    return frozenset(name for value in values for name in split_names(value.names))


def names_in(files: Gathered[Joined], partitions: Collection[str]) -> dict[str, frozenset[str]]:
    """The names in the gathered values of some partitions. Raises StorageFailed, EngineFailed."""
    return {path: names_of(found) for path, found in picked(files, partitions).items()}
