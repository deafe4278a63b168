"""How a table is worked on: the engine, the locks of its writers, and who looks on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudictl.library.engines import EngineOptions

if TYPE_CHECKING:
    from hudictl.engine.base import Engine
    from hudictl.ops.session import Monitor, Session
    from hudictl.table.locks.config import Locking
    from hudictl.table.table import Table


@dataclass(frozen=True)
class Access:
    """What the operator, or a program, has said about the work on a table.

    ``engine``: what lists, reads and deletes data files. ``locking`` are the settings of the writers' locks.
    ``monitor`` is told of each step. ``command`` is who works, for claims, locks and records. ``keep_files``: changes
    keep what they delete. ``secrets`` are the texts that nothing may keep. ``storage_options`` are those of the table's
    store.
    """

    engine: EngineOptions
    locking: "Locking | None" = None
    monitor: "Monitor | None" = None
    command: str = "import hudictl"
    timezone: str | None = None
    keep_files: bool = False
    single_operator: bool = False
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: Callable[[], frozenset[str]] = field(default=frozenset, repr=False)

    def note(self, text: str) -> None:
        """Tells the monitor what is read."""
        if self.monitor is not None:
            self.monitor.note(text)

    def counted(self, step: str, total: int) -> Callable[[float], None] | None:
        """Tells the monitor that a step begins; what is returned tells it which share of ``total`` is done."""
        if self.monitor is None:
            return None
        self.monitor.step(step)
        return self.monitor.counter(total)

    def session(self, table: "Table", engine: "Engine") -> "Session":
        """What operations get."""
        from hudictl.ops.session import Session, Silent
        from hudictl.table.locks.config import NOTHING_SAID
        from hudictl.table.locks.providers import contender_of

        return Session(
            table=table,
            engine=engine,
            monitor=self.monitor or Silent(),
            command=self.command,
            locking=self.locking or NOTHING_SAID,
            contend=contender_of,
            timezone=self.timezone,
            secrets=self.secrets(),
        )
