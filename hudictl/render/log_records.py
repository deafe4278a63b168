"""Records of logs as text."""

import json
from dataclasses import asdict
from typing import Any

from hudictl.formats.base_rows import META_COLUMNS
from hudictl.render.json import plain
from hudictl.reports.logs.records import RecordRow

BLOCK_COLUMNS = ("index", "block_type", "instant", "fate", "record_key", "record")
"""The columns of a record in the table of one log."""
MERGED_COLUMNS = ("record_key", "instant", "record", "file")


def record_line(row: RecordRow, chosen: bool) -> dict[str, Any]:
    """The row with its record as JSON, without Hudi's own columns, unless columns were chosen."""
    record = {name: value for name, value in row.record.items() if chosen or name not in META_COLUMNS}
    return asdict(row) | {"record": json.dumps(plain(record), ensure_ascii=False)}
