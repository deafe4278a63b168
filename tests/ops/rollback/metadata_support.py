"""What the tests of metadata share with others."""

from pathlib import Path

from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.table import Table
from tests.helpers import (
    Copy,
    drop,
    put,
)

DELETING = RollbackOptions(metadata="delete")


def metadata(copy: Copy) -> Table:
    found = open_metadata_table(copy.table)
    assert found is not None
    return found


def folder(copy: Copy) -> Path:
    return copy.meta / "metadata" / ".hoodie" / ("" if copy.version == "v6" else "timeline")


def files(copy: Copy, time: str = "") -> set[str]:
    """The data files of the metadata table, those that carry an instant in their names."""
    base = copy.meta / "metadata"
    paths = (path for path in base.rglob("*") if path.is_file() and path.suffix != ".crc")
    names = (path.relative_to(base).as_posix() for path in paths)
    return {name for name in names if not name.startswith(".hoodie/") and time in name}


def forget(copy: Copy, time: str) -> None:
    """Takes an instant out of the metadata table, as if that had been made later."""
    for name in files(copy, time):
        drop(copy.meta / "metadata" / name)
    for path in folder(copy).glob(f"{time}*"):
        drop(path)


def unpublish(copy: Copy, time: str) -> None:
    """As a writer leaves it that dies after the metadata table's deltacommit, and before the commit."""
    (done,) = copy.timeline.glob(f"{time}*.commit")
    drop(done)
    for path in copy.timeline.glob(f"{time}*"):
        put(path, path.read_bytes())
    for name in [name for name in copy.data() if time in name]:
        put(copy.path / name, (copy.path / name).read_bytes())
