"""What the tests of strangers share with others."""

import shutil
from pathlib import Path

from hudictl.table.metadata.place import PARTITION_KEYS
from hudictl.table.properties import update_properties
from tests.helpers import (
    Copy,
)


def partition_copy(copy: Copy) -> Path:
    target = copy.path / "part-0.bak"
    shutil.copytree(copy.path / "part-0", target, copy_function=shutil.copy2)
    return target


def without_metadata_table(copy: Copy) -> Copy:
    """Readers list folders."""
    shutil.rmtree(copy.meta / "metadata", ignore_errors=True)
    update_properties(copy.table.storage, dict.fromkeys(PARTITION_KEYS, ""))
    return copy
