"""Heartbeats of writers that clean lazily: a file per pending instant, whose mtime is the last beat."""

from dataclasses import dataclass

from hudictl.formats.layouts import HEARTBEATS
from hudictl.table.table import Table

INTERVAL_MS = 60_000
TOLERABLE_MISSES = 2
"""Hudi's defaults (0.15.0 to 1.2.0); the writers' own setting is not in the table."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """``age_ms`` is milliseconds since the last beat."""

    time: str
    age_ms: int

    @property
    def live(self) -> bool:
        return self.age_ms <= INTERVAL_MS * TOLERABLE_MISSES


def list_heartbeats(table: Table, now_ms: int) -> list[Heartbeat]:
    """All heartbeats, by instant time."""
    try:
        entries = table.storage.list(HEARTBEATS)
    except FileNotFoundError:
        return []
    return [Heartbeat(entry.name, now_ms - entry.modified_ms) for entry in entries if entry.name.isdigit()]


def heartbeat_path(time: str) -> str:
    """The path of an instant's heartbeat."""
    return f"{HEARTBEATS}/{time}"
