"""Taking the metadata table out of use: readers first, then the folder."""

from hudictl.formats.layouts import META, METADATA_TABLE
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.table import Table

PARTITION_KEYS = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")


def metadata_table_in_use(table: Table) -> bool:
    """Whether the properties on disk list a partition, or the folder is there (a writer would take it up again)."""
    listed = any(read_properties(table.storage).get(key) for key in PARTITION_KEYS)
    return listed or table.storage.stat(METADATA_TABLE) is not None


def drop_metadata_table(table: Table, restore_time: str) -> bool:
    """Clears the properties, then moves the folder away in one step, then deletes it. Idempotent.

     A folder that is half deleted under its own name has no guard in Hudi's readers: they would miss files
    . The name after the move carries the restore's time, so that a rerun knows it for its own.

     Returns:
         False where there was nothing to do.
    """
    aside = f"{META}/.metadata_{restore_time}"
    left = table.storage.stat(aside) is not None
    if left:
        table.storage.delete_folder(aside)
    if not metadata_table_in_use(table):
        return left
    update_properties(table.storage, dict.fromkeys(PARTITION_KEYS, ""))
    if table.storage.move_folder(METADATA_TABLE, aside):
        table.storage.delete_folder(aside)
    return True
