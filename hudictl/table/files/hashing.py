"""What Hudi writes for the buckets of a table beside partitions and timeline, with a new file for each resize.

Consistent hashing: a resize is a clustering. While running, it writes ``<its instant>.hashing_meta`` for each
partition. This file counts if ``<its instant>.commit`` exists beside it. The next writer that finds the instant
completed creates that file (1.0.2, 1.2.0). 0.15.0 creates it in the folder of the data, where it is never read, and
uses the timeline each time.

Numbers of buckets by partition (1.2.0): a resize is an insert overwrite. It first writes
``<its instant>.hashing_config`` into one folder. This counts for writers and for filters of queries unless the instant
is a pending replacecommit: so it counts as soon as the instant is removed. Hudi's own rollback and restore leave it. If
the folder is empty, each read and write fails.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass

from hudictl import workers
from hudictl.engine.base import Engine, values
from hudictl.formats.file_names import data_path
from hudictl.formats.layouts import BUCKET_CONFIGS, BUCKET_INDEX, HASHING_METADATA, OWN
from hudictl.storage import delete_all
from hudictl.table.table import Table

INITIAL = "00000000000000"
"""The instant in the name of the first buckets, which are not from a resize."""
COMMIT, METADATA, CONFIG = ".commit", ".hashing_meta", ".hashing_config"
_ASIDE = f"{OWN}/hashing_configs"


@dataclass(frozen=True, order=True)
class HashingFile:
    """A file by its folder and instant. ``kind``: COMMIT makes the METADATA beside it count; CONFIG counts alone."""

    folder: str
    instant: str
    kind: str

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.instant}{self.kind}"


def hashing_files(table: Table, engine: Engine, times: Collection[str] | None = None) -> tuple[HashingFile, ...]:
    """The files of all partitions, or those of some instants, sorted. Raises StorageFailed, EngineFailed."""
    there = workers.list_folder(table.storage, workers.Folder(BUCKET_INDEX), sync=False)
    # One request for tables without.
    tops = [_list(table, folder) for folder in (HASHING_METADATA, BUCKET_CONFIGS)] if there is not None else []
    folders = (workers.Folder(data_path(top.path, name)) for top in tops for name in top.folders)
    tasks = [workers.ListTask(table.storage, folder, sync=False) for folder in folders]
    trees = values(engine.map("list hashing metadata", workers.list_tree, tasks), "list") if tasks else []
    parsed = (_parse(listing.path, name) for tree in (tops, *trees) for listing in tree for name, _, _ in listing.files)
    return tuple(sorted(file for file in parsed if file and (times is None or file.instant in times)))


def uncommit_hashing_metadata(table: Table, files: Iterable[HashingFile]) -> None:
    """Deletes the .commit files. As long as their instant is completed this has no effect: the next writer creates them
    again. Raises StorageFailed."""
    _delete(table, {HashingFile(file.folder, file.instant, COMMIT) for file in files if file.kind != CONFIG})


def remove_hashing_metadata(table: Table, files: Iterable[HashingFile]) -> None:
    """Deletes all files of consistent hashing of the instants in the folders, .commit files first: a .commit file alone
    would make every write fail (1.0.2, 1.2.0). Idempotent. Raises StorageFailed."""
    files = [file for file in files if file.kind != CONFIG]
    uncommit_hashing_metadata(table, files)
    _delete(table, {HashingFile(file.folder, file.instant, METADATA) for file in files})


def remove_bucket_configs(table: Table, files: Iterable[HashingFile]) -> None:
    """Deletes the numbers of buckets of some instants, and the folder with the last ones. Idempotent. Raises
    StorageFailed."""
    going = {file for file in files if file.kind == CONFIG}
    if not going:
        return
    there = _list(table, BUCKET_CONFIGS)
    left = {_parse(BUCKET_CONFIGS, name) for name, _, _ in there.files} - going
    if not (left or there.folders):
        # In one step: at an empty folder readers would fail. Object stores have none.
        table.storage.delete_folder(_ASIDE)
        if table.storage.move(BUCKET_CONFIGS, _ASIDE):
            table.storage.delete_folder(_ASIDE)
    _delete(table, going)


def _list(table: Table, folder: str) -> workers.Listing:
    empty = workers.listing_of(workers.Folder(folder), (), linked=False)
    return workers.list_folder(table.storage, workers.Folder(folder), sync=False) or empty


def _delete(table: Table, files: Collection[HashingFile]) -> None:
    delete_all(table.storage, [file.path for file in sorted(files)])
    for folder in sorted({file.folder for file in files}):
        with suppress(FileNotFoundError):
            table.storage.sync(folder)


def _parse(folder: str, name: str) -> HashingFile | None:
    for kind in (CONFIG,) if folder == BUCKET_CONFIGS else (METADATA, COMMIT):
        instant = name.removesuffix(kind)
        if instant != name and instant.isdecimal():
            return HashingFile(folder, instant, kind)
    return None
