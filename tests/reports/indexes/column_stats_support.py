"""What the tests of column stats share with others."""

from pathlib import Path
from typing import Any

from hudictl import index_workers
from hudictl.formats.column_stats import COLUMN_STATS
from hudictl.table.logs.scan import scan_rule
from hudictl.table.logs.slice_files import slice_files
from hudictl.table.metadata.listing import listing_table, merged_slices
from tests.helpers import Copy
from tests.metadata_edits import append_deletes, append_records


def newest(copy: Copy, partition: str = "a") -> Path:
    """The newest base file of a partition, which has one file group."""
    return max((copy.path / partition).glob("*.parquet"), key=lambda file: file.name.split("_")[-1])


def entries(copy: Copy, file: str) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """The records of a file by column: file group, key, record."""
    metadata = listing_table(copy.table)
    assert metadata is not None
    return {
        record["ColumnStatsMetadata"]["columnName"]: (files[0].data.file_id, key, record)
        for files in merged_slices(metadata, COLUMN_STATS)
        for key, record in index_workers.index_records(slice_files(metadata, files, scan_rule(metadata), []), dict)
        if record["ColumnStatsMetadata"]["fileName"] == file
    }


def change(copy: Copy, column: str, **fields: Any) -> None:
    """Has the index say something else of a column of the newest file of partition a."""
    group, key, record = entries(copy, newest(copy).name)[column]
    append_deletes(copy.path, COLUMN_STATS, group, [key])
    append_records(
        copy.path,
        COLUMN_STATS,
        group,
        [(key, record | {"ColumnStatsMetadata": record["ColumnStatsMetadata"] | fields})],
    )
