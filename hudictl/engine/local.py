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


class Part(NamedTuple):
    """A part of gathered values, as pickled pairs, and how many; the errors of the functions that should have gathered
    more."""

    body: bytes
    pairs: int
    errors: list[str]


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
        self._write(bucket_of(key, _BUCKETS), pickle.dumps((key, value), pickle.HIGHEST_PROTOCOL), 1)

    def bucket(self, number: int) -> Bucket:
        """The values of one part; the errors are in the first one. Raises EngineFailed: the disk cannot be read."""
        part = self.parts.get(number)
        if part is None:
            return Bucket({}, [] if number else self.errors)
        with _disk("read"):
            part.seek(0)
            return _unpickled(part, self.counts[number], [] if number else self.errors)

    def packed(self, number: int) -> Part:
        """The same, to be sent to another process. Raises EngineFailed."""
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
            self._write(number, part.body, part.pairs)

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
        numbers = iter(sorted({0}.union(*(entry.kept.parts for entry in local))))
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
        return pairs_of(map(gathered.kept.bucket, sorted({0, *gathered.kept.parts})))

    def close(self) -> None:
        if self.processes is not None:
            self.processes.close()


def _gathered(function: Callable[[Item], Iterable[tuple[str, Kept]]], items: Sequence[Item]) -> dict[int, Part]:
    """``LocalEngine.gather`` of some items in another process."""
    kept = LocalEngine().gather("", function, items).kept
    return {number: kept.packed(number) for number in {0, *kept.parts}}


def _folded(
    function: Callable[[str, Sequence[Sequence[Any]]], Value | None], parts: Sequence[Part]
) -> list[TaskResult[Value]]:
    """``LocalEngine.over`` of a part of the keys in another process."""
    return list(fold([[_unpickled(BytesIO(part.body), part.pairs, part.errors) for part in parts]], function))


def _unpickled(file: IO[bytes], count: int, errors: list[str]) -> Bucket:
    values: dict[str, list[Any]] = {}
    # By their number: the end of a file alone does not prove that all of it is there.
    for _ in range(count):
        key, value = pickle.load(file)
        values.setdefault(key, []).append(value)
    return Bucket(values, errors)


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
