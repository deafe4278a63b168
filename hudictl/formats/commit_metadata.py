"""``HoodieCommitMetadata`` and ``HoodieReplaceCommitMetadata``: JSON in layouts 0 and 1, Avro in layout 2."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hudictl.errors import Unreadable
from hudictl.formats import avro
from hudictl.formats.json_values import parse_json

CHECKPOINTS = ("streamer.checkpoint.key.v2", "deltastreamer.checkpoint.key")
"""Where Hudi Streamer keeps how far it has read its source: from table version 8 on, and before."""
COMPACT, LOG_COMPACT = "COMPACT", "LOG_COMPACT"
"""The operations of a compaction, and of one of logs."""
RECORD = "HoodieCommitMetadata"
REPLACE_RECORD = "HoodieReplaceCommitMetadata"
_REPLACED = {
    "name": "partitionToReplaceFileIds",
    "type": ["null", avro.string_map(avro.array(avro.STRING))],
    "default": None,
}


class WriteStat(NamedTuple):
    """What a write did to one file. ``path`` is relative to the table; None in the profile of a write in flight.
    ``change_logs`` are the paths and sizes of the logs of changes (CDC) that it wrote beside it."""

    file_id: str
    path: str | None
    previous: str | None
    records: int
    deletes: int
    inserts: int
    updates: int
    written_bytes: int
    file_bytes: int
    change_logs: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """Statistics by partition path. ``operation`` is Hudi's enum name, ``UNKNOWN`` for an empty file. ``checkpoint`` is
    Hudi Streamer's."""

    operation: str = "UNKNOWN"
    stats: Mapping[str, tuple[WriteStat, ...]] = field(default_factory=dict)
    replaced: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    checkpoint: str | None = None

    @property
    def silent(self) -> bool:
        """Whether it does not tell what was written, as that of an empty file."""
        return self.operation == "UNKNOWN" and not (self.stats or self.replaced)

    @property
    def records(self) -> int:
        return sum(stat.records for stats in self.stats.values() for stat in stats)

    @property
    def written_bytes(self) -> int:
        return sum(stat.written_bytes for stats in self.stats.values() for stat in stats)

    @property
    def file_count(self) -> int:
        return sum(len(stats) for stats in self.stats.values())

    @property
    def written_groups(self) -> frozenset[tuple[str, str]]:
        """The file groups (partition path, file id) with new files."""
        return frozenset((path, stat.file_id) for path, stats in self.stats.items() for stat in stats)

    @property
    def replaced_groups(self) -> frozenset[tuple[str, str]]:
        """The file groups (partition path, file id) that are replaced."""
        return frozenset((path, file_id) for path, ids in self.replaced.items() for file_id in ids)


def decode(body: avro.Body, what: str) -> CommitMetadata:
    """Decodes the file of a commit, deltacommit or replacecommit; the bytes say whether they are Avro or JSON.

    An empty file is empty metadata (bulk inserts write no profile). Raises Unreadable.
    """
    if not body:
        return CommitMetadata()
    return avro.decode(read_record(body, what), (RECORD, REPLACE_RECORD), what, _build)


def previous_of(commits: Iterable[CommitMetadata]) -> set[str]:
    """The commits on which the files of some commits are based."""
    found = {stat.previous for commit in commits for stats in commit.stats.values() for stat in stats}
    return {time for time in found if time is not None and time != "null"}


def checkpoint_of(fields: Mapping[str, Any]) -> tuple[str, str] | tuple[None, None]:
    """The key and the value of the checkpoint in a commit's record, if it has one."""
    more = fields.get("extraMetadata")
    more = more if isinstance(more, Mapping) else {}
    return next(((key, str(more[key])) for key in CHECKPOINTS if more.get(key)), (None, None))


def read_record(body: avro.Body, what: str) -> avro.Record:
    """The record of any instant file, whole: Avro, or JSON, which only commits are. Raises Unreadable."""
    if isinstance(body, avro.Record):
        return body
    if body.startswith(avro.MAGIC):
        return avro.read_record(body, what)
    try:
        fields = parse_json(body)
    except ValueError as error:
        raise Unreadable(f"{what} is neither Avro nor JSON: {error}", file=what) from error
    if not isinstance(fields, dict):
        raise Unreadable(f"{what} is not commit metadata, but of the type {type(fields).__name__}", file=what)
    return avro.Record(REPLACE_RECORD if "partitionToReplaceFileIds" in fields else RECORD, fields)


def encode_like(body: bytes, stats: Mapping[str, Sequence[Mapping[str, Any]]], what: str) -> bytes:
    """A completed write with other statistics, which have the fields of Hudi's own; all else is as in the given body.

    Raises Unreadable: the given one.
    """
    fields = {**read_record(body, what).fields, "partitionToWriteStats": {path: list(of) for path, of in stats.items()}}
    return avro.encode_like(body, fields) if body.startswith(avro.MAGIC) else json.dumps(fields, indent=2).encode()


def encode_as(body: bytes, fields: Mapping[str, Any]) -> bytes:
    """The metadata of another write, in the format of that in ``body``, which was read before. With file groups that it
    replaces, it is that of a replacecommit (0.15.0 to 1.2.0)."""
    if not body.startswith(avro.MAGIC):
        return json.dumps(fields, indent=2).encode()
    schema = avro.schema_of(body)
    own = [entry for entry in schema["fields"] if entry["name"] != _REPLACED["name"]]
    replaces = _REPLACED["name"] in fields
    name = {"name": REPLACE_RECORD if replaces else RECORD, "fields": [*own, _REPLACED] if replaces else own}
    return avro.encode(dict(fields), schema | name)


def _build(value: dict[str, Any]) -> CommitMetadata:
    return CommitMetadata(
        value.get("operationType") or "UNKNOWN",
        {
            path: tuple([_stat(stat) for stat in stats])
            for path, stats in (value.get("partitionToWriteStats") or {}).items()
        },
        {path: tuple(ids) for path, ids in (value.get("partitionToReplaceFileIds") or {}).items()},
        checkpoint_of(value)[1],
    )


def _stat(value: Mapping[str, Any]) -> WriteStat:
    get = value.get
    stat = WriteStat(
        get("fileId") or "",
        get("path"),
        get("prevCommit"),
        get("numWrites") or 0,
        get("numDeletes") or 0,
        get("numInserts") or 0,
        get("numUpdateWrites") or 0,
        get("totalWriteBytes") or 0,
        get("fileSizeInBytes") or 0,
        tuple((get("cdcStats") or {}).items()),
    )
    # Text among the numbers raises by itself, numbers among the text do not.
    total = stat.records + stat.deletes + stat.inserts + stat.updates + stat.written_bytes + stat.file_bytes
    total += sum(size for _, size in stat.change_logs)
    if type(total) is not int or not isinstance(stat.file_id, str) or not isinstance(stat.path or "", str):
        raise TypeError(f"a write statistic has values of wrong types: {value}")
    return stat
