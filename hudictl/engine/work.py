"""What both engines do with the items of one process. Spark's executors run this, too."""

import time
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from hudictl.engine.base import Item, TaskResult, Value
from hudictl.errors import EngineFailed, StorageFailed

AT_ONCE = 16
"""Items that a Python process works on at once. Of deletions in S3, 1,000 keys a call, 8 fill a core; of calls with one
key, each of 50 ms, 30 would (seen with s3fs 2026.9)."""
_OF_A_PARTITION = 4
"""Files of a partition that are read at once, beside those of other partitions."""
_AHEAD = 4
"""How many times as many results may wait for a slow item before them: they are in memory."""
_SHORT_SECONDS = 0.01
"""Waiting that is too short to start threads for."""
_MUCH = 3
"""How many times as long as it works the work waits for a store, at least; for a processor it waits less."""


def attempt(function: Callable[..., Value], *arguments: object) -> TaskResult[Value]:
    """The function's value or error. Raises ModuleNotFoundError: the module is missing for all items, so that this is
    the engine's failure."""
    try:
        return TaskResult(function(*arguments))
    except ModuleNotFoundError:
        raise
    except Exception as error:
        return TaskResult(None, str(error) or type(error).__name__)


def each(
    function: Callable[[Item], Value], items: Iterable[Item], at_once: int = AT_ONCE
) -> Iterator[TaskResult[Value]]:
    """The results in item order: without threads, until the work has waited longer than a busy host explains.

    Where calls wait for a storage, threads keep many of them in flight. Where they do not, as on a local file system in
    memory, threads only fight for the interpreter (twice the time, seen on 2 cores).

    Raises ModuleNotFoundError: see ``attempt``.
    """
    waiting = iter(items)
    waited_s = worked_s = 0.0
    for item in waiting:
        begun, worked = time.perf_counter(), time.thread_time()
        result = attempt(function, item)
        own_s = time.thread_time() - worked
        worked_s += own_s
        waited_s += time.perf_counter() - begun - own_s
        yield result
        if waited_s > max(_MUCH * worked_s, _SHORT_SECONDS):
            break
    else:
        return
    running: deque[Future[TaskResult[Value]]] = deque()
    with ThreadPoolExecutor(at_once, thread_name_prefix="hudictl") as pool:
        try:
            for item in waiting:
                running.append(pool.submit(attempt, function, item))
                if len(running) == _AHEAD * at_once:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def read_each(function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Value]:
    """Reads files of one partition on a few threads, beside those of other partitions. Raises StorageFailed."""
    for result in each(function, items, _OF_A_PARTITION):
        if result.error is not None:
            raise StorageFailed(result.error)
        if result.value is not None:
            yield result.value


def each_pair(
    function: Callable[[Item], Iterable[tuple[str, Any]]], items: Iterable[Item], at_once: int = AT_ONCE
) -> Iterator[TaskResult[list[tuple[str, Any]]]]:
    """``each`` for ``Engine.gather``. The pairs of a single item come as they are made: it may be a very large file."""
    left = iter(items)
    first = list(islice(left, 2))
    if len(first) > 1:
        yield from each(lambda item: list(function(item)), chain(first, left), at_once)
        return
    pairs = chain.from_iterable(map(function, first))

    def next_pair() -> list[tuple[str, Any]]:
        return list(islice(pairs, 1))

    while (result := attempt(next_pair)).value:
        yield result
    if result.error is not None:
        yield result


def bucket_of(key: str, buckets: int) -> int:
    """The part of a key, of so many: the same in each process, and in each Python."""
    return zlib.crc32(key.encode(errors="surrogatepass")) % buckets


@dataclass(frozen=True, slots=True)
class Bucket:
    """The values of a part of the keys, and the errors of the functions that should have gathered more."""

    values: dict[str, list[Any]]
    errors: list[str]


def pairs_of(buckets: Iterable[Bucket]) -> Iterator[tuple[str, Any]]:
    """The keys and values of some parts. Raises EngineFailed: values are missing."""
    for bucket in buckets:
        if bucket.errors:
            raise EngineFailed(bucket.errors[0])
        yield from ((key, value) for key, entries in bucket.values.items() for value in entries)


def fold(
    parts: Iterable[Sequence[Bucket]],
    function: Callable[[str, Sequence[Sequence[Any]]], Value | None],
    at_once: int = AT_ONCE,
) -> Iterator[TaskResult[Value]]:
    """``Engine.over`` for some parts of the keys, each with its bucket of everything gathered. Few parts are in memory
    at a time."""
    errors: list[str] = []

    def looks() -> Iterator[tuple[str, list[Sequence[Any]]]]:
        for buckets in parts:
            errors.extend(error for bucket in buckets for error in bucket.errors)
            for key in dict.fromkeys(key for bucket in buckets for key in bucket.values):
                yield key, [bucket.values.get(key, ()) for bucket in buckets]

    for result in each(lambda look: function(*look), looks(), at_once):
        if result.value is not None or result.error is not None:
            yield TaskResult(result.value, result.error)
    yield from (TaskResult(None, error) for error in errors)
