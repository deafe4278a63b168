"""What the tests of new metadata table share with others."""

from pathlib import Path

from hudictl.table.metadata.aside import delete_dropped, drop_metadata_table
from tests.fixtures import Unpack
from tests.helpers import Copy, put
from tests.ops.rollback.beside_support import LATER


def begin(copy: Copy) -> Path:
    """A writer begins a metadata table: its folder, and no properties yet."""
    return put(copy.meta / "metadata/.hoodie/.temp/begun", old=False)


def without_metadata_table(unpack: Unpack, version: str, name: str) -> Copy:
    copy = unpack(version, name)
    drop_metadata_table(copy.table, LATER)
    delete_dropped(copy.table, LATER)
    assert not (copy.meta / "metadata").exists()
    return copy


def make_anew(copy: Copy) -> None:
    put(copy.meta / "metadata/.hoodie/hoodie.properties", "hoodie.table.name=t_metadata\n", old=False)
