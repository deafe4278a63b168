"""The archived timeline: log files with Avro blocks (layouts 0 and 1), Parquet files under a manifest (layout 2)."""

import io
import json
import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import fastavro

from hudictl.errors import HudictlError, Unreadable, Unsupported
from hudictl.formats.avro import MAGIC, Body, Record, read_datum, record_name
from hudictl.formats.avro_schemas import Schema, parse_schema
from hudictl.formats.guarded_parquet import BYTES, TEXT, Bounds, filtered, read_bounds, read_rows
from hudictl.formats.instants import WRITE_ACTIONS, State
from hudictl.formats.json_values import parse_json
from hudictl.formats.log_blocks import AVRO_DATA, SCHEMA, Block, encode_block, read_blocks, read_head, read_torn
from hudictl.formats.ranges import ReadAt

_LENGTH_BYTES = 8
# Of a block's content: its version, and the number of records.
_CONTENT_HEAD = 8
_CONTENT_TAIL = 12
_BLOCK_VERSION = 3
_LOG_NAME = re.compile(r"\.commits_\.archive\.([0-9]+)(?:_.*)?\Z")
_MANIFEST_NAME = re.compile(r"manifest_([0-9]+)\Z")
_LSM_NAME = re.compile(r"([0-9]+)_([0-9]+)_([0-9])\.parquet\Z")
VERSION_FILE = "_version_"
LOST = ""
"""The file of an archived instant of which the archive has nothing any more."""

_LOG_INDEX = ("commitTime", "actionType", "actionState", "stateTransitionTime")
_LSM_INDEX = {"instantTime": TEXT, "completionTime": TEXT, "action": TEXT}
_MISSING = 1024


@dataclass(frozen=True, slots=True)
class LogRecord:
    """The place of an archived instant's record in its log file, in bytes, and its writer's schema."""

    schema: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class ArchivedInstant:
    """An instant of the archive in one state, and the file that holds it.

    Layout 1 archives each state separately, with its ``record``; layout 2 only completed instants, each with its plan.
    ``completion_time`` is None while pending, and in layout 1 if an old release did not store it.
    """

    time: str
    action: str
    state: State
    file: str
    completion_time: str | None = None
    record: LogRecord | None = None


@dataclass(frozen=True, slots=True)
class TornLog:
    """A log file of layout 1 with an incomplete last block.

    ``whole`` are the instants of the blocks before it. ``records`` are those of the complete records in the incomplete
    block. ``begun`` is the requested time in the incomplete record after them, if it can be read.
    """

    whole: tuple[ArchivedInstant, ...]
    records: tuple[ArchivedInstant, ...] = ()
    begun: str | None = None


def is_archive_log(name: str) -> bool:
    """Whether a file of the archive folder is one of layout 1's log files."""
    return _LOG_NAME.match(name) is not None


def is_archive_file(name: str) -> bool:
    """Whether a file's name is one of those of an archive."""
    return name == VERSION_FILE or any(kind.match(name) for kind in (_LOG_NAME, _MANIFEST_NAME, _LSM_NAME))


def log_number(name: str) -> int:
    """The number of one of layout 1's log files: later ones have greater ones."""
    match = _LOG_NAME.match(name)
    return int(match[1]) if match else 0


def decode_log(body: bytes, name: str) -> Iterator[ArchivedInstant]:
    """The instants of one archive log file of layout 1, one per archived instant file. Raises Unreadable."""

    def read_at(offset: int, length: int) -> bytes:
        return body[offset : offset + length]

    try:
        # Hudi skips an incomplete end, but its lost instants may be younger than the savepoint.
        blocks = list(read_blocks(read_at, len(body), strict=True))
    except (Unreadable, Unsupported) as error:
        raise Unreadable(f"{name} is damaged: {error.message}", file=name, **error.fields) from error
    for block in blocks:
        if block.block_type != AVRO_DATA:
            raise Unreadable(f"{name} is damaged at byte {block.offset}", file=name, offset=block.offset)
        content = body[block.content_offset : block.content_offset + block.content_length]
        with _unreadable(name, "decoded", block.offset):
            yield from _index(content, block.content_offset, block.header[SCHEMA], name)


def decode_torn_log(body: bytes, name: str) -> TornLog:
    """A log file of layout 1 up to its incomplete end. Raises Unreadable: it is damaged before the end."""
    end = 0
    with suppress(Unreadable, Unsupported):
        for block in read_blocks(lambda offset, length: body[offset : offset + length], len(body), strict=True):
            end = block.end
    try:
        header, at = read_torn(body[end:])
    except Unreadable as error:
        raise Unreadable(f"{name} is damaged at byte {end}: {error.message}", file=name, offset=end) from error
    whole = tuple(decode_log(body[:end], name))
    start = end + at + _LENGTH_BYTES
    if not header or len(body) < start + _CONTENT_HEAD:
        return TornLog(whole)
    with _unreadable(name, "decoded", end):
        schema = header[SCHEMA]
        records = tuple(_index(body[start:], start, schema, name, torn=True))
        cut = max((entry.record.offset + entry.record.length for entry in records if entry.record), default=0)
        return TornLog(whole, records, _begun(body[max(cut, start + _CONTENT_HEAD) + 4 :], schema))


