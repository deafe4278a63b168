"""An engine that is not this process, as far as a test can tell."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hudictl.engine.base import Gathered, Item, Kept
from hudictl.engine.local import LocalEngine


class Elsewhere(LocalEngine):
    """Threads that remember what they are asked to gather, and from which functions."""

    def __init__(self, before: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        # Frozen, as the engine that it stands for.
        object.__setattr__(self, "items", [])
        object.__setattr__(self, "before", before)

    items: list[Any]
    before: Callable[[], object]

    def gather(
        self, label: str, function: Callable[[Item], Iterable[tuple[str, Kept]]], items: Sequence[Item]
    ) -> Gathered[Kept]:
        self.before()
        self.items.extend(items)
        return super().gather(label, function, items)
