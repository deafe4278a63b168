"""Whether hudictl can change the files of a table: tried in its own folder, of which nothing is left."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hudictl.errors import StorageFailed
from hudictl.formats.layouts import OWN, SCRATCH
from hudictl.storage import Folders, Storage, delete_all, entries_of


def probe_create(storage: Storage) -> bool:
    """Creates a temporary file, tries to create it again, and deletes it. False: the store has created it twice, and
    cannot keep two hudictl apart.

    Raises Unsupported: hudictl changes no files of this store; StorageFailed: it is not writable.
    """
    storage.require_writable()
    probe = f"{SCRATCH}/probe-{uuid.uuid4()}"
    try:
        storage.create(probe, b"1")
        try:
            # Another body: the same one would count as created if a reply was lost.
            storage.create(probe, b"2")
        except FileExistsError:
            return True
        return False
    finally:
        delete_all(storage, [probe])


def probe_delete(storage: Storage) -> None:
    """Tries to delete an object before the first change of an operation that deletes some: an account may be allowed to
    write them alone. In folders, who may create a file may delete it.

    Raises StorageFailed: it may not.
    """
    if isinstance(storage, Folders):
        return
    probe = f"{SCRATCH}/probe-{uuid.uuid4()}"
    storage.replace(probe, b"")
    try:
        delete_all(storage, [probe])
    except StorageFailed as error:
        hint = "this command has changed nothing; the account must be allowed to delete objects, for S3 s3:DeleteObject"
        raise StorageFailed(error.message, hint=hint, **error.fields) from error


@contextmanager
def leaving_nothing(storage: Storage) -> Iterator[None]:
    """Removes hudictl's own folders at the end if they were not there before, and another hudictl has not begun."""
    known = True
    # Empty folders harm nobody.
    with suppress(StorageFailed):
        known = not isinstance(storage, Folders) or storage.has_folder(OWN)
    try:
        yield
    finally:
        with suppress(StorageFailed):
            if not known and isinstance(storage, Folders) and _unused(storage):
                # Only while they are empty: whoever has begun meanwhile has a file there.
                storage.remove_empty(SCRATCH)
                storage.remove_empty(OWN)


def _unused(storage: Storage) -> bool:
    return all(f"{OWN}/{entry.name}" == SCRATCH for entry in entries_of(storage, OWN))
