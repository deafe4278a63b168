"""Taking the metadata table out of use: readers first, then the folder."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from hudictl.errors import NotFound, StorageFailed, Unreadable
from hudictl.formats.layouts import META, METADATA_PROPERTIES, METADATA_PROPERTIES_BACKUP, METADATA_TABLE, layout_of
from hudictl.formats.metadata_records import Listed
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.table import Table, table_at

PARTITION_KEYS = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")


@dataclass(frozen=True)
class Known:
    """What readers are told by the metadata table, by partition and name: None where they list folders, or it cannot be
    read, for the reason that ``unread`` has."""

    listing: Mapping[str, Mapping[str, Listed]] | None = None
    unread: str | None = None


NOT_ASKED = Known()
"""Nothing is asked of the metadata table, or there is none in use."""


def open_metadata_table(table: Table) -> Table | None:
    """The metadata table as a table of its own; None where its folder holds none. Raises Unreadable."""
    storage = table.storage.below(METADATA_TABLE)
    try:
        properties = read_properties(storage)
        version = int(properties.get("hoodie.table.version", table.version))
        layout = layout_of(properties)
    except NotFound:
        return None
    except (Unreadable, ValueError) as error:
        raise Unreadable(f"{METADATA_TABLE}: {error}", file=METADATA_PROPERTIES) from error
    return replace(table, storage=storage, properties=properties, layout=layout, version=version)


def data_table_of(metadata: Table) -> Table | None:
    """The table that a metadata table is of; None for any other table. Raises Unreadable."""
    meta = metadata.storage.above()
    if not metadata.uri.endswith(f"/{METADATA_TABLE}") or meta is None:
        return None
    base = meta.above()
    try:
        return replace(table_at(base), zone=metadata.zone, zone_known=metadata.zone_known) if base else None
    except NotFound:
        return None


def metadata_table_in_use(table: Table) -> bool:
    """Whether the properties on disk list a partition, or the folder is there (a writer would take it up again)."""
    listed = any(read_properties(table.storage).get(key) for key in PARTITION_KEYS)
    return listed or table.storage.stat(METADATA_TABLE) is not None


def retire_metadata_table(table: Table, restore_time: str) -> bool:
    """Clears the properties, then moves the folder away in one step. Idempotent.

    A folder that is half deleted under its own name has no guard in Hudi's readers: they would miss files. The new
    name carries the restore's time, so that a rerun knows it for its own. An object store has no such step: there
    the folder loses its own properties, without which it is no table, and readers list folders instead.

    Returns:
        False where there was nothing to do.
    """
    if not metadata_table_in_use(table):
        return False
    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))
    _delete_folder(table, _retired(restore_time))
    if table.storage.move(METADATA_TABLE, _retired(restore_time)):
        return True
    was_table = table.storage.stat(METADATA_PROPERTIES) is not None
    # The backup before: readers take it where the properties are missing.
    for outcome in table.storage.delete([METADATA_PROPERTIES_BACKUP, METADATA_PROPERTIES]):
        if outcome.error is not None:
            raise StorageFailed(f"cannot delete {outcome.path}: {outcome.error}", path=outcome.path)
    return was_table


def delete_retired(table: Table, restore_time: str) -> None:
    """Deletes what was taken out of use: a long work, for when readers are back."""
    _delete_folder(table, _retired(restore_time))
    if table.storage.stat(METADATA_PROPERTIES) is None:
        _delete_folder(table, METADATA_TABLE)


def _delete_folder(table: Table, folder: str) -> None:
    if table.storage.stat(folder) is not None:
        table.storage.delete_folder(folder)


def _retired(restore_time: str) -> str:
    return f"{META}/.metadata_{restore_time}"
