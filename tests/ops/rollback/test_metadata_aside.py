"""A rollback that sets the metadata table aside, and puts it back when it is right again."""

import shutil
from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, StorageFailed
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.metadata import keep as module
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.state.metadata.record import left_aside, record_path
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.listing import listing_table, read_listing
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    assert_kept,
    drop,
    in_the_middle,
    metadata_instants,
    metadata_timeline,
    put,
    replace_function,
    restore,
    roll_back,
    rollback_of,
    step_of,
)
from tests.ops.restore.execute_support import FIRST_BUILD
from tests.ops.rollback.beside_support import conflict
from tests.ops.rollback.execute_support import died, newest, own_files
from tests.ops.rollback.metadata_aside_support import with_a_shared_log
from tests.ops.rollback.metadata_support import forget
from tests.ops.rollback.new_metadata_table_support import begin, make_anew

STORES = pytest.mark.parametrize("moves", [True, False], ids=["moves folders", "object store"])
# Version 6: it must always be set aside. From version 8 on where a compaction has taken the instant up.
TABLES = pytest.mark.parametrize("name", ["cow_part", "mor_part", "mor_failed_direct"])
STEPS = pytest.mark.parametrize(
    "step",
    [
        *("prepare", "un-publish the instant", "delete files", "verify", "roll the metadata table back"),
        "publish the rollback",
    ],
)
COME = "is building a new metadata table"


def on_object_store(monkeypatch: pytest.MonkeyPatch, moves: bool) -> None:
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)


def listed(copy: Copy) -> set[str]:
    metadata = listing_table(copy.table)
    assert metadata is not None
    return {f"{partition}/{name}" for partition, names in read_listing(metadata, []).items() for name in names}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mor_part", "mor_failed_direct", "mor_failed_lazy", "mor_savepoints"])
@STORES
def test_version_6_rollback_blocks_are_listed(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, name: str, moves: bool
) -> None:
    """Those of completed writes, and those of failed ones, with the logs that they hide."""
    on_object_store(monkeypatch, moves)
    copy = unpack("v6", name)
    target, before, used = newest(copy), copy.data(), copy.table.metadata_partitions
    made = rollback_of(copy, target)
    assert step_of(made) == "set aside"
    done = roll_back(copy, target)
    written = copy.data() - before
    assert len(written) == done.rollback_blocks > 0
    assert written <= listed(copy)
    logs = {f"{block.partition}/{block.log}" for block in made.removal.blocks}
    assert logs <= listed(copy)
    assert_kept(copy, FIRST_BUILD, [target])
    assert copy.table.metadata_partitions == used
    assert (done.metadata_table, done.metadata_table_given_up) == ("rolled back", None)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v8", "v9"])
@pytest.mark.parametrize("name", ["mor_part", "cow_cleaned"])
def test_a_compaction_that_has_taken_the_instant_up_is_undone_with_it(unpack: Unpack, version: str, name: str) -> None:
    """Where Hudi itself stops for ever: one instant after the other, until the compaction goes."""
    copy = unpack(version, name)
    metadata = listing_table(copy.table)
    assert metadata is not None
    compaction = max(entry.time for entry in load_timeline(metadata).having("commit"))
    used, first, steps = copy.table.metadata_partitions, metadata_instants(copy)[0], list[str]()
    while compaction in metadata_instants(copy):
        target = newest(copy)
        steps.append(step_of(rollback_of(copy, target)))
        assert roll_back(copy, target).metadata_table == "rolled back"
        assert_kept(copy, first, [target] if steps[-1] == "set aside" else [])
        assert copy.table.metadata_partitions == used
    assert steps[-1] == "set aside"


def rolled_back(copy: Copy) -> str:
    return roll_back(copy, newest(copy)).metadata_table


def restored(copy: Copy) -> str:
    return restore(copy, copy.commits[-2], options=RestoreOptions(to_instant=True)).metadata_table


@pytest.mark.parametrize("act", [rolled_back, restored])
@pytest.mark.parametrize("name", ["cow_part", "cow_record_index"])
def test_version_6_a_block_that_stays_in_a_shared_log_is_outweighed(
    unpack: Unpack, act: Callable[[Copy], str], name: str
) -> None:
    """Readers count a block of an instant as soon as its rollback, or the restore, is completed; not before: only a
    look ahead shows what the listing will be."""
    copy = unpack("v6", name)
    target = newest(copy)
    with_a_shared_log(copy, target)
    files = own_files(copy, target)
    assert files <= listed(copy)
    assert act(copy) == "brought forward"
    assert metadata_table_in_use(copy.table)
    assert files.isdisjoint(listed(copy))
    assert listed(copy) == copy.data()


