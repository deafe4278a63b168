"""Findings of ``check`` on the metadata of consistent hashing."""

from collections.abc import Iterator

from hudictl.reports.health.finding import WARNING, Finding, Look, named
from hudictl.table.archive import archived_after
from hudictl.table.hashing_metadata import INITIAL, hashing_files


def hashing_metadata(look: Look) -> Iterator[Finding]:
    """The metadata of resizes that no timeline knows: they were taken back, and this stayed (Hudi 0.15.0 to 1.2.0)."""
    table, timeline = look.facts.table, look.facts.timeline
    files = [file for file in hashing_files(table, look.engine) if file.instant != INITIAL]
    first = min((entry.time for entry in timeline.writes()), default="~")
    times = {file.instant for file in files if file.instant > first} - {entry.time for entry in timeline.instants}
    if times:
        # A writer may archive beyond a savepoint: then there are archived instants behind the timeline's first.
        times -= {entry.time for entry in archived_after(table, first)}
    for time in sorted(times):
        paths = [file.path for file in files if file.instant == time]
        meaning = (
            f"{named(paths)}: the resize {time} was taken back, and writers may go on with its buckets: "
            "rows that are there are written a second time; delete these files, .commit before .hashing_meta"
        )
        yield Finding("hashing-metadata-left", WARNING, time, meaning)
