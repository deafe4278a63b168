"""Taking the metadata table out of use: readers first, then the folder."""

from hudictl.formats.layouts import META, METADATA_TABLE
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.table import Table

PARTITION_KEYS = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")


def metadata_table_in_use(table: Table) -> bool:
    """Whether the properties on disk list a partition, or the folder is there (a writer would take it up again)."""
    listed = any(read_properties(table.storage).get(key) for key in PARTITION_KEYS)
    return listed or table.storage.stat(METADATA_TABLE) is not None


def retire_metadata_table(table: Table, restore_time: str) -> bool:
    """Clears the properties, then moves the folder away in one step. Idempotent.

    A folder that is half deleted under its own name has no guard in Hudi's readers: they would miss files. The new
    name carries the restore's time, so that a rerun knows it for its own.

    Returns:
        False where there was nothing to do.
    """
    if not metadata_table_in_use(table):
        return False
    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))
    delete_retired(table, restore_time)
    table.storage.move_folder(METADATA_TABLE, _retired(restore_time))
    return True


def delete_retired(table: Table, restore_time: str) -> None:
    """Deletes what was moved away: a long work, for when readers are back."""
    if table.storage.stat(_retired(restore_time)) is not None:
        table.storage.delete_folder(_retired(restore_time))


def _retired(restore_time: str) -> str:
    return f"{META}/.metadata_{restore_time}"
