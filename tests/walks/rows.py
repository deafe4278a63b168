"""What the rows must be: each completed write by what it did, in the order of completion."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from tests.interop.scenarios import Row

WRITES = ("commit", "deltacommit", "replacecommit")


@dataclass(frozen=True)
class Write:
    """One completed write: partitions that it emptied (None: all), keys that it deleted, rows that it put."""

    instant: str
    rows: Sequence[Row] = ()
    deleted: Collection[int] = ()
    emptied: Collection[str] | None = ()


def rows_after(writes: Iterable[Write]) -> dict[int, Row]:
    """The rows by key, once these writes have completed."""
    found: dict[int, Row] = {}
    for write in writes:
        gone = write.emptied
        kept = {} if gone is None else {key: row for key, row in found.items() if folder(row) not in gone}
        new = {row[0]: row for row in write.rows}
        found = {key: row for key, row in kept.items() if key not in write.deleted} | new
    return found


def folder(row: Row) -> str:
    """The partition of a row, as a path."""
    return "/".join(row[3:])


@dataclass(frozen=True)
class Instant:
    """An entry of Hudi's timeline; ``completed`` is "" where it is pending."""

    time: str
    action: str
    state: str
    completed: str

    @property
    def is_write(self) -> bool:
        return self.state == "COMPLETED" and self.action in WRITES


def later(timeline: Iterable[Instant], target: str, rule: str) -> frozenset[str]:
    """The completed writes and services that a restore to a target takes back."""
    writes = [entry for entry in timeline if entry.is_write]
    (at,) = [entry for entry in writes if entry.time == target]
    if rule == "requested":
        return frozenset(entry.time for entry in writes if entry.time > at.time)
    return frozenset(entry.time for entry in writes if entry.completed > at.completed)
