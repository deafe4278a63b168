"""Reading and changing ``hoodie.properties`` by Hudi's own protocol (0.15.0 to 1.2.0)."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime, timezone

from hudictl.errors import Conflict, NotFound, Unreadable
from hudictl.formats import properties
from hudictl.formats.instants import parse_instant_file
from hudictl.formats.layouts import META, PROPERTIES, PROPERTIES_BACKUP
from hudictl.formats.limits import PROPERTIES_BYTES
from hudictl.storage import Storage, delete_all, entries_of, read_whole
from hudictl.table.copied import not_half_a_copy

EVERYTHING_FAILS = "the file is empty or cut: Hudi does not use the backup, and every reader and writer fails"


def read_properties(storage: Storage) -> dict[str, str]:
    """The table's properties; from the backup if an update was interrupted.

    Raises:
        NotFound: neither file exists. Refused: it is half a copy.
        Unreadable: neither is intact, or the table has instants and neither file.
    """
    found = False
    for path in (PROPERTIES, PROPERTIES_BACKUP):
        try:
            body = read_whole(storage, path, PROPERTIES_BYTES)
        except FileNotFoundError:
            continue
        found = True
        values = intact(body)
        if values is not None:
            return values
    if not found:
        not_half_a_copy(storage)
    if not found and not _has_instants(storage):
        raise NotFound(
            f"{storage.uri} is not a Hudi table: there is no {PROPERTIES}",
            hint="give the table's base path: the folder with .hoodie",
            table=storage.uri,
        )
    raise Unreadable(
        f"{PROPERTIES} is {'damaged' if found else 'lost'}, and there is no intact {PROPERTIES_BACKUP}",
        hint="`hudictl table repair-properties` writes it again; or put the file back from a backup: "
        "hoodie.table.checksum in it must match its database and table name (CRC-32 of database.table)",
        file=PROPERTIES,
    )


def _has_instants(storage: Storage) -> bool:
    """Whether there is a timeline, in the folder of either layout."""
    names = (entry.name for folder in (META, f"{META}/timeline") for entry in entries_of(storage, folder))
    return any(file is not None and file.known for file in (parse_instant_file(name, 2) for name in names))


def update_interrupted(storage: Storage, path: str, backup: str) -> str:
    """What readers and writers find of properties beside their backup; "" where they are whole, or have none."""
    if storage.stat(backup) is None:
        return ""
    with suppress(FileNotFoundError):
        body = read_whole(storage, path, PROPERTIES_BYTES)
        if intact(body) is not None:
            return ""
        with suppress(ValueError):
            if properties.taken_whole(properties.decode(body)):
                return EVERYTHING_FAILS
    return "the file is damaged or missing: readers use the backup"


def recover_properties(storage: Storage) -> None:
    """Ends an interrupted update as Hudi 1.1 does: a damaged or missing file is restored from the backup, which is then
    deleted.

    Raises Unreadable, NotFound, StorageFailed.
    """
    if storage.stat(PROPERTIES_BACKUP) is None:
        return
    try:
        current = intact(read_whole(storage, PROPERTIES, PROPERTIES_BYTES))
    except FileNotFoundError:
        current = None
    if current is None:
        read_properties(storage)
        storage.replace(PROPERTIES, read_whole(storage, PROPERTIES_BACKUP, PROPERTIES_BYTES))
    delete_all(storage, [PROPERTIES_BACKUP])


def update_properties(storage: Storage, changes: Mapping[str, str], removed: Collection[str] = ()) -> None:
    """Changes some keys, and takes out those ``removed``; all others, unknown ones too, keep their values.

    A backup exists while the file changes, so that readers always find an intact file.

    Raises:
        Conflict: another process updates the properties now.
        Unreadable: see ``read_properties``.
        StorageFailed: also where the backup cannot be deleted.
    """
    recover_properties(storage)
    current = read_properties(storage)
    changed = {key: value for key, value in (current | dict(changes)).items() if key not in removed}
    if changed == current:
        return
    if properties.CHECKSUM in changed:
        changed[properties.CHECKSUM] = properties.checksum(changed)
    try:
        # Not a copy of the bytes: if the reply is lost, another process's backup must not look like this one.
        storage.create(PROPERTIES_BACKUP, properties.encode(current, datetime.now(timezone.utc)))
    except FileExistsError as error:
        raise Conflict(
            f"{PROPERTIES_BACKUP} was just created: another process is updating the table's properties",
            hint="stop all writers, then run the command again",
            file=PROPERTIES_BACKUP,
        ) from error
    storage.replace(PROPERTIES, properties.encode(changed, datetime.now(timezone.utc)))
    if intact(read_whole(storage, PROPERTIES, PROPERTIES_BYTES)) != changed:
        raise Unreadable(f"{PROPERTIES} differs from what was written", file=PROPERTIES)
    delete_all(storage, [PROPERTIES_BACKUP])


def intact(body: bytes) -> dict[str, str] | None:
    """The properties in a file that Hudi accepts; None in another one."""
    try:
        values = properties.decode(body)
    except ValueError:
        return None
    return values if values and properties.valid(values) else None
