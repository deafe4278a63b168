"""Taking the metadata table out of use."""

from typing import Any

import pytest

from hudictl.errors import StorageFailed
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata_table import (
    PARTITION_KEYS,
    delete_retired,
    metadata_table_in_use,
    retire_metadata_table,
)
from hudictl.table.properties import read_properties
from hudictl.table.table import Table
from tests import support
from tests.table.conftest import Real, Small, base_of, put

R = "20261121000009000"


def drop_metadata_table(table: Table, time: str) -> bool:
    did = retire_metadata_table(table, time)
    delete_retired(table, time)
    return did


def with_metadata(small: Small) -> Table:
    table = small(9, table_metadata_partitions="files,column_stats", table_metadata_partitions_inflight="record_index")
    put(table, ".hoodie/metadata/.hoodie/hoodie.properties", b"x")
    put(table, ".hoodie/metadata/files/f", b"x")
    return table


def test_drop(small: Small) -> None:
    """No partition listed, no folder, nothing aside; once more changes nothing, and says so."""
    table = with_metadata(small)
    assert metadata_table_in_use(table)
    for did in (True, False):
        assert drop_metadata_table(table, R) is did
        assert not metadata_table_in_use(table)
        assert [read_properties(table.storage)[key] for key in PARTITION_KEYS] == ["", ""]
        assert sorted(path.name for path in (base_of(table) / ".hoodie").iterdir() if "meta" in path.name) == []


@pytest.mark.parametrize("what", ["partitions", "inflight", "folder"])
def test_in_use(small: Small, what: str) -> None:
    """Each alone is enough: readers take the listed ones, writers take up the folder."""
    keys = {
        "partitions": {"table_metadata_partitions": "files"},
        "inflight": {"table_metadata_partitions_inflight": "f"},
    }
    table = small(9, **keys.get(what, {}))
    if what == "folder":
        put(table, ".hoodie/metadata/files/f")
    assert metadata_table_in_use(table)


@pytest.mark.parametrize("step", range(1, 8))
def test_a_crash_at_any_step(small: Small, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    """Never a half under its own name with readers still sent there; the rerun finishes."""
    table = with_metadata(small)
    left = [step]

    def counted(name: str) -> Any:
        real = getattr(LocalStorage, name)

        def call(self: LocalStorage, *arguments: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                if name == "delete_folder":
                    # It dies in the middle of the deletion.
                    (base_of(table) / str(arguments[0]) / "files/f").unlink(missing_ok=True)
                raise StorageFailed("crash")
            return real(self, *arguments)

        return call

    for name in ("create", "replace", "delete", "move_folder", "delete_folder"):
        monkeypatch.setattr(LocalStorage, name, counted(name))
    try:
        drop_metadata_table(table, R)
    except StorageFailed:
        listed = read_properties(table.storage)["hoodie.table.metadata.partitions"]
        whole = (base_of(table) / ".hoodie/metadata/files/f").exists()
        assert whole or not (base_of(table) / ".hoodie/metadata").exists()
        assert whole or not listed
    else:
        assert left[0] > 0, "every step has been tried"
    monkeypatch.undo()
    drop_metadata_table(table, R)
    assert not metadata_table_in_use(table)
    assert not (base_of(table) / f".hoodie/.metadata_{R}").exists()


@pytest.mark.parametrize("version", support.VERSIONS)
def test_real_tables(real: Real, version: str) -> None:
    """In use where Hudi keeps one."""
    assert metadata_table_in_use(real(version, "mor_part"))
    assert not metadata_table_in_use(real(version, "mor_flat_nomdt"))
