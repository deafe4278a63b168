"""A metadata table, or an index of it, that was dropped with --keep-files, and its undo."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Refused, StorageFailed
from hudictl.formats.file_names import PARTITION_METAFILE
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.metadata.drop import DropOptions, DropResult, drop_metadata, plan_metadata_drop
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.reports.history import history_rows
from hudictl.reports.undo_list import undo_rows
from hudictl.storage import DeleteOutcome
from hudictl.storage.local import LocalStorage
from hudictl.table.kept import begun_undo, room_times
from hudictl.table.metadata.place import listed_partitions, metadata_partition_names
from hudictl.table.properties import update_properties
from tests import metadata_edits, support
from tests.fixtures import Unpack
from tests.helpers import At, Copy, assert_listed, only_listed, put, rollback_of, savepoint, session
from tests.ops.metadata.drop_support import later
from tests.ops.put_back.undo_support import state, undo
from tests.state.orphans.find_support import LATER, between_commits, listed_orphan

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
NAMES = pytest.mark.parametrize("names", [(), ("record_index",)], ids=["whole", "index"])
TABLE = "cow_record_index"
STEPS = ("put files back", "publish instants again", "put the properties back")
KEEPING = DropOptions(idle_ms=0, keep_files=True)


def drop(copy: Copy, *names: str, monitor: object = None) -> DropResult:
    made = plan_metadata_drop(session(copy.table), replace(KEEPING, partitions=names))
    return drop_metadata(session(copy.table, monitor), made)


def dropped(copy: Copy, *names: str) -> str:
    """What ``undo`` takes."""
    time = drop(copy, *names).undo
    assert [*room_times(copy.table)] == [time]
    assert time is not None
    return time


@NAMES
@VERSIONS
def test_all_comes_back(unpack: Unpack, version: str, names: tuple[str, ...]) -> None:
    """With content and modification times; and nothing is left of what was kept."""
    copy = unpack(version, TABLE)
    before, there = state(copy), metadata_partition_names(copy.table)
    time = dropped(copy, *names)
    assert metadata_partition_names(copy.table) == (there - set(names) if names else set())
    (row,) = undo_rows(copy.table)
    assert (row.undo, row.operation, row.targets) == (time, "metadata drop", ", ".join(names) or None)
    assert (row.possible, row.warning) == (True, None)
    made = plan_undo(session(copy.table), time, 0)
    assert (made.metadata_table, made.files, made.instants) == (True, 0, ())
    undo(copy, time)
    assert state(copy) == before
    assert_listed(copy.path)
    assert not list(room_times(copy.table))
    done, undone = history_rows(copy.table)
    assert done.outcome == f"undone by {undone.instant}"


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_the_definition_of_an_index_comes_back(unpack: Unpack, version: str) -> None:
    copy = later(unpack(version, "later"))
    before = state(copy)
    time = dropped(copy, "record_index")
    definitions = ".hoodie/.index_defs/index.json"
    assert state(copy)[definitions] != before[definitions]
    undo(copy, time)
    assert state(copy) == before


def test_without_it_nothing_is_kept(unpack: Unpack) -> None:
    copy = unpack("v9", TABLE)
    made = plan_metadata_drop(session(copy.table), DropOptions(idle_ms=0))
    assert drop_metadata(session(copy.table), made).undo is None
    assert not list(room_times(copy.table))


def a_write(copy: Copy) -> None:
    copy.write(f"{LATER}.commit.requested")


def a_savepoint(copy: Copy) -> None:
    savepoint(copy, copy.commits[0])


def built_again(copy: Copy) -> None:
    """As Hudi's index builder makes it, without an instant of the data table."""
    put(copy.meta / "metadata/files/files-0000-0_0-1-2_00000000000000000.hfile", b"a new one")


def part_lost(copy: Copy) -> None:
    next(path for path in kept_metadata(copy).rglob("*record-index*") if path.suffix != ".crc").unlink()


def all_lost(copy: Copy) -> None:
    shutil.rmtree(kept_metadata(copy))


