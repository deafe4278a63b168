"""Taking the metadata table out of use."""

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import StorageFailed, Unreadable
from hudictl.formats.layouts import METADATA_PROPERTIES
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.place import (
    PARTITION_KEYS,
    delete_retired,
    metadata_table_begun,
    metadata_table_in_use,
    metadata_table_made,
    open_metadata_table,
    retire_metadata_table,
)
from hudictl.table.properties import read_properties
from hudictl.table.table import Table, open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.formats import real_files
from tests.helpers import FailDeletion
from tests.s3 import BUCKET, S3
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


@pytest.fixture(params=["moves folders", "object store"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the storage renames a folder in one step."""
    if request.param == "object store":
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    return str(request.param)


@pytest.mark.usefixtures("store")
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


def test_on_an_object_store_the_folder_is_no_table_any_more(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its properties and their backup, at once; the long deletion is for later. A second time finds nothing."""
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table = with_metadata(small)
    put(table, ".hoodie/metadata/.hoodie/hoodie.properties.backup", b"x")
    for did in (True, False):
        assert retire_metadata_table(table, R) is did
        assert not list((base_of(table) / ".hoodie/metadata/.hoodie").iterdir())
        assert (base_of(table) / ".hoodie/metadata/files/f").exists()
    # A writer makes it anew, over what is left.
    put(table, ".hoodie/metadata/.hoodie/hoodie.properties", b"x")
    delete_retired(table, R)
    assert metadata_table_in_use(table)
    assert drop_metadata_table(table, R)
    assert not metadata_table_in_use(table)


@pytest.mark.usefixtures("store")
def test_what_no_operation_took_out_of_use_is_never_deleted(small: Small) -> None:
    """A writer makes it: its folder is there, and its properties are not yet."""
    table = small(9)
    put(table, ".hoodie/metadata/files/f", b"x")
    delete_retired(table, R)
    assert (base_of(table) / ".hoodie/metadata/files/f").exists()
    assert (metadata_table_made(table, R), metadata_table_begun(table, R)) == (True, True)
    put(table, ".hoodie/metadata/.hoodie/hoodie.properties", b"x")
    assert (metadata_table_made(table, R), metadata_table_begun(table, R)) == (True, False)
    delete_retired(table, R)
    assert (base_of(table) / ".hoodie/metadata/files/f").exists()


@pytest.mark.usefixtures("store")
def test_only_listed_is_made_and_not_begun(small: Small) -> None:
    table = small(9, table_metadata_partitions="files")
    assert (metadata_table_made(table, R), metadata_table_begun(table, R)) == (True, False)
    retire_metadata_table(table, R)
    assert not metadata_table_made(table, R)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("path", ["files/f", "files/new", ".hoodie/hoodie.properties"])
def test_what_a_writer_puts_over_what_is_out_of_use_stays(small: Small, path: str) -> None:
    table = with_metadata(small)
    assert retire_metadata_table(table, R)
    assert not metadata_table_made(table, R)
    put(table, f".hoodie/metadata/{path}", b"theirs")
    assert metadata_table_made(table, R)
    assert metadata_table_begun(table, R) == path.startswith("files")
    delete_retired(table, R)
    assert (base_of(table) / ".hoodie/metadata" / path).read_bytes() == b"theirs"


def test_another_operation_does_not_take_it_for_its_own(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table, other = with_metadata(small), "20261121000009001"
    retire_metadata_table(table, R)
    delete_retired(table, other)
    assert (base_of(table) / ".hoodie/metadata/files/f").exists()
    assert metadata_table_made(table, other)
    # Where its plan names it, it goes by that one's record.
    assert drop_metadata_table(table, other)
    assert not metadata_table_in_use(table)


@pytest.mark.parametrize(
    "body",
    [
        *(b"{", b"[1]", b"5", b"[" * 100_000, b'{"../../elsewhere/f": [1, 2]}', b'{"part-0/f": [1, 2]}'),
        *(b'{".hoodie/metadata/../../f": [1, 2]}', b'{".hoodie/metadata/f": 1}'),
    ],
)
def test_a_damaged_record_of_what_is_out_of_use(small: Small, monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    """Nothing that it names is deleted: it may name files of the data, or of other tables."""
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table = with_metadata(small)
    retire_metadata_table(table, R)
    put(table, f".hoodie/.hudictl/retired-{R}.json", body)
    put(table, "part-0/f")
    with pytest.raises(Unreadable, match="retired"):
        delete_retired(table, R)
    assert table.storage.stat("part-0/f")


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_on_s3(s3: S3, tmp_path: Path, version: str) -> None:
    prefix = str(uuid.uuid4())
    table = open_table(s3.upload(support.unpack(version, "cow_part", tmp_path), prefix), s3.options)

    def left() -> set[str]:
        return {name for name in s3.names(prefix) if "metadata/" in name or "retired" in name}

    assert retire_metadata_table(table, R)
    assert not retire_metadata_table(table, R)
    s3.put({f"{prefix}/.hoodie/metadata/files/new": b"theirs"})
    assert metadata_table_begun(table, R)
    before = left()
    delete_retired(table, R)
    assert left() == before
    s3.backend.delete_object(BUCKET, f"{prefix}/.hoodie/metadata/files/new")
    delete_retired(table, R)
    assert left() == set()


def test_properties_that_stay_are_no_success(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table = with_metadata(small)
    FailDeletion("metadata/.hoodie/hoodie.properties").install(monkeypatch)
    with pytest.raises(StorageFailed, match=r"hoodie\.properties: Operation not permitted"):
        retire_metadata_table(table, R)


@pytest.mark.parametrize("step", range(1, 8))
def test_a_crash_at_any_step(small: Small, monkeypatch: pytest.MonkeyPatch, store: str, step: int) -> None:
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

    for name in ("create", "replace", "delete", "move", "delete_folder"):
        monkeypatch.setattr(LocalStorage, name, counted(name))
    try:
        drop_metadata_table(table, R)
    except StorageFailed:
        listed = read_properties(table.storage)["hoodie.table.metadata.partitions"]
        whole = (base_of(table) / ".hoodie/metadata/files/f").exists()
        table_file = "" if store == "moves folders" else ".hoodie/hoodie.properties"
        assert whole or not (base_of(table) / ".hoodie/metadata" / table_file).exists()
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


@pytest.mark.parametrize("version", support.VERSIONS)
def test_it_is_a_table_of_its_own(real: Real, version: str) -> None:
    """Merge on read, of its own name and of the data table's version, with a deltacommit for each write."""
    table = real(version, "cow_part")
    metadata = open_metadata_table(table)
    assert metadata is not None
    assert (metadata.version, metadata.layout.version, metadata.zone) == (
        table.version,
        table.layout.version,
        table.zone,
    )
    assert (metadata.type, metadata.name != table.name) == ("MERGE_ON_READ", True)
    writes = {entry.time for entry in load_timeline(table).completed_writes()}
    assert writes <= {entry.time for entry in load_timeline(metadata).having("deltacommit")}
    assert open_metadata_table(real(version, "mor_flat_nomdt")) is None


def test_a_folder_without_properties_is_no_table(small: Small) -> None:
    table = small(9)
    put(table, ".hoodie/metadata/files/f", b"x")
    assert open_metadata_table(table) is None


@pytest.mark.parametrize("version", ["nine", "", "9.0"])
@pytest.mark.parametrize("damaged", [False, True])
def test_its_properties_are_told_from_the_tables_own(small: Small, version: str, damaged: bool) -> None:
    table = small(9)
    body = real_files.files("v9", "cow_part")[METADATA_PROPERTIES]
    assert b"hoodie.table.version=9" in body
    changed = body.replace(b"hoodie.table.version=9", f"hoodie.table.version={version}".encode())
    put(table, METADATA_PROPERTIES, changed[:40] if damaged else changed)
    assert open_metadata_table(table) is None
    table = replace(table, properties=dict(table.properties) | {"hoodie.table.metadata.partitions": "files"})
    with pytest.raises(Unreadable, match=r"^\.hoodie/metadata: "):
        open_metadata_table(table)
