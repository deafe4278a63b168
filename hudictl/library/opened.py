"""A table that is open, with what works on it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from hudictl.errors import UsageError
from hudictl.library.access import Access
from hudictl.library.rows import Rows
from hudictl.library.times import Time, time_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from hudictl.engine.base import Engine
    from hudictl.ops.clean_up.orphans import OrphanOptions
    from hudictl.ops.metadata.drop import DropOptions
    from hudictl.ops.restore.plan import RestoreOptions
    from hudictl.ops.rollback.plan import RollbackOptions
    from hudictl.ops.session import Session
    from hudictl.reports.timeline import TimelineFilter
    from hudictl.storage import Storage
    from hudictl.table.settings import Settings
    from hudictl.table.table import Table

Row = TypeVar("Row")
Options = TypeVar("Options", "RestoreOptions", "RollbackOptions", "OrphanOptions", "DropOptions")
IDLE_MS = 600_000
"""A pending write without heartbeat counts as running if it had activity within this time."""


class Times(TypedDict, total=False):
    """Which instants: from ``since`` to ``until`` (both included), with ``archived`` ones, in ``ascending`` order
    (default: newest first)."""

    since: Time | None
    until: Time | None
    archived: bool
    ascending: bool


@dataclass(frozen=True, eq=False)
class Opened:
    """A table, and how it is worked on. ``running``: an engine that others share, and close."""

    core: "Table" = field(repr=False)
    access: Access = field(repr=False)
    running: "Engine | None" = field(default=None, repr=False)
    others: "list[Opened]" = field(default_factory=list, repr=False)

    @cached_property
    def engine(self) -> "Engine":
        """What lists, reads and deletes data files: it is opened at the first use."""
        return self.running or self.access.engine.open(self.core)

    def beside(self, other: "Storage") -> "Opened":
        """The same for work that is on another store, too: a cluster must see that one as well."""
        if not other.uri.startswith("file:") or self.core.storage.uri.startswith("file:"):
            return self
        engine = replace(self.access.engine, beside=other)
        self.others.append(replace(self, access=replace(self.access, engine=engine), others=[]))
        return self.others[-1]

    @property
    def settings(self) -> "Settings":
        """The writers' settings, as they were given when it was opened."""
        from hudictl.table.settings import Settings

        return Settings(self.access.locking.settings if self.access.locking else {})

    def close(self) -> None:
        """Stops the engine."""
        for other in self.others:
            other.close()
        if "engine" in self.__dict__:
            if self.running is None:
                self.engine.close()
            del self.__dict__["engine"]

    def keeping(self, options: Options) -> Options:
        """Options of a change, with ``keep_files`` where all changes of the table keep them."""
        return replace(options, keep_files=True) if self.access.keep_files else options

    def session(self, *, engine: bool = True) -> "Session":
        """What operations work with. ``engine``: they need one."""
        from hudictl.engine.local import LocalEngine

        return self.access.session(self.core, self.engine if engine else LocalEngine())

    def instants(self, **times: "Unpack[Times]") -> "TimelineFilter":
        """The filter for some times. Raises UsageError."""
        from hudictl.reports.timeline import TimelineFilter

        unknown = times.keys() - Times.__annotations__.keys()
        if unknown:
            raise UsageError(f"{min(unknown)}: no such argument", hint=f"there are {', '.join(Times.__annotations__)}")
        since, until = times.get("since"), times.get("until")
        return TimelineFilter(
            since=time_of(self.core, since, "--since") if since else "",
            until=time_of(self.core, until, "--until") if until else "~",
            descending=not times.get("ascending", False),
            archived=times.get("archived", False),
        )

    def by_time(
        self,
        row_type: type[Row],
        read: "Callable[[Table, TimelineFilter], Iterable[Row]]",
        times: Times,
        **chosen: Any,
    ) -> Rows[Row]:
        """The rows of the instants at some times; ``chosen`` are other fields of the filter."""
        return Rows(row_type, lambda: read(self.core, replace(self.instants(**times), **chosen)))
