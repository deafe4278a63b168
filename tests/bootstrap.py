"""Copies of the tables of tests/bootstrapped, with their sources."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hudictl.formats.avro import encode_like, read_record
from hudictl.formats.hfile import read_entries
from hudictl.formats.hfile_writer import encode_hfile
from tests import support
from tests.helpers import Copy, put

INDEX = ".aux/.bootstrap/.partitions/00000000-0000-0000-0000-000000000000-0_1-0-1_00000000000001.hfile"
Status = dict[str, Any]


def bootstrapped(version: str, name: str, folder: Path) -> Copy:
    """A table with its source beside it, which its index names."""
    copy = Copy(version, name, support.unpack_bootstrapped(version, name, folder))
    source = copy.path.parent / "source"

    def here(status: Status) -> None:
        status["path"]["uri"] = f"file:{source}/{status['path']['uri'].partition('/source/')[2]}"

    if (copy.meta / INDEX).exists():
        edit_index(copy, here)
    return copy


def edit_index(copy: Copy, change: Callable[[Status], None]) -> None:
    """Changes what the index says of each source file."""
    file = copy.meta / INDEX
    body = file.read_bytes()
    entries = []
    for key, value in read_entries(lambda offset, length: body[offset : offset + length], len(body)):
        fields = read_record(value, "a partition").fields
        for status in fields["fileIdToBootstrapFile"].values():
            change(status)
        entries.append((key, encode_like(value, fields)))
    put(file, encode_hfile(entries))
