"""What the tests of metadata table share with others."""

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.indexes.verify import verify_indexes
from hudictl.table.metadata.place import open_metadata_table
from tests.helpers import (
    ENGINE,
    Copy,
)

TO_INSTANT = RestoreOptions(to_instant=True)


def assert_indexes(copy: Copy) -> list[str]:
    """All indexes say what the data says; returns those that can be compared."""
    table, notes = copy.table, list[str]()
    metadata = open_metadata_table(table)
    assert metadata is not None
    found = verify_indexes(table, metadata, ENGINE, notes, sample=None, step=lambda name, count: None)
    assert found.rows == []
    return found.compared