def log_without(body: bytes, name: str, times: Collection[str]) -> bytes:
    """An archive log of layout 1 without the writes of some times. An incomplete end is left as it is, unless it has
    one of them: what else it has is in other logs. Raises Unreadable."""
    blocks: list[Block] = []
    with suppress(Unreadable, Unsupported):
        blocks += read_blocks(lambda offset, length: body[offset : offset + length], len(body), strict=True)
    end = blocks[-1].end if blocks else 0
    left = [_block_without(body, block, name, times) for block in blocks]
    torn = decode_torn_log(body, name).records if end < len(body) else ()
    return b"".join(left) + (b"" if any(_goes(entry, times) for entry in torn) else body[end:])


def log_mended(body: bytes, name: str, schemas: Collection[str] = ()) -> tuple[bytes, bool]:
    """What can be read of a damaged archive log of layout 1, and whether this is all that it had: each block as it is
    where it is whole, otherwise with those of its records that are. Also where only a block's frame, version or schema
    is damaged: that its records can be read by this schema, or by that of another log, proves them."""
    found = read_blocks(lambda offset, length: body[offset : offset + length], len(body), any_format=True)
    mended = [_block_mended(body[block.offset : block.end], name, schemas) for block in found]
    return b"".join(part for part, _ in mended), bool(mended) and all(whole for _, whole in mended)


def schemas_of(body: bytes) -> list[str]:
    """The schemas in an archive log of layout 1, as far as it can be read."""
    found = read_blocks(lambda offset, length: body[offset : offset + length], len(body), any_format=True)
    return [block.header[SCHEMA] for block in found if SCHEMA in block.header]


def _block_mended(block: bytes, name: str, schemas: Collection[str]) -> tuple[bytes, bool]:
    with suppress(Unreadable, Unsupported):
        for entry in decode_log(block, name):
            if entry.record:
                decode_log_record(block[entry.record.offset :][: entry.record.length], entry.record, name)
        return block, True
    header, start = read_head(block)
    for schema in (header.get(SCHEMA, ""), *schemas):
        records, position = [], start + _CONTENT_HEAD
        while 0 < (length := int.from_bytes(block[position : position + 4], signed=True)) <= len(block) - position - 4:
            record = block[position + 4 : position + 4 + length]
            if _is_whole(record, schema):
                records.append(block[position : position + 4] + record)
            position += 4 + length
        if records:
            content = struct.pack(">ii", _BLOCK_VERSION, len(records)) + b"".join(records)
            # Behind the last one come an empty footer and the block's length: nothing else is lost.
            told = int.from_bytes(block[start + 4 : start + _CONTENT_HEAD]), len(block) - _CONTENT_TAIL
            return encode_block(AVRO_DATA, {SCHEMA: schema}, content), told == (len(records), position)
    return b"", False


def _is_whole(record: bytes, schema: str) -> bool:
    try:
        entry = read_datum(io.BytesIO(record), _schemas(schema)[0], len(record))
        state = entry["actionState"]
        return (state is None or state in State.__members__) and str(entry["commitTime"]).isdigit()
    except Exception:
        # The library raises any error on damaged bytes.
        return False


def _block_without(body: bytes, block: Block, name: str, times: Collection[str]) -> bytes:
    content = body[block.content_offset : block.content_offset + block.content_length]
    entries = list(_index(content, block.content_offset, block.header[SCHEMA], name))
    kept = [entry.record for entry in entries if entry.record and not _goes(entry, times)]
    if len(kept) == len(entries):
        return body[block.offset : block.end]
    if not kept:
        return b""
    records = (body[record.offset - 4 : record.offset + record.length] for record in kept)
    return encode_block(AVRO_DATA, block.header, content[:4] + struct.pack(">i", len(kept)) + b"".join(records))


def _goes(entry: ArchivedInstant, times: Collection[str]) -> bool:
    return entry.time in times and entry.action in WRITE_ACTIONS


def decode_log_record(body: bytes, record: LogRecord, name: str) -> Body:
    """The body of an archived instant file of layout 1; b"" if it was empty.

    Args:
        body: the bytes of the record.
        name: the log file's name.

    Raises:
        Unreadable.
    """
    with _unreadable(name, "decoded", record.offset):
        schema, _, names = _schemas(record.schema)
        entry = read_datum(io.BytesIO(body), schema)
        return next((Record(names[field], entry[field]) for field in names if isinstance(entry[field], dict)), b"")


