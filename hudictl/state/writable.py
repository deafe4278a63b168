"""Guards on the kind of table."""

from hudictl.errors import Refused, Unreadable, Unsupported
from hudictl.formats.instants import COMMIT, DELTACOMMIT
from hudictl.formats.layouts import PROPERTIES
from hudictl.phrases import command_of
from hudictl.storage import ODD
from hudictl.table.kept import begun_undo, can_go_on
from hudictl.table.locks.config import Locking, supported_lock
from hudictl.table.rules import WRITABLE_VERSIONS
from hudictl.table.table import Table
from hudictl.table.timeline.active import Timeline

_BASE_FORMATS = ("PARQUET", "ORC", "HFILE")
# From Hudi 1.2.0 on: the releases that write older table versions do not know the name.
_LANCE, _LANCE_FROM = "LANCE", 9
TYPE_AGAIN = "hudictl table set-property hoodie.table.type=MERGE_ON_READ --dangerous=hoodie.table.type"
"""The command that mends a lost type."""


def writable_table(table: Table, locking: Locking, undo: str | None = None) -> None:
    """Raises Unsupported: a version, layout, feature, lock or store that hudictl does not write; UsageError: a setting
    of the lock; Refused: an undo has begun, and not that of ``undo``."""
    writable_kind(table, locking)
    begun = begun_undo(table)
    if begun not in (None, undo):
        hint = f"`{command_of('undo', begun)}` finishes it"
        if not can_go_on(table, begun):
            hint = (
                f"its record is damaged or gone: `{command_of('undo drop', begun)}` ends it; the table stays as it is"
            )
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
    if table.layout.version != WRITABLE_VERSIONS[table.version]:
        raise Unsupported(
            f"table version {table.version} with timeline layout {table.layout.version}: an upgrade was interrupted",
            hint="let a Hudi writer finish the upgrade first",
            layout=table.layout.version,
        )
    properties = table.properties
    _known(properties.get("hoodie.table.format", "native"), ("native",), "table format")
    _known_base_format(table.base_file_format.upper(), table.version)
    _known(table.type, ("COPY_ON_WRITE", "MERGE_ON_READ"), "table type")


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
