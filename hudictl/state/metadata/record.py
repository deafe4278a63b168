"""The durable record of a metadata table that is kept through a restore or rollback: a rerun goes by it, and does not
plan again, because the metadata table may already be half rolled back."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from hudictl.errors import Unreadable
from hudictl.formats.decode import decode
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import RESTORE, ROLLBACK, group_instants, parse_instant_file
from hudictl.formats.json_values import parse_json
from hudictl.formats.layouts import OWN, PARTITION_KEYS
from hudictl.formats.limits import RECORD_BYTES
from hudictl.state.metadata.undo import MetadataPlan, Mode, PartitionFate
from hudictl.storage import one_name, read_whole
from hudictl.table.files.slices import StoredFile
from hudictl.table.metadata.aside import Aside, times_aside
from hudictl.table.properties import read_properties
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline

_PREFIX, _SUFFIX = "metadata-", ".json"
_SCHEMA_VERSION = 1


@dataclass(frozen=True)
class KeptMetadata:
    """A metadata table that is kept: where it is meanwhile, what becomes of it, and the properties of the data table
    that listed it before."""

    aside: Aside
    plan: MetadataPlan
    listed: Mapping[str, str]

    @property
    def partitions(self) -> str:
        """The value that lists the kept partitions, in the order in which they were listed."""
        before = self.listed.get(PARTITION_KEYS[0], "").split(",")
        return ",".join(name for name in before if name in self.plan.kept)


@dataclass(frozen=True)
class _Partition:
    partition: str
    reason: str | None
    files: Mapping[str, int]


@dataclass(frozen=True)
class _Record:
    schema_version: int
    aside: Aside
    listed: Mapping[str, str]
    mode: str
    reason: str | None
    undone: tuple[str, ...]
    partitions: tuple[_Partition, ...]
    hidden: tuple[str, ...]
    timeline: tuple[str, ...]


def record_path(time: str) -> str:
    """The path of the record of an operation."""
    return f"{OWN}/{_PREFIX}{time}{_SUFFIX}"


def left_aside(table: Table, timeline: Timeline) -> tuple[str, ...]:
    """The operations of ``times_aside`` that are no longer pending, newest first. Raises StorageFailed."""
    pending = {entry.time for entry in timeline.having(RESTORE, ROLLBACK) if entry.pending}
    return tuple(sorted(times_aside(table) - pending, reverse=True))


def kept_metadata(table: Table, time: str, sync: str, plan: MetadataPlan, properties: bytes) -> KeptMetadata:
    """A metadata table that will be kept by an operation.

    Args:
        time: the operation's time.
        sync: the time of the delta commit that it adds.
        properties: the metadata table's ``hoodie.properties``.
    """
    listed = read_properties(table.storage)
    aside = Aside(time, sync, properties.decode("latin-1"))
    return KeptMetadata(aside, plan, {key: listed.get(key, "") for key in PARTITION_KEYS})


def encode_record(kept: KeptMetadata) -> bytes:
    """The record's body."""
    plan = kept.plan
    partitions = (
        _Partition(fate.partition, fate.reason, {file.data.name: file.size or 0 for file in fate.files})
        for fate in plan.partitions
    )
    undone = tuple(name for instant in plan.undone for name in instant.names)
    record = _Record(
        _SCHEMA_VERSION, kept.aside, kept.listed, plan.mode.value, plan.reason, undone, tuple(partitions),
        tuple(sorted(plan.hidden)), tuple(sorted(plan.timeline)),
    )  # fmt: skip
    return json.dumps(asdict(record)).encode()


def read_kept(table: Table, time: str | None) -> KeptMetadata | None:
    """The record of an operation; None if there is none. Raises Unreadable."""
    if time is None:
        return None
    path = record_path(time)
    try:
        body = read_whole(table.storage, path, RECORD_BYTES)
    except FileNotFoundError:
        return None
    try:
        record = decode(_Record, parse_json(body))
        if record.schema_version != _SCHEMA_VERSION:
            raise ValueError(f"schema version {record.schema_version}")
        if record.aside.time != time or not re.fullmatch("[0-9]+", record.aside.sync):
            raise ValueError(f"it is of the times {record.aside.time} and {record.aside.sync}")
        # Its bytes are written back.
        record.aside.properties.encode("latin-1")
        return KeptMetadata(record.aside, _plan(table, record), record.listed)
    except (ValueError, TypeError, Unreadable) as error:
        raise Unreadable(
            f"{path} is no record of a metadata table: {error}",
            hint=f"move this file out of the table; the metadata table is then deleted ({OWN}/{_PREFIX}{time})",
            file=path,
        ) from error


def _plan(table: Table, record: _Record) -> MetadataPlan:
    files = (parse_instant_file(name, table.layout.version) for name in record.undone)
    undone = [file for file in files if file is not None and file.known]
    in_use = record.listed.get(PARTITION_KEYS[0], "").split(",")
    fates = tuple(
        PartitionFate(
            one_name(entry.partition),
            entry.reason,
            tuple(
                StoredFile(entry.partition, data, size)
                for name, size in entry.files.items()
                if (data := parse_data_file(name)) is not None
            ),
            entry.partition in in_use,
        )
        for entry in record.partitions
    )
    instants = sorted(group_instants(undone), key=lambda instant: instant.time, reverse=True)
    hidden, timeline = frozenset(record.hidden), frozenset(record.timeline)
    return MetadataPlan(Mode(record.mode), record.reason, tuple(instants), fates, hidden, timeline)
