"""A metadata table that is set aside and put back, with another writer's in its place at each moment."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import StorageFailed, Unreadable
from hudictl.formats.file_names import WRITE_TOKEN
from hudictl.formats.layouts import METADATA_PROPERTIES, METADATA_TABLE, OWN
from hudictl.storage.base import DeleteOutcome
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.aside import (
    Aside,
    Other,
    Own,
    Place,
    delete_aside,
    delete_dropped,
    keeping_none,
    look,
    put_back,
    set_aside,
    table_aside,
)
from hudictl.table.metadata.listing import read_listing
from hudictl.table.metadata.place import open_metadata_table
from hudictl.table.open import open_table
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.table import Table
from tests import support
from tests.helpers import replace_function, tree
from tests.s3 import BUCKET, S3
from tests.table.conftest import Small, base_of, put

R, SYNC = "20261121000009000", "20261121000009001"
LISTED = "hoodie.table.metadata.partitions"
PROPERTIES = b"#\xe9\nhoodie.table.name=t_metadata\nhoodie.table.version=9\nhoodie.timeline.layout.version=2\n"
ASIDE = Aside(R, SYNC, PROPERTIES.decode("latin-1"))
MOVES, STAYS = "moves folders", "object store"
Act = Callable[[Table], object]


@pytest.fixture(params=[MOVES, STAYS], autouse=True)
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the storage renames a folder in one step."""
    if request.param == STAYS:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    return str(request.param)


def with_metadata(small: Small) -> Table:
    table = small(9, table_metadata_partitions="files,column_stats", table_metadata_partitions_inflight="record_index")
    put(table, METADATA_PROPERTIES, PROPERTIES)
    put(table, f"{METADATA_TABLE}/.hoodie/hoodie.properties.backup", PROPERTIES)
    put(table, f"{METADATA_TABLE}/files/f", b"x")
    return table


def begin(table: Table) -> Path:
    """Another writer begins a metadata table: its folder, and no properties yet."""
    return put(table, f"{METADATA_TABLE}/.hoodie/.temp/begun", b"")


def make_anew(table: Table) -> None:
    begin(table)
    put(table, METADATA_PROPERTIES, b"hoodie.table.name=another\n")


def use_anew(table: Table) -> None:
    make_anew(table)
    update_properties(table.storage, {LISTED: "files"})


MOVING = pytest.mark.parametrize("store", [MOVES], indirect=True)
STAYING = pytest.mark.parametrize("store", [STAYS], indirect=True)
OTHERS = pytest.mark.parametrize("act", [begin, make_anew, use_anew])


def content(table: Table) -> dict[str, str]:
    """The files of the metadata table in its place, without the backup of its properties."""
    found = tree(base_of(table) / METADATA_TABLE)
    return {path: body for path, (body, _) in found.items() if not path.endswith(".backup")}


def own(table: Table) -> list[str]:
    """What is in hudictl's folder."""
    return sorted(path.name for path in (base_of(table) / OWN).glob("*metadata*"))


def other(table: Table) -> Other:
    return look(table, ASIDE).other


def is_aside(table: Table) -> bool:
    return look(table, ASIDE).is_aside


def in_use(table: Table) -> bool:
    return bool(read_properties(table.storage).get(LISTED))


def test_set_aside_and_put_back(small: Small, store: str) -> None:
    """Each of the two as often as one likes; nothing is left, and every file is as it was."""
    table = with_metadata(small)
    before = content(table)
    assert not is_aside(table)
    for _ in range(2):
        assert set_aside(table, ASIDE)
        assert is_aside(table)
        assert not in_use(table)
        assert look(table, ASIDE) == Place(Own.MOVED if store == MOVES else Own.STAYED, Other.NONE)
        assert open_metadata_table(table) is None
        assert own(table) == [f"metadata-{R}" if store == MOVES else f"metadata-{R}-files.json"]
    for _ in range(2):
        assert put_back(table, ASIDE)
        assert content(table) == before
        assert own(table) == []
        # It is there, but readers do not use it before it is listed.
        assert not in_use(table)
        assert look(table, ASIDE) == Place(Own.IN_USE, Other.NONE)
    assert set_aside(table, ASIDE)


