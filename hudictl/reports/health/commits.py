"""Findings of ``check`` on what completed commits say of their files, held against what is on storage."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from hudictl.formats.commit_metadata import WriteStat
from hudictl.reports.health.finding import ERROR, Finding, Look, named
from hudictl.table.file_view import StoredFile, committed_without
from hudictl.table.timeline import empty_commits

Told = Mapping[str, WriteStat]
"""What commits say of their files, by path."""
Slices = Mapping[tuple[str, str, str], Sequence[StoredFile]]
"""Base files by partition, file id and instant."""


def without_content(look: Look) -> Iterator[Finding]:
    """Completed commits without content: their writer died, or the disk was full, between creating and writing."""
    for file in empty_commits(look.facts.timeline):
        meaning = "the commit says nothing of what it wrote: nobody can tell whether all of its files are there"
        yield Finding("empty-commit", ERROR, file.name, meaning)


def base_files(look: Look) -> Iterator[Finding]:
    """Files that are not as commits say. What is on storage, and what commits say, is sorted once for all."""
    told, slices = _named(look), _slices(look)
    yield from _second_base_files(look, told, slices)
    yield from _unnamed_files(look, told, slices)
    yield from _wrong_sizes(look, told)
    yield from _missing_change_logs(look, told)


def _second_base_files(look: Look, told: Told, slices: Slices) -> Iterator[Finding]:
    """Base files of one slice, where there is to be one: two tasks, or two writers, had the same instant and group."""
    committed = committed_without(look.facts.timeline, ())
    for files in slices.values():
        if len(files) < 2 or files[0].data.instant not in committed:
            continue
        paths = sorted(file.path for file in files)
        right = [path for path in paths if path in told]
        says = f"its commit names {named(right)}" if right else "no commit of the timeline names one of them"
        meaning = f"{len(paths)} base files of one slice: readers take the one that is listed last; {says}: move the "
        meaning += "others away"
        wrong = [path for path in paths if path not in told] or paths
        yield Finding("second-base-file", ERROR, wrong[0], meaning)


def _unnamed_files(look: Look, told: Told, slices: Slices) -> Iterator[Finding]:
    """Base files that carry the name of a completed commit of the timeline, whose statistics do not name them."""
    completed = {entry.time for entry in look.facts.timeline.completed_writes() if look.facts.commits[entry.time].stats}
    for files in slices.values():
        if len(files) == 1 and files[0].data.instant in completed and files[0].path not in told:
            meaning = "its commit does not name it: readers that list folders take its rows for committed all the same"
            yield Finding("unnamed-file", ERROR, files[0].path, meaning)


def _wrong_sizes(look: Look, told: Told) -> Iterator[Finding]:
    """Files whose size is not the one that their commit says. Of a log that was cut Hudi reads the whole blocks alone,
    without an error; to one that is longer a pending write may have appended, or a rollback."""
    sizes = {path: stat.file_bytes for path, stat in told.items()} | {path: size for path, size, _ in _changes(told)}
    for file in look.facts.sweep.files:
        size, found = sizes.get(file.path), file.size
        if not size or found is None or found == size:
            continue
        if found > size and not file.data.is_base and not file.data.cdc:
            continue
        queries = "queries of changes" if file.data.cdc else "queries"
        meaning = f"{found:,} bytes, and its commit says {size:,}: {queries} fail, or have other rows"
        yield Finding("wrong-size", ERROR, file.path, meaning)


def _missing_change_logs(look: Look, told: Told) -> Iterator[Finding]:
    """Logs of changes that are gone, where the base file is there that was written with them: a clean takes both."""
    there = {file.path for file in look.facts.sweep.files if file.size is not None}
    for path, _, base in _changes(told):
        if path not in there and base in there:
            meaning = "its commit names it, and it is not on storage: queries of changes fail"
            yield Finding("change-log-missing", ERROR, path, meaning)


def _changes(told: Told) -> Iterator[tuple[str, int, str]]:
    """Path and size of each log of changes, and the path of the file that was written with it."""
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
    """What completed commits of the timeline say of their files, by path; of one that several wrote, the longest."""
    told: dict[str, WriteStat] = {}
    for instant in look.facts.timeline.completed_writes():
        for stats in look.facts.commits[instant.time].stats.values():
            for stat in stats:
                if stat.path and (stat.path not in told or told[stat.path].file_bytes < stat.file_bytes):
                    told[stat.path] = stat
    return told
