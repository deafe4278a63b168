"""Findings of ``check`` on buckets: their file groups, and the metadata of consistent hashing."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from hudictl.formats.layouts import BUCKET_CONFIGS, BUCKET_INDEX
from hudictl.phrases import command_of
from hudictl.reports.health.finding import ERROR, WARNING, Finding, Look, mended, named, with_way_back
from hudictl.reports.logs.slices import slice_rows
from hudictl.state.orphans.hashing import left_hashing, proved_left
from hudictl.storage import entries_of
from hudictl.table.files.hashing import COMMIT, CONFIG, HashingFile, hashing_files


def hashing_metadata(look: Look) -> Iterator[Finding]:
    """What rolled-back resizes have left for the buckets, as Hudi does (0.15.0 to 1.2.0); and the empty folder of a
    first one."""
    table, timeline = look.facts.table, look.facts.timeline
    if not entries_of(table.storage, BUCKET_INDEX):
        return
    if table.storage.has_folder(BUCKET_CONFIGS) and not entries_of(table.storage, BUCKET_CONFIGS):
        meaning = "the folder is empty: each read and write of Hudi 1.2.0 fails. Delete the folder"
        yield Finding("bucket-configs-missing", ERROR, BUCKET_CONFIGS, meaning)
    left, proved = (of(table, timeline, look.engine) for of in (left_hashing, proved_left))
    for time, files in _by_instant(left):
        known = all(file in proved for file in files)
        by_hand = "; no rollback on the timeline names it: delete the files, .commit before .hashing_meta"
        meaning = (
            f"{_named(files)}: the resize {time} was rolled back, but this is left: writers use its buckets, and write "
            f"existing rows a second time; queries for single keys miss rows{'' if known else by_hand}"
        )
        severity = ERROR if any(file.kind == CONFIG for file in files) else WARNING
        remedy = mended("hudictl orphans delete") if known else ()
        yield Finding("hashing-metadata-left", severity, time, meaning, remedy)
    pending = {entry.time for entry in timeline.writes() if entry.pending}
    others = hashing_files(table, look.engine, pending) if pending else ()
    # Hudi's restore leaves a clustering pending (1.0.2, 1.2.0), but its .commit file still makes it count.
    for time, files in _by_instant(file for file in others if file.kind == COMMIT):
        meaning = (
            f"{_named(files)}: the resize {time} is pending, but this still counts it as completed: writers use its "
            "buckets, and write existing rows a second time; roll it back"
        )
        yield Finding("hashing-metadata-left", WARNING, time, meaning, mended(command_of("rollback", time)))


def _by_instant(files: Iterable[HashingFile]) -> list[tuple[str, list[HashingFile]]]:
    found: dict[str, list[HashingFile]] = defaultdict(list)
    for file in files:
        found[file.instant].append(file)
    return sorted(found.items())


def _named(files: Iterable[HashingFile]) -> str:
    return named([file.path for file in files])


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
            yield with_way_back("bucket-twice", subject, meaning, look.way_before(max(begun.values())))
