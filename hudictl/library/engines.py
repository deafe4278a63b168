"""Where work on data files runs: Spark with its settings, or threads of this process."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from hudictl.errors import UsageError
from hudictl.library.profiles import Profile, is_reference

if TYPE_CHECKING:
    from hudictl.engine.base import Engine
    from hudictl.storage import Storage
    from hudictl.table.table import Table


@dataclass(frozen=True)
class EngineOptions:
    """Where work on data files runs. ``hidden``: the keys of ``conf`` whose values no list of processes may show.
    ``beside``: another store that the work is on."""

    name: str
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict, repr=False)
    shared_filesystem: bool = False
    hidden: frozenset[str] = frozenset()
    beside: "Storage | None" = None

    def over(
        self, profile: Profile | None, conf: Mapping[str, str], *, refusal: str, hint: str = ""
    ) -> "EngineOptions":
        """These, and what a profile has where they say nothing; ``conf`` are its settings of Spark, resolved.

        Raises UsageError, with ``refusal``: settings of Spark are given for another engine.
        """
        if self.name == "local":
            if self.master or self.conf or self.shared_filesystem:
                raise UsageError(refusal, hint=hint)
            return self
        if profile is None:
            return self
        references = {key for key, value in profile.spark_conf.items() if is_reference(value)}
        return replace(
            self,
            master=self.master or profile.master or None,
            conf={**conf, **self.conf},
            shared_filesystem=self.shared_filesystem or profile.shared_filesystem,
            hidden=frozenset(references - self.conf.keys()),
        )

    def open(self, *tables: "Table") -> "Engine":
        """Raises UsageError, Unsupported, EngineFailed."""
        from hudictl.formats.layouts import PROPERTIES

        return self.open_at(*((table.storage, PROPERTIES) for table in tables))

    def open_at(self, *files: "tuple[Storage, str]") -> "Engine":
        """The same for work on stores of which executors must see files as this host does, their beginning at least."""
        from hudictl.engine.open import open_engine
        from hudictl.workers import beginnings

        storages = [*(storage for storage, _ in files), *([self.beside] if self.beside else [])]
        on_this_host = any(storage.uri.startswith("file:") for storage in storages) and not self.shared_filesystem
        look = partial(beginnings, files)
        return open_engine(self.name, self.master, self.conf, look=look, one_jvm=on_this_host, hidden=self.hidden)
