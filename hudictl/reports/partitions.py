"""``partition list``: what each partition has on storage, and whether readers see it."""

from dataclasses import dataclass
from functools import partial

from hudictl.engine.base import Engine
from hudictl.formats.instants import parse_time, utc_text
from hudictl.phrases import first_few
from hudictl.table.files.choose import Counted, counted
from hudictl.table.files.sweep import sweep
from hudictl.table.files.view import committed_without
from hudictl.table.files.written import gather_written
from hudictl.table.metadata.listing import read_known
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline


@dataclass(frozen=True)
class PartitionRow:
    """A partition with all of its data files, also those of older slices and of pending writes. ``state``: "used";
    "dropped", if each file group is replaced; "empty", if there is no data file; "missing", if the metadata table lists
    it, but storage has no such partition. ``last_write`` is the newest completed one; if it is archived, the newest in
    the names of its files. ``metafile``: without, readers that list folders do not see it. ``listed``: whether the
    metadata table lists it; None if this is not in use, or cannot be read."""

    partition: str
    state: str
    file_groups: int
    replaced_file_groups: int
    base_files: int
    base_bytes: int
    logs: int
    log_bytes: int
    last_write: str | None
    last_write_utc: str | None
    metafile: bool
    listed: bool | None
    problem: str | None


def partition_rows(table: Table, engine: Engine) -> list[PartitionRow]:
    """The partitions, by path. Raises Unreadable: no timeline; Unsupported, StorageFailed, EngineFailed."""
    timeline, known = load_timeline(table), read_known(table, engine)
    written = gather_written(table, timeline, engine, [entry.time for entry in timeline.completed_writes()])
    found = sweep(table, engine, written.partitions | known.partitions)
    listed = known.listing.files if known.listing is not None else None
    function = partial(counted, committed_without(timeline, ()))
    counts = found.over("count files", function, written=written.files, listed=listed)
    lost = f"the metadata of {first_few(sorted(written.unreadable))} cannot be read" if written.unreadable else None
    rows = []
    for count in sorted(counts):
        # What only a commit names has been deleted.
        if count.stored or count.path in known.partitions:
            utc = utc_text(parse_time(count.last, table.zone)) if count.last and table.zone else None
            seen = (count.path in found.partitions, count.path in known.partitions if known.listing else None)
            last = (count.last or None, utc, *seen, known.unread or lost)
            rows.append(PartitionRow(count.path, _state(count), *count[1:-2], *last))
    return rows


def _state(count: Counted) -> str:
    if not count.file_groups:
        return "empty" if count.stored else "missing"
    return "dropped" if count.replaced == count.file_groups else "used"
