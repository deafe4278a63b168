"""The metadata of consistent hashing: the keys of each file group of a partition, with a new file for each resize.

A resize is a clustering. While running, it writes ``<its instant>.hashing_meta`` for each partition. This file counts
if ``<its instant>.commit`` exists beside it. The next writer that finds the instant completed creates that file (1.0.2,
1.2.0). 0.15.0 creates it in the folder of the data, where it is never read, and uses the timeline each time.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass

from hudictl import workers
from hudictl.engine.base import Engine, values
from hudictl.formats.file_names import data_path
from hudictl.formats.layouts import HASHING_METADATA
from hudictl.storage import delete_all
from hudictl.table.table import Table

INITIAL = "00000000000000"
"""The instant in the name of a partition's first buckets, which are not from a resize."""
_METADATA, _COMMIT = ".hashing_meta", ".commit"


@dataclass(frozen=True, order=True)
class HashingFile:
    """A file by its folder and instant; ``commits``: it is a .commit file, which makes the metadata beside it count."""

    folder: str
    instant: str
    commits: bool

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.instant}{_COMMIT if self.commits else _METADATA}"


def hashing_files(table: Table, engine: Engine, times: Collection[str] | None = None) -> tuple[HashingFile, ...]:
    """The files of all partitions, or those of some instants, sorted. Raises StorageFailed, EngineFailed."""
    top = workers.list_folder(table.storage, workers.Folder(HASHING_METADATA), sync=False)
    if top is None:
        return ()
    folders = (workers.Folder(data_path(top.path, name)) for name in top.folders)
    tasks = [workers.ListTask(table.storage, folder, sync=False) for folder in folders]
    trees = values(engine.map("list hashing metadata", workers.list_tree, tasks), "list")
    parsed = (
        _parse(listing.path, name) for tree in ([top], *trees) for listing in tree for name, _, _ in listing.files
    )
    return tuple(sorted(file for file in parsed if file and (times is None or file.instant in times)))


def uncommit_hashing_metadata(table: Table, files: Iterable[HashingFile]) -> None:
    """Deletes the .commit files. As long as their instant is completed this has no effect: the next writer creates them
    again. Raises StorageFailed."""
    _delete(table, {HashingFile(file.folder, file.instant, commits=True) for file in files})


def remove_hashing_metadata(table: Table, files: Iterable[HashingFile]) -> None:
    """Deletes all files of the instants in the folders, .commit files first: a .commit file alone would make every
    write fail (1.0.2, 1.2.0). Idempotent. Raises StorageFailed."""
    files = list(files)
    uncommit_hashing_metadata(table, files)
    _delete(table, {HashingFile(file.folder, file.instant, commits=False) for file in files})


def _delete(table: Table, files: Collection[HashingFile]) -> None:
    delete_all(table.storage, [file.path for file in sorted(files)])
    for folder in sorted({file.folder for file in files}):
        with suppress(FileNotFoundError):
            table.storage.sync(folder)


def _parse(folder: str, name: str) -> HashingFile | None:
    for suffix in (_METADATA, _COMMIT):
        instant = name.removesuffix(suffix)
        if instant != name and instant.isdecimal():
            return HashingFile(folder, instant, suffix == _COMMIT)
    return None