def test_readers_stop_using_it_before_it_is_touched(small: Small, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = with_metadata(small)

    def dies(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        if store == MOVES:
            patch.setattr(LocalStorage, "move", dies)
        replace_function(patch, "hudictl.table.metadata.aside.delete_all", dies)
        with pytest.raises(StorageFailed):
            set_aside(table, ASIDE)
    assert not in_use(table)
    assert (base_of(table) / METADATA_PROPERTIES).read_bytes() == PROPERTIES
    assert set_aside(table, ASIDE)
    assert put_back(table, ASIDE)


def test_where_it_cannot_be_moved_its_files_are_recorded_before_its_properties_go(
    small: Small, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = with_metadata(small)
    seen: list[bool] = []

    def look(real: Callable[..., object], *given: object) -> object:
        seen.append((base_of(table) / ASIDE.files).exists() and not in_use(table))
        return real(*given)

    replace_function(monkeypatch, "hudictl.table.metadata.aside.delete_all", look)
    set_aside(table, ASIDE)
    assert seen == ([] if store == MOVES else [True])


def test_its_properties_never_stand_beside_their_backup_alone(
    small: Small, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers use the backup where the properties are missing, and a rerun would not look for it any more."""
    table = with_metadata(small)
    properties = base_of(table) / METADATA_PROPERTIES
    backup = properties.with_name("hoodie.properties.backup")
    seen: list[tuple[bool, bool]] = []
    real = LocalStorage._delete

    def delete(storage: LocalStorage, path: str, folder: int) -> DeleteOutcome:
        done = real(storage, path, folder)
        seen.append((properties.exists(), backup.exists()))
        return done

    monkeypatch.setattr(LocalStorage, "_delete", delete)
    set_aside(table, ASIDE)
    assert not backup.exists()
    assert (False, True) not in seen
    assert ((True, False) in seen) is (store == STAYS)


@OTHERS
def test_another_one_that_comes_is_seen(small: Small, act: Act) -> None:
    table = with_metadata(small)
    set_aside(table, ASIDE)
    act(table)
    assert not is_aside(table)
    assert other(table) is (Other.BEGUN if act is begin else Other.MADE)


def test_partitions_that_are_listed_again_are_seen(small: Small) -> None:
    """A writer has written back the properties that it had read before: readers look for a metadata table."""
    table = with_metadata(small)
    set_aside(table, ASIDE)
    update_properties(table.storage, {LISTED: "files"})
    assert other(table) is Other.MADE
    assert set_aside(table, ASIDE)
    assert not in_use(table)
    assert other(table) is Other.NONE


@OTHERS
def test_another_one_is_deleted_where_the_first_is_set_aside_again(small: Small, act: Act, store: str) -> None:
    """Where folders cannot be moved, its files are among those of the first, which is lost then."""
    table = with_metadata(small)
    before = content(table)
    set_aside(table, ASIDE)
    act(table)
    assert set_aside(table, ASIDE) is (store == MOVES)
    assert not in_use(table)
    if store == MOVES:
        assert not (base_of(table) / METADATA_TABLE).exists()
        assert is_aside(table)
        assert put_back(table, ASIDE)
        assert content(table) == before
    else:
        assert not put_back(table, ASIDE)
    assert [name for name in own(table) if name.startswith("dropped-")] == []


@OTHERS
def test_nothing_is_put_in_the_place_of_another_one(small: Small, act: Act) -> None:
    table = with_metadata(small)
    set_aside(table, ASIDE)
    act(table)
    before = content(table)
    assert not put_back(table, ASIDE)
    assert content(table) == before


@STAYING
def test_another_one_that_is_made_at_the_last_moment_stays(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the look at its place, and before the properties are written: these are created, never replaced."""
    table = with_metadata(small)
    set_aside(table, ASIDE)
    real = LocalStorage.create

    def create(storage: LocalStorage, path: str, body: bytes) -> None:
        put(table, METADATA_PROPERTIES, b"hoodie.table.name=another\n")
        real(storage, path, body)

    monkeypatch.setattr(LocalStorage, "create", create)
    assert not put_back(table, ASIDE)
    assert (base_of(table) / METADATA_PROPERTIES).read_bytes() == b"hoodie.table.name=another\n"


@OTHERS
def test_one_that_was_put_back_and_then_replaced_is_lost(small: Small, act: Act) -> None:
    table = with_metadata(small)
    set_aside(table, ASIDE)
    put_back(table, ASIDE)
    shutil.rmtree(base_of(table) / METADATA_TABLE)
    act(table)
    assert look(table, ASIDE) == Place(Own.LOST, Other.BEGUN if act is begin else Other.MADE)
    assert not set_aside(table, ASIDE)
    assert not put_back(table, ASIDE)
    assert not in_use(table)


def test_where_it_was_deleted_nothing_is_set_aside(small: Small) -> None:
    table = with_metadata(small)
    shutil.rmtree(base_of(table) / METADATA_TABLE)
    assert not set_aside(table, ASIDE)
    assert not in_use(table)
    assert (own(table), look(table, ASIDE)) == ([], Place(Own.LOST, Other.NONE))


def test_one_that_another_process_has_made_since_is_not_set_aside(small: Small) -> None:
    """Its properties are not those of the record."""
    table = with_metadata(small)
    put(table, METADATA_PROPERTIES, PROPERTIES.replace(b"\xe9", b"e"))
    assert not set_aside(table, ASIDE)
    assert (base_of(table) / METADATA_PROPERTIES).exists()
    assert own(table) == []


@pytest.mark.parametrize(
    "name",
    [
        *(f".hoodie/{SYNC}.deltacommit.inflight", f".hoodie/timeline/{SYNC}_{SYNC}.deltacommit"),
        *(f"files/.f_{SYNC}.log.1_{WRITE_TOKEN}", f"files/.f_0.log.9_{WRITE_TOKEN}"),
    ],
)
def test_hudictls_own_delta_commit_is_no_strangers(small: Small, name: str) -> None:
    table = with_metadata(small)
    set_aside(table, ASIDE)
    aside = table_aside(table, ASIDE)
    put(aside, name, b"log")
    assert is_aside(table)
    assert put_back(table, ASIDE)
    assert (base_of(table) / METADATA_TABLE / name).read_bytes() == b"log"


def test_a_file_of_it_that_has_changed_is_a_strangers(small: Small, store: str) -> None:
    table = with_metadata(small)
    set_aside(table, ASIDE)
    put(table_aside(table, ASIDE), "files/f", b"changed by another")
    assert is_aside(table) is (store == MOVES)


def test_files_of_it_that_are_deleted_are_no_strangers(small: Small) -> None:
    table = with_metadata(small)
    set_aside(table, ASIDE)
    (base_of(table_aside(table, ASIDE)) / "files/f").unlink()
    assert is_aside(table)
    assert put_back(table, ASIDE)


def test_it_is_opened_where_it_is_with_its_own_properties(small: Small, store: str) -> None:
    table = with_metadata(small)
    set_aside(table, ASIDE)
    aside = table_aside(table, ASIDE)
    folder = f"{OWN}/metadata-{R}" if store == MOVES else METADATA_TABLE
    assert aside.storage.absolute("") == table.storage.below(folder).absolute("")
    assert (aside.version, aside.properties["hoodie.table.name"]) == (9, "t_metadata")


def test_a_version_that_is_no_number_is_told(small: Small) -> None:
    table = with_metadata(small)
    damaged = Aside(R, SYNC, "hoodie.table.version=nine\n")
    with pytest.raises(Unreadable, match="nine"):
        table_aside(table, damaged)


def test_a_damaged_record_of_its_files_is_told(small: Small, store: str) -> None:
    table = with_metadata(small)
    set_aside(table, ASIDE)
    if store == STAYS:
        put(table, ASIDE.files, b"{")
        with pytest.raises(Unreadable, match="is damaged") as caught:
            put_back(table, ASIDE)
        assert (caught.value.exit_code, caught.value.fields["file"]) == (14, ASIDE.files)


@pytest.mark.parametrize("state", ["set aside", "put back", "never there", "another one is there", "half deleted"])
def test_what_is_set_aside_is_deleted_and_nothing_else(small: Small, state: str) -> None:
    table = with_metadata(small)
    if state != "never there":
        set_aside(table, ASIDE)
    if state == "put back":
        put_back(table, ASIDE)
    if state == "another one is there":
        make_anew(table)
    if state == "half deleted":
        (base_of(table_aside(table, ASIDE)) / "files/f").unlink()
    stays = state in ("put back", "never there", "another one is there")
    for _ in range(2):
        delete_aside(table, ASIDE)
        assert (base_of(table) / METADATA_PROPERTIES).exists() is stays
        assert (base_of(table) / METADATA_TABLE).exists() is stays
        assert own(table) == []


def test_the_beginning_of_another_one_is_not_deleted_with_it(small: Small) -> None:
    """Its writer is at work."""
    table = with_metadata(small)
    set_aside(table, ASIDE)
    begun = begin(table)
    delete_aside(table, ASIDE)
    assert begun.exists()
    assert own(table) == []


@MOVING
def test_a_death_while_another_one_is_deleted_is_made_good(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    table = with_metadata(small)
    set_aside(table, ASIDE)
    make_anew(table)

    def dies(self: LocalStorage, folder: str) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete_folder", dies)
        with pytest.raises(StorageFailed):
            set_aside(table, ASIDE)
    assert own(table) == [f"dropped-metadata-{R}", f"metadata-{R}"]
    assert is_aside(table)
    make_anew(table)
    assert set_aside(table, ASIDE)
    assert own(table) == [f"metadata-{R}"]


def die_behind(patch: pytest.MonkeyPatch, work: str) -> None:
    """The process dies when a function has first done its work."""

    def dies(real: Callable[..., object], *given: object) -> None:
        real(*given)
        raise StorageFailed("the process dies here")

    replace_function(patch, f"hudictl.table.metadata.aside.{work}", dies)


@STAYING
@pytest.mark.parametrize("recorded", [True, False])
def test_a_death_while_it_is_put_back_is_made_good(
    small: Small, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    """Its properties are written before the record goes; with both of them it is in use, and it is not deleted."""
    table = with_metadata(small)
    before = content(table)
    set_aside(table, ASIDE)
    record = (base_of(table) / ASIDE.files).read_bytes()
    with monkeypatch.context() as patch:
        die_behind(patch, "delete_all")
        with pytest.raises(StorageFailed):
            put_back(table, ASIDE)
    if recorded:
        put(table, ASIDE.files, record)
    assert put_back(table, ASIDE)
    delete_aside(table, ASIDE)
    assert content(table) == before
    assert own(table) == []


def test_one_that_is_half_deleted_is_lost(small: Small, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the next run deletes the rest."""
    table = with_metadata(small)
    set_aside(table, ASIDE)

    def dies(self: LocalStorage, folder: str) -> None:
        (base_of(table) / folder / "files/f").unlink()
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete_folder", dies)
        if store == STAYS:
            die_behind(patch, "drop_metadata_table")
        with pytest.raises(StorageFailed):
            delete_aside(table, ASIDE)
    assert not is_aside(table)
    assert not put_back(table, ASIDE)
    assert not set_aside(table, ASIDE)
    for _ in range(2):
        delete_aside(table, ASIDE)
        assert own(table) == []
        assert not (base_of(table) / METADATA_TABLE).exists()


@STAYING
@pytest.mark.parametrize("work", ["drop_metadata_table", "delete_all"])
def test_what_a_dead_process_leaves_of_it_in_its_place_is_the_operations(
    small: Small, monkeypatch: pytest.MonkeyPatch, work: str
) -> None:
    """The operation deletes all that it has dropped, whether it remembers the metadata table or not."""
    table = with_metadata(small)
    set_aside(table, ASIDE)
    with monkeypatch.context() as patch:
        die_behind(patch, work)
        with pytest.raises(StorageFailed):
            delete_aside(table, ASIDE)
    assert look(table, ASIDE).own is Own.LOST
    assert delete_dropped(table, R)
    assert not (base_of(table) / METADATA_TABLE).exists()
    assert own(table) == []


def test_one_whose_record_is_gone_is_deleted_where_it_was_moved(small: Small, store: str) -> None:
    """What is in its place is not touched: nothing shows whose it is."""
    table = with_metadata(small)
    set_aside(table, ASIDE)
    delete_aside(table, keeping_none(R))
    assert own(table) == []
    assert (base_of(table) / METADATA_TABLE / "files/f").exists() is (store == STAYS)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_the_listing_is_read_where_it_is_set_aside(version: str, tmp_path: Path) -> None:
    """By the timeline of the table that it belongs to."""
    table = open_table(str(support.unpack(version, "cow_part", tmp_path)), zone="UTC")
    before = open_metadata_table(table)
    assert before is not None
    listing = read_listing(before, [])
    aside = Aside(R, SYNC, (base_of(table) / METADATA_PROPERTIES).read_bytes().decode("latin-1"))
    set_aside(table, aside)
    assert listing
    assert read_listing(table_aside(table, aside), [], table) == listing


@pytest.mark.slow
@MOVING
def test_on_s3(s3: S3, store: str, tmp_path: Path) -> None:
    """A store that cannot move folders."""
    table = open_table(s3.upload(support.unpack("v9", "cow_part", tmp_path), "aside"), s3.options)
    before = {name for name in s3.names("aside") if "metadata" in name and not name.endswith(".backup")}
    aside = Aside(R, SYNC, table.storage.read(METADATA_PROPERTIES).decode("latin-1"))
    assert set_aside(table, aside)
    assert look(table, aside).is_aside
    assert table.storage.stat(METADATA_PROPERTIES) is None
    s3.put({f"aside/{METADATA_TABLE}/files/new": b"theirs"})
    assert not look(table, aside).is_aside
    s3.backend.delete_object(BUCKET, f"aside/{METADATA_TABLE}/files/new")
    assert put_back(table, aside)
    assert {name for name in s3.names("aside") if "metadata" in name} == before
    assert set_aside(table, aside)
    delete_aside(table, aside)
    assert [name for name in s3.names("aside") if "metadata/" in name or "metadata-" in name] == []
