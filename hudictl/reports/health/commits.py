"""Findings of ``check`` on the files in completed commits' metadata, compared with storage."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hudictl.formats.commit_metadata import WriteStat
from hudictl.reports.health.finding import ERROR, Finding, Look, named
from hudictl.table.file_view import committed_without
from hudictl.table.slices import StoredFile
from hudictl.table.timeline import empty_commits

Told = Mapping[str, WriteStat]
"""The write statistics of commits, by path."""
Slices = Mapping[tuple[str, str, str], Sequence[StoredFile]]
"""Base files by partition, file id and instant."""


def without_content(look: Look) -> Iterator[Finding]:
    """Empty completed commits: the writer died, or the disk was full, after the file was created."""
    for file in empty_commits(look.facts.timeline):
        meaning = "the file of this commit is empty: whether all of its data files exist cannot be determined"
        yield Finding("empty-commit", ERROR, file.name, meaning)


def base_files(look: Look) -> Iterator[Finding]:
    """Files that do not match their commits. Storage and commits are each indexed only once."""
    told, slices = _named(look), _slices(look)
    yield from _second_base_files(look, told, slices)
    yield from _unnamed_files(look, told, slices)
    yield from _wrong_sizes(look, told)
    yield from _missing_change_logs(look, told)


def _second_base_files(look: Look, told: Told, slices: Slices) -> Iterator[Finding]:
    """Several base files in one slice: two tasks, or two writers, had the same instant and file group."""
    committed = committed_without(look.facts.timeline, ())
    for files in slices.values():
        if len(files) < 2 or files[0].data.instant not in committed:
            continue
        paths = sorted(file.path for file in files)
        right = [path for path in paths if path in told]
        says = f"its commit names {named(right)}; move all others out of the table"
        if not right:
            says = "no commit on the timeline names any of them; keep one, and move the others out of the table"
        meaning = f"{len(paths)} base files in one slice: readers use the last one in the listing. Here {says}"
        wrong = [path for path in paths if path not in told] or paths
        yield Finding("second-base-file", ERROR, wrong[0], meaning)


def _unnamed_files(look: Look, told: Told, slices: Slices) -> Iterator[Finding]:
    """Base files with the name of a completed commit on the timeline, whose statistics do not contain them."""
    completed = {entry.time for entry in look.facts.timeline.completed_writes() if look.facts.commits[entry.time].stats}
    for files in slices.values():
        if len(files) == 1 and files[0].data.instant in completed and files[0].path not in told:
            meaning = "its commit does not name this file, but readers that list folders treat its rows as committed"
            yield Finding("unnamed-file", ERROR, files[0].path, meaning)


def _wrong_sizes(look: Look, told: Told) -> Iterator[Finding]:
    """Files whose size differs from their commit's statistics. Of a truncated log, Hudi reads only the complete blocks,
    without an error. A longer log is no finding: a pending write or a rollback may have appended to it."""
    sizes = {path: stat.file_bytes for path, stat in told.items()} | {path: size for path, size, _ in _changes(told)}
    for file in look.facts.sweep.files:
        size, found = sizes.get(file.path), file.size
        if not size or found is None or found == size:
            continue
        if found > size and not file.data.is_base and not file.data.cdc:
            continue
        queries = "queries of change data" if file.data.cdc else "queries"
        meaning = f"{found:,} bytes, but its commit recorded {size:,}: {queries} fail, or return wrong rows"
        yield Finding("wrong-size", ERROR, file.path, meaning)


def _missing_change_logs(look: Look, told: Told) -> Iterator[Finding]:
    """Missing change logs whose base file exists: a clean deletes both."""
    there = {file.path for file in look.facts.sweep.files if file.size is not None}
    for path, _, base in _changes(told):
        if path not in there and base in there:
            meaning = "its commit names this file, but it is missing on storage: queries of change data fail"
            yield Finding("change-log-missing", ERROR, path, meaning)


def _changes(told: Told) -> Iterator[tuple[str, int, str]]:
    """Path and size of each change log, and the path of the file that was written with it."""
    for base, stat in told.items():
        yield from ((path, size, base) for path, size in stat.change_logs)


def _slices(look: Look) -> Slices:
    """The base files by partition, file id and instant."""
    slices: dict[tuple[str, str, str], list[StoredFile]] = defaultdict(list)
    for file in look.facts.sweep.files:
        if file.data.is_base:
            slices[file.partition, file.data.file_id, file.data.instant].append(file)
    return slices


def _named(look: Look) -> Told:
    """The write statistics of completed commits on the timeline, by path; the longest if several wrote a file."""
    told: dict[str, WriteStat] = {}
    for instant in look.facts.timeline.completed_writes():
        for stats in look.facts.commits[instant.time].stats.values():
            for stat in stats:
                if stat.path and (stat.path not in told or told[stat.path].file_bytes < stat.file_bytes):
                    told[stat.path] = stat
    return told
