"""Files of the real tables, read straight from their archives."""

import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from tests import support


@cache
def files(version: str, name: str, tables: Path = support.TABLES) -> dict[str, bytes]:
    """Path below the table's base -> bytes, without checksum sidecars."""
    with tarfile.open(tables / version / f"{name}.tar.gz") as archive:
        return {
            path: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive
            if member.isfile() and (path := member.name.partition("/table/")[2]) and not path.endswith(".crc")
        }


def matching(wanted: Callable[[str], bool], *versions: str) -> Iterator[tuple[str, bytes]]:
    """(label, bytes) of the files of all tables whose path is wanted; the metadata tables' files too."""
    for version in versions or support.VERSIONS:
        for name in support.names(version):
            for path, body in files(version, name).items():
                if wanted(path):
                    yield f"{version}/{name}/{path}", body


def ending(*suffixes: str) -> Callable[[str], bool]:
    """Instant files that end so, of data tables alone."""
    return lambda path: path.startswith(".hoodie/") and "/metadata/" not in path and path.endswith(suffixes)
