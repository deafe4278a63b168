"""A restore keeps the metadata table: rolled back with the table, or brought forward; the rest of it is deleted."""

import shutil
from collections.abc import Iterator

import pytest

from hudictl.errors import Refused, StorageFailed
from hudictl.ops.metadata import keep as module
from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers
from hudictl.reports.health.check import check_table
from hudictl.state.metadata.record import record_path
from hudictl.state.metadata.undo import MetadataPlan
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    OWN,
    Copy,
    assert_ended,
    assert_kept,
    assert_listed,
    attempt,
    die,
    metadata_instants,
    plan,
    put,
    replace_function,
    required,
    restore,
    session,
    tree,
)
from tests.ops.restore.execute_support import FIRST_BUILD
from tests.ops.restore.metadata_table_support import TO_INSTANT, assert_indexes
from tests.state.metadata.undo_support import first_logs

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
SHORT = pytest.mark.parametrize("version", ["v6", "v9"])
STORES = pytest.mark.parametrize("moves", [True, False], ids=["moves folders", "object store"])
# Of a block: the first log of a file group below version 8 has no more.
HEADER = 80
STEPS = [
    *("prepare", "take the metadata table out of use", "write rollback plans", "un-publish instants", "delete files"),
    *("verify", "remove instants", "roll the metadata table back", "publish the restore"),
]


def on_object_store(monkeypatch: pytest.MonkeyPatch, moves: bool) -> None:
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)


# To each commit of tables with indexes.


def indexed() -> Iterator[tuple[str, str]]:
    for version in support.VERSIONS:
        for name in support.indexed_names(version):
            yield version, name


