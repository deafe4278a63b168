"""The metadata table where one instant is rolled back: kept, rolled back with it in its place or aside, or deleted."""

import json
import shutil
from collections.abc import Callable

import pytest

from hudictl.errors import Incomplete, StorageFailed
from hudictl.formats import commit_metadata
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.metadata import in_place as metadata_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.properties import read_properties
from hudictl.table.timeline.active import Timeline, load_timeline, pending_rollbacks
from tests import support
from tests.fixtures import Unpack
from tests.formats import generic
from tests.helpers import (
    At,
    Copy,
    FailDeletion,
    assert_kept,
    attempt,
    disk_log,
    drop,
    metadata_instants,
    metadata_timeline,
    put,
    replace_function,
    roll_back,
    rollback_of,
    rollback_plan,
    step_of,
    tree,
)
from tests.ops.rollback.execute_support import died, hudis_plan, newest
from tests.ops.rollback.metadata_support import DELETING, files, folder, forget, metadata, unpublish
from tests.state.orphans.find_support import listed

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
IN_NAMES = pytest.mark.parametrize("version", ["v8", "v9"])
LATER = "20261121040000000"
LISTED = "hoodie.table.metadata.partitions"
KEEP, ROLL_BACK = "kept", "rolled back in its place"
ASIDE, DELETE = "set aside", "deleted"


def inside(copy: Copy) -> Timeline:
    return load_timeline(metadata(copy))


def assert_out_of_use(copy: Copy) -> None:
    assert read_properties(copy.table.storage)[LISTED] == ""
    assert [path.name for path in copy.meta.glob("*metadata*")] == []


@IN_NAMES
@pytest.mark.parametrize("damaged", ["files", "record_index"])
@pytest.mark.parametrize("size", [0, -9])
def test_one_that_cannot_be_read_does_not_stay_in_its_place(
    indexed: Unpack, version: str, damaged: str, size: int
) -> None:
    copy = indexed(version, "mor")
    target = newest(copy)
    assert rollback_of(copy, target).undo.metadata_table.in_place
    path = max((copy.meta / "metadata" / damaged).glob("*.hfile"), key=lambda path: path.name.rpartition("_")[2])
    put(path, path.read_bytes()[:size])
    made = rollback_of(copy, target)
    if damaged == "files":
        assert step_of(made) == DELETE
    else:
        assert (step_of(made), made.undo.metadata_table.lost) == (ASIDE, (damaged,))


@VERSIONS
@pytest.mark.parametrize("lost", ["hoodie.properties", "timeline"])
@pytest.mark.parametrize("options", [None, DELETING])
def test_one_that_cannot_be_opened_is_deleted(
    unpack: Unpack, version: str, lost: str, options: RollbackOptions | None
) -> None:
    """As a restore does: it can be built again, and the rollback cannot wait for it."""
    copy = unpack(version, "cow_part")
    if lost == "timeline":
        shutil.rmtree(metadata_timeline(copy))
    else:
        drop(copy.meta / "metadata/.hoodie" / lost)
    assert step_of(rollback_of(copy, newest(copy), options)) == DELETE
    roll_back(copy, newest(copy), options=options)
    assert_out_of_use(copy)


@VERSIONS
@pytest.mark.parametrize("options", [None, DELETING])
def test_its_own_delta_commit_with_a_torn_profile_is_no_obstacle(
    unpack: Unpack, version: str, options: RollbackOptions | None
) -> None:
    """Nobody knows whether it has written into files of others: the metadata table can be built again. Hudi 1.2.0
    cannot roll such a write back."""
    copy = unpack(version, "cow_failed_direct")
    target = newest(copy)
    for state in ("requested", "inflight"):
        put(folder(copy) / f"{target}.deltacommit.{state}", b"Obj\x01half" if state == "inflight" else b"")
    made = rollback_of(copy, target, options)
    assert (step_of(made), made.undo.metadata_table.mode.value) == (DELETE, "deleted")
    if options is None:
        assert f"{target}.deltacommit.inflight cannot be read" in str(made.undo.metadata_table.reason)
    roll_back(copy, target, options=options)
    assert_out_of_use(copy)


# Which step it is.