def kept_metadata(copy: Copy) -> Path:
    (time,) = room_times(copy.table)
    return copy.meta / ".hudictl/undo" / time / "kept/.hoodie/metadata"


@NAMES
@VERSIONS
@pytest.mark.parametrize(
    ("come", "message"),
    [
        (a_write, "the timeline has changed"),
        (a_savepoint, "the timeline has changed"),
        (built_again, "the metadata table has changed"),
        (part_lost, "the metadata table has changed.*is gone"),
        (all_lost, "the metadata table has changed.*are gone"),
    ],
)
def test_a_change_since_then_refuses_it(
    unpack: Unpack, version: str, names: tuple[str, ...], come: Callable[[Copy], None], message: str
) -> None:
    copy = unpack(version, TABLE)
    time = dropped(copy, *names)
    come(copy)
    before = state(copy)
    with pytest.raises(Refused, match=message):
        undo(copy, time)
    assert (state(copy), begun_undo(copy.table)) == (before, None)
    assert [row.possible for row in undo_rows(copy.table)] == [False]


@pytest.mark.slow
def test_a_second_drop_is_undone_first(unpack: Unpack) -> None:
    copy = unpack("v9", TABLE)
    before = state(copy)
    first, second = dropped(copy, "record_index"), drop(copy).undo
    assert second is not None
    with pytest.raises(Refused, match=f"undo the metadata drop {second} first"):
        undo(copy, first)
    undo(copy, second)
    undo(copy, first)
    assert state(copy) == before


@pytest.mark.parametrize("step", STEPS)
def test_a_write_between_two_steps_stops_it(unpack: Unpack, step: str) -> None:
    """And without it the same command goes on."""
    copy = unpack("v9", TABLE)
    before = state(copy)
    time = dropped(copy)
    with pytest.raises(Refused, match="the timeline has changed"):
        undo(copy, time, At(step, lambda: a_write(copy)))
    next(copy.timeline.glob(f"{LATER}*")).unlink()
    undo(copy, time)
    assert state(copy) == before


@NAMES
@VERSIONS
def test_a_drop_that_died_is_undone(unpack: Unpack, version: str, names: tuple[str, ...]) -> None:
    copy = unpack(version, TABLE)
    before = state(copy)

    def dies() -> None:
        raise StorageFailed("it dies here")

    with pytest.raises(StorageFailed):
        drop(copy, *names, monitor=At("delete files", dies))
    (time,) = room_times(copy.table)
    undo(copy, time)
    assert state(copy) == before
    assert not list((copy.meta / ".hudictl").glob("dropped-*"))


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [True, False], ids=["keeps", "deletes"])
def test_a_drop_that_died_is_finished(unpack: Unpack, keeps: bool) -> None:
    """Both are undone, if the second one kept its files too; else neither can be."""
    copy = unpack("v9", TABLE)
    before = state(copy)

    def dies() -> None:
        raise StorageFailed("it dies here")

    with pytest.raises(StorageFailed):
        drop(copy, monitor=At("delete files", dies))
    (first,) = room_times(copy.table)
    made = plan_metadata_drop(session(copy.table), replace(KEEPING, keep_files=keeps))
    second = drop_metadata(session(copy.table), made).undo
    assert metadata_partition_names(copy.table) == set()
    if second is None:
        with pytest.raises(Refused, match="are gone"):
            undo(copy, first)
        return
    undo(copy, second)
    undo(copy, first)
    assert state(copy) == before


