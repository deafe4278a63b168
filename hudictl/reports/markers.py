"""``marker list INSTANT``: the markers of one instant, and their data files."""

from dataclasses import dataclass

from hudictl import workers
from hudictl.engine.base import values
from hudictl.engine.local import LocalEngine
from hudictl.table.table import Table
from hudictl.table.writers.markers import MarkerFolder


@dataclass(frozen=True)
class MarkerRow:
    """A marker, and its data file; ``bytes`` is None if the data file does not exist."""

    partition: str
    name: str
    kind: str
    on_storage: bool
    bytes: int | None


def marker_rows(table: Table, folder: MarkerFolder) -> list[MarkerRow]:
    """The markers of a folder; each of their partitions is listed once. Raises StorageFailed."""

    def stored(partition: str) -> dict[tuple[str, str], int]:
        listing = workers.list_folder(table.storage, workers.Folder(partition), sync=False)
        return {(partition, name): size for name, size, _ in listing.files} if listing else {}

    partitions = sorted({marker.partition for marker in folder.markers})
    listings = values(LocalEngine().map("list", stored, partitions), "list")
    sizes = {key: size for listing in listings for key, size in listing.items()}
    found = sorted(folder.markers, key=lambda marker: (marker.partition, marker.name))
    return [
        MarkerRow(marker.partition, marker.name, marker.kind, size is not None, size)
        for marker in found
        for size in [sizes.get((marker.partition, marker.name))]
    ]
