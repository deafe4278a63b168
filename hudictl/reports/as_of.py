"""What a look at a table as of an earlier instant does not see any more: "not there" is then no answer."""

from collections.abc import Iterator
from contextlib import suppress

from hudictl.errors import Unreadable
from hudictl.formats.clean import decode_metadata
from hudictl.formats.instants import CLEAN, Instant
from hudictl.table.copied import lacked_by_copy
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, read_instant
from hudictl.table.timeline.archive import archive_files


def tell_what_is_gone(table: Table, timeline: Timeline, as_of: str | None, notes: list[str]) -> None:
    """Adds a note where files that queries read as of an instant may be gone. Raises StorageFailed."""
    notes += [f"As of {as_of}, rows may be missing: {why}." for why in _gone(table, timeline, as_of)] if as_of else []


def _gone(table: Table, timeline: Timeline, as_of: str) -> Iterator[str]:
    if lacked := lacked_by_copy(table.storage, as_of):
        yield lacked
    if any(entry.time == as_of for entry in timeline.savepoints()):
        return
    # The settings may have changed: an earlier clean can have kept less than the last one.
    cleans = [entry for entry in timeline.having(CLEAN) if entry.completed]
    kept = max((_kept_from(table, timeline, entry) for entry in cleans), default="")
    if as_of < kept:
        yield f"cleans have kept all files from {kept} on, and not those that only earlier commits have"
    first = min((entry.time for entry in timeline.completed_writes()), default="")
    if not kept and as_of < first and archive_files(table):
        yield f"the timeline begins at {first}, and a clean of before that may have taken files"


def _kept_from(table: Table, timeline: Timeline, clean: Instant) -> str:
    """The first commit of which a completed clean has kept all files. Where it names none, as one that counts versions,
    the last commit before it surely is."""
    file, earliest = clean.completed_files[0], None
    if timeline.sizes[file.name]:
        with suppress(Unreadable):
            earliest = decode_metadata(read_instant(table, file), file.name).earliest
    before = [entry.time for entry in timeline.completed_writes() if entry.time <= clean.time]
    return earliest or max(before, default=clean.time)
