"""A table: its location and its properties."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta, timezone, tzinfo
from functools import cached_property
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hudictl.errors import NotFound, Unreadable, UsageError
from hudictl.formats.layouts import METADATA_TABLE, PARTITION_KEYS, Layout, layout_of
from hudictl.storage import Storage, inside, one_name
from hudictl.table.beat_rule import ASSUMED, HeartbeatRule
from hudictl.table.properties import read_properties
from hudictl.table.rules import Rules, rules_of

COPY_ON_WRITE = "COPY_ON_WRITE"
MERGE_ON_READ = "MERGE_ON_READ"
TYPE = "hoodie.table.type"
"""The property: one of the two."""
_OFFSET = re.compile(r"(?:UTC)?([+-])([01]\d|2[0-3]):([0-5]\d)", re.ASCII)


@dataclass(frozen=True)
class Table:
    """``zone`` is the zone of instant times; None: it is not known, and this host's is assumed, with the offset of each
    moment. ``heartbeat_rule`` tells which writers are dead."""

    storage: Storage
    properties: Mapping[str, str]
    layout: Layout
    version: int
    zone: tzinfo | None
    heartbeat_rule: HeartbeatRule = ASSUMED

    @property
    def uri(self) -> str:
        return self.storage.uri

    @property
    def zone_text(self) -> str:
        return str(self.zone) if self.zone else "/".join(dict.fromkeys(time.tzname))

    @property
    def name(self) -> str:
        return self.properties["hoodie.table.name"]

    @property
    def type(self) -> str:
        return self.properties.get(TYPE, COPY_ON_WRITE)

    @property
    def is_cow(self) -> bool:
        return self.type == COPY_ON_WRITE

    @cached_property
    def rules(self) -> Rules:
        """What the table's version means."""
        return rules_of(self.version, self.layout.version)

    @property
    def metadata_partitions(self) -> tuple[str, ...]:
        """The partitions of the metadata table that readers may use."""
        return self._list(PARTITION_KEYS[0])

    @property
    def metadata_partitions_inflight(self) -> tuple[str, ...]:
        return self._list(PARTITION_KEYS[1])

    @property
    def indexes(self) -> tuple[str, ...]:
        """The partitions of the metadata table that are lost if it is dropped; file listings can be rebuilt."""
        return tuple(name for name in self.metadata_partitions if name != "files")

    @property
    def base_file_format(self) -> str:
        """As written in the properties; Parquet where they say nothing."""
        return self.properties.get("hoodie.table.base.file.format", "PARQUET")

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        return self._list("hoodie.table.recordkey.fields")

    @property
    def partition_fields(self) -> tuple[str, ...]:
        return self._list("hoodie.table.partition.fields")

    def _list(self, key: str) -> tuple[str, ...]:
        return tuple(entry for entry in self.properties.get(key, "").split(",") if entry)


def table_at(
    storage: Storage,
    zone: str | None = None,
    rule: HeartbeatRule = ASSUMED,
    properties: Mapping[str, str] | None = None,
) -> Table:
    """The table of any known version at the base path of a storage, for reading.

    Args:
        zone: IANA name, or offset (UTC-05:00), of the zone that the table's instant times are in; the table's own UTC
            setting wins over this host's zone, but not over this argument.
        rule: the writers' heartbeat settings.
        properties: to take instead of those in the file.

    Raises:
        NotFound, Unreadable, UsageError, StorageFailed.
    """
    properties = read_properties(storage) if properties is None else properties
    try:
        version = int(properties.get("hoodie.table.version", "0"))
        layout = layout_of(properties)
    except ValueError as error:
        raise Unreadable(f"hoodie.properties has a version that is not a number: {error}") from error
    _require_own_names(properties, layout)
    utc = properties.get("hoodie.table.timeline.timezone", "LOCAL").upper() == "UTC"
    found = zone_named(zone) if zone is not None else timezone.utc if utc else None
    return Table(storage, properties, layout, version, found, rule)


def opened_again(table: Table) -> Table:
    """The table by its properties as they are now. Raises as ``table_at``."""
    now = table_at(table.storage)
    return replace(now, zone=table.zone, heartbeat_rule=table.heartbeat_rule)


def _require_own_names(properties: Mapping[str, str], layout: Layout) -> None:
    """Raises Unreadable: a name in the properties would lead out of the table, as the folder of the timeline or of a
    partition of the metadata table. Before the first write: later it would stop a change in the middle."""
    inside(layout.timeline)
    inside(layout.archive)
    for key in PARTITION_KEYS:
        for name in filter(None, properties.get(key, "").split(",")):
            one_name(name)


def zone_named(text: str) -> tzinfo:
    """A zone by its IANA name or its offset: Europe/Berlin, UTC+01:00, -05:00. Raises UsageError."""
    offset = _OFFSET.fullmatch(text)
    if offset is not None:
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-ahead if offset[1] == "-" else ahead)
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        hint = "use an IANA name or an offset, for example Europe/Berlin or UTC+01:00"
        raise UsageError(f"--timezone {text}: no such time zone", hint=hint) from error


def data_table_of(metadata: Table) -> Table | None:
    """The data table of a metadata table; None for any other table. Raises Unreadable."""
    meta = metadata.storage.above()
    if not metadata.uri.endswith(f"/{METADATA_TABLE}") or meta is None:
        return None
    base = meta.above()
    try:
        return replace(table_at(base), zone=metadata.zone) if base else None
    except NotFound:
        return None
