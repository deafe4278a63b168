"""A table whose files that stay exist by a rule only: ten million of them take no disk, and no time to make.

``python -m benchmarks.ruled restore ...`` is hudictl with this file system in the place of fsspec's ``memory``: hudictl
changes only tables of protocols that it knows. All else is a real folder: the timeline, the metafiles of the
partitions, and the files that the commits wrote. Executors import this module: it imports nothing large.
"""

import os
import shutil
import zlib
from typing import Any

import fsspec

PROTOCOL = "memory"
METAFILE = ".hoodie_partition_metadata"
TIME = "20240101000000217"
"""The commit of all these files, long archived."""
MODIFIED = 1_704_067_205.217
SIZE = 1_000


def names_that_stay(partition: str, count: int) -> list[str]:
    """The base files of an archived commit in one partition, in no order: each the only one of its file group."""
    key = zlib.crc32(partition.encode())
    rest = f"{key >> 16:04x}-4{key >> 4 & 0xFFF:03x}-8{key & 0xFFF:03x}-{key * 65_537 & 0xFFFF_FFFF_FFFF:012x}-0"
    # An odd factor: no two numbers have the same product in 32 bits.
    return [f"{n * 2_654_435_761 & 0xFFFF_FFFF:08x}-{rest}_{n}-12-{n + 40}_{TIME}.parquet" for n in range(count)]


class RuledFileSystem(fsspec.AbstractFileSystem):  # type: ignore[misc]
    """A local folder, in which each partition has ``files`` more than there are."""

    protocol = PROTOCOL

    def __init__(self, files: int = 0, **options: Any) -> None:
        super().__init__(**options)
        self.files = files

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.removeprefix(f"{PROTOCOL}://").rstrip("/") or "/"

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        """Raises FileNotFoundError."""
        try:
            with os.scandir(path) as entries:
                found = [_entry(entry.path, entry.stat()) for entry in entries]
        except NotADirectoryError:
            found = [self.info(path)]
        if self.files and any(entry["name"].endswith(METAFILE) for entry in found):
            found += [
                {"name": f"{path}/{name}", "type": "file", "size": SIZE, "mtime": MODIFIED}
                for name in names_that_stay(os.path.basename(path), self.files)
            ]
        return found if detail else [entry["name"] for entry in found]

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Of a real file or folder. Raises FileNotFoundError."""
        return _entry(path, os.stat(path))

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        with open(path, "rb") as file:
            file.seek(start or 0)
            return file.read(-1 if end is None else end - (start or 0))

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "xb" if mode == "create" else "wb") as file:
            file.write(value)

    def rm_file(self, path: str) -> None:
        os.unlink(path)

    def rm(self, path: str, recursive: bool = False, maxdepth: int | None = None) -> None:
        shutil.rmtree(path)


def _entry(path: str, status: os.stat_result) -> dict[str, Any]:
    kind = "directory" if os.path.isdir(path) else "file"
    return {"name": path, "type": kind, "size": status.st_size, "mtime": status.st_mtime}


def main() -> None:
    """Runs a command line of hudictl."""
    # By its name: Spark's executors have no class of this process's __main__.
    fsspec.register_implementation(PROTOCOL, "benchmarks.ruled.RuledFileSystem", clobber=True)
    from hudictl.__main__ import main as hudictl

    hudictl()


if __name__ == "__main__":
    main()
