"""The metadata table: whether it is in use, and opened as a table of its own."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from hudictl.errors import NotFound, StorageFailed, Unreadable
from hudictl.formats.layouts import (
    META,
    METADATA_PROPERTIES,
    METADATA_PROPERTIES_BACKUP,
    METADATA_TABLE,
    PARTITION_KEYS,
    PROPERTIES,
    PROPERTIES_BACKUP,
    layout_of,
)
from hudictl.storage import entries_of, files_below
from hudictl.table.files.listed import ListedFiles
from hudictl.table.properties import read_properties
from hudictl.table.table import Table

MADE_ANEW = "`hudictl metadata drop` drops the metadata table; the next writer builds it again"
"""How to end a damaged metadata table."""


@dataclass(frozen=True)
class Known:
    """The metadata table's listing. None if readers list folders, or if it cannot be read, with the reason in
    ``unread``."""

    listing: ListedFiles | None = None
    unread: str | None = None

    @property
    def partitions(self) -> frozenset[str]:
        """The listed partitions."""
        return self.listing.partitions if self.listing is not None else frozenset()

    def names_in(self, partitions: Iterable[str]) -> dict[str, frozenset[str]]:
        """The listed files of some partitions. Raises EngineFailed."""
        return self.listing.names_in(partitions) if self.listing is not None else {}


NOT_ASKED = Known()
"""The metadata table was not read, or is not in use."""


def properties_lost(table: Table) -> str | None:
    """What is wrong if a metadata table in use has no properties, or is missing whole: no writer makes it anew (0.15.0
    to 1.2.0)."""
    paths = (METADATA_PROPERTIES, METADATA_PROPERTIES_BACKUP)
    if table.metadata_partitions and all(table.storage.stat(path) is None for path in paths):
        listed = ", ".join(table.metadata_partitions)
        return (
            f"{METADATA_PROPERTIES} is missing, but {PROPERTIES} lists the metadata partitions {listed}: each write "
            "fails"
        )
    return None


def properties_in_use(table: Table) -> tuple[tuple[str, str], ...]:
    """The paths of the table's properties and of their backup; those of the metadata table's, where it is listed."""
    own = ((PROPERTIES, PROPERTIES_BACKUP),)
    return (*own, (METADATA_PROPERTIES, METADATA_PROPERTIES_BACKUP)) if table.metadata_partitions else own


def open_metadata_table(table: Table) -> Table | None:
    """The metadata table as a table; None if its folder has none, or one whose writer died before it listed it: its own
    properties are empty then, and the next writer begins again (0.15.0 to 1.2.0). Raises Unreadable, StorageFailed."""
    try:
        return metadata_table_at(table, METADATA_TABLE, read_properties(table.storage.below(METADATA_TABLE)))
    except NotFound:
        return None
    except StorageFailed as error:
        # Its message has the path in the metadata table.
        raise StorageFailed(
            f"{METADATA_TABLE}: {error}", hint=error.hint, **{**error.fields, "path": METADATA_PROPERTIES}
        ) from error
    except Unreadable as error:
        if not table.metadata_partitions and not table.metadata_partitions_inflight:
            return None
        raise Unreadable(f"{METADATA_TABLE}: {error}", file=METADATA_PROPERTIES) from error


def metadata_table_at(table: Table, folder: str, properties: Mapping[str, str]) -> Table:
    """The metadata table in a folder, with these properties. Raises Unreadable: a version in them is no number."""
    try:
        version = int(properties.get("hoodie.table.version", table.version))
        layout = layout_of(properties)
    except ValueError as error:
        raise Unreadable(str(error), file=METADATA_PROPERTIES) from error
    return replace(table, storage=table.storage.below(folder), properties=properties, layout=layout, version=version)


def metadata_table_in_use(table: Table) -> bool:
    """Whether the properties on disk list a partition, or the folder exists (a writer would use it again)."""
    return bool(listed_partitions(table)) or table.storage.has_folder(METADATA_TABLE)


def listed_partitions(table: Table) -> frozenset[str]:
    """The partitions that the properties on disk list, as complete or as being built."""
    properties = read_properties(table.storage)
    return frozenset(name for key in PARTITION_KEYS for name in properties.get(key, "").split(",") if name)


def metadata_partition_names(table: Table) -> frozenset[str]:
    """The partitions that the properties on disk list, as complete or as being built, and those with a folder."""
    folders = {entry.name for entry in entries_of(table.storage, METADATA_TABLE) if entry.is_dir and entry.name != META}
    return listed_partitions(table) | folders


def metadata_table_files(table: Table) -> dict[str, list[int]]:
    """All files of the metadata table, by path, each with its size in bytes and its modification time."""
    found = files_below(table.storage, METADATA_TABLE)
    return {f"{METADATA_TABLE}/{path}": [entry.size, entry.modified_ms] for path, entry in found}