def test_a_writer_that_has_been_there_all_the_time(unpack: Unpack) -> None:
    """Its instant is in the metadata table, too: that the drop has moved its files there is no activity of the drop."""
    copy = unpack("v9", TABLE)
    copy.write(f"{LATER}.commit.requested")
    put(copy.meta / f"metadata/.hoodie/timeline/{LATER}.deltacommit.requested")
    time = dropped(copy)
    with pytest.raises(Conflict, match=f"{LATER}.*may be running"):
        plan_undo(session(copy.table), time, 2**50)
    undo(copy, time)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_the_metafile_goes_when_the_metadata_table_is_in_use(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Which alone knows this partition: without both, readers would miss its rows."""
    copy = unpack(version, "cow_part")
    only_listed(copy, "old/one")
    before = state(copy)
    metafile = copy.path / "old/one" / PARTITION_METAFILE
    time = dropped(copy)
    delete, listed = LocalStorage.delete, list[bool]()

    def noted(storage: LocalStorage, paths: Sequence[str]) -> Sequence[DeleteOutcome]:
        if f"old/one/{PARTITION_METAFILE}" in paths and metafile.exists():
            listed.append(bool(listed_partitions(copy.table)))
        return delete(storage, paths)

    monkeypatch.setattr(LocalStorage, "delete", noted)
    undo(copy, time)
    assert listed == [True]
    assert not metafile.exists()
    assert state(copy) == before


@pytest.mark.slow
def test_an_index_comes_back_while_the_rest_stays_in_use(unpack: Unpack) -> None:
    """Readers would see other rows without it, where it alone knows a partition."""
    copy = unpack("v9", TABLE)
    time = dropped(copy, "record_index")
    rest, seen = listed_partitions(copy.table), list[frozenset[str]]()
    for step in STEPS:
        with pytest.raises(Refused):
            undo(copy, time, At(step, lambda: (seen.append(listed_partitions(copy.table)), a_write(copy))))
        next(copy.timeline.glob(f"{LATER}*")).unlink()
    undo(copy, time)
    assert seen == [rest] * len(STEPS)
    assert listed_partitions(copy.table) == rest | {"record_index"}


@VERSIONS
def test_an_interrupted_update_of_the_properties_is_as_before(unpack: Unpack, version: str) -> None:
    """The drop ends it; so its backup comes back, too."""
    copy = unpack(version, TABLE)
    shutil.copy2(copy.meta / "hoodie.properties", copy.meta / "hoodie.properties.backup")
    before = state(copy)
    undo(copy, dropped(copy))
    assert state(copy) == before


def test_properties_that_were_changed_since_a_deletion(unpack: Unpack) -> None:
    """Also where the operation itself has not changed them."""
    copy = unpack("v9", "cow_flat_nomdt")
    listed_orphan(copy, between_commits(copy))
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0, keep_files=True))
    time = delete_orphans(session(copy.table), made).undo
    assert time is not None
    update_properties(copy.table.storage, {"hoodie.table.cdc.enabled": "true"})
    with pytest.raises(Refused, match=r"the table has changed.*hoodie\.properties has changed"):
        undo(copy, time)
    assert begun_undo(copy.table) is None


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_an_undo_of_a_rollback_makes_the_metafile_meanwhile(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """The rollback has kept the metadata table in use, which alone knows the partition; the undo does not."""
    copy = unpack(version, "cow_part")
    # What the first commit has said of it stays.
    (first,) = (copy.meta / "metadata/files").glob(f".files-0000-0_{copy.commits[0]}.log.*[0-9]")
    monkeypatch.setattr(metadata_edits, "newest_log", lambda base: first)
    only_listed(copy, "old/one")
    before = state(copy)
    metafile = copy.path / "old/one" / PARTITION_METAFILE
    made = rollback_of(copy, copy.commits[-1], RollbackOptions(idle_ms=0, keep_files=True))
    result = execute_rollback(session(copy.table), made)
    assert listed_partitions(copy.table)
    assert not metafile.exists()
    seen: list[tuple[bool, bool]] = []
    for step in STEPS:
        with pytest.raises(StorageFailed, match="dies here"):
            undo(copy, result.rollback, At(step, dies))
        seen.append((bool(listed_partitions(copy.table)), metafile.exists()))
    assert seen == [(True, False), (False, True), (False, True)]
    undo(copy, result.rollback)
    assert not metafile.exists()
    assert state(copy) == before


def dies() -> None:
    raise StorageFailed("the process dies here")
