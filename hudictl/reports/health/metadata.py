"""Findings of ``check`` on the metadata table, compared with storage: what readers see only with it, or without it.

``metadata verify`` shows every single difference.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from hudictl.errors import Unreadable
from hudictl.formats.commit_metadata import WriteStat
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.instants import COMMIT, DELTACOMMIT
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.phrases import count_of
from hudictl.reports.health.finding import ERROR, MADE_ANEW, WARNING, Finding, Look, mended, named
from hudictl.state.facts import Facts
from hudictl.state.files.needed import needed_files
from hudictl.state.metadata.gap import metadata_gap, missing_files
from hudictl.storage import FileStatus, entries_of
from hudictl.table.files.choose import not_stored
from hudictl.table.files.listed import ListedFiles
from hudictl.table.files.saved import NOTHING_SAVED
from hudictl.table.files.slices import StoredFile, names_by_partition
from hudictl.table.files.sweep import other_table
from hudictl.table.files.view import committed_without
from hudictl.table.files.written import writers_of
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.commits import read_commit


def listing(look: Look) -> Iterator[Finding]:
    """Raises Unreadable: a clean's metadata, or the plan of a compaction."""
    facts = look.facts
    if facts.known.unread is not None:
        meaning = f"{facts.known.unread}: queries that use the metadata table fail"
        yield Finding("metadata-table-unreadable", ERROR, METADATA_TABLE, meaning, (MADE_ANEW,))
    if facts.known.listing is None:
        return

    needed = needed_files(facts, (), NOTHING_SAVED)
    yield from _missing(look, facts.known.listing, needed.missing)
    gap = metadata_gap(facts, look.engine, needed, (), NOTHING_SAVED)
    for partition, above in gap.hidden.items():
        meaning = (
            f"it is inside the partition {above!r}, so listings do not find it: only the metadata table shows it to "
            "readers. hudictl refuses a restore, and Hudi's own restore loses this partition. Move its rows with Hudi "
            "into a partition outside all others"
        )
        yield Finding("nested-partition", WARNING, partition, meaning)

    yield from _behind(look, needed.unlisted)

    for partition, names in sorted(names_by_partition(gap.unlisted).items()):
        meaning = (
            f"{count_of(len(names), 'file')} not listed by the metadata table ({named(names)}): readers that list "
            "folders treat them as committed; after the metadata table is rebuilt, all readers do"
        )
        yield Finding("unlisted-files", ERROR, partition or ".", meaning, mended("hudictl orphans list"))


def files(look: Look) -> Iterator[Finding]:
    """Files in the metadata table's own commits that are missing, or have another size. Queries with an index fail
    then. Queries with the listing fail, or see an older state."""
    metadata = look.metadata
    if metadata is None:
        return
    listed = {partition: _listed(metadata, partition) for partition in look.facts.table.metadata_partitions}
    damaged: dict[str, list[str]] = defaultdict(list)
    written, unread = _written(metadata)
    for path, problem in unread.items():
        meaning = f"{problem}. Every write of Hudi 1.2.0 fails"
        yield Finding("metadata-files-damaged", ERROR, f"{METADATA_TABLE}/{path}", meaning, (MADE_ANEW,))
    for path, (size, may_be_gone) in sorted(written.items()):
        partition, _, name = path.rpartition("/")
        if partition in listed:
            status = listed[partition].get(name)
            # A log may have grown.
            grown = name.startswith(".") and status is not None and status.size > size
            if not may_be_gone if status is None else status.size != size and not grown:
                damaged[partition].append(name)
    for partition, names in damaged.items():
        meaning = (
            f"{count_of(len(names), 'file')} of this metadata partition missing, or of another size than in the "
            f"commits ({named(names)}): queries with this partition fail, or miss rows"
        )
        yield Finding("metadata-files-damaged", ERROR, f"{METADATA_TABLE}/{partition}", meaning, (MADE_ANEW,))


def _listed(metadata: Table, partition: str) -> dict[str, FileStatus]:
    """The files of a partition by name: one request, instead of one for each file."""
    return {entry.name: entry for entry in entries_of(metadata.storage, partition)}


