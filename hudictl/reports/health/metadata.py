"""Findings of ``check`` on the metadata table against storage: what readers see through it alone, or without it alone.

What is not as it lists it, ``metadata verify`` says of each file.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping

from hudictl.errors import Unreadable
from hudictl.formats.file_names import data_path, parse_data_file
from hudictl.formats.instants import COMMIT
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.formats.metadata_records import Listed
from hudictl.reports.health.finding import ERROR, MADE_ANEW, WARNING, Finding, Look, mended, named
from hudictl.reports.metadata_table import missing_files
from hudictl.state.metadata_gap import metadata_gap
from hudictl.state.needed import needed_files
from hudictl.storage import FileStatus, entries_of
from hudictl.table.commits import read_commit
from hudictl.table.file_view import StoredFile, other_table
from hudictl.table.table import Table
from hudictl.table.timeline import load_timeline


def listing(look: Look) -> Iterator[Finding]:
    """Raises Unreadable: a clean's metadata, or the plan of a compaction."""
    facts = look.facts
    if facts.known.unread is not None:
        meaning = f"{facts.known.unread}: queries that use it fail"
        yield Finding("metadata-table-unreadable", ERROR, METADATA_TABLE, meaning, mended("hudictl metadata verify"))
    if facts.known.listing is None:
        return

    needed = needed_files(facts, (), {})
    yield from _missing(look, facts.known.listing, needed.missing)
    gap = metadata_gap(facts, look.engine, needed, (), {})
    for partition, above in gap.hidden.items():
        meaning = (
            f"it lies below {above!r}, where no listing looks: readers see it through the metadata table alone, and a "
            "restore is refused (Hudi's own loses it); have Hudi write its rows into a partition below no other"
        )
        yield Finding("nested-partition", WARNING, partition, meaning)

    yield from _behind(look, facts.known.listing, needed.files.values())

    unlisted: dict[str, list[str]] = defaultdict(list)
    for file in gap.unlisted:
        unlisted[file.partition].append(file.data.name)
    for partition, names in sorted(unlisted.items()):
        meaning = (
            f"{len(names):,} files that the metadata table does not list ({named(names)}): readers that list folders "
            "take them for committed, and all readers will once the metadata table is made anew"
        )
        yield Finding("unlisted-files", ERROR, partition or ".", meaning, mended("hudictl orphans list"))


def files(look: Look) -> Iterator[Finding]:
    """Files of the metadata table that its own commits name, and that are gone, or of another size: queries by an index
    fail then, and those by the listing fail, or see what it was before."""
    metadata = look.metadata
    if metadata is None:
        return
    listed = {partition: _listed(metadata, partition) for partition in look.facts.table.metadata_partitions}
    damaged: dict[str, list[str]] = defaultdict(list)
    written, unread = _written(metadata)
    for path, problem in unread.items():
        meaning = f"{problem}: each write of Hudi 1.2.0 fails. {MADE_ANEW}"
        yield Finding("metadata-files-damaged", ERROR, f"{METADATA_TABLE}/{path}", meaning)
    for path, (size, may_be_gone) in sorted(written.items()):
        partition, _, name = path.rpartition("/")
        if partition in listed:
            status = listed[partition].get(name)
            # A log may have been appended to.
            grown = name.startswith(".") and status is not None and status.size > size
            if not may_be_gone if status is None else status.size != size and not grown:
                damaged[partition].append(name)
    for partition, names in damaged.items():
        meaning = (
            f"{len(names):,} files of it are gone, or of another size than its commits say ({named(names)}): queries "
            f"that use it fail, or miss rows. {MADE_ANEW}"
        )
        yield Finding("metadata-files-damaged", ERROR, f"{METADATA_TABLE}/{partition}", meaning)


def _listed(metadata: Table, partition: str) -> dict[str, FileStatus]:
    """The files of a partition by name: one request, where each file's status would be one."""
    return {entry.name: entry for entry in entries_of(metadata.storage, partition)}


def _written(metadata: Table) -> tuple[dict[str, tuple[int, bool]], dict[str, str]]:
    """By path the size that completed commits say of a file of the metadata table, the last of one that grew, and
    whether a clean may have taken it: a compaction may have replaced it since. Then the commits that cannot be read, by
    path, and why."""
    timeline = load_timeline(metadata)
    compacted = max((entry.time for entry in timeline.having(COMMIT) if entry.completed), default="")
    written: dict[str, tuple[int, bool]] = {}
    unread: dict[str, str] = {}
    for instant in timeline.completed_writes():
        try:
            stats = read_commit(metadata, instant).stats
        except Unreadable as error:
            unread[f"{metadata.layout.timeline}/{error.fields.get('file', instant.time)}"] = error.message
            continue
        for path, size in ((stat.path, stat.file_bytes) for found in stats.values() for stat in found):
            if path:
                written[path] = max(size, written.get(path, (0, True))[0]), instant.time < compacted
    return written, unread


def _behind(look: Look, listing: Mapping[str, Mapping[str, Listed]], needed: Iterable[StoredFile]) -> Iterator[Finding]:
    """Files of completed writes that the metadata table does not list, as where it has lost an instant of its own."""
    facts, unseen = look.facts, defaultdict(list)
    commits = (facts.commits[entry.time] for entry in facts.timeline.completed_writes())
    written = {stat.path for commit in commits for stats in commit.stats.values() for stat in stats}
    for file in needed:
        if file.path in written and file.size is not None and file.data.name not in listing.get(file.partition, ()):
            unseen[file.partition].append(file.data.name)
    for partition, names in sorted(unseen.items()):
        meaning = (
            f"{len(names):,} files of completed writes that the metadata table does not list ({named(names)}): queries "
            f"that use it do not see their rows. {MADE_ANEW}"
        )
        yield Finding("metadata-table-behind", ERROR, partition or ".", meaning, mended("hudictl metadata verify"))


def _missing(
    look: Look, listing: Mapping[str, Mapping[str, Listed]], named_already: Collection[str]
) -> Iterator[Finding]:
    """What is listed and not there; 0.15.0 takes the marker of a log that was never written for the log."""
    facts, lost = look.facts, defaultdict(list)
    there = {(file.partition, file.data.name) for file in facts.sweep.files}
    for partition, name in missing_files(facts.table, facts.timeline, listing, there):
        path, data = data_path(partition, name), parse_data_file(name)
        # Logs of changes no query opens that uses the listing.
        changes = data is not None and data.cdc
        if path not in named_already and not changes and other_table(path, facts.sweep) is None:
            lost[partition].append(name)
    if lost and load_timeline(facts.table).modified_ms.keys() != facts.timeline.modified_ms.keys():
        # A clean may have taken them meanwhile.
        return
    for partition, names in sorted(lost.items()):
        meaning = (
            f"{len(names):,} files that the metadata table lists are not on storage ({named(names)}): queries that use "
            f"it fail. {MADE_ANEW}"
        )
        yield Finding("listed-files-missing", ERROR, partition or ".", meaning, mended("hudictl metadata verify"))
