"""Any bytes as an instant's file, or as a file of the archive."""

import io
import json
from collections.abc import Callable
from contextlib import suppress

import fastavro

from hudictl.errors import Unreadable, Unsupported
from hudictl.formats import archived_timeline, clean, commit_metadata, plans, restore, rollback, savepoint
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.formats.log_blocks import AVRO_DATA, SCHEMA, encode_block
from hudictl.formats.savepoint_names import read_names
from tests.fuzz.file import Bytes
from tests.records import ARCHIVED

DECODERS: tuple[Callable[[bytes, str], object], ...] = (
    savepoint.decode,
    rollback.decode_plan,
    rollback.decode_taken_back,
    rollback.decode_undone,
    restore.decode_plan,
    restore.decode_partitions,
    clean.decode_plan,
    clean.decode_metadata,
    commit_metadata.decode,
    plans.decode_compaction_groups,
    plans.decode_compaction_files,
    plans.decode_requested_replace,
    plans.decode_index_plan,
)
ARCHIVED_TEXT = json.dumps(ARCHIVED)
HEADER = {
    "type": "record",
    "name": "header",
    "fields": [
        {"name": "magic", "type": {"type": "fixed", "name": "magic", "size": 4}},
        {"name": "meta", "type": {"type": "map", "values": "bytes"}},
        {"name": "sync", "type": {"type": "fixed", "name": "sync", "size": 16}},
    ],
}


def instant_file(body: bytes) -> None:
    """Each decoder gives a value, or a reason; the two readers of savepoints agree."""
    for decode in DECODERS:
        with suppress(Unreadable, Unsupported):
            decode(body, "the file")
    with suppress(Unreadable, Unsupported):
        names = dict(read_names(Bytes(body).read_at, len(body), "the file"))
        files = savepoint.decode(body, "the file").files
        assert {path: "/".join(of) for path, of in files.items()}.keys() == names.keys()


def container(body: bytes) -> None:
    """The first line as a schema, the rest as the one block of a container; a bit of its length says whether it is
    compressed."""
    schema, _, record = body.partition(b"\n")
    out = io.BytesIO()
    codec = b"deflate" if len(schema) % 2 else b"null"
    header = {"magic": b"Obj\x01", "meta": {"avro.schema": schema, "avro.codec": codec}, "sync": b"s" * 16}
    fastavro.schemaless_writer(out, HEADER, header)
    for number in (1, len(record)):
        fastavro.schemaless_writer(out, "long", number)
    instant_file(out.getvalue() + record + b"s" * 16)


def archive_log(body: bytes) -> None:
    """Whole or torn, the places of its records are in it, and each is decoded or named."""
    found: list[ArchivedInstant] = []
    with suppress(Unreadable):
        found += archived_timeline.decode_log(body, "it")
    with suppress(Unreadable):
        torn = archived_timeline.decode_torn_log(body, "it")
        found += (*torn.whole, *torn.records)
    for entry in found:
        assert entry.record is not None
        start, end = entry.record.offset, entry.record.offset + entry.record.length
        assert 0 <= start <= end <= len(body)
        with suppress(Unreadable):
            archived_timeline.decode_log_record(body[start:end], entry.record, "it")


def archive_records(body: bytes) -> None:
    """The bytes as the content of a block."""
    archive_log(encode_block(AVRO_DATA, {SCHEMA: ARCHIVED_TEXT}, body))


def archive_parquet(body: bytes) -> None:
    """Its instants, each with time and action, and their files."""
    with suppress(Unreadable):
        found = list(archived_timeline.lsm_instants(Bytes(body).read_at, len(body), "it"))
        wanted = {(entry.time, entry.action) for entry in found}
        bodies = archived_timeline.decode_lsm_bodies(Bytes(body).read_at, len(body), "it", wanted, plans=True)
        assert {key for key, _, _ in bodies} == wanted


def manifest(body: bytes) -> None:
    """Names, which may be any texts."""
    with suppress(Unreadable):
        assert all(isinstance(name, str) for name in archived_timeline.decode_manifest(body, "it"))


TARGETS = (instant_file, container, archive_log, archive_records, archive_parquet, manifest)
