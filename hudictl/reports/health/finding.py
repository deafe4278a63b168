"""A finding of ``check``, and what all families look at."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from hudictl.engine.base import Engine
from hudictl.errors import HudictlError, Unreadable, Unsupported
from hudictl.phrases import first_few
from hudictl.state.facts import Facts
from hudictl.state.unfinished import Way, in_words
from hudictl.table.metadata_listing import listing_table
from hudictl.table.settings import NOTHING_GIVEN, Settings
from hudictl.table.table import Table

ERROR = "error"
"""Readers or writers get wrong results, or cannot go on."""
WARNING = "warning"
"""Nothing is wrong yet, or not for all; it will be."""
INFO = "info"
"""Rubbish: it takes room and attention; or somebody is at work."""
SEVERITIES = (ERROR, WARNING, INFO)
"""The gravest first."""
MADE_ANEW = "Spark's `CALL delete_metadata_table` drops it, and the next writer makes it anew"
"""The way out of a damaged metadata table."""
UNREADABLE = "unreadable"
"""A metadata file that is damaged: what rests on it alone is not looked at."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. ``subject`` is what it is about: an instant, a path, a partition; ``remedy`` mends it:
    more than one way where the wanted outcome cannot be known, none where no command does."""

    finding: str
    severity: str
    subject: str
    meaning: str
    remedy: tuple[Way, ...] = ()

    @property
    def advice(self) -> str:
        """The remedy for eyes."""
        return in_words(self.remedy)


@dataclass(frozen=True)
class Skipped:
    """A finding that was not looked for, and why."""

    finding: str
    because: str


@dataclass(frozen=True)
class Look:
    """The table as it was when the check began. Commits that cannot be read are empty in ``facts``; ``settings`` are
    those of the table's writers, as far as they are given. ``footers``: the end of each base file is read, too."""

    facts: Facts
    engine: Engine
    idle_ms: int
    footers: bool = False
    settings: Settings = NOTHING_GIVEN

    @cached_property
    def metadata(self) -> Table | None:
        """The metadata table in use; None also where it cannot be read, which is a finding of its own."""
        try:
            return listing_table(self.facts.table)
        except (Unreadable, Unsupported):
            return None

    def silent(self, modified_ms: int) -> bool:
        """Whether nothing has happened since for as long as counts as dead."""
        return self.facts.signs.now_ms - modified_ms >= self.idle_ms


def mended(command: str, leaves: str = "") -> tuple[Way, ...]:
    """The one way to mend something."""
    return (Way(command, leaves),)


def unreadable(error: HudictlError) -> Finding:
    """The finding for a damaged metadata file."""
    return Finding(UNREADABLE, ERROR, str(error.fields.get("file", "")), error.message)


def named(paths: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    return first_few(paths, most=3, rest=" and {:,} more")
