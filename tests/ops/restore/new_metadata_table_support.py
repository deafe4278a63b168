"""What the tests of new metadata table share with others."""

from pathlib import Path

from tests.helpers import (
    Copy,
    put,
)


def begin(copy: Copy) -> Path:
    """A writer begins a metadata table: its folder, and no properties yet."""
    return put(copy.meta / "metadata/.hoodie/.temp/begun", old=False)


def make_anew(copy: Copy) -> None:
    begin(copy)
    put(copy.meta / "metadata/.hoodie/hoodie.properties", "hoodie.table.name=t_metadata\n", old=False)
