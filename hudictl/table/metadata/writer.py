"""Writes delta commits of a metadata table that change its listing of files, as Hudi's own writers make them.

What differs between releases is taken from the table itself: the schema of its records, and the metadata of a delta
commit. Hudi 0.15.0, 1.0.2 and 1.2.0 read and compact what is written here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hudictl.errors import Unreadable
from hudictl.formats import commit_metadata
from hudictl.formats.file_names import WRITE_TOKEN
from hudictl.formats.instants import DELTACOMMIT, WRITE_ACTIONS, State
from hudictl.formats.log_blocks import HFILE_DATA, INSTANT_TIME, SCHEMA, encode_block, read_blocks
from hudictl.formats.log_contents import encode_hfile
from hudictl.formats.metadata_records import ALL_PARTITIONS, encode_listing, partition_key
from hudictl.storage import delete_all
from hudictl.table.files.slices import StoredFile
from hudictl.table.files.view import list_partition
from hudictl.table.logs.reader import LogFile
from hudictl.table.logs.writer import LogTarget, write_logs
from hudictl.table.metadata.listing import FILES, base_schema, merged_slices
from hudictl.table.table import Table
from hudictl.table.timeline.active import (
    Timeline,
    completion_now,
    create_instant_file,
    delete_instant,
    load_timeline,
    read_instant,
)

Changes = Mapping[str, Mapping[str, int | None]]
"""By partition path and file name: the size in bytes; None for a file that is no longer listed."""

_OF_RESTORE = "003"
"""What Hudi 0.15.0 appends to the data table's time for a delta commit of its own in the metadata table."""


@dataclass(frozen=True)
class Template:
    """A completed delta commit of the listing: its body, and its statistics of the listing's file group."""

    body: bytes
    name: str
    stat: Mapping[str, Any]


def listing_time(metadata: Table, time: str) -> str:
    """The time of a delta commit that has no counterpart in the data table.

    Readers below version 8 count it by its suffix; later ones count every completed delta commit whose time is not
    pending in the data table.
    """
    return f"{time}{_OF_RESTORE}" if metadata.rules.metadata_is_vouched_for else time


def find_template(metadata: Table, timeline: Timeline) -> Template | None:
    """The newest delta commit that has written into the listing; None if there is none. Raises Unreadable."""
    for instant in reversed([*timeline.having(DELTACOMMIT)]):
        file = instant.file(State.COMPLETED)
        if file is not None and timeline.sizes[file.name]:
            body = read_instant(metadata, file)
            stats = commit_metadata.read_record(body, file.name).fields.get("partitionToWriteStats") or {}
            for stat in stats.get(FILES) or ():
                return Template(body, file.name, stat)
    return None


def write_listing(metadata: Table, template: Template, time: str, changes: Changes) -> None:
    """Adds a delta commit that changes the listing. A second call needs ``remove_listing`` first.

    Args:
        time: its instant time, see ``listing_time``.
        changes: not empty; partitions that are not listed yet are added to the list of all partitions.

    Raises:
        Unreadable: the listing has no file group, or no schema, or one of another kind.
        Unsupported, StorageFailed; Conflict: another process writes the same instant.
    """
    groups = list(merged_slices(metadata, FILES))
    if len(groups) != 1:
        raise Unreadable(f"the partition {FILES} of the metadata table has {len(groups)} file groups in use, not one")
    (slice_files,) = groups
    first = slice_files[0].data
    schema = _schema(metadata, slice_files)
    sizes: dict[str, Mapping[str, int | None]] = {partition_key(path): files for path, files in changes.items()}
    partitions: dict[str, int | None] = {name: 0 for name, files in sizes.items() if any(files.values())}
    records = {**({ALL_PARTITIONS: partitions} if partitions else {}), **sizes}
    rows = [(key, encode_listing(key, files)) for key, files in records.items()]
    try:
        block = encode_block(HFILE_DATA, {INSTANT_TIME: time, SCHEMA: schema}, encode_hfile(rows, schema))
    except ValueError as error:
        raise Unreadable(f"the partition {FILES} of the metadata table has another schema: {error}") from error

    create_instant_file(metadata, time, DELTACOMMIT, State.REQUESTED)
    create_instant_file(metadata, time, DELTACOMMIT, State.INFLIGHT)
    base_instant = None if metadata.rules.logs_named_by_writer else first.instant
    (log,) = write_logs(metadata, LogTarget(FILES, first.file_id, base_instant, time), [block])
    stat = _stat(template, log, base_instant or time, len(rows))
    body = commit_metadata.encode_like(template.body, {FILES: [stat]}, template.name)
    create_instant_file(metadata, time, DELTACOMMIT, State.COMPLETED, body, completion_now(metadata, time))


def remove_listing(metadata: Table, time: str) -> None:
    """Removes a delta commit of ``write_listing``, complete or not; none is no error. Raises Unreadable, Unsupported: a
    log; StorageFailed."""
    delete_instant(metadata, load_timeline(metadata).find(time, *WRITE_ACTIONS))
    logs = [file for file in list_partition(metadata, FILES) or () if _is_of(metadata, file, time)]
    delete_all(metadata.storage, [log.path for log in logs])


def _is_of(metadata: Table, file: StoredFile, time: str) -> bool:
    if file.data.is_base or file.data.write_token != WRITE_TOKEN:
        return False
    if metadata.rules.logs_named_by_writer:
        return file.data.instant == time
    log = LogFile(metadata.storage, metadata, FILES, file.data.name, file.size or 0)
    return any(block.instant == time for block in read_blocks(log.read_at, log.size))


def _schema(metadata: Table, files: list[StoredFile]) -> str:
    """The schema of the listing's records: the newest of its slice."""
    for file in reversed(files):
        log = LogFile(metadata.storage, metadata, FILES, file.data.name, file.size or 0)
        if file.data.is_base:
            return base_schema(log)
        for block in read_blocks(log.read_at, log.size):
            if block.header.get(SCHEMA):
                return block.header[SCHEMA]
    raise Unreadable(f"the partition {FILES} of the metadata table has no records, and so no schema")


def _stat(template: Template, log: StoredFile, base_instant: str, records: int) -> dict[str, Any]:
    return {
        **template.stat,
        "fileId": log.data.file_id,
        "path": log.path,
        "prevCommit": base_instant,
        "numWrites": records,
        "numDeletes": 0,
        "numInserts": 0,
        "numUpdateWrites": records,
        "totalWriteBytes": log.size,
        "fileSizeInBytes": log.size,
        "logVersion": log.data.version,
        "logOffset": 0,
        "logFiles": [log.data.name],
    }
