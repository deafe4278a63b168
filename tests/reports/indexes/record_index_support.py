"""What the tests of record index share with others."""

from typing import Any

from hudictl import index_workers
from hudictl.formats.index_records import RECORD_INDEX
from hudictl.table.logs.scan import scan_rule
from hudictl.table.logs.slice_files import slice_files
from hudictl.table.metadata.listing import listing_table, merged_slices
from tests.helpers import Copy


def entries(copy: Copy) -> dict[str, tuple[str, dict[str, Any]]]:
    """The records of the index with their file groups, by key."""
    metadata = listing_table(copy.table)
    assert metadata is not None
    return {
        key: (files[0].data.file_id, record)
        for files in merged_slices(metadata, RECORD_INDEX)
        for key, record in index_workers.index_records(slice_files(metadata, files, scan_rule(metadata), []), dict)
    }


def some(copy: Copy) -> tuple[str, str, dict[str, Any]]:
    """A key of the index with its file group and record; the group's last log has records."""
    return min((key, group, record) for key, (group, record) in entries(copy).items())
