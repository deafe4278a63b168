"""Heartbeats of writers that clean lazily: a file per pending instant, whose mtime is the last beat.

Checked on Hudi 0.15.0 to 1.2.0. In 1.2.0 rollbacks and compactions of several writers have heartbeats, too.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hudictl.errors import StorageFailed
from hudictl.formats.layouts import HEARTBEATS
from hudictl.storage import entries_of
from hudictl.table.beat import kept_alive
from hudictl.table.clock import left_out_ms
from hudictl.table.table import Table

MIN_INTERVAL_MS = 1_000
"""Hudi's minimum."""


@dataclass(frozen=True, slots=True)
class HeartbeatRule:
    """Hudi's rule: expired after ``misses`` intervals without a beat.

    The defaults are Hudi's; the writers' own setting is not in the table.
    """

    interval_ms: int = 60_000
    misses: int = 2

    @property
    def limit_ms(self) -> int:
        return self.interval_ms * self.misses


DEFAULT_RULE = HeartbeatRule()


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """``modified_ms`` is the last beat, epoch milliseconds by the storage's clock; ``age_ms`` the time since."""

    time: str
    modified_ms: int
    age_ms: int
    live: bool


def list_heartbeats(table: Table, now_ms: int, rule: HeartbeatRule = DEFAULT_RULE) -> list[Heartbeat]:
    """All heartbeats, by instant time; one that may be live counts as live.

    Args:
        now_ms: the storage's clock (see ``clock.storage_now_ms``), epoch milliseconds.
    """
    entries = entries_of(table.storage, HEARTBEATS)
    return [
        Heartbeat(entry.name, entry.modified_ms, age_ms, age_ms - left_out_ms(entry.modified_ms) <= rule.limit_ms)
        for entry in entries
        if entry.name.isdigit()
        for age_ms in [now_ms - entry.modified_ms]
    ]


def heartbeat_path(time: str) -> str:
    """The path of an instant's heartbeat."""
    return f"{HEARTBEATS}/{time}"


@contextmanager
def beating(table: Table, times: Collection[str], every_s: float | None = None) -> Iterator[None]:
    """Sends heartbeats for the running restore and rollbacks, from the first moment to the end. The files are kept, as
    after the death of the process. Only from table version 9 on: lazy cleaners of its releases (1.1, 1.2) do not touch
    a pending rollback with a live heartbeat; older releases do not check.

    Raises StorageFailed: the first beat.
    """
    if not table.rules.rollbacks_beat:
        yield
        return
    paths = [heartbeat_path(time) for time in times]

    def beat() -> None:
        for path in paths:
            # A missed beat is harmless; if the store fails, the next step reports it.
            with suppress(StorageFailed, FileNotFoundError):
                table.storage.touch(path)

    for path in paths:
        try:
            table.storage.create(path, b"")
        except FileExistsError:
            table.storage.touch(path)
    with kept_alive(beat, every_s):
        yield
