"""Heartbeats of writers that clean lazily: a file per pending instant, whose mtime is the last beat.

Checked on Hudi 0.15.0 to 1.2.0. In 1.2.0 rollbacks and compactions of several writers have heartbeats, too.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from hudictl.errors import StorageFailed
from hudictl.formats.layouts import HEARTBEATS
from hudictl.storage import entries_of
from hudictl.table.clock import left_out_ms
from hudictl.table.table import Table
from hudictl.table.writers.beat import kept_alive


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """``modified_ms`` is the last beat, epoch milliseconds by the storage's clock; ``age_ms`` the time since.

    ``doubtful``: it has expired by Hudi's default settings, but counts as live because the writers' are not known.
    """

    time: str
    modified_ms: int
    age_ms: int
    live: bool
    doubtful: bool = False


def list_heartbeats(table: Table, now_ms: int) -> list[Heartbeat]:
    """All heartbeats, by instant time; one that may be live counts as live.

    Args:
        now_ms: the storage's clock (see ``clock.storage_now_ms``), epoch milliseconds.
    """
    rule, beats = table.heartbeat_rule, []
    for entry in entries_of(table.storage, HEARTBEATS):
        # A folder is no beat: nothing tells when its writer was last alive.
        if not entry.is_dir and entry.name.isascii() and entry.name.isdigit():
            age_ms = now_ms - entry.modified_ms
            sure_ms = age_ms - left_out_ms(entry.modified_ms)
            live = sure_ms <= rule.proof_ms
            beats.append(Heartbeat(entry.name, entry.modified_ms, age_ms, live, live and sure_ms > rule.limit_ms))
    return beats


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
