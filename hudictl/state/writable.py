"""Guards on the kind of table."""

from contextlib import suppress

from hudictl.errors import Refused, Unreadable, Unsupported
from hudictl.formats.instants import COMMIT, DELTACOMMIT
from hudictl.formats.layouts import METADATA_TABLE, PROPERTIES
from hudictl.phrases import command_of
from hudictl.storage import ODD
from hudictl.table.kept import begun_undo, can_go_on
from hudictl.table.locks.config import Locking, supported_lock
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.rules import WRITABLE_VERSIONS
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline, moved_instant

_BASE_FORMATS = ("PARQUET", "ORC", "HFILE")
# From Hudi 1.2.0 on: the releases that write older table versions do not know the name.
_LANCE, _LANCE_FROM = "LANCE", 9
TYPE_AGAIN = "hudictl table set-property hoodie.table.type=MERGE_ON_READ --dangerous=hoodie.table.type"
"""The command that mends a lost type."""
UPGRADE_INTERRUPTED = "upgrade-interrupted"
UPGRADE_AGAIN = "let Hudi finish it: `CALL upgrade_table` or `CALL downgrade_table` again, with the release that began"


def writable_table(table: Table, locking: Locking, undo: str | None = None) -> None:
    """Raises Unsupported: a version, layout, feature, lock or store that hudictl does not write; UsageError: a setting
    of the lock; Refused: an undo has begun, and not that of ``undo``."""
    writable_kind(table, locking)
    begun = begun_undo(table)
    if begun not in (None, undo):
        hint = f"`{command_of('undo', begun)}` finishes it"
        if not can_go_on(table, begun):
            end = f"`{command_of('undo drop', begun)}` ends it"
            hint = f"its record is damaged or gone: {end}, and leaves the table as it is"
        raise Refused(f"the undo of {begun} has begun, and not ended", hint=hint, undo=begun)


def writable_kind(table: Table, locking: Locking) -> None:
    """The same without a look for undos. Raises Unsupported, UsageError."""
    known_table(table)
    supported_lock(table, locking)
    table.storage.require_writable()


def known_table(table: Table) -> None:
    """Raises Unsupported: a version, layout or feature of which hudictl does not know all files."""
    if table.version not in WRITABLE_VERSIONS:
        versions = ", ".join(str(version) for version in WRITABLE_VERSIONS)
        raise Unsupported(
            f"hudictl cannot change table version {table.version}, only {versions}",
            hint="read commands still work; upgrade the table with Hudi, or use a newer hudictl",
            table_version=table.version,
        )
    if half := half_upgraded(table):
        raise Unsupported(half, hint=UPGRADE_AGAIN, layout=table.layout.version)
    properties = table.properties
    _known(properties.get("hoodie.table.format", "native"), ("native",), "table format")
    _known_base_format(table.base_file_format.upper(), table.version)
    _known(table.type, ("COPY_ON_WRITE", "MERGE_ON_READ"), "table type")


def half_upgraded(table: Table) -> str:
    """That an upgrade or downgrade of the table, or of its metadata table, was interrupted; "" if none was.

    hudictl would see a part of the timeline, and take completed writes for failed ones. Raises StorageFailed.
    """
    version, layout = table.version, table.layout.version
    if layout != WRITABLE_VERSIONS.get(version, layout):
        return f"table version {version} with timeline layout {layout}: an upgrade or downgrade was interrupted"
    moved = moved_instant(table)
    if not moved and table.metadata_partitions:
        # One that cannot be opened is told by who reads it.
        with suppress(Unreadable):
            metadata = open_metadata_table(table)
            moved = moved_instant(metadata) if metadata is not None else ""
            moved = moved and f"{METADATA_TABLE}/{moved}"
    return f"{moved}, but table version {version}: an upgrade or downgrade was interrupted" if moved else ""


def known_timeline(table: Table, timeline: Timeline) -> None:
    """Raises Unsupported: an action that hudictl does not know; Unreadable: a link or another odd file in an instant's
    place, which would stop a change in the middle, or another table type than the table's."""
    for name, size in timeline.sizes.items():
        if size == ODD:
            raise Unreadable(
                f"{name} on the timeline is no regular file, but a link, a pipe or a device",
                hint="find out who made it, then remove it, or put the real file in its place",
                file=name,
            )
    if timeline.unknown:
        file = timeline.unknown[0]
        raise Unsupported(
            f"{file.name}: unknown action {file.action!r} on the timeline",
            hint="a newer Hudi wrote it: use a newer hudictl",
            file=file.name,
        )
    if wrong := wrong_type(table, timeline):
        raise Unreadable(f"{PROPERTIES}: {wrong}", hint=f"`{TYPE_AGAIN}`, before a writer starts", file=PROPERTIES)


def wrong_type(table: Table, timeline: Timeline) -> str:
    """What a lost or changed table type means; "" if the timeline fits it. A table that was changed from merge on read
    to copy on write has a compaction after its last delta commit."""
    last = {entry.action: entry.time for entry in timeline.instants if entry.completed}
    delta = last.get(DELTACOMMIT, "")
    if not table.is_cow or delta <= last.get(COMMIT, ""):
        return ""
    says = "says COPY_ON_WRITE" if "hoodie.table.type" in table.properties else "has no hoodie.table.type"
    return (
        f"it {says}, but the timeline is that of a merge-on-read table (delta commit {delta}): readers "
        "leave out the rows of logs, and Hudi's next write loses them"
    )


def _known_base_format(value: str, version: int) -> None:
    if value == _LANCE and version < _LANCE_FROM:
        raise Unsupported(
            f"base file format {value!r} in table version {version}: only Hudi releases of table version {_LANCE_FROM} "
            "and later have it",
            hint="read commands still work; upgrade the table with the Hudi release that wrote it",
        )
    _known(value, (*_BASE_FORMATS, _LANCE), "base file format")


def _known(value: str, values: tuple[str, ...], what: str) -> None:
    if value not in values:
        raise Unsupported(
            f"{what} {value!r} is not known to hudictl",
            hint="use the Hudi release that wrote the table, or a newer hudictl",
        )
