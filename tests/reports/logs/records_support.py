"""What the tests of records share with others."""

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from hudictl.engine.local import LocalEngine
from hudictl.formats.schema_evolution import float_text
from hudictl.reports.logs.merged import merged_rows, slices_of
from hudictl.reports.logs.records import RecordRow, Wanted
from hudictl.reports.logs.slices import files_of_table, slice_rows
from hudictl.table.logs.paths import folders_among
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline


def queried(base: Path, as_of: str | None = None) -> list[RecordRow]:
    """What a query reads of a whole table."""
    table = open_table(str(base))
    timeline = load_timeline(table)
    rows = slice_rows(table, files_of_table(table, timeline, LocalEngine()), timeline, as_of)
    folders, _ = folders_among([str(base / path) for path in sorted({row.partition for row in rows})], None, None)
    return [row for one in slices_of((), folders, as_of, []) for row in merged_rows(one, Wanted(), [])]


def text(value: Any) -> str | None:
    """As Spark casts it."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex().upper()
    if isinstance(value, datetime):
        moment = value.astimezone(timezone.utc)
        fraction = f".{moment.microsecond:06d}".rstrip("0") if moment.microsecond else ""
        return f"{moment:%Y-%m-%d %H:%M:%S}{fraction}"
    if isinstance(value, float):
        return float_text(value)
    return json.dumps(value, separators=(",", ":")) if isinstance(value, (dict, list)) else str(value)
