"""What the metadata table lists: its ``files`` partition, read as Hudi's readers do."""

from collections.abc import Collection, Iterator

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import hfile
from hudictl.formats.log_blocks import DELETE, HFILE_DATA, SCHEMA, Block
from hudictl.formats.log_contents import HFILE_KEY, read_deletes, read_records
from hudictl.formats.metadata_records import ALL_PARTITIONS, Listed, combine, decode_listing, partition_path
from hudictl.table.file_view import committed_without, list_partition, pending_compactions, visible_slices
from hudictl.table.log_fates import CORRUPT_FATE, VALID, ScanRule, judged_blocks, scan_rule
from hudictl.table.log_reader import LogFile, naming_log
from hudictl.table.metadata_table import open_metadata_table
from hudictl.table.slices import StoredFile, group_files, read_together
from hudictl.table.table import Table
from hudictl.table.timeline import load_timeline

FILES = "files"
"""The partition that lists files."""

Listing = dict[str, dict[str, Listed]]
"""The files of each partition path, by name, without deleted ones."""

_Records = dict[str, dict[str, Listed]]


def listing_table(table: Table) -> Table | None:
    """The metadata table from which readers get listings; None if they list folders.

    Raises:
        Unreadable.
        Unsupported: of a table version that hudictl does not know.
    """
    metadata = open_metadata_table(table) if FILES in table.metadata_partitions else None
    if metadata is not None and not metadata.rules.known:
        raise Unsupported(f"{metadata.uri} has table version {metadata.version}: hudictl cannot read its listing")
    return metadata


def read_listing(metadata: Table, notes: list[str], data: Table | None = None, ending: Collection[str] = ()) -> Listing:
    """All partitions and files that a metadata table lists.

    Logs are merged first, and the result with the base file, as Hudi's readers do: the order counts.

    Args:
        notes: gets the corrupt ranges of logs, which readers skip.
        data: the data table, if the metadata table is not in its place.
        ending: see ``scan_rule``.

    Raises:
        Unreadable: damaged, or not as Hudi writes it.
        Conflict: a file disappeared meanwhile.
        Unsupported, StorageFailed.
    """
    records: _Records = {}
    for files in merged_slices(metadata, FILES):
        base, later, gone = _base(metadata, files), *_logs(metadata, files, notes, scan_rule(metadata, data, ending))
        older = {key: entries for key, entries in base.items() if key not in gone}
        records |= older | {key: combine(older.get(key, {}), entries) for key, entries in later.items()}
    listed = {key: {n: e for n, e in entries.items() if not e.deleted} for key, entries in records.items()}
    return {partition_path(key): listed.get(key, {}) for key in listed.get(ALL_PARTITIONS, {})}


def merged_slices(metadata: Table, partition: str) -> Iterator[list[StoredFile]]:
    """The files that a reader uses of each file group. Raises Unreadable."""
    timeline = load_timeline(metadata)
    groups = group_files(list_partition(metadata, partition) or ())
    compactions = pending_compactions(metadata, timeline, ())
    for _, slices in visible_slices(metadata, groups, committed_without(timeline, ()), compactions):
        yield [file for entry in reversed(read_together(slices)) for file in entry.files]


def check_openable(metadata: Table) -> None:
    """Whether readers can open the listing: checks its file slices, and the ends of their base files. Records and logs
    are not read.

    Raises:
        Unreadable, Conflict, Unsupported, StorageFailed.
    """
    for files in merged_slices(metadata, FILES):
        for file in files:
            if file.data.is_base:
                base_schema(_opened(metadata, file))


def _base(metadata: Table, files: list[StoredFile]) -> _Records:
    """The records of the base file, which is like the content of an HFile block."""
    for file in files:
        if file.data.is_base:
            log = _opened(metadata, file)
            block = Block(HFILE_DATA, 0, log.size, 0, log.size, {SCHEMA: base_schema(log)})
            with naming_log(log, Unreadable, Unsupported):
                return dict(_listings(block, log, file.data.instant))
    return {}


def base_schema(base: LogFile) -> str:
    """The schema of a base file's records, from the file info at its end."""
    with naming_log(base, Unreadable, Unsupported):
        return hfile.file_info(base.read_at, base.size).get(b"schema", b"").decode(errors="replace")


def _logs(metadata: Table, files: list[StoredFile], notes: list[str], rule: ScanRule) -> tuple[_Records, set[str]]:
    """The records of valid blocks, and the deleted keys, whose records in the base file do not count."""
    logs = [_opened(metadata, file) for file in files if not file.data.is_base]
    records: _Records = {}
    gone: set[str] = set()
    for judged in judged_blocks(logs, {log.name for log in logs}, rule):
        block = judged.block
        if judged.fate.name == CORRUPT_FATE:
            notes.append(
                f"{judged.log.uri} is damaged at byte {block.offset:,}, and readers skip this block: {block.damage}"
            )
        if judged.fate.name != VALID:
            continue
        with naming_log(judged.log, Unreadable, Unsupported):
            if block.block_type == HFILE_DATA:
                for key, entries in _listings(block, judged.log, block.instant or ""):
                    records[key] = combine(records.get(key, {}), entries)
            elif block.block_type == DELETE:
                for deleted in read_deletes(block, judged.read_at):
                    records.pop(deleted.record_key or "", None)
                    gone.add(deleted.record_key or "")
    return records, gone


def _listings(block: Block, log: LogFile, by: str) -> Iterator[tuple[str, dict[str, Listed]]]:
    for record in read_records(block, log.read_at):
        yield str(record.get(HFILE_KEY)), decode_listing(record, by)


def _opened(metadata: Table, file: StoredFile) -> LogFile:
    return LogFile(metadata.storage, metadata, FILES, file.data.name, file.size or 0)
