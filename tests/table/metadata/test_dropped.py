"""A metadata table that is dropped: out of use first, and deleted later, whatever a writer does in its place."""

import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import StorageFailed, Unreadable
from hudictl.formats.layouts import PARTITION_KEYS
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.aside import (
    Aside,
    Other,
    Own,
    Place,
    delete_dropped,
    drop_indexes,
    drop_metadata_table,
    keeping_none,
    look,
    put_back,
    set_aside,
    times_dropped,
)
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.open import open_table
from hudictl.table.properties import read_properties
from hudictl.table.table import Table
from tests import support
from tests.helpers import FailDeletion
from tests.s3 import BUCKET, S3
from tests.table.conftest import Small, base_of, put

R = "20261121000009000"


def drop_and_delete(table: Table, time: str) -> bool:
    did = drop_metadata_table(table, time)
    delete_dropped(table, time)
    return did


def other(table: Table) -> Other:
    return look(table, keeping_none(R)).other


def left(table: Table) -> list[str]:
    """What there is of a metadata table, in its place or dropped."""
    return sorted(path.name for path in (base_of(table) / ".hoodie").rglob("*metadata*"))


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
        assert drop_and_delete(table, R) is did
        assert not metadata_table_in_use(table)
        assert [read_properties(table.storage)[key] for key in PARTITION_KEYS] == ["", ""]
        assert left(table) == []


