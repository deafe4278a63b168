"""Findings of ``check`` on the metadata of consistent hashing."""

from collections.abc import Iterator

from hudictl.phrases import command_of
from hudictl.reports.health.finding import WARNING, Finding, Look, mended, named
from hudictl.table.archive import archived_after
from hudictl.table.hashing_metadata import INITIAL, hashing_files


def hashing_metadata(look: Look) -> Iterator[Finding]:
    """The metadata of rolled-back resizes, which Hudi's own rollbacks and restores leave (0.15.0 to 1.2.0)."""
    files = [file for file in hashing_files(look.facts.table, look.engine) if file.instant != INITIAL]
    gone, pending = _gone(look, {file.instant for file in files}), _pending(look)
    counting = {file.instant for file in files if file.commits} & pending
    for time in sorted(gone | counting):
        paths = [file.path for file in files if file.instant == time]
        state, mend = (
            ("is pending, but its .commit file still counts it as completed", "roll it back")
            if time in counting
            else (
                "was rolled back, but its hashing metadata is left",
                "delete these files, .commit before .hashing_meta",
            )
        )
        meaning = (
            f"{named(paths)}: the resize {time} {state}: writers may use its buckets, and write existing rows a second "
            f"time; {mend}"
        )
        remedy = mended(command_of("rollback", time)) if time in counting else ()
        yield Finding("hashing-metadata-left", WARNING, time, meaning, remedy)


def _gone(look: Look, times: set[str]) -> set[str]:
    """The times that are on no timeline, after the active timeline's first write."""
    timeline = look.facts.timeline
    first = min((entry.time for entry in timeline.writes()), default="~")
    gone = {time for time in times if time > first} - {entry.time for entry in timeline.instants}
    # A writer may archive beyond a savepoint: then archived instants are later than the timeline's first.
    return gone - {entry.time for entry in archived_after(look.facts.table, first)} if gone else gone


def _pending(look: Look) -> set[str]:
    # Hudi's restore leaves a clustering pending (1.0.2, 1.2.0), but its .commit file still makes it count.
    return {entry.time for entry in look.facts.timeline.writes() if entry.pending}
