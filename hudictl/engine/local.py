"""Threads: for hosts without Java, and for small tables."""

import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

from hudictl.engine.base import Gathered, Item, Kept, Progress, TaskResult, Value, here
from hudictl.engine.work import AT_ONCE, Bucket, bucket_of, each, each_pair, fold, pairs_of
from hudictl.errors import EngineFailed

_BUCKETS = 32
_IN_MEMORY_BYTES = 256 * 1024
"""The size up to which a part of gathered values needs no file."""


@dataclass(frozen=True)
class Spilled:
    """Gathered values as pickled pairs, one temporary file for each part of the keys, which has no name."""

    parts: dict[int, IO[bytes]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        weakref.finalize(self, _close_all, self.parts)

    def add(self, key: str, value: object) -> None:
        """Raises EngineFailed: the disk for temporary files is full."""
        number = bucket_of(key, _BUCKETS)
        with _disk("write"):
            if number not in self.parts:
                self.parts[number] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 (closed by finalize)
                self.counts[number] = 0
            pickle.dump((key, value), self.parts[number], pickle.HIGHEST_PROTOCOL)
        self.counts[number] += 1

    def bucket(self, number: int) -> Bucket:
        """The values of one part; the errors are in the first one. Raises EngineFailed: the disk cannot be read."""
        values: dict[str, list[Any]] = {}
        part = self.parts.get(number)
        if part is not None:
            with _disk("read"):
                part.seek(0)
                # By their number: the end of a file alone does not prove that all of it is there.
                for _ in range(self.counts[number]):
                    key, value = pickle.load(part)
                    values.setdefault(key, []).append(value)
        return Bucket(values, [] if number else self.errors)


@dataclass(frozen=True)
class LocalEngine:
    """The items of this process alone, ``parallelism`` at once where they wait."""

    parallelism: int = AT_ONCE

    def start(self) -> None:
        return None

    def ready(self) -> None:
        return None

    def map(
        self, label: str, function: Callable[[Item], Value], items: Sequence[Item], progress: Progress | None = None
    ) -> list[TaskResult[Value]]:
        results: list[TaskResult[Value]] = []
        with _module():
            for result in each(function, items, self.parallelism):
                results.append(result)
                if progress is not None:
                    progress(len(results) / len(items))
        return results

    def gather(
        self, label: str, function: Callable[[Item], Iterable[tuple[str, Kept]]], items: Sequence[Item]
    ) -> Gathered[Kept]:
        kept = Spilled()
        with _module():
            for result in each_pair(function, items, self.parallelism):
                if result.error is not None:
                    kept.errors.append(result.error)
                for key, value in result.value or ():
                    kept.add(key, value)
        return Gathered(self, kept)

    def keep(self, pairs: Iterable[tuple[str, Kept]]) -> Gathered[Kept]:
        kept = Spilled()
        for key, value in pairs:
            kept.add(key, value)
        return Gathered(self, kept)

    def over(
        self,
        label: str,
        gathered: Sequence[Gathered[Any]],
        function: Callable[[str, Sequence[Sequence[Any]]], Value | None],
    ) -> list[TaskResult[Value]]:
        local = [here(self, entry) for entry in gathered]
        numbers = sorted({0}.union(*(entry.kept.parts for entry in local)))
        parts = ([entry.kept.bucket(number) for entry in local] for number in numbers)
        with _module():
            return list(fold(parts, function, self.parallelism))

    def pairs(self, gathered: Gathered[Kept]) -> Iterator[tuple[str, Kept]]:
        return pairs_of(map(gathered.kept.bucket, sorted({0, *gathered.kept.parts})))

    def close(self) -> None:
        return None


def _close_all(parts: dict[int, IO[bytes]]) -> None:
    for part in parts.values():
        part.close()


@contextmanager
def _disk(verb: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EngineFailed(
            f"cannot {verb} a temporary file in {tempfile.gettempdir()}: {error.strerror or error}",
            hint="make room there, or set TMPDIR to a folder with more",
        ) from error


@contextmanager
def _module() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise EngineFailed(f"this Python has no module {error.name}", hint="install it", module=error.name) from error
