"""Findings of ``check`` on buckets: their file groups, and the metadata of consistent hashing."""

from collections import defaultdict
from collections.abc import Iterator

from hudictl.phrases import command_of
from hudictl.reports.health.finding import ERROR, WARNING, Finding, Look, mended, named
from hudictl.reports.logs.slices import slice_rows
from hudictl.table.files.hashing import INITIAL, hashing_files
from hudictl.table.timeline.archive import archived_after


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


def bucket_twins(look: Look) -> Iterator[Finding]:
    """Two file groups of one bucket that readers see (hudi#9303, #5330): of two writers at once, or of a copy."""
    table, timeline = look.facts.table, look.facts.timeline
    twins = [group for found in look.odd_bases for group in found.twins]
    if not twins:
        return
    rows = slice_rows(table, look.facts.sweep.of_groups(twins), timeline, None)
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.newest and (row.base_file or row.logs):
            seen[row.partition, row.file_id[:8]].append(row.file_id)
    for (partition, bucket), ids in sorted(seen.items()):
        if len(ids) > 1:
            meaning = (
                f"the file groups {named(ids)} are both this bucket: each write of Hudi into it fails, and its "
                "rows are read twice. Go back to before the second one, or move its files out of the table"
            )
            begun = {row.file_id: row.base_instant for row in rows if row.file_id in ids}
            subject = f"{partition or '.'} bucket {bucket}"
            yield Finding("bucket-twice", ERROR, subject, meaning, look.way_before(max(begun.values())))


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