def test_on_an_object_store_the_folder_is_no_table_any_more(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its properties and their backup, at once; the long deletion is for later. A second time finds nothing."""
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table = with_metadata(small)
    put(table, ".hoodie/metadata/.hoodie/hoodie.properties.backup", b"x")
    put(table, ".hoodie/metadata/.hoodie/timeline/1_2.deltacommit", b"x")
    for did in (True, False):
        assert drop_metadata_table(table, R) is did
        assert not [path for path in (base_of(table) / ".hoodie/metadata/.hoodie").rglob("*") if path.is_file()]
        assert (base_of(table) / ".hoodie/metadata/files/f").exists()
    # A writer makes it anew, over what is left.
    put(table, ".hoodie/metadata/.hoodie/hoodie.properties", b"x")
    delete_dropped(table, R)
    assert metadata_table_in_use(table)
    assert drop_and_delete(table, R)
    assert not metadata_table_in_use(table)


@pytest.mark.usefixtures("store")
def test_what_no_operation_took_out_of_use_is_never_deleted(small: Small) -> None:
    """A writer makes it: its folder is there, and its properties are not yet."""
    table = small(9)
    put(table, ".hoodie/metadata/files/f", b"x")
    delete_dropped(table, R)
    assert (base_of(table) / ".hoodie/metadata/files/f").exists()
    assert other(table) is Other.BEGUN
    put(table, ".hoodie/metadata/.hoodie/hoodie.properties", b"x")
    assert other(table) is Other.MADE
    delete_dropped(table, R)
    assert (base_of(table) / ".hoodie/metadata/files/f").exists()


@pytest.mark.usefixtures("store")
def test_only_listed_is_made_and_not_begun(small: Small) -> None:
    table = small(9, table_metadata_partitions="files")
    assert other(table) is Other.MADE
    drop_metadata_table(table, R)
    assert other(table) is Other.NONE


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("path", ["files/f", "files/new", ".hoodie/hoodie.properties"])
def test_what_a_writer_puts_over_what_is_out_of_use_stays(small: Small, path: str) -> None:
    table = with_metadata(small)
    assert drop_metadata_table(table, R)
    assert other(table) is Other.NONE
    put(table, f".hoodie/metadata/{path}", b"theirs")
    assert other(table) is (Other.BEGUN if path.startswith("files") else Other.MADE)
    delete_dropped(table, R)
    assert (base_of(table) / ".hoodie/metadata" / path).read_bytes() == b"theirs"


@pytest.mark.parametrize("theirs", [None, "files/f", "files/new"])
@pytest.mark.parametrize("kept", [True, False])
def test_a_copy_with_other_times_is_no_writers(
    small: Small, monkeypatch: pytest.MonkeyPatch, theirs: str | None, kept: bool
) -> None:
    """Each file has another time, where folders are not moved; a writer that has come since changes some, or adds."""
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table = with_metadata(small)
    put(table, ".hoodie/metadata/files/g_20261121000001000", b"x")
    aside = Aside(R, "20261121000009001", "x") if kept else keeping_none(R)
    assert set_aside(table, aside) if kept else drop_metadata_table(table, R)
    if theirs != "files/f":
        for path in filter(Path.is_file, (base_of(table) / ".hoodie/metadata").rglob("*")):
            os.utime(path, (1, 1))
    if theirs:
        os.utime(put(table, f".hoodie/metadata/{theirs}", b"x"), (2, 2))
    own = Own.STAYED if kept and not theirs else Own.LOST
    assert look(table, aside) == Place(own, Other.BEGUN if theirs else Other.NONE)
    if kept:
        assert put_back(table, aside) is not bool(theirs)
    else:
        assert delete_dropped(table, R) is not bool(theirs)


def test_one_that_is_built_with_the_same_names_and_sizes_is_a_writers(
    small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first files of a metadata table have no time of their own in their names."""
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table = with_metadata(small)
    put(table, ".hoodie/metadata/files/g_20261121000001000", b"x")
    assert drop_metadata_table(table, R)
    (base_of(table) / ".hoodie/metadata/files/g_20261121000001000").unlink()
    for path in filter(Path.is_file, (base_of(table) / ".hoodie/metadata").rglob("*")):
        os.utime(path, (1, 1))
    assert look(table, keeping_none(R)).other is Other.BEGUN


def test_another_operation_does_not_take_it_for_its_own(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table, other = with_metadata(small), "20261121000009001"
    drop_metadata_table(table, R)
    delete_dropped(table, other)
    assert (base_of(table) / ".hoodie/metadata/files/f").exists()
    assert look(table, keeping_none(other)).other is Other.BEGUN
    # Where its plan names it, it goes by that one's record.
    assert drop_and_delete(table, other)
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
    drop_metadata_table(table, R)
    put(table, keeping_none(R).dropped_files, body)
    put(table, "part-0/f")
    with pytest.raises(Unreadable, match="dropped"):
        delete_dropped(table, R)
    assert table.storage.stat("part-0/f")


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_on_s3(s3: S3, tmp_path: Path, version: str) -> None:
    prefix = str(uuid.uuid4())
    table = open_table(s3.upload(support.unpack(version, "cow_part", tmp_path), prefix), s3.options)

    def there() -> set[str]:
        return {name for name in s3.names(prefix) if "/metadata/" in name or "dropped" in name}

    assert drop_metadata_table(table, R)
    assert not drop_metadata_table(table, R)
    s3.put({f"{prefix}/.hoodie/metadata/files/new": b"theirs"})
    assert other(table) is Other.BEGUN
    before = there()
    delete_dropped(table, R)
    assert there() == before
    s3.backend.delete_object(BUCKET, f"{prefix}/.hoodie/metadata/files/new")
    delete_dropped(table, R)
    assert there() == set()


def test_properties_that_stay_are_no_success(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table = with_metadata(small)
    FailDeletion("metadata/.hoodie/hoodie.properties").install(monkeypatch)
    with pytest.raises(StorageFailed, match=r"hoodie\.properties: Operation not permitted"):
        drop_metadata_table(table, R)


@pytest.mark.parametrize("step", range(1, 13))
def test_a_crash_at_any_step(small: Small, monkeypatch: pytest.MonkeyPatch, store: str, step: int) -> None:
    """Never a half under its own name with readers still sent there; the rerun finishes."""
    table = with_metadata(small)
    ahead = [step]

    def counted(name: str) -> Any:
        real = getattr(LocalStorage, name)

        def call(self: LocalStorage, *arguments: Any) -> Any:
            ahead[0] -= 1
            if ahead[0] == 0:
                if name == "delete_folder":
                    # It dies in the middle of the deletion.
                    (base_of(table) / str(arguments[0]) / "files/f").unlink(missing_ok=True)
                raise StorageFailed("crash")
            return real(self, *arguments)

        return call

    for name in ("create", "replace", "delete", "move", "delete_folder"):
        monkeypatch.setattr(LocalStorage, name, counted(name))
    try:
        drop_and_delete(table, R)
    except StorageFailed:
        listed = read_properties(table.storage)["hoodie.table.metadata.partitions"]
        whole = (base_of(table) / ".hoodie/metadata/files/f").exists()
        table_file = "" if store == "moves folders" else ".hoodie/hoodie.properties"
        assert whole or not (base_of(table) / ".hoodie/metadata" / table_file).exists()
        assert whole or not listed
    else:
        assert ahead[0] > 0, "every step has been tried"
    monkeypatch.undo()
    drop_and_delete(table, R)
    assert not metadata_table_in_use(table)
    assert left(table) == []


def test_indexes_go_the_same_way(small: Small, store: str) -> None:
    """Their lines and folders at once; what could be moved is deleted later, and nothing of another operation's."""
    table = with_metadata(small)
    for name in ("column_stats", "record_index"):
        put(table, f".hoodie/metadata/{name}/f", b"x")
    foreign = put(table, f"{keeping_none(R + '1').dropped}-column_stats/f", b"x")
    for did in (True, False):
        assert drop_indexes(table, ["column_stats", "record_index"], R) is did
        assert [read_properties(table.storage)[key] for key in PARTITION_KEYS] == ["files", ""]
        assert sorted(path.name for path in (base_of(table) / ".hoodie/metadata").iterdir()) == [".hoodie", "files"]
        assert times_dropped(table) == ({R, R + "1"} if store == "moves folders" else {R + "1"})
    delete_dropped(table, R)
    assert times_dropped(table) == {R + "1"}
    assert foreign.exists()
    assert metadata_table_in_use(table)


def test_a_link_in_the_place_of_what_is_dropped_is_removed(small: Small, tmp_path: Path) -> None:
    table = with_metadata(small)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "f").write_bytes(b"x")
    link = base_of(table) / keeping_none(R).dropped
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(elsewhere)
    delete_dropped(table, R)
    assert not link.is_symlink()
    link.symlink_to(elsewhere)
    assert drop_and_delete(table, R)
    assert (left(table), (elsewhere / "f").exists()) == ([], True)


@pytest.mark.parametrize("dies", [False, True])
def test_one_to_keep_that_is_lost_stays_lost(small: Small, monkeypatch: pytest.MonkeyPatch, dies: bool) -> None:
    """Once the files of the other one in its place are deleted, the rest is no metadata table."""
    monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    table, kept = with_metadata(small), Aside(R, "1", "x")
    assert set_aside(table, kept)
    assert look(table, kept) == Place(Own.STAYED, Other.NONE)
    put(table, ".hoodie/metadata/files/begun", b"theirs")
    assert drop_metadata_table(table, R)
    assert look(table, kept) == Place(Own.LOST, Other.NONE)
    if dies:
        with monkeypatch.context() as patch:
            FailDeletion("metadata/files/f").install(patch)
            with pytest.raises(StorageFailed):
                delete_dropped(table, R)
        assert look(table, kept).own is Own.LOST
    assert delete_dropped(table, R)
    assert look(table, kept).own is Own.LOST
    assert (put_back(table, kept), left(table)) == (False, [])