# Dead and run again.


@pytest.mark.slow
@STORES
@TABLES
@STEPS
def test_version_6_it_comes_back_to_whoever_goes_on(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, name: str, moves: bool, step: str
) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack("v6", name)
    target, used = newest(copy), copy.table.metadata_partitions
    died(copy, target, step)
    if step in ("prepare", "un-publish the instant"):
        assert copy.table.metadata_partitions == used
    else:
        assert copy.table.metadata_partitions == ()
    # Not even where its deletion is asked for now: the record decides, and what was asked for at first.
    assert step_of(rollback_of(copy, target)) == "set aside"
    done = roll_back(copy, target)
    assert done.metadata_table == "rolled back"
    assert_kept(copy, FIRST_BUILD, [target])
    assert copy.table.metadata_partitions == used


@pytest.mark.slow
@STORES
@pytest.mark.parametrize("work", ["_undo", "_bring_in_line", "write_listing", "put_back", "set_aside"])
def test_version_6_it_comes_back_after_a_death_at_its_own_rollback(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, moves: bool, work: str
) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack("v6", "mor_part")
    target = newest(copy)

    def dies(real: Callable[..., object], *given: object, **named: object) -> None:
        real(*given, **named)
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        replace_function(patch, f"{module.__name__}.{work}", dies)
        with pytest.raises(StorageFailed, match="dies here"):
            roll_back(copy, target)
    assert copy.having("rollback.inflight")
    roll_back(copy, target)
    assert_kept(copy, FIRST_BUILD, [target])


