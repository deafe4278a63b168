"""The folders of a table's timeline and archive, by layout version (checked on Hudi 0.15.0, 1.0.2 and 1.2.0)."""

from collections.abc import Mapping
from dataclasses import dataclass

META = ".hoodie"
PROPERTIES = f"{META}/hoodie.properties"
PROPERTIES_BACKUP = f"{META}/hoodie.properties.backup"
METADATA_TABLE = f"{META}/metadata"
METADATA_PROPERTIES = f"{METADATA_TABLE}/{PROPERTIES}"
METADATA_PROPERTIES_BACKUP = f"{METADATA_TABLE}/{PROPERTIES_BACKUP}"
PARTITION_KEYS = ("hoodie.table.metadata.partitions", "hoodie.table.metadata.partitions.inflight")
"""Of hoodie.properties: the partitions of the metadata table, complete and being built."""
MARKERS = f"{META}/.temp"
HEARTBEATS = f"{META}/.heartbeat"
OWN = f"{META}/.hudictl"
"""hudictl's own folder: claims, operation records, and files on their way to their name."""
SCRATCH = f"{OWN}/tmp"
OPERATIONS = f"{OWN}/operations"
UNDO = f"{OWN}/undo"
"""What operations keep for ``hudictl undo``: a folder each."""
ROLLBACK_BACKUP = f"{META}/.rollback_backup"
SCHEMAS, SCHEMAS_END = f"{META}/.schema", ".schemacommit"
"""Where writes with schema evolution (``hoodie.schema.on.read.enable``) keep all schemas until then, and how the names
of those files end."""
BUCKET_INDEX = f"{META}/.bucket_index"
HASHING_METADATA = f"{BUCKET_INDEX}/consistent_hashing_metadata"
BUCKET_CONFIGS = f"{BUCKET_INDEX}/partition_bucket_index_meta/configs"


@dataclass(frozen=True, slots=True)
class Layout:
    """Folders are relative to the table's base path."""

    version: int
    timeline: str
    archive: str


LAYOUT = "hoodie.timeline.layout.version"


def layout_of(properties: Mapping[str, str]) -> Layout:
    """The layout that ``hoodie.properties`` declares: the layout's key decides, not the table version. Raises
    ValueError: a layout version that is no number."""
    declared = properties.get(LAYOUT)
    if declared is not None:
        version = int(declared)
    else:
        # Releases before 0.5.1 had no such key, and renamed files between states (layout 0).
        version = 0 if int(properties.get("hoodie.table.version", "0")) == 0 else 1
    if version < 2:
        return Layout(version, META, f"{META}/{properties.get('hoodie.archivelog.folder') or 'archived'}")
    timeline = f"{META}/{properties.get('hoodie.timeline.path') or 'timeline'}"
    return Layout(version, timeline, f"{timeline}/{properties.get('hoodie.timeline.history.path') or 'history'}")


def other_layout(properties: Mapping[str, str], layout: Layout) -> Layout:
    """Where an upgrade or downgrade of Hudi's moves the timeline to, or where it comes from."""
    return layout_of({**properties, LAYOUT: "1" if layout.version == 2 else "2"})
