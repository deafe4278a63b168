"""A finding of ``check``, and the input of all families."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial

from hudictl.engine.base import Engine
from hudictl.errors import HudictlError, Unreadable, Unsupported
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import CLUSTERING, SAVEPOINT, Instant
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.formats.plans import RequestedReplace
from hudictl.phrases import command_of, count_of, first_few
from hudictl.reports.health.partition import OddBases, odd_bases
from hudictl.state.facts import Facts
from hudictl.state.files.late_blocks import SliceBlocks
from hudictl.state.orphans.lost_end import blocks_after_last
from hudictl.state.timeline.dropped import dropped_partitions
from hudictl.state.timeline.remedy import Remedy
from hudictl.state.timeline.removed import ways_to
from hudictl.state.timeline.service_plans import service_of
from hudictl.state.timeline.unfinished import in_words
from hudictl.table.archive_lost import lost_until
from hudictl.table.metadata.listing import listing_table
from hudictl.table.settings import NOTHING_GIVEN, Settings
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, load_timeline
from hudictl.table.timeline.commits import read_requested_replace

ERROR = "error"
"""Readers or writers get wrong results, or fail."""
WARNING = "warning"
"""Nothing is wrong yet, or only for some readers; later it will be."""
INFO = "info"
"""Leftovers that only take space; or something that is running."""
SEVERITIES = (ERROR, WARNING, INFO)
"""The most severe first."""
UNREADABLE = "unreadable"
"""A damaged metadata file: only the checks that depend on it are not done."""


MADE_ANEW = Remedy("hudictl metadata drop", "the metadata table is dropped; the next writer builds it again")
FROM_BACKUP = "Put the file back from a backup, or go back to before it"


@dataclass(frozen=True)
class Finding:
    """One problem. ``subject`` is an instant, a path or a partition. ``remedy`` are the commands that end it: several
    if only the operator can know the wanted outcome, none if no command ends it."""

    finding: str
    severity: str
    subject: str
    meaning: str
    remedy: tuple[Remedy, ...] = ()

    @property
    def advice(self) -> str:
        """The remedy as text."""
        return in_words(self.remedy)


@dataclass(frozen=True)
class Skipped:
    """A finding whose check was skipped, and why."""

    finding: str
    because: str


@dataclass(frozen=True)
class Look:
    """The table as it was when the check began. Unreadable commits are empty in ``facts``. ``settings`` are those of
    the table's writers, as far as specified. ``footers``: the end of each base file is read, too."""

    facts: Facts
    engine: Engine
    idle_ms: int
    footers: bool = False
    settings: Settings = NOTHING_GIVEN

    @cached_property
    def metadata(self) -> Table | None:
        """The metadata table in use; None also if it cannot be read, which is a finding of its own."""
        try:
            return listing_table(self.facts.table)
        except (Unreadable, Unsupported):
            return None

    @cached_property
    def metadata_timeline(self) -> Timeline | None:
        """Its timeline, if there is a metadata table. Raises Unreadable."""
        return load_timeline(self.metadata) if self.metadata is not None else None

    @cached_property
    def odd_bases(self) -> list[OddBases]:
        """What is odd about the names of base files, by partition."""
        look = partial(odd_bases, f".{self.facts.table.base_file_format.lower()}")
        return self.facts.sweep.over("look at names", look)

    @cached_property
    def clusterings(self) -> list[tuple[Instant, RequestedReplace]]:
        """The pending clusterings with their plans; one that cannot be read is a finding of its own."""
        table, found = self.facts.table, []
        for instant in self.facts.timeline.writes():
            with suppress(Unreadable):
                if instant.pending and service_of(table, instant) == CLUSTERING:
                    found.append((instant, read_requested_replace(table, instant)))
        return found

    @cached_property
    def dropped(self) -> dict[str, str]:
        """The partitions in which readers see no file group any more, each with the commit that dropped it."""
        return dropped_partitions(self.facts.table, self.facts.timeline, self.engine, commits=self.facts.commits)

    @cached_property
    def lost_until(self) -> str:
        """What a repair of the archive has lost: nothing goes back to before it. Raises Unreadable."""
        return lost_until(self.facts.table)

    @cached_property
    def last(self) -> str:
        """The last completed write; empty if there is none."""
        return self.facts.timeline.last_write

    @cached_property
    def late_blocks(self) -> list[SliceBlocks]:
        """The blocks in logs with a time after the last completed write, of table version 6."""
        return blocks_after_last(self.facts)

    def way_before(self, time: str) -> tuple[Remedy, ...]:
        """The way back to the last completed write before an instant; its plan is refused if files are missing there,
        too."""
        writes = self.facts.timeline.completed_writes()
        earlier = [entry for entry in writes if self.lost_until <= entry.time < time]
        if not earlier:
            return ()
        table, timeline, target = self.facts.table, self.facts.timeline, max(earlier, key=lambda entry: entry.time)
        removed = next(ways_to(table, timeline, target, None)).times
        saved = sorted(entry.time for entry in timeline.having(SAVEPOINT) if entry.time in removed)
        options = [f"--to-instant={target.time}", *["--delete-later-savepoints"][: len(saved)]]
        leaves = f"deletes {count_of(len(saved), 'later savepoint')}: {named(saved)}" if saved else ""
        return mended(command_of("restore", options=options), leaves)

    def way_before_file(self, name: str) -> tuple[Remedy, ...]:
        """The same for the instant that has written a data file."""
        data = parse_data_file(name)
        # Below table version 8 the name of a log does not say who has written it.
        known = data is not None and (data.is_base or self.facts.table.rules.logs_named_by_writer)
        return self.way_before(data.instant) if data is not None and known else ()

    def silent(self, modified_ms: int) -> bool:
        """Whether there was no activity for so long that it counts as dead."""
        return self.facts.signs.now_ms - modified_ms >= self.idle_ms


def mended(command: str, leaves: str = "") -> tuple[Remedy, ...]:
    """A remedy of one command."""
    return (Remedy(command, leaves),)


def with_way_back(finding: str, subject: str, meaning: str, way: tuple[Remedy, ...]) -> Finding:
    """An error after which the table can go back to before it: the meaning says what else goes."""
    goes = "".join(f" (the way back also {each.leaves})" for each in way if each.leaves)
    return Finding(finding, ERROR, subject, f"{meaning}{goes}", way)


def unreadable(error: HudictlError, remedy: tuple[Remedy, ...] = ()) -> Finding:
    """The finding for a damaged metadata file."""
    file = str(error.fields.get("file", ""))
    remedy = (MADE_ANEW,) if file.startswith(f"{METADATA_TABLE}/") else remedy
    return Finding(UNREADABLE, ERROR, file, error.message, remedy)


def named(paths: Sequence[str]) -> str:
    """The first of some names, and how many more there are."""
    return first_few(paths, most=3, rest=" and {:,} more")
