"""Where the bytes are: one table's files by URI. Knows nothing of Hudi."""

from hudictl.storage.base import (
    ODD,
    DeleteOutcome,
    Ended,
    FileStatus,
    Folders,
    Storage,
    delete_all,
    end_writing,
    entries_of,
    inside,
    one_name,
    read_whole,
    whole_path,
)
from hudictl.storage.open import HDFS, elsewhere, first_elsewhere, is_hdfs, open_storage, without_name_node

__all__ = [
    "HDFS",
    "ODD",
    "DeleteOutcome",
    "Ended",
    "FileStatus",
    "Folders",
    "Storage",
    "delete_all",
    "elsewhere",
    "end_writing",
    "entries_of",
    "first_elsewhere",
    "inside",
    "is_hdfs",
    "one_name",
    "open_storage",
    "read_whole",
    "whole_path",
    "without_name_node",
]