def _written(metadata: Table) -> tuple[dict[str, tuple[int, bool]], dict[str, str]]:
    """By path, the size of each file of the metadata table in its completed commits (the largest one), and whether a
    clean may have deleted it because of a later compaction. Second, the unreadable commits by path, with the reason.

    A writer without an index's setting drops the index, and the next writer with it builds it again. Hudi deletes the
    folder then, and keeps the commits (0.15.0 to 1.2.0): only files since the last build count."""
    timeline = load_timeline(metadata)
    compacted = max((entry.time for entry in timeline.having(COMMIT) if entry.completed), default="")
    written: dict[str, tuple[int, bool]] = {}
    unread: dict[str, str] = {}
    commits = []
    for instant in timeline.completed_writes():
        try:
            stats = read_commit(metadata, instant).stats
        except Unreadable as error:
            unread[f"{metadata.layout.timeline}/{error.fields.get('file', instant.time)}"] = error.message
            continue
        built = {name for name, found in stats.items() if instant.action == DELTACOMMIT and _has_bases(found)}
        commits.append((instant, stats, built))
    # In a copy without the times of its files all have completed at once: what was built last cannot be determined.
    for instant, stats, built in sorted(
        commits, key=lambda entry: (entry[0].completion_time or "", bool(entry[2]), entry[0].time)
    ):
        written = {path: told for path, told in written.items() if path.rpartition("/")[0] not in built}
        for path, size in ((stat.path, stat.file_bytes) for found in stats.values() for stat in found):
            if path:
                written[path] = max(size, written.get(path, (0, True))[0]), instant.time < compacted
    return written, unread


def _has_bases(stats: Iterable[WriteStat]) -> bool:
    """In the metadata table only a compaction writes these, and who builds a partition."""
    data = (parse_data_file(stat.path.rpartition("/")[2]) for stat in stats if stat.path)
    return any(entry is not None and entry.is_base for entry in data)


def _behind(look: Look, unlisted: Iterable[StoredFile]) -> Iterator[Finding]:
    """Files of completed writes that the metadata table does not list, for example because it lost an instant.

    Args:
        unlisted: the required files that it does not list.
    """
    by_partition = names_by_partition(unlisted)
    written = writers_of(look.facts.written.files, by_partition)
    for partition, all_names in sorted(by_partition.items()):
        names = [name for name in all_names if data_path(partition, name) in written]
        if not names:
            continue
        meaning = (
            f"{count_of(len(names), 'file')} of completed writes not listed by the metadata table ({named(names)}): "
            "queries with the metadata table do not see their rows"
        )
        yield Finding("metadata-table-behind", ERROR, partition or ".", meaning, (MADE_ANEW,))


def _missing(look: Look, listing: ListedFiles, named_already: Collection[str]) -> Iterator[Finding]:
    """Listed files that are missing; 0.15.0 lists a log that was never written, because of its marker."""
    facts, lost = look.facts, defaultdict(list)
    absent = facts.sweep.over("look for listed files", not_stored, listed=listing.files)
    for partition, name in missing_files(facts.table, facts.timeline, chain.from_iterable(absent)):
        path, data = data_path(partition, name), parse_data_file(name)
        # Queries that use the listing never open change logs.
        changes = data is not None and data.cdc
        if path not in named_already and not changes and other_table(path, facts.sweep) is None:
            lost[partition].append(name)
    if lost and load_timeline(facts.table).modified_ms.keys() != facts.timeline.modified_ms.keys():
        # A clean may have deleted them meanwhile.
        return
    for partition, names in sorted(lost.items()):
        opened = _opened(facts, partition, names)
        shown, severity = (opened, ERROR) if opened else (names, WARNING)
        fail = "queries with the metadata table fail" if opened else "only queries as of an older instant fail"
        many = count_of(len(shown), "file")
        meaning = f"{many} listed by the metadata table, but missing on storage ({named(shown)}): {fail}"
        yield Finding("listed-files-missing", severity, partition or ".", meaning, (MADE_ANEW,))


def _opened(facts: Facts, partition: str, names: Iterable[str]) -> list[str]:
    """Of some listed files those that queries of the newest rows open: no committed base file of the group is newer."""
    parsed = {name: parse_data_file(name) for name in names}
    groups = frozenset((partition, data.file_id) for data in parsed.values() if data is not None)
    committed = committed_without(facts.timeline, ())
    newest: dict[str, str] = {}
    for file in facts.sweep.of_groups(groups):
        if file.data.is_base and file.data.instant in committed:
            newest[file.data.file_id] = max(file.data.instant, newest.get(file.data.file_id, ""))
    return [
        name for name, data in parsed.items() if data is None or data.instant >= newest.get(data.file_id, data.instant)
    ]