@pytest.mark.slow
@pytest.mark.short("v6-mor", "v9-cow", "v9-parted")
@pytest.mark.parametrize(("version", "name"), list(indexed()))
def test_to_each_commit_with_all_indexes(version: str, name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The listing is that of storage, and each index is that of the data: `metadata verify` finds nothing."""
    whole = Copy(version, name, support.unpack_indexed(version, name, tmp_path_factory.mktemp("whole")))
    used, first = whole.table.metadata_partitions, metadata_instants(whole)[0]
    for number, target in enumerate(whole.commits[:-1]):
        copy = Copy(version, name, tmp_path_factory.mktemp("copy") / f"to-{number}")
        shutil.copytree(whole.path, copy.path)
        made = plan(copy, target, TO_INSTANT)
        lost = {
            entry.partition: entry.reason for entry in made.undo.metadata_table.partitions if entry.reason is not None
        }
        done = restore(copy, target, options=TO_INSTANT)
        assert_ended(copy, target)
        assert_kept(copy, first, done.instants)
        assert (done.metadata_table, done.metadata_table_given_up) == (made.undo.metadata_table.fate, None)
        # What is listed is what the plan has said, in the order from before; and nothing else is in the folder.
        kept = tuple(partition for partition in used if partition not in lost)
        assert copy.table.metadata_partitions == kept
        assert {path.name for path in (copy.meta / "metadata").iterdir()} == {*kept, ".hoodie"}
        assert done.indexes_kept == tuple(sorted(set(kept) - {"files"}))
        # hudictl does not compare partition_stats.
        assert set(assert_indexes(copy)) == set(copy.table.indexes) - {"partition_stats"}


@pytest.mark.slow
@SHORT
@pytest.mark.parametrize("name", ["cow_record_index", "mor_part", "cow_cleaned", "cow_cluster", "mor_savepoints"])
def test_to_each_commit_of_other_tables(unpack: Unpack, version: str, name: str) -> None:
    whole = unpack(version, name)
    used, first = whole.table.metadata_partitions, metadata_instants(whole)[0]
    for number, target in enumerate(whole.commits[:-1]):
        copy = Copy(version, name, whole.path.parent / f"to-{number}")
        shutil.copytree(whole.path, copy.path)
        error = attempt(lambda copy=copy, target=target: plan(copy, target, TO_INSTANT))
        if isinstance(error, Refused):
            # Cleaned: the table itself cannot go back so far.
            continue
        done = restore(copy, target, options=TO_INSTANT)
        assert_kept(copy, first, done.instants)
        assert copy.table.metadata_partitions == used
        assert_indexes(copy)


@pytest.mark.slow
@SHORT
def test_two_restores_in_a_row(unpack: Unpack, version: str) -> None:
    """The delta commit of the first one stays, or goes with the second."""
    copy = unpack(version, "mor_part")
    first = metadata_instants(copy)[0]
    for target in (copy.commits[-3], copy.commits[1], copy.commits[0]):
        done = restore(copy, target, options=TO_INSTANT)
        assert done.metadata_table == "rolled back"
        assert_kept(copy, first, done.instants)
        assert_indexes(copy)


# Where the listing cannot go back.


def without_listing_slice(copy: Copy) -> None:
    """The slice of the listing that the target needs was cleaned."""
    for file in [*(copy.meta / "metadata/files").glob("[!.]*.hfile"), *first_logs(copy, "files")]:
        file.unlink()


@VERSIONS
@STORES
def test_it_is_brought_forward(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool) -> None:
    """Its delta commits of the removed instants stay: one more takes their files out, also for readers below version
    8, which count these as soon as the restore is completed."""
    on_object_store(monkeypatch, moves)
    copy = unpack(version, "cow_record_index")
    without_listing_slice(copy)
    before = metadata_instants(copy)
    target = copy.commits[0]
    made = plan(copy, target, TO_INSTANT)
    done = restore(copy, target, options=TO_INSTANT)
    assert (done.metadata_table, done.metadata_table_given_up) == ("brought forward", None)
    assert metadata_table_in_use(copy.table)
    assert_listed(copy.path)
    assert set(before) <= set(metadata_instants(copy))
    assert "record_index" not in copy.table.metadata_partitions
    assert not (copy.meta / "metadata/record_index").exists()
    assert set(copy.table.metadata_partitions) == made.undo.metadata_table.kept
    assert_ended(copy, target)


@SHORT
@pytest.mark.parametrize("step", STEPS)
def test_it_is_brought_forward_by_whoever_resumes(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, "cow_record_index")
    without_listing_slice(copy)
    target = copy.commits[0]
    die(copy, target, step, TO_INSTANT)
    assert restore(copy, target, options=TO_INSTANT).metadata_table == "brought forward"
    assert_listed(copy.path)
    assert_ended(copy, target)


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_partition_that_cannot_be_kept_is_deleted_alone(unpack: Unpack, version: str) -> None:
    """With those that depend on it."""
    copy = unpack(version, "mor_part")
    for log in first_logs(copy, "column_stats"):
        log.unlink()
    (target,) = copy.commits[:1]
    made = plan(copy, target, TO_INSTANT)
    assert set(made.undo.indexes_lost) == {"column_stats", "partition_stats"}
    first = metadata_instants(copy)[0]
    done = restore(copy, target, options=TO_INSTANT)
    assert_kept(copy, first, done.instants)
    assert copy.table.metadata_partitions == ("files",)
    assert {path.name for path in (copy.meta / "metadata").iterdir()} == {"files", ".hoodie"}


# Given up: the restore ends all the same.


@SHORT
@STORES
def test_where_it_still_differs_from_storage_it_is_given_up(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool
) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack(version, "mor_part")
    target = copy.commits[0]
    path = min(required(copy.table, plan(copy, target, TO_INSTANT).undo.case))
    partition, _, name = path.rpartition("/")
    replace_function(monkeypatch, f"{module.__name__}._changes", lambda real, *given: {partition: {name: 1}})
    done = restore(copy, target, options=TO_INSTANT)
    assert_gone(copy, target)
    assert (done.metadata_table, done.indexes_kept) == ("deleted", ())
    assert path in str(done.metadata_table_given_up)


@pytest.mark.slow
@SHORT
@STORES
def test_damage_that_is_found_late_gives_it_up(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool
) -> None:
    """Since planning its listing has lost all files."""
    on_object_store(monkeypatch, moves)
    copy = unpack(version, "mor_part")
    target = copy.commits[0]
    die(copy, target, "verify", TO_INSTANT)
    folder = copy.path / OWN
    (aside,) = [path for path in folder.glob("metadata-*") if path.is_dir()] or [copy.meta / "metadata"]
    for log in [*(aside / "files").glob(".files*"), *(aside / "files").glob("files*")]:
        log.unlink()
    done = restore(copy, target, options=TO_INSTANT)
    assert_gone(copy, target)
    assert done.metadata_table_given_up


def assert_gone(copy: Copy, target: str) -> None:
    """No metadata table, in use or aside, and a published restore."""
    assert_ended(copy, target)
    assert not metadata_table_in_use(copy.table)
    assert copy.table.metadata_partitions == ()
    assert [path.name for path in copy.meta.iterdir() if "metadata" in path.name] == []
    assert list((copy.path / OWN).glob("*metadata-*")) == []


# Dead and resumed.


def decided(plan: MetadataPlan) -> dict[str, tuple[str | None, list[str]]]:
    return {entry.partition: (entry.reason, [file.path for file in entry.files]) for entry in plan.partitions}


@pytest.mark.slow
@pytest.mark.short("v6-object store", "v9-moves folders")
@VERSIONS
@STORES
@pytest.mark.parametrize("step", STEPS)
def test_it_comes_back_to_whoever_resumes(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool, step: str
) -> None:
    """By the record, not by a new plan; while the restore is dead no reader uses it."""
    on_object_store(monkeypatch, moves)
    copy = unpack(version, "mor_part")
    target, used = copy.commits[1], copy.table.metadata_partitions
    expected = plan(copy, target, TO_INSTANT).undo.metadata_table
    die(copy, target, step, TO_INSTANT)
    if STEPS.index(step) > 1:
        assert not copy.table.metadata_partitions
        resumed = plan(copy, target, TO_INSTANT).undo.metadata_table
        assert (resumed.mode, decided(resumed)) == (expected.mode, decided(expected))
    done = restore(copy, target, options=TO_INSTANT)
    assert_ended(copy, target)
    assert_kept(copy, FIRST_BUILD, done.instants)
    assert copy.table.metadata_partitions == used
    assert_indexes(copy)


@pytest.mark.slow
@pytest.mark.short("v6-object store", "v9-moves folders")
@VERSIONS
@STORES
@pytest.mark.parametrize(
    "work",
    [
        *("_undo", "_bring_in_line", "remove_listing", "write_listing", "put_back"),
        *("set_aside", "delete_data_files", "delete_instant"),
    ],
)
def test_it_comes_back_after_a_death_at_its_own_rollback(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool, work: str
) -> None:
    """Behind each of its steps."""
    on_object_store(monkeypatch, moves)
    copy = unpack(version, "mor_part")
    target, used = copy.commits[1], copy.table.metadata_partitions
    called: list[str] = []

    def dies(real: object, *given: object, **named: object) -> None:
        real(*given, **named)  # type: ignore[operator]
        called.append(work)
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        replace_function(patch, f"{module.__name__}.{work}", dies)
        if work == "write_listing" and version != "v6":
            # Nothing differs from storage then.
            restore(copy, target, options=TO_INSTANT)
            assert called == []
            return
        with pytest.raises(StorageFailed, match="dies here"):
            restore(copy, target, options=TO_INSTANT)
    assert called
    assert copy.having("restore.inflight")
    done = restore(copy, target, options=TO_INSTANT)
    assert_ended(copy, target)
    assert_kept(copy, FIRST_BUILD, done.instants)
    assert copy.table.metadata_partitions == used


@pytest.mark.slow
@SHORT
@STORES
def test_a_restore_that_dies_between_listing_it_and_publishing_ends_well(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool
) -> None:
    """Readers use it by then, and it is right."""
    on_object_store(monkeypatch, moves)
    copy = unpack(version, "mor_part")
    target = copy.commits[1]

    def dies(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        replace_function(patch, "hudictl.ops.restore.execute.complete_restore", dies)
        with pytest.raises(StorageFailed, match="dies here"):
            restore(copy, target, options=TO_INSTANT)
    assert_listed(copy.path)
    assert metadata_table_in_use(copy.table)
    done = restore(copy, target, options=TO_INSTANT)
    assert_kept(copy, FIRST_BUILD, done.instants)
    assert_ended(copy, target)


# Ended by Hudi.


@SHORT
@STORES
def test_what_is_set_aside_for_a_restore_that_hudi_has_finished_is_found_and_removed(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, moves: bool
) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack(version, "cow_savepoints")
    die(copy, copy.savepoints[-1], "delete files")
    (request,) = copy.having("restore.requested")
    time = request.partition(".")[0]
    # Hudi knows nothing of the record, and leaves it.
    copy.write(f"{time}.restore" if version == "v6" else f"{time}_{time}.restore", b"x")

    def found() -> list[tuple[str, str]]:
        rows = check_table(copy.table, ENGINE, 0).findings
        leftovers = [row for row in rows if row.finding == "metadata-table-leftover" and OWN in row.subject]
        return [(row.subject, row.remedy[0].command) for row in leftovers]

    assert found() == [(record_path(time), "hudictl resume")]
    made = plan_leftovers(session(copy.table), 0)
    assert made.metadata_tables == (time,)
    assert not made.nothing
    remove_leftovers(session(copy.table), made, 0)
    assert found() == []
    assert list((copy.path / OWN).glob("*metadata-*")) == []
    # On a store that cannot move folders it lay in its place.
    assert not (copy.meta / "metadata").exists()
    assert plan_leftovers(session(copy.table), 0).metadata_tables == ()


@SHORT
def test_one_that_hudi_has_made_anew_stays_where_leftovers_are_removed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    die(copy, copy.savepoints[-1], "delete files")
    (request,) = copy.having("restore.requested")
    time = request.partition(".")[0]
    copy.write(f"{time}.restore" if version == "v6" else f"{time}_{time}.restore", b"x")
    anew = put(copy.meta / "metadata/.hoodie/hoodie.properties", "hoodie.table.name=t_metadata\n")
    remove_leftovers(session(copy.table), plan_leftovers(session(copy.table), 0), 0)
    assert anew.exists()
    assert list((copy.path / OWN).glob("*metadata-*")) == []


@SHORT
def test_what_a_pending_restore_has_set_aside_is_no_leftover(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    die(copy, copy.commits[0], "delete files", TO_INSTANT)
    assert plan_leftovers(session(copy.table), 0).nothing
    rows = check_table(copy.table, ENGINE, 0).findings
    assert [row for row in rows if row.finding == "metadata-table-leftover"] == []


# What the plan costs.


@SHORT
@pytest.mark.parametrize("name", ["cow", "mor"])
def test_the_plan_reads_nothing_of_an_indexs_content(
    version: str, name: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index may have the size of the table: its folders are listed once each, and no base file or log of it is
    read, but for headers of logs below version 8, whose names do not say who has written them."""
    copy = Copy(version, name, support.unpack_indexed(version, name, tmp_path_factory.mktemp("cost")))
    target = copy.commits[-3]
    before = tree(copy.path)
    listings: list[str] = []
    reads: dict[str, int] = {}
    real_list, real_read = LocalStorage.list, LocalStorage.read

    def read(self: LocalStorage, path: str, *rest: int) -> bytes:
        body = real_read(self, path, *rest)
        where = self.absolute(path)
        reads[where] = reads.get(where, 0) + len(body)
        return body

    monkeypatch.setattr(
        LocalStorage,
        "list",
        lambda self, path, *rest: listings.append(self.absolute(path)) or real_list(self, path, *rest),
    )
    monkeypatch.setattr(LocalStorage, "read", read)
    made = plan(copy, target, TO_INSTANT)
    assert made.undo.metadata_table.fate == "rolled back"
    folder = str(copy.meta / "metadata")
    for index in copy.table.indexes:
        assert listings.count(f"{folder}/{index}") == 1
        inside = {path: size for path, size in reads.items() if path.startswith(f"{folder}/{index}/")}
        assert not inside if version != "v6" else set(inside.values()) <= {HEADER}
    assert tree(copy.path) == before
    assert load_timeline(copy.table).instants