@lru_cache
def _schemas(text: str) -> tuple[Schema, Any, dict[str, str]]:
    """A log's schema; the reduced schema for its instants, with which other fields are skipped, not decoded; and the
    names of the records in the other fields."""
    schema = parse_schema(text)
    index = [field for field in schema.raw["fields"] if field["name"] in _LOG_INDEX]
    names = {
        field["name"]: record_name(branch if isinstance(branch, dict) else {"name": branch})
        for field in schema.raw["fields"]
        for branch in field["type"]
        if branch != "null" and field["name"][:6].lower() == "hoodie"
    }
    return schema, parse_schema(json.dumps({"type": "record", "name": schema.name, "fields": index})).raw, names


def _index(content: bytes, start: int, schema: str, name: str, *, torn: bool = False) -> Iterator[ArchivedInstant]:
    """The instants of a block's content; of an incomplete block, those before the cut."""
    writer, reader, _ = _schemas(schema)
    _, count = struct.unpack_from(">ii", content)
    if count < 0:
        raise ValueError(f"it cannot have {count} records")
    position = _CONTENT_HEAD
    for _ in range(count):
        if torn and len(content) < position + 4:
            return
        (length,) = struct.unpack_from(">i", content, position)
        position += 4
        if torn and len(content) < position + length:
            return
        if not 0 <= length <= len(content) - position:
            raise ValueError(f"a record of {length} bytes does not fit")
        record = io.BytesIO(content[position : position + length])
        entry: Any = fastavro.schemaless_reader(record, writer.raw, reader)
        # Very old records have no state: they were completed.
        state = State[entry["actionState"] or "COMPLETED"]
        yield ArchivedInstant(
            entry["commitTime"] or "",
            entry["actionType"] or "",
            state,
            name,
            entry.get("stateTransitionTime") if state is State.COMPLETED else None,
            LogRecord(schema, start + position, length),
        )
        position += length


def _begun(record: bytes, schema: str) -> str | None:
    """The requested time in the beginning of a record: missing bytes are read as nulls and ends of maps."""
    writer, reader, _ = _schemas(schema)
    try:
        entry: Any = fastavro.schemaless_reader(io.BytesIO(record + bytes(_MISSING)), writer.raw, reader)
    except Exception:
        # The library raises any error at the cut: then the time cannot be read.
        return None
    time = entry["commitTime"] or ""
    return time if time.isdigit() else None


def manifest_version(name: str) -> int | None:
    """The version of a manifest file of layout 2, by its name."""
    match = _MANIFEST_NAME.match(name)
    return int(match[1]) if match else None


def manifest_name(version: int) -> str:
    """The name of a manifest file of layout 2; versions count from 1."""
    return f"manifest_{version}"


def decode_manifest(body: bytes, what: str) -> list[str]:
    """The names of the live Parquet files of a manifest. Raises Unreadable."""
    try:
        return [str(entry["fileName"]) for entry in parse_json(body).get("files", [])]
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise Unreadable(f"{what} is not a manifest: {error}", file=what) from error


def encode_manifest(files: Mapping[str, int]) -> bytes:
    """A manifest of some Parquet files, each with its size in bytes."""
    entries = [{"fileName": name, "fileLen": size} for name, size in files.items()]
    return json.dumps({"files": entries}, indent=2).encode()


def mentioned_files(body: bytes) -> list[str]:
    """The names of Parquet files in a manifest that may be damaged."""
    return [found.decode() for found in re.findall(rb'"([0-9]+_[0-9]+_[0-9]\.parquet)"', body)]


def lsm_level(name: str) -> int | None:
    """The level of a Parquet file of layout 2: a file of a higher one replaces some of the lower ones. None: the name
    is that of another file."""
    match = _LSM_NAME.match(name)
    return int(match[3]) if match else None


def check_lsm(read_at: ReadAt, size: int, name: str) -> None:
    """Reads all of a Parquet file of layout 2. Raises Unreadable."""
    with _unreadable(name, "read as Parquet"):
        for _ in read_rows(read_at, size, {**_LSM_INDEX, "metadata": BYTES, "plan": BYTES}):
            pass


def lsm_range(name: str) -> tuple[str, str] | None:
    """The smallest and the largest requested time in a Parquet file of layout 2, by its name; None where it does not
    tell. An upgrade names a file otherwise: see ``lsm_ends``."""
    match = _LSM_NAME.match(name)
    return (match[1], match[2]) if match and match[1] <= match[2] else None


