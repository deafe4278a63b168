"""Threads: for hosts without Java, and for small tables."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from hudictl.engine.base import Item, Progress, TaskResult, Value
from hudictl.errors import EngineFailed


@dataclass(frozen=True)
class LocalEngine:
    """Listing and deleting wait for the storage, so more threads than processors are useful."""

    parallelism: int = field(default_factory=lambda: min(32, 4 * (os.cpu_count() or 1)))

    def start(self) -> None:
        return None

    def ready(self) -> None:
        return None

    def map(
        self, label: str, function: Callable[[Item], Value], items: Sequence[Item], progress: Progress | None = None
    ) -> list[TaskResult[Value]]:
        if not items:
            return []
        results: list[TaskResult[Value]] = []
        with ThreadPoolExecutor(min(self.parallelism, len(items)), thread_name_prefix=label) as pool:
            for result in pool.map(lambda item: _run(function, item), items):
                results.append(result)
                if progress is not None:
                    progress(len(results) / len(items))
        return results

    def close(self) -> None:
        return None


def _run(function: Callable[[Item], Value], item: Item) -> TaskResult[Value]:
    try:
        return TaskResult(function(item))
    except ModuleNotFoundError as error:
        raise EngineFailed(f"this Python has no module {error.name}", hint="install it", module=error.name) from error
    except Exception as error:
        return TaskResult(None, str(error) or type(error).__name__)
