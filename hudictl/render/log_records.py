"""Records of logs for eyes."""

import json
from typing import TypedDict

from hudictl.ops.log_records import META_COLUMNS, RecordRow
from hudictl.render.json import plain


class RecordLine(TypedDict):
    """A record of the file that stands above its table; ``record`` is JSON."""

    index: int | None
    block_type: str | None
    instant: str | None
    fate: str
    record_key: str | None
    record: str


def record_line(row: RecordRow, chosen: bool) -> RecordLine:
    """The row without its file, and without Hudi's own columns, unless columns were chosen."""
    record = {name: value for name, value in row.record.items() if chosen or name not in META_COLUMNS}
    return RecordLine(
        index=row.index,
        block_type=row.block_type,
        instant=row.instant,
        fate=row.fate,
        record_key=row.record_key,
        record=json.dumps(plain(record), ensure_ascii=False),
    )
