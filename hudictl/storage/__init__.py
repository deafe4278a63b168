"""Where the bytes are: one table's files by URI. Knows nothing of Hudi."""

from hudictl.storage.base import (
    DeleteOutcome,
    Ended,
    FileStatus,
    Storage,
    delete_all,
    end_writing,
    entries_of,
    whole_path,
)
from hudictl.storage.open import HDFS, open_storage

__all__ = [
    "HDFS",
    "DeleteOutcome",
    "Ended",
    "FileStatus",
    "Storage",
    "delete_all",
    "end_writing",
    "entries_of",
    "open_storage",
    "whole_path",
]