@STORES
def test_one_that_a_superseded_rollback_has_set_aside_comes_back(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    """The table was moved: the paths in its rollback plan are others', so that another rollback covers it."""
    on_object_store(monkeypatch, moves)
    first = unpack("v6", "cow_part")
    target = newest(first)
    died(first, target, "delete files")
    copy = Copy("v6", "cow_part", first.path.parent / "moved")
    shutil.move(first.path, copy.path)
    made = rollback_of(copy, target)
    assert (made.resumes, len(made.rollbacks_superseded)) == (None, 1)
    done = roll_back(copy, target)
    assert done.metadata_table == "rolled back"
    assert_kept(copy, FIRST_BUILD, [target])
    assert left_aside(copy.table, load_timeline(copy.table)) == ()


def test_what_hudi_has_finished_is_left_aside(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    target = newest(copy)
    died(copy, target, "delete files")
    (request,) = copy.having("rollback.requested")
    time = request.partition(".")[0]
    copy.write(f"{time}.rollback", b"x")
    assert left_aside(copy.table, load_timeline(copy.table)) == (time,)
    assert (copy.path / record_path(time)).exists()


@STORES
def test_version_6_what_is_given_up_is_told(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, moves: bool) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack("v6", "cow_record_index")
    target = newest(copy)
    assert rollback_of(copy, target).undo.metadata_table.indexes_kept
    path = min(path for path in copy.data() if target not in path)
    partition, _, name = path.rpartition("/")
    replace_function(monkeypatch, f"{module.__name__}._changes", lambda real, *given: {partition: {name: 1}})
    done = roll_back(copy, target)
    assert (done.metadata_table, done.indexes_kept) == ("deleted", ())
    assert path in str(done.metadata_table_given_up)
    assert not metadata_table_in_use(copy.table)


# Another writer's metadata table.


@STORES
@pytest.mark.parametrize("act", [begin, make_anew])
@pytest.mark.parametrize("step", ["delete files", "verify", "roll the metadata table back", "publish the rollback"])
def test_version_6_one_that_is_made_meanwhile_stops_it_and_then_gives_way(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[Copy], object], moves: bool
) -> None:
    """Its writer is running. When that has ended, the one that was set aside takes its place again; where folders
    cannot be moved, that one is lost."""
    on_object_store(monkeypatch, moves)
    copy = unpack("v6", "cow_part")
    target = newest(copy)
    conflict(copy, target, step, lambda: act(copy), COME)
    assert metadata_table_in_use(copy.table)
    done = roll_back(copy, target)
    assert own_files(copy, target) == set()
    if moves:
        assert_kept(copy, FIRST_BUILD, [target])
    else:
        assert done.metadata_table_given_up or not metadata_table_in_use(copy.table)
        assert list((copy.path / OWN).glob("*metadata-*")) == []


@STORES
@pytest.mark.parametrize("act", [begin, make_anew])
def test_version_6_one_that_comes_while_the_instant_is_unpublished(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, act: Callable[[Copy], object], moves: bool
) -> None:
    on_object_store(monkeypatch, moves)
    copy = unpack("v6", "cow_part")
    target = newest(copy)
    files = own_files(copy, target)
    with monkeypatch.context() as patch:
        in_the_middle(patch, "hudictl.ops.undo.instants.unpublish", lambda: act(copy))
        with pytest.raises(Conflict, match=COME):
            roll_back(copy, target, At("delete files", pytest.fail))
    assert own_files(copy, target) == files
    roll_back(copy, target)
    if moves:
        assert_kept(copy, FIRST_BUILD, [target])


@STORES
def test_version_6_one_of_a_writer_that_has_just_begun_is_not_taken_from_it(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    """After the last look at the timeline, and before the metadata table is taken out of use once more."""
    on_object_store(monkeypatch, moves)
    copy = unpack("v6", "cow_part")
    target = newest(copy)
    died(copy, target, "delete files")

    def come(real: Callable[..., object], *given: object) -> object:
        make_anew(copy)
        copy.write("20261124050000000.commit.requested", old=False)
        return real(*given)

    replace_function(monkeypatch, "hudictl.ops.rollback.execute._hide", come)
    with pytest.raises(Conflict, match="the write 20261124050000000 is running"):
        roll_back(copy, target)
    assert (copy.meta / "metadata/.hoodie/hoodie.properties").exists()


def test_version_6_a_metadata_table_that_has_changed_since_planning_stops_it(unpack: Unpack) -> None:
    """Before anything is changed."""
    copy = unpack("v6", "cow_part")
    target, before = newest(copy), copy.data()
    late = "20261124050000000"

    def change() -> None:
        (metadata_timeline(copy) / f"{late}.deltacommit.requested").touch()

    conflict(copy, target, "check again", change, "its timeline has changed")
    assert (copy.having("rollback"), copy.data()) == ([], before)
    assert metadata_table_in_use(copy.table)


# As asked for at first.


@pytest.mark.parametrize(("metadata", "fate"), [("keep", "rolled back"), ("delete", "deleted")])
def test_version_6_whoever_goes_on_does_with_it_what_was_asked_for_at_first(
    unpack: Unpack, metadata: str, fate: str
) -> None:
    copy = unpack("v6", "cow_part")
    target = newest(copy)
    died(copy, target, "delete files", RollbackOptions(metadata=metadata))
    other = "delete" if metadata == "keep" else "keep"
    made = rollback_of(copy, target, RollbackOptions(metadata=other))
    assert made.options.metadata == metadata
    roll_back(copy, target, options=RollbackOptions(metadata=other))
    assert metadata_table_in_use(copy.table) is (fate == "rolled back")


@pytest.mark.parametrize("step", ["prepare", "un-publish the instant"])
def test_version_6_what_began_with_its_deletion_does_not_keep_it(unpack: Unpack, step: str) -> None:
    """Although by now it could: an update of its properties was interrupted, and is recovered meanwhile."""
    copy = unpack("v6", "cow_part")
    target = newest(copy)
    backup = put(copy.meta / "metadata/.hoodie/hoodie.properties.backup", "hoodie.table.name=t_metadata\n")
    died(copy, target, step)
    drop(backup)
    assert rollback_of(copy, target).undo.metadata_table.reason == "the rollback began without it"
    assert roll_back(copy, target).metadata_table == "deleted"
    assert not metadata_table_in_use(copy.table)


def test_version_6_where_it_has_nothing_of_the_instant_nothing_of_it_is_undone(unpack: Unpack) -> None:
    """It is set aside for the rollback blocks; a compaction since the failed write stays."""
    copy = unpack("v6", "mor_failed_direct")
    target, used = newest(copy), copy.table.metadata_partitions
    time = time_plus_ms(target, 1)
    for suffix in ("commit", "compaction.inflight", "compaction.requested"):
        put(metadata_timeline(copy) / f"{time}.{suffix}", '{"partitionToWriteStats": {}}')
    made = rollback_of(copy, target)
    assert (step_of(made), made.undo.metadata_table.instants_undone) == ("set aside", ())
    assert roll_back(copy, target).metadata_table == "rolled back"
    assert time in metadata_instants(copy)
    assert copy.table.metadata_partitions == used


@pytest.mark.parametrize("version", support.VERSIONS)
def test_where_nothing_of_it_must_change_it_is_not_touched(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_failed_tls")
    target = newest(copy)
    forget(copy, target)
    before = metadata_instants(copy)
    assert roll_back(copy, target).metadata_table == "kept"
    assert metadata_instants(copy) == before