@pytest.mark.parametrize(
    ("version", "name", "step"),
    [
        ("v6", "cow_part", ASIDE),
        ("v6", "mor_part", ASIDE),
        ("v6", "cow_failed_direct", KEEP),
        ("v6", "mor_failed_direct", ASIDE),
        ("v6", "cow_flat_nomdt", KEEP),
        ("v8", "cow_part", ROLL_BACK),
        ("v8", "mor_part", ROLL_BACK),
        ("v8", "cow_failed_direct", KEEP),
        ("v8", "mor_failed_direct", KEEP),
        ("v8", "cow_flat_nomdt", KEEP),
        ("v9", "cow_part", ROLL_BACK),
        ("v9", "cow_cleaned", ROLL_BACK),
        ("v9", "mor_part", ROLL_BACK),
        ("v9", "cow_failed_direct", ROLL_BACK),
        ("v9", "mor_failed_direct", ROLL_BACK),
        ("v9", "mor_flat_nomdt", KEEP),
    ],
)
def test_step(unpack: Unpack, version: str, name: str, step: str) -> None:
    """Version 6: the logs with rollback blocks must be listed there. 1.2.0 opens its deltacommit early."""
    copy = unpack(version, name)
    used = (copy.meta / "metadata").exists()
    before = files(copy) if used else set()
    first, target, listed = metadata_instants(copy)[:1], newest(copy), read_properties(copy.table.storage).get(LISTED)
    made = rollback_of(copy, target)
    assert (step_of(made), made.undo.indexes_lost) == (step, ())
    done = roll_back(copy, target)
    assert done.metadata_table == made.undo.metadata_table.fate
    assert read_properties(copy.table.storage).get(LISTED) == listed
    assert (done.metadata_table == "none") is not used
    assert metadata_instants(copy)[:1] == first
    if step == KEEP:
        assert not used or (done.metadata_table, files(copy)) == ("kept", before)
    if step == ASIDE:
        assert_kept(copy, *first, [target])


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_failed_direct"])
def test_it_is_deleted_where_this_is_asked_for(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    target, indexes = newest(copy), copy.table.indexes
    made = rollback_of(copy, target, DELETING)
    assert (step_of(made), made.undo.metadata_table.fate, made.undo.indexes_lost) == (DELETE, "deleted", indexes)
    assert "--metadata delete" in str(made.undo.metadata_table.reason)
    assert roll_back(copy, target, options=DELETING).metadata_table == "deleted"
    assert_out_of_use(copy)


@VERSIONS
def test_the_commit_is_not_there_but_the_metadata_tables_deltacommit_is(unpack: Unpack, version: str) -> None:
    """It shows as soon as the pending instant is gone: the files that it lists would be missed."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    unpublish(copy, target)
    first = metadata_instants(copy)[0]
    assert step_of(rollback_of(copy, target)) == (ASIDE if version == "v6" else ROLL_BACK)
    roll_back(copy, target)
    assert (inside(copy).find(target, "deltacommit"), files(copy, target)) == (None, set())
    assert metadata_instants(copy)[0] == first


@VERSIONS
@pytest.mark.parametrize("state", ["completed", "pending"])
def test_a_metadata_table_that_was_made_after_the_instant(unpack: Unpack, version: str, state: str) -> None:
    """It lists the files of completed commits all the same; those of pending ones it leaves out."""
    copy = unpack(version, "cow_part")
    target, first = newest(copy), metadata_instants(copy)[0]
    own = {path for path in copy.data() if target in path}
    forget(copy, target)
    if state == "pending":
        unpublish(copy, target)
    else:
        for path in own:
            listed(copy, path)
    assert step_of(rollback_of(copy, target)) == (ASIDE if state == "completed" else KEEP)
    roll_back(copy, target)
    assert_kept(copy, first, [target])


@VERSIONS
def test_a_metadata_table_that_is_not_listed(unpack: Unpack, version: str) -> None:
    """Readers do not look at it; the next writer would take it up again."""
    copy = unpack(version, "cow_part")
    path = copy.meta / "hoodie.properties"
    lines = [line for line in path.read_text().splitlines() if not line.startswith((LISTED, "hoodie.table.checksum"))]
    put(path, "\n".join(lines))
    roll_back(copy, newest(copy))
    assert not (copy.meta / "metadata").exists()


SERVICES = {
    "a compaction that has completed since": ["{t}.compaction.requested", "{t}.compaction.inflight", "{t}_{t}.commit"],
    "a compaction that began before, and has completed since": [
        "{b}.compaction.requested",
        "{b}.compaction.inflight",
        "{b}_{t}.commit",
    ],
    "a pending compaction": ["{t}.compaction.requested"],
    "a compaction that has begun": ["{t}.compaction.requested", "{t}.compaction.inflight"],
    "a log compaction that has completed since": ["{t}.logcompaction.requested", "{t}_{t}.deltacommit"],
    "a pending log compaction": ["{t}.logcompaction.requested"],
    "a pending clean": ["{t}.clean.requested"],
    "a pending restore": ["{t}.restore.requested"],
}


@IN_NAMES
@pytest.mark.parametrize("service", SERVICES)
def test_a_table_service_may_have_taken_its_rows_up(unpack: Unpack, version: str, service: str) -> None:
    """Then it is undone with the instant, but for a restore: nobody can tell what that has done."""
    copy = unpack(version, "cow_part")
    target, first = newest(copy), metadata_instants(copy)[0]
    before = time_plus_ms(target, -1)
    done = next(folder(copy).glob(f"{target}_*.deltacommit"))
    nothing = commit_metadata.encode_like(done.read_bytes(), {}, done.name)
    plan = unpack(version, "mor_pending_compaction").file_of("compaction.requested")
    for name in SERVICES[service]:
        body = nothing if "_" in name else plan if name.endswith("compaction.requested") else b""
        put(folder(copy) / name.format(t=LATER, b=before), body)
    made = rollback_of(copy, target)
    if service == "a pending restore":
        assert (step_of(made), made.undo.metadata_table.reason) == (DELETE, f"its restore {LATER} is pending")
        roll_back(copy, target)
        assert_out_of_use(copy)
        return
    assert (step_of(made), made.undo.metadata_table.fate, made.undo.indexes_lost) == (ASIDE, "rolled back", ())
    roll_back(copy, target)
    # What began before the instant cannot have taken it up, and stays.
    stays = "began before" in service
    assert_kept(copy, first, [target] if stays else [target, LATER])
    assert (before in metadata_instants(copy)) == stays


@IN_NAMES
def test_a_table_service_that_has_ended_before_is_not_in_the_way(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    assert [*inside(copy).having("commit")]
    assert step_of(rollback_of(copy, newest(copy))) == ROLL_BACK


@IN_NAMES
def test_a_deltacommit_that_has_added_to_the_files_of_another(unpack: Unpack, version: str) -> None:
    """Before the upgrade to version 8: such a log can neither be deleted nor be marked."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    (done,) = folder(copy).glob(f"{target}_*.deltacommit")
    log = sorted(files(copy, copy.commits[0]))[-1]
    stat = {"fileId": "files-0000-0", "path": log}
    put(done, json.dumps({"partitionToWriteStats": {"files": [stat]}, "operationType": "UPSERT_PREPPED"}))
    made = rollback_of(copy, target)
    assert (step_of(made), made.undo.metadata_table.fate) == (ASIDE, "brought forward")
    assert f"the instant to undo {target} has written into" in str(made.undo.metadata_table.reason)
    first = metadata_instants(copy)[0]
    assert roll_back(copy, target).metadata_table == "brought forward"
    assert_kept(copy, first, [])


# What rolling it back does.


@IN_NAMES
@pytest.mark.parametrize("name", ["cow_record_index", "mor_part", "cow_cluster"])
def test_only_what_the_instant_has_written_goes(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    target = newest(copy)
    before, own = files(copy), files(copy, target)
    instants = {entry.time for entry in inside(copy).instants}
    assert len({path.partition("/")[0] for path in own}) > 1
    done = roll_back(copy, target)
    assert before - files(copy) == own
    assert files(copy) <= before
    assert {entry.time for entry in inside(copy).instants} == instants - {target} | {done.rollback}
    body = next(folder(copy).glob(f"{done.rollback}*.rollback")).read_bytes()
    record = generic.read(body)
    assert (record["commitsRollback"], record["totalFilesDeleted"]) == ([target], len(own))
    deleted = [path for part in record["partitionMetadata"].values() for path in part["successDeleteFiles"]]
    assert {path.partition("/metadata/")[2] for path in deleted} == own


@IN_NAMES
def test_it_is_rolled_back_before_any_file_of_the_table_goes(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    data = copy.data()

    def look() -> None:
        assert copy.data() == data
        assert files(copy, target) == set()
        assert target not in copy.commits

    monitor = At("delete files", look)
    roll_back(copy, target, monitor)
    assert monitor.done


def test_its_deltacommit_is_pending_before_its_files_go(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    target, seen = newest(copy), []

    def look(real: Callable[..., None], *given: object) -> None:
        seen.append([entry.state.name for entry in inside(copy).writes() if entry.time == target])
        real(*given)

    replace_function(monkeypatch, "hudictl.ops.metadata.in_place._delete", look)
    roll_back(copy, target)
    assert seen == [["INFLIGHT"]]


def test_its_files_are_gone_from_the_disk_before_its_deltacommit(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power failure they would be there again, and nothing would say whose they are."""
    copy = unpack("v9", "cow_part")
    log, target, base = disk_log(monkeypatch), newest(copy), copy.meta / "metadata"
    roll_back(copy, target)
    gone = log.index(f"unlink {folder(copy)}/{target}.deltacommit.requested")
    deleted = {line.rpartition("/")[0][7:] for line in log[:gone] if line.startswith(f"unlink {base}/files")}
    assert deleted
    for partition in deleted:
        last = max(n for n, line in enumerate(log[:gone]) if line.startswith(f"unlink {partition}/"))
        assert f"sync {partition}" in log[last:gone]


@pytest.mark.slow
@IN_NAMES
@pytest.mark.parametrize("name", ["cow_part", "cow_cleaned"])
@pytest.mark.parametrize("function", ["_delete", "delete_instant", "remove_traces"])
def test_what_an_attempt_that_died_has_deleted_is_named(
    unpack: Unpack, version: str, function: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the last commit of the second table, the metadata table has compacted itself before."""
    copy = unpack(version, name)
    target = newest(copy)
    own = files(copy, target)

    def die(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(metadata_rollback, function, die)
        with pytest.raises(StorageFailed, match="dies here"):
            roll_back(copy, target)
    assert step_of(rollback_of(copy, target)) == ROLL_BACK
    done = roll_back(copy, target)
    record = generic.read(next(folder(copy).glob(f"{done.rollback}*.rollback")).read_bytes())
    assert record["totalFilesDeleted"] == len(own)
    assert pending_rollbacks(metadata(copy), inside(copy)) == []
    assert files(copy, target) == set()


def test_a_result_of_it_without_content_is_none(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")

    def die(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(metadata_rollback, "remove_traces", die)
        with pytest.raises(StorageFailed, match="dies here"):
            roll_back(copy, newest(copy))
    (request,) = folder(copy).glob("*.rollback.requested")
    time = request.name.partition(".")[0]
    put(folder(copy) / f"{time}_{time}.rollback")
    roll_back(copy, newest(copy))
    (done,) = folder(copy).glob(f"{time}_*.rollback")
    assert done.stat().st_size


@IN_NAMES
def test_a_file_of_it_that_cannot_be_deleted(unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the table's own is deleted then: the metadata table may still list it."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    data, stuck = copy.data(), sorted(files(copy, target))[0].rpartition("/")[2]
    with monkeypatch.context() as patch:
        FailDeletion(stuck).install(patch)
        error = attempt(lambda: roll_back(copy, target))
    assert isinstance(error, Incomplete)
    assert (stuck in error.message, "metadata table" in error.message) == (True, True)
    assert copy.data() == data
    assert roll_back(copy, target).metadata_table == "rolled back"


# What Hudi, or an earlier attempt, has done there already.


@pytest.mark.slow
@pytest.mark.parametrize(("version", "suffix"), [("v6", "006"), ("v6", ""), ("v8", ""), ("v9", "")])
def test_hudi_has_rolled_it_back_and_died(unpack: Unpack, version: str, suffix: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    forget(copy, target)
    unpublish(copy, target)
    copy.write(f"{LATER}.rollback.requested", rollback_plan(target))
    copy.write(f"{LATER}.rollback.inflight")
    # Nobody can tell whether its target was completed.
    assert step_of(rollback_of(copy, target)) == ASIDE
    assert step_of(rollback_of(copy, target, DELETING)) == DELETE
    done = f"{LATER}{suffix}.rollback" if version == "v6" else f"{LATER}_{LATER}.rollback"
    put(folder(copy) / done, b"x")
    assert step_of(rollback_of(copy, target)) == KEEP
    before = files(copy)
    roll_back(copy, target)
    assert files(copy) == before


@VERSIONS
def test_hudis_own_that_hudictl_took_over_and_died_at(unpack: Unpack, version: str) -> None:
    """Its instant was pending by then, and may have been completed before."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    forget(copy, target)
    unpublish(copy, target)
    copy.write(f"{LATER}.rollback.requested", hudis_plan(copy, target))
    copy.write(f"{LATER}.rollback.inflight")
    died(copy, target, "prepare")
    made = rollback_of(copy, target)
    assert (made.resumes, step_of(made)) == (LATER, ASIDE)
    first = metadata_instants(copy)[0]
    roll_back(copy, target)
    assert_kept(copy, first, [target])


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("step", ["prepare", "delete files", "publish the rollback"])
def test_a_pending_write_that_it_has_never_heard_of(unpack: Unpack, version: str, step: str) -> None:
    """Whatever died at its rollback: the indexes stay."""
    copy = unpack(version, "cow_failed_tls")
    target = newest(copy)
    forget(copy, target)
    assert step_of(rollback_of(copy, target)) == KEEP
    before = tree(copy.meta / "metadata")
    died(copy, target, step)
    assert step_of(rollback_of(copy, target)) == KEEP
    roll_back(copy, target)
    assert tree(copy.meta / "metadata") == before


@VERSIONS
def test_a_folder_that_is_no_table_goes(unpack: Unpack, version: str) -> None:
    """Half deleted, as an object store leaves it where a process died."""
    copy = unpack(version, "cow_part")
    shutil.rmtree(copy.meta / "metadata" / ".hoodie")
    roll_back(copy, newest(copy))
    assert_out_of_use(copy)
