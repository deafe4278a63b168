"""Temporary manifests that a dead writer has left in an archive of versions 8 and 9. Hudi 1.0.2 and 1.2.0 take the rest
of their name for a number, fail, and archive nothing any more."""

import re
from contextlib import suppress

from hudictl.errors import Unreadable
from hudictl.formats.file_names import UUID_PATTERN
from hudictl.formats.layouts import METADATA_TABLE
from hudictl.storage import entries_of
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table

# Hudi writes it whole under this name, and renames it then. What ends in .tmp is passed over.
_TEMPORARY = re.compile(rf"manifest_[0-9]+\.{UUID_PATTERN}")


def left_manifests(table: Table, metadata: Table | None, now_ms: int, idle_ms: int) -> tuple[str, ...]:
    """Their paths, in the archives of the table and of its metadata table; those that were not changed for ``idle_ms``:
    an archiving may be at work on another one."""
    found = [(table.layout.archive, table)]
    if metadata is not None:
        found.append((f"{METADATA_TABLE}/{metadata.layout.archive}", metadata))
    return tuple(
        f"{folder}/{entry.name}"
        for folder, each in found
        if each.rules.archive_is_lsm
        for entry in entries_of(each.storage, each.layout.archive)
        if not entry.is_dir and _TEMPORARY.fullmatch(entry.name) and now_ms - entry.modified_ms >= idle_ms
    )


def readable_metadata_table(table: Table) -> Table | None:
    """None also for one that cannot be read: its archive has to wait."""
    with suppress(Unreadable):
        return open_metadata_table(table)
    return None
