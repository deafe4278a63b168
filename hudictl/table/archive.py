"""The archived timeline, read."""

from collections.abc import Iterator

from hudictl.formats import archived_timeline as fmt
from hudictl.formats.archived_timeline import ArchivedInstant
from hudictl.table.table import Table


def archived_after(table: Table, time: str) -> Iterator[ArchivedInstant]:
    """The archived instants with a requested time after the given one. Raises Unreadable.

    A file that a cleaning of the archive takes away meanwhile held nothing that is not in its successor.
    """
    folder = table.layout.archive
    try:
        names = [entry.name for entry in table.storage.list(folder) if not entry.is_dir]
    except FileNotFoundError:
        return
    if table.layout.version >= 2:
        yield from (entry for entry in _lsm_after(table, folder, names, time) if entry.time > time)
        return
    for name in filter(fmt.is_archive_log, names):
        body = table.storage.read(f"{folder}/{name}")
        yield from (entry for entry in fmt.decode_log(body, name) if entry.time > time)


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
