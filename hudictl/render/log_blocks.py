"""Blocks of logs as text: the table of one log, and the sentence after all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from hudictl.formats.json_values import parse_json
from hudictl.formats.log_blocks import COMMAND_BLOCK_TYPE, INSTANT_TIME, SCHEMA, TARGET_INSTANT_TIME
from hudictl.phrases import count_of, first_few
from hudictl.reports.logs.blocks import BlockRow, Totals
from hudictl.table.logs.scan import AHEAD, VALID

_IN_COLUMNS = (INSTANT_TIME, TARGET_INSTANT_TIME, COMMAND_BLOCK_TYPE)
_LONG = 40
_MANY = 3


@dataclass(frozen=True)
class BlockLine:
    """A block of a log; the log's name is printed above the table."""

    index: int
    offset: int
    block_type: str
    instant: str | None
    target: str | None
    records: int | None
    bytes: int
    fate: str
    header: str


def block_line(row: BlockRow) -> BlockLine:
    """The row without its file; its header without the entries that have columns of their own."""
    return BlockLine(
        row.index,
        row.offset,
        row.block_type,
        row.instant,
        row.target_instant,
        row.record_count,
        row.block_bytes,
        _fate(row),
        ", ".join(_entry(key, value) for key, value in row.header.items() if key not in _IN_COLUMNS),
    )


def totals_line(logs: int, totals: Totals) -> str:
    """The number of blocks and records, and the places of corrupt bytes."""
    others = [f"{count:,} {fate}" for fate, count in sorted(totals.fates.items()) if fate != VALID]
    blocks = count_of(totals.blocks, "block") + (f" ({', '.join(others)})" if others else "")
    records = count_of(totals.records, "record")
    if totals.valid_records < totals.records:
        records += f", {totals.valid_records:,} of them in valid blocks"
    if totals.uncounted:
        records += f", not counting {count_of(totals.uncounted, 'block')}"
    return f"{count_of(logs, 'log')}: {blocks}; {records}; {_corrupt(totals)}."


def _corrupt(totals: Totals) -> str:
    if not totals.corrupt:
        return "no corrupt bytes"
    places = [f"{count:,} at {offset:,} of {file}" for file, offset, count in totals.corrupt]
    shown = first_few(places, most=_MANY, rest=", and in {:,} more places")
    return f"{count_of(sum(count for _, _, count in totals.corrupt), 'corrupt byte')}: {shown}"


def _fate(row: BlockRow) -> str:
    said = f"{AHEAD} of the last commit: Hudi 0.15.0 stops reading here" if row.fate == AHEAD else row.fate
    if row.fate_by is not None:
        elsewhere = "" if row.fate_by.file == row.file else f" of {row.fate_by.file.rpartition('/')[2]}"
        said += f" by block {row.fate_by.index}{elsewhere}"
    return f"{said}: {row.damage}" if row.damage else said


def _entry(key: str, value: str) -> str:
    if key == SCHEMA:
        return _schema(value)
    return f"{key}={value}" if len(value) <= _LONG else f"{key} of {len(value):,} characters"


@lru_cache(maxsize=64)
def _schema(text: str) -> str:
    """A schema's name and number of fields: the whole schema would fill the terminal."""
    try:
        schema = parse_json(text)
    except ValueError:
        schema = None
    fields = schema.get("fields") if isinstance(schema, Mapping) else None
    if not isinstance(schema, Mapping) or not isinstance(fields, list):
        return f"{SCHEMA} of {len(text):,} characters"
    return f"{SCHEMA} {schema.get('name')}, {count_of(len(fields), 'field')}"
