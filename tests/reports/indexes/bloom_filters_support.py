"""What the tests of bloom filters share with others."""

from typing import Any

from hudictl import index_workers
from hudictl.formats.index_keys import bloom_filter_key
from hudictl.reports.indexes.bloom_filters import BLOOM_FILTERS
from hudictl.table.logs.scan import scan_rule
from hudictl.table.logs.slice_files import slice_files
from hudictl.table.metadata.listing import listing_table, merged_slices
from tests.helpers import Copy
from tests.reports.indexes.column_stats_support import newest


def entry(copy: Copy) -> tuple[str, str, dict[str, Any]]:
    """File group, key and record of the newest file of partition a."""
    metadata = listing_table(copy.table)
    assert metadata is not None
    wanted = bloom_filter_key("a", newest(copy).name)
    (found,) = [
        (files[0].data.file_id, key, record)
        for files in merged_slices(metadata, BLOOM_FILTERS)
        for key, record in index_workers.index_records(slice_files(metadata, files, scan_rule(metadata), []), dict)
        if key == wanted
    ]
    return found
