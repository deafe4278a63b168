"""Taking the metadata table out of use: readers first, then the folder."""

from collections.abc import Collection
from dataclasses import replace

from hudictl.errors import NotFound, StorageFailed, Unreadable
from hudictl.formats.layouts import META, METADATA_PROPERTIES, METADATA_PROPERTIES_BACKUP, METADATA_TABLE, layout_of
from hudictl.table.index_definitions import drop_definitions
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.table import Table, table_at

PARTITION_KEYS = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")


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


def retire_indexes(table: Table, partitions: Collection[str], rollback_time: str) -> bool:
    """Takes some partitions of the metadata table out of use, the rest of which stays. Idempotent.

    The definitions and the properties first, then the folders, each in one step where the store has one: readers do
    not ask an index that is not listed, and a writer that builds it anew empties its folder (Hudi 1.0.2, 1.2.0).

    Returns:
        False where there was nothing to do.
    """
    properties = read_properties(table.storage)
    listed = {key: properties[key].split(",") for key in PARTITION_KEYS if properties.get(key)}
    folders = [name for name in partitions if table.storage.stat(f"{METADATA_TABLE}/{name}") is not None]
    if not folders and not any(set(names) & set(partitions) for names in listed.values()):
        return False
    drop_definitions(table, partitions)
    kept = {key: ",".join(name for name in names if name not in partitions) for key, names in listed.items()}
    update_properties(table.storage, kept)
    for name in folders:
        _delete_folder(table, _retired(f"{name}_{rollback_time}"))
        if not table.storage.move(f"{METADATA_TABLE}/{name}", _retired(f"{name}_{rollback_time}")):
            table.storage.delete_folder(f"{METADATA_TABLE}/{name}")
    return True


def delete_retired_indexes(table: Table, rollback_time: str) -> None:
    """Deletes the folders of partitions that were taken out of use."""
    for entry in table.storage.list(META):
        if entry.is_dir and entry.name.startswith(".metadata_") and entry.name.endswith(f"_{rollback_time}"):
            _delete_folder(table, f"{META}/{entry.name}")


def _delete_folder(table: Table, folder: str) -> None:
    if table.storage.stat(folder) is not None:
        table.storage.delete_folder(folder)


def _retired(restore_time: str) -> str:
    return f"{META}/.metadata_{restore_time}"
