"""Findings of ``check`` on files beside the timeline: properties, the metadata table, checksums, leftovers."""

import re
from collections.abc import Iterator

from hudictl.formats import checksums
from hudictl.formats.file_names import UUID_PATTERN
from hudictl.formats.layouts import META, METADATA_PROPERTIES, METADATA_TABLE, OWN, PROPERTIES, SCRATCH
from hudictl.formats.limits import INSTANT_BYTES
from hudictl.phrases import count_of
from hudictl.reports.health.finding import (
    ERROR,
    INFO,
    MADE_ANEW,
    WARNING,
    Finding,
    Look,
    mended,
    named,
)
from hudictl.state.metadata.record import left_aside, record_path
from hudictl.state.timeline.unfinished import RESUME
from hudictl.state.writable import TYPE_AGAIN, UPGRADE_AGAIN, UPGRADE_INTERRUPTED, half_upgraded, wrong_type
from hudictl.storage import entries_of, read_whole
from hudictl.table.metadata.aside import DROPPED
from hudictl.table.metadata.place import open_metadata_table, properties_in_use, properties_lost
from hudictl.table.properties import update_interrupted
from hudictl.table.salvage import REPAIRED, wrong_lines
from hudictl.table.table import Table

_TEMPORARY = re.compile(rf".\.?{UUID_PATTERN}$")
# These folders change all the time, and Hadoop never reads their files as a whole.
_UNCHECKED = (".temp", ".heartbeat", ".hudictl")
_SEVERAL = "hoodie.table.multiple.base.file.formats.enable"
_LEFT = ".metadata_"
"""Of folders of metadata tables, or of partitions of them, that Hudi's restores have dropped."""


def table_properties(look: Look) -> Iterator[Finding]:
    """An interrupted update of hoodie.properties, also of the metadata table's; and values that cannot be."""
    storage = look.facts.table.storage
    if half := half_upgraded(look.facts.table):
        meaning = f"{half}. hudictl sees a part of the timeline, and checks nothing else: {UPGRADE_AGAIN}"
        yield Finding(UPGRADE_INTERRUPTED, ERROR, PROPERTIES, meaning)
    wrong = wrong_type(look.facts.table, look.facts.timeline)
    if wrong:
        yield Finding("table-type-wrong", ERROR, PROPERTIES, f"{wrong}. Before a writer starts", mended(TYPE_AGAIN))
    if wrongs := (*wrong_lines(storage), *_unlike_the_data(look)):
        yield Finding("properties-wrong", ERROR, PROPERTIES, "; ".join(wrongs), mended(REPAIRED))
    for path, backup_path in properties_in_use(look.facts.table):
        backup = storage.stat(backup_path)
        harm = update_interrupted(storage, path, backup_path)
        if harm:
            yield Finding("properties-damaged", ERROR, path, f"an update was interrupted; {harm}", mended(RESUME))
        elif backup is not None and look.silent(backup.modified_ms):
            meaning = "an update was interrupted; the file is intact, and the next update removes the backup"
            yield Finding("properties-backup", WARNING, backup_path, meaning, mended(RESUME))


def _unlike_the_data(look: Look) -> Iterator[str]:
    """Lines that were lost or changed, by what Hudi's queries and writers do then (seen with 0.15.0 and 1.2.0)."""
    table, properties = look.facts.table, look.facts.table.properties
    # Who writes without Spark and Flink may record neither.
    if table.record_key_fields and not table.partition_fields and any(look.facts.partitions):
        yield "it has no hoodie.table.partition.fields, but there are partitions: Spark's queries find no rows"
    if any(found.others for found in look.odd_bases) and properties.get(_SEVERAL) != "true":
        form = table.base_file_format
        yield f"its base file format is {form}, but there are others: queries and writers do not find their rows"