def lsm_ends(read_at: ReadAt, size: int, name: str) -> tuple[str, str] | None:
    """The same by its footer, which is read alone; None where it does not tell, or the times of the name, which the
    file has in any case, are outside. Raises Unreadable."""
    with _unreadable(name, "read as Parquet"):
        ends = _ends(read_bounds(read_at, size))
    match = _LSM_NAME.match(name)
    inside = match and ends and ends[0] <= min(match[1], match[2]) and max(match[1], match[2]) <= ends[1]
    return ends if inside else None


def _ends(groups: Sequence[Bounds]) -> tuple[str, str] | None:
    told = [group["instantTime"] for group in groups if "instantTime" in group]
    if not told or len(told) < len(groups):
        return None
    return min(first for first, _ in told), max(last for _, last in told)


def lsm_instants(read_at: ReadAt, size: int, name: str, after: str = "") -> Iterator[ArchivedInstant]:
    """The instants of one Parquet file of layout 2, as they come: it can have very many. All of them are completed.
    Their metadata is not read.

    Args:
        after: a row group is not read if all its instants were requested and completed up to this time.

    Raises:
        Unreadable.
    """
    with _unreadable(name, "read as Parquet"):
        for time, completion, action in read_rows(
            read_at, size, _LSM_INDEX, choose=partial(_groups_after, name, after)
        ):
            if time is None or action is None:
                raise Unreadable(f"{name} holds an instant without time or action", file=name)
            yield ArchivedInstant(time, action, State.COMPLETED, name, completion)


def _groups_after(name: str, after: str, groups: Sequence[Bounds]) -> Collection[int]:
    """The row groups that may have an instant after a time. The footer is believed only where the file's name says the
    same: an upgrade names a file otherwise (see ``archived_after``), and then all are read."""
    ends = _ends(groups)
    if not after or ends is None or ends != lsm_range(name):
        return range(len(groups))
    return [
        number
        for number, group in enumerate(groups)
        if not group.get("completionTime", ("", ""))[0]
        or max(group["instantTime"][1], group["completionTime"][1]) > after
    ]


def decode_lsm_bodies(
    read_at: ReadAt, size: int, name: str, wanted: Collection[tuple[str, str]], *, plans: bool
) -> Iterator[tuple[tuple[str, str], bytes, bytes]]:
    """The files of some instants, as they come: time and action, the completed one, and the plan (b"" where there is
    none). Raises Unreadable: also behind the last, where one of the instants is not found, which ``lsm_instants`` has
    found."""
    columns = {"instantTime": TEXT, "action": TEXT, "metadata": BYTES, **({"plan": BYTES} if plans else {})}
    lost = set(wanted)
    with _unreadable(name, "read as Parquet"):
        for row in read_rows(read_at, size, columns, {time for time, _ in wanted}):
            time, action, metadata, plan = (*row, b"")[:4]
            if (time, action) in wanted:
                lost.discard((time, action))
                yield (time, action), metadata or b"", plan or b""
    if lost:
        raise Unreadable(f"{name} is damaged: it lists {' '.join(min(lost))}, but has no row of it", file=name)


def check_written(entry: ArchivedInstant, body: Body) -> None:
    """Raises Unreadable: an instant of layout 2 without the container that has its schema."""
    if entry.record is None and isinstance(body, bytes) and body[:4] != MAGIC and body.strip()[:1] not in (b"", b"{"):
        raise Unreadable(
            f"{entry.time}.{entry.action} in {entry.file} has no schema: the upgrade of Hudi 1.0.2 wrote it, and Hudi "
            "cannot read it either",
            file=entry.file,
        )


def lsm_without(body: bytes, name: str, times: Collection[str]) -> bytes:
    """A Parquet file of layout 2 without the writes of some times, with the schema, the compression and the order of
    before. Raises Unreadable: it is damaged, or has columns that Hudi 1.0.2 to 1.2.0 do not write."""
    with _unreadable(name, "written without the writes that go"):
        return filtered(
            body,
            {**_LSM_INDEX, "metadata": BYTES, "plan": BYTES},
            "version",
            lambda row: not (row[0] in times and row[2] in WRITE_ACTIONS),
        )


@contextmanager
def _unreadable(name: str, verb: str, offset: int | None = None) -> Iterator[None]:
    """Both libraries raise any kind of error on damaged bytes; the storage's own errors are passed on."""
    try:
        yield
    except Unreadable as error:
        if "file" in error.fields:
            raise
        raise Unreadable(f"{name} cannot be {verb}: {error.message}", file=name, **error.fields) from error
    except (HudictlError, FileNotFoundError):
        raise
    except Exception as error:
        fields: dict[str, Any] = {} if offset is None else {"offset": offset}
        # pyarrow's may be of several lines, or end one; Python's may be a mere number or key.
        why = " ".join(str(error).split())
        why = why if " " in why else f"{type(error).__name__} {why}".rstrip()
        raise Unreadable(f"{name} cannot be {verb}: {why}", file=name, **fields) from error
