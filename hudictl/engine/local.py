"""Threads: for hosts without Java, and for small tables."""

import os
import pickle
import tempfile
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, Any

from hudictl.engine.base import (
    Bucket,
    Engine,
    Gathered,
    Item,
    Progress,
    TaskResult,
    Value,
    attempt,
    bucket_of,
    fold,
    here,
    pairs_of,
)
from hudictl.errors import EngineFailed

_SHORT_SECONDS = 0.01
"""Waiting that is too short to start threads for."""
_MUCH = 3
"""How many times as long as it works the work waits for a store, at least; for a processor it waits less."""
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
        try:
            self._add(bucket_of(key, _BUCKETS), key, value)
        except OSError as error:
            raise EngineFailed(
                f"cannot write a temporary file in {tempfile.gettempdir()}: {error.strerror or error}",
                hint="make room there, or set TMPDIR to a folder with more",
            ) from error

    def _add(self, number: int, key: str, value: object) -> None:
        if number not in self.parts:
            self.parts[number] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 (closed by finalize)
            self.counts[number] = 0
        pickle.dump((key, value), self.parts[number], pickle.HIGHEST_PROTOCOL)
        self.counts[number] += 1

    def bucket(self, number: int) -> Bucket:
        """The values of one part; the errors are in the first one."""
        values: dict[str, list[Any]] = {}
        part = self.parts.get(number)
        if part is not None:
            part.seek(0)
            # By their number: the end of a file alone does not prove that all of it is there.
            for _ in range(self.counts[number]):
                key, value = pickle.load(part)
                values.setdefault(key, []).append(value)
        return Bucket(values, [] if number else self.errors)


@dataclass(frozen=True)
class LocalEngine:
    """Where listing and deleting wait for the storage, more threads than processors are useful. Where they do not, as
    on a local file system in memory, threads only fight for the interpreter (twice the time, seen on 2 cores)."""

    parallelism: int = field(default_factory=lambda: min(32, 4 * (os.cpu_count() or 1)))

    def start(self) -> None:
        return None

    def ready(self) -> None:
        return None

    def map(
        self, label: str, function: Callable[[Item], Value], items: Sequence[Item], progress: Progress | None = None
    ) -> list[TaskResult[Value]]:
        results: list[TaskResult[Value]] = []
        for result in self._each(label, function, items):
            results.append(result)
            if progress is not None:
                progress(len(results) / len(items))
        return results

    def _each(
        self, label: str, function: Callable[[Item], Value], items: Sequence[Item]
    ) -> Iterator[TaskResult[Value]]:
        """The results in item order: without threads, until the work has waited longer than a busy host explains."""
        begun, worked = time.perf_counter(), time.thread_time()
        waited_s, worked_s, done = 0.0, 0.0, 0
        while done < len(items) and (waited_s <= _MUCH * worked_s or waited_s < _SHORT_SECONDS):
            yield _run(function, items[done])
            done += 1
            worked_s = time.thread_time() - worked
            waited_s = time.perf_counter() - begun - worked_s
        if done < len(items):
            with ThreadPoolExecutor(self.parallelism, thread_name_prefix=label) as pool:
                yield from pool.map(lambda item: _run(function, item), items[done:])

    def gather(
        self, label: str, function: Callable[[Item], Iterable[tuple[str, Any]]], items: Sequence[Item]
    ) -> Gathered:
        kept = Spilled()
        for result in self._each(label, lambda item: list(function(item)), items):
            if result.error is not None:
                kept.errors.append(result.error)
            for key, value in result.value or ():
                kept.add(key, value)
        return Gathered(self, kept)

    def keep(self, pairs: Iterable[tuple[str, Any]]) -> Gathered:
        kept = Spilled()
        for key, value in pairs:
            kept.add(key, value)
        return Gathered(self, kept)

    def over(
        self,
        label: str,
        gathered: Sequence[Gathered],
        function: Callable[[str, Sequence[Sequence[Any]]], Value | None],
    ) -> list[TaskResult[Value]]:
        def look(number: int) -> list[TaskResult[Value]]:
            return fold([entry.kept.bucket(number) for entry in local], function)

        local = [here(self, entry) for entry in gathered]
        parts = sorted({0}.union(*(entry.kept.parts for entry in local)))
        results: list[TaskResult[Value]] = []
        for found in self.map(label, look, parts):
            results += [TaskResult(None, found.error)] if found.value is None else found.value
        return results

    def pairs(self, gathered: Gathered) -> Iterator[tuple[str, Any]]:
        return pairs_of(map(gathered.kept.bucket, sorted({0, *gathered.kept.parts})))

    def close(self) -> None:
        return None


def with_module(module: str, engine: Engine, work: Callable[[Engine], Value]) -> Value:
    """Lets an engine work; executors that lack the module leave the work to this process. Raises EngineFailed."""
    try:
        return work(engine)
    except EngineFailed as error:
        if error.fields.get("module") != module:
            raise
        return work(LocalEngine())


def _close_all(parts: dict[int, IO[bytes]]) -> None:
    for part in parts.values():
        part.close()


def _run(function: Callable[[Item], Value], item: Item) -> TaskResult[Value]:
    try:
        return attempt(function, item)
    except ModuleNotFoundError as error:
        raise EngineFailed(f"this Python has no module {error.name}", hint="install it", module=error.name) from error
