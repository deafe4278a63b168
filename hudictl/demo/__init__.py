"""A small real table (Hudi 1.2.0, merge on read) and two bad commits, for ``hudictl demo``."""

import tarfile
from importlib.resources import as_file, files
from pathlib import Path

TABLE = "table.tar.gz"
BAD_COMMITS = "bad_commits.tar.gz"


def unpack(archive: str, folder: Path) -> Path:
    """Unpacks an archive of this package; returns the table's base path."""
    with as_file(files(__package__) / archive) as path, tarfile.open(path) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)
    return folder / "trips"
