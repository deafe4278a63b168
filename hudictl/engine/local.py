"""This host alone, without Java: threads where the work waits for a store, processes where it is much."""

import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from itertools import islice
from typing import IO, Any, NamedTuple

from hudictl.engine.base import Gathered, Item, Kept, Progress, TaskResult, Value, here
from hudictl.engine.processes import Effort, Processes
from hudictl.engine.work import AT_ONCE, Bucket, bucket_of, each, each_pair, fold, pairs_of
from hudictl.errors import EngineFailed

_BUCKETS = 32
_ITEMS = 16
"""Items that another process gets at once."""
_IN_MEMORY_BYTES = 256 * 1024
"""The size up to which a part of gathered values needs no file."""
_PICKLED_AT_ONCE = 64
"""Pairs in one pickle, which names their classes once: a third of the time of one pickle a pair."""


class Part(NamedTuple):
    """A part of gathered values, as pickled lists of pairs, and how many lists; the errors of the functions that should
    have gathered more."""

    body: bytes
    lists: int
    errors: list[str]


@dataclass(frozen=True)
class Spilled:
    """Gathered values as pickled lists of pairs, one temporary file for each part of the keys, which has no name."""

    parts: dict[int, IO[bytes]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    waiting: dict[int, list[tuple[str, object]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weakref.finalize(self, _close_all, self.parts)

    def add(self, key: str, value: object) -> None:
        """Raises EngineFailed: the disk for temporary files is full."""
        number = bucket_of(key, _BUCKETS)
        pairs = self.waiting.setdefault(number, [])
        pairs.append((key, value))
        if len(pairs) == _PICKLED_AT_ONCE:
            self._pickle(number)

    @property
    def numbers(self) -> set[int]:
        """The parts that there are; the errors are in the first one."""
        return {0, *self.parts, *self.waiting}

    def bucket(self, number: int) -> Bucket:
        """The values of one part. Raises EngineFailed: the disk cannot be read."""
        return _unpickled(self.packed(number))

    def packed(self, number: int) -> Part:
        """The same, to be sent to another process. Raises EngineFailed."""
        self._pickle(number)
        part = self.parts.get(number)
        body = b""
        if part is not None:
            with _disk("read"):
                part.seek(0)
                body = part.read()
        return Part(body, self.counts.get(number, 0), [] if number else self.errors)

    def append(self, found: Mapping[int, Part]) -> None:
        """Adds what another process has gathered. Raises EngineFailed: the disk is full."""
        for number, part in found.items():
            self.errors.extend(part.errors)
            self._write(number, part.body, part.lists)

    def _pickle(self, number: int) -> None:
        if pairs := self.waiting.pop(number, None):
            self._write(number, pickle.dumps(pairs, pickle.HIGHEST_PROTOCOL), 1)

    def _write(self, number: int, body: bytes, count: int) -> None:
        with _disk("write"):
            if number not in self.parts:
                self.parts[number] = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 (closed by finalize)
                self.counts[number] = 0
            self.parts[number].write(body)
        self.counts[number] += count


@dataclass(frozen=True)
class LocalEngine:
    """``parallelism`` items at once where they wait. ``processes``: for work that is much; None: this process alone."""

    parallelism: int = field(default=AT_ONCE, compare=False)
    processes: Processes | None = field(default=None, compare=False)

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
        kept, waiting = Spilled(), iter(items)
        with _module():
            for result in each_pair(function, self._until_much(waiting), self.parallelism):
                if result.error is not None:
                    kept.errors.append(result.error)
                for key, value in result.value or ():
                    kept.add(key, value)
            rest = iter(lambda: list(islice(waiting, _ITEMS)), [])
            for found in self.processes.each(partial(_gathered, function), rest) if self.processes else ():
                kept.append(found)
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
        numbers = iter(sorted(set[int]().union(*(entry.kept.numbers for entry in local))))
        parts = ([entry.kept.bucket(number) for entry in local] for number in self._until_much(numbers))
        with _module():
            results = list(fold(parts, function, self.parallelism))
            rest = ([entry.kept.packed(number) for entry in local] for number in numbers)
            for found in self.processes.each(partial(_folded, function), rest) if self.processes else ():
                results += found
        return results

    def _until_much(self, items: Iterator[Item]) -> Iterator[Item]:
        """The items that this process does itself: others get the rest, if it is much work."""
        effort = Effort()
        for item in items:
            yield item
            if self.processes is not None and effort.much(self.processes):
                return

    def pairs(self, gathered: Gathered[Kept]) -> Iterator[tuple[str, Kept]]:
        return pairs_of(map(gathered.kept.bucket, sorted(gathered.kept.numbers)))

    def close(self) -> None:
        if self.processes is not None:
            self.processes.close()


def _gathered(function: Callable[[Item], Iterable[tuple[str, Kept]]], items: Sequence[Item]) -> dict[int, Part]:
    """``LocalEngine.gather`` of some items in another process."""
    kept = LocalEngine().gather("", function, items).kept
    return {number: kept.packed(number) for number in kept.numbers}


def _folded(
    function: Callable[[str, Sequence[Sequence[Any]]], Value | None], parts: Sequence[Part]
) -> list[TaskResult[Value]]:
    """``LocalEngine.over`` of a part of the keys in another process."""
    return list(fold([list(map(_unpickled, parts))], function))


def _unpickled(part: Part) -> Bucket:
    values: dict[str, list[Any]] = {}
    body = BytesIO(part.body)
    # By their number: the end of a file alone does not prove that all of it is there.
    for _ in range(part.lists):
        for key, value in pickle.load(body):
            values.setdefault(key, []).append(value)
    return Bucket(values, part.errors)


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