def metadata_table(look: Look) -> Iterator[Finding]:
    """A metadata table that is listed but missing, or exists but is not listed; and dropped ones that were left."""
    table = look.facts.table
    listed = (*table.metadata_partitions, *table.metadata_partitions_inflight)
    there = table.storage.stat(METADATA_PROPERTIES) is not None
    lost = properties_lost(table)
    if lost:
        yield Finding("metadata-table-absent", ERROR, METADATA_PROPERTIES, lost, (MADE_ANEW,))
    if listed and there:
        found = open_metadata_table(table)
        if found is not None and found.version != table.version and not wrong_lines(table.storage):
            meaning = f"it has table version {found.version}, but the table has {table.version}: "
            # As `upgrade_table` of 1.2.0 leaves it.
            upgraded = (found.version, table.version) == (8, 9)
            meaning += (
                "Hudi 1.2.0 reads it, and upgrades it with its next write"
                if upgraded
                else "an upgrade was interrupted, or a copy from another time was put back"
            )
            severity, remedy = (INFO, ()) if upgraded else (ERROR, (MADE_ANEW,))
            yield Finding("metadata-table-version", severity, METADATA_PROPERTIES, meaning, remedy)
    if not listed and table.storage.has_folder(METADATA_TABLE):
        meaning = (
            f"{PROPERTIES} does not list it: readers do not use it, and the next writer builds a new metadata table "
            "over its old files"
        )
        yield Finding("metadata-table-unlisted", WARNING, METADATA_TABLE, meaning)
    meaning = "a leftover: a metadata table, or a partition of one, that is no longer in use; delete the folder"
    for folder, beginning in ((META, _LEFT), (OWN, DROPPED)):
        for entry in entries_of(table.storage, folder):
            if entry.is_dir and entry.name.startswith(beginning) and look.silent(entry.modified_ms):
                yield Finding("metadata-table-leftover", INFO, f"{folder}/{entry.name}", meaning)


def metadata_aside(look: Look) -> Iterator[Finding]:
    """Metadata tables that were set aside by an operation that Hudi has finished."""
    for time in left_aside(look.facts.table, look.facts.timeline):
        meaning = (
            f"a leftover: the restore or rollback {time} had set the metadata table aside, and was finished by Hudi, "
            "which does not know of it: nobody uses it any more"
        )
        yield Finding("metadata-table-leftover", INFO, record_path(time), meaning, mended(RESUME))


def temporary_files(look: Look) -> Iterator[Finding]:
    """Temporary files of writers that died before renaming them."""
    table = look.facts.table
    for folder in sorted({META, table.layout.timeline, SCRATCH}):
        for entry in entries_of(table.storage, folder):
            is_file = not entry.is_dir and checksums.sidecar_of(entry.name) is None
            if is_file and _TEMPORARY.search(f"/{entry.name}") and look.silent(entry.modified_ms):
                meaning = "a temporary file of a process that died: it is never read; delete it"
                yield Finding("temporary-file", INFO, f"{folder}/{entry.name}", meaning)


def sidecars(look: Look) -> Iterator[Finding]:
    """Checksum files in .hoodie (local files only) that do not match their file, or have none.

    Every file of the timeline, the archive and the properties is compared, those of the metadata table's own timeline
    too; the data files of the metadata table are not.
    """
    table = look.facts.table
    if table.uri.startswith("file:"):
        yield from _sidecars(table, META)


def _sidecars(table: Table, folder: str) -> Iterator[Finding]:
    entries = entries_of(table.storage, folder)
    names = dict.fromkeys(entry.name for entry in entries if not entry.is_dir)
    lone = []
    for name in names:
        of = checksums.sidecar_of(name)
        if of is None:
            continue
        if of not in names:
            lone.append(name)
        elif not _matches(table, f"{folder}/{name}", f"{folder}/{of}"):
            meaning = f"the checksum in {name} does not match this file: Hadoop's readers fail; delete {name}"
            yield Finding("checksum-mismatch", ERROR, f"{folder}/{of}", meaning)
    if lone:
        meaning = f"{count_of(len(lone), 'checksum file')} whose own file is missing ({named(lone)}): delete them"
        yield Finding("lone-sidecars", INFO, folder, meaning)
    for entry in entries:
        unread = entry.name in _UNCHECKED or entry.name.startswith(_LEFT)
        if entry.is_dir and not unread and (folder != METADATA_TABLE or entry.name == META):
            yield from _sidecars(table, f"{folder}/{entry.name}")


def _matches(table: Table, sidecar: str, path: str) -> bool:
    try:
        return checksums.matches(*(read_whole(table.storage, file, INSTANT_BYTES) for file in (sidecar, path)))
    except FileNotFoundError:
        # A writer has just removed it.
        return True
