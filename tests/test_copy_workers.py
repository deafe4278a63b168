"""What executors do to copy a table from one kind of storage to another."""

import os
import uuid
from datetime import datetime, timezone
from pathlib import Path

import fsspec

from hudictl.copy_workers import CopyTask, copy_files, folder_files
from hudictl.storage.local import LocalStorage
from hudictl.storage.open import open_storage

WRITTEN = datetime(2026, 11, 21, 3, 4, 5, 678_000, tzinfo=timezone.utc)
COMMIT = ".hoodie/20261121030400000.commit"


def test_the_timeline_from_a_store_keeps_its_times(tmp_path: Path) -> None:
    """Also where an earlier attempt died before it set them. In version 6 they are completion times."""
    source = open_storage(f"memory://{uuid.uuid4()}/t", ".tmp", single_operator=True)
    source.create(COMMIT, b"{}")
    memory, name = fsspec.filesystem("memory"), source.uri.removeprefix("memory:/")
    memory.store[f"{name}/{COMMIT}"].created = WRITTEN
    target = LocalStorage(str(tmp_path / "copy"), ".tmp")
    folder, _, file = COMMIT.partition("/")
    for again in (False, True):
        task = CopyTask(source, target, folder_files(folder, [(file, 2)]), again=again, logs_grow=False)
        assert copy_files(task).files == (not again)
        found = target.stat(COMMIT)
        assert found is not None
        assert found.modified_ms == WRITTEN.timestamp() * 1000
        os.utime(target.absolute(COMMIT))
