"""The archived timeline, read."""

from collections.abc import Iterator

from hudictl.errors import Unreadable
from hudictl.formats import archived_timeline as fmt
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.table.table import Table

_ATTEMPTS = 3


def archived_after(table: Table, time: str) -> list[ArchivedInstant]:
    """The archived instants with a requested time after the given one.

    A writer may compact or clean the archive meanwhile, so a file that vanished means to look anew.

    Raises:
        Unreadable: a damaged file, or one that the manifest names and that stays away.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return [entry for entry in _read(table, time) if entry.time > time]
        except FileNotFoundError as error:
            if attempt == _ATTEMPTS - 1:
                raise Unreadable(f"the archive names a file that is not there: {error}") from error
    raise AssertionError


def _read(table: Table, time: str) -> Iterator[ArchivedInstant]:
    folder = table.layout.archive
    try:
        names = [entry.name for entry in table.storage.list(folder) if not entry.is_dir]
    except FileNotFoundError:
        return
    if table.layout.version >= 2:
        yield from _lsm_after(table, folder, names, time)
        return
    for name in filter(fmt.is_archive_log, names):
        yield from fmt.decode_log(table.storage.read(f"{folder}/{name}"), name)


def _lsm_after(table: Table, folder: str, names: list[str], time: str) -> Iterator[ArchivedInstant]:
    manifests = {version: name for name in names if (version := fmt.manifest_version(name)) is not None}
    if not manifests:
        return
    version = max(manifests)
    if fmt.VERSION_FILE in names:
        declared = table.storage.read(f"{folder}/{fmt.VERSION_FILE}").strip()
        version = int(declared) if declared.isdigit() and int(declared) in manifests else version
    manifest = manifests[version]
    for name in fmt.decode_manifest(table.storage.read(f"{folder}/{manifest}"), manifest):
        covered = fmt.lsm_range(name)
        if covered is None or covered[1] > time:
            yield from fmt.decode_lsm(table.storage.read(f"{folder}/{name}"), name)
