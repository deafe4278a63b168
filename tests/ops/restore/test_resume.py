"""The same command again: after a full disk, in another place, with plans that lie, with a slice marked already."""

import errno
import io
import json
import os
import shutil
from pathlib import Path

import fastavro
import pytest

from hudictl.errors import HudictlError, StorageFailed
from hudictl.formats import rollback
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import read_blocks
from hudictl.formats.rollback import InstantInfo, RollbackMetadata, RollbackRequest, StoredRollbackPlan
from hudictl.ops.restore import execute
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.savepoint.plan import SavepointOptions
from hudictl.reports.table import describe_table
from hudictl.storage.local import LocalStorage
from hudictl.table.locks import claim
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    FailDeletion,
    assert_ended,
    attempt,
    die,
    drop,
    plan,
    put,
    required,
    restore,
    roll_back,
    rollback_plan,
    savepoint,
    tree,
)


def state(copy: Copy) -> tuple[dict[str, bytes], set[str]]:
    """Data files with what is in them, and the timeline without the restore's own instant."""
    timeline = {name for name in copy.instants() if ".restore" not in name}
    return {path: (copy.path / path).read_bytes() for path in copy.data()}, timeline


def restored(copy: Copy) -> bool:
    timeline = load_timeline(copy.table)
    ends = list(timeline.having("restore"))
    return len(ends) == 1 and ends[0].completed and not list(timeline.having("rollback"))


class DiskFull:
    """Fails the n-th file that is to be written; ``for_good`` all later ones too."""

    def __init__(self, at: int, number: int, for_good: bool, call: str) -> None:
        self.at = at
        self.number = number
        self.for_good = for_good
        self.call = call
        self.writes = 0

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        real = getattr(os, self.call)

        def call(*arguments: object, **options: object) -> object:
            self.writes += 1
            if self.writes == self.at or (self.for_good and self.writes > self.at):
                raise OSError(self.number, os.strerror(self.number))
            return real(*arguments, **options)

        monkeypatch.setattr(os, self.call, call)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "name", "call", "for_good"),
    [
        ("v6", "mor_flat_nomdt", "write", True),
        ("v8", "cow_flat_nomdt", "link", False),
        ("v9", "cow_savepoints", "write", True),
    ],
)
def test_a_full_disk_at_any_write_loses_nothing(
    unpack: Unpack, version: str, name: str, call: str, for_good: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, name)
    target = savepoint(copy, copy.savepoints[-1] if copy.savepoints else copy.commits[-2])
    needed = set(required(copy.table, plan(copy, target).undo.case))
    spare = copy.path.with_name("spare")
    shutil.copytree(copy.path, spare, copy_function=shutil.copy2)
    restore(copy, target)
    wanted = state(copy)
    for at in range(1, 100):
        shutil.rmtree(copy.path)
        shutil.copytree(spare, copy.path, copy_function=shutil.copy2)
        disk = DiskFull(at, errno.ENOSPC, for_good, call)
        with monkeypatch.context() as patch:
            disk.install(patch)
            error = attempt(lambda: restore(copy, target))
        # Only the claim's release may be lost.
        assert error is not None or at >= disk.writes or for_good
        assert error is None or (error.exit_code, "No space left on device" in error.message) == (15, True), at
        assert needed <= copy.data()
        with monkeypatch.context() as patch:
            # Another process: what held the claim is gone.
            patch.setattr(claim, "_process_start", lambda pid: "later")
            if not plan(copy, target).nothing_to_do:
                restore(copy, target)
        assert state(copy) == wanted, at
        assert restored(copy), at
        if disk.writes < at:
            return
    pytest.fail("there is no end of writes")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_folder_that_cannot_be_written(unpack: Unpack, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    with monkeypatch.context() as patch:
        DiskFull(1, number, True, "mkdir").install(patch)
        with pytest.raises(StorageFailed, match=os.strerror(number)) as caught:
            restore(copy, copy.savepoints[-1])
    assert caught.value.exit_code == 15
    assert caught.value.fields["errno"] == number
    assert tree(copy.path) == before


def test_a_full_disk_while_a_savepoint_is_written(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    for at in range(1, 4):
        with monkeypatch.context() as patch:
            DiskFull(at, errno.ENOSPC, False, "link").install(patch)
            with pytest.raises(StorageFailed):
                savepoint(copy, copy.commits[1])
        assert copy.savepoints == []
    # Its own inflight file must have grown old: it might be another process in the act.
    savepoint(copy, copy.commits[1], SavepointOptions(idle_ms=0))
    assert copy.savepoints == [copy.commits[1]]


# Another place.


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
@pytest.mark.parametrize("name", ["mor_restore_interrupted", "cow_rollback_interrupted"])
def test_a_table_that_was_moved(unpack: Unpack, version: str, name: str, tmp_path: Path) -> None:
    """Stored plans name absolute paths of where the table once was; what stands there now is not touched."""
    copy = unpack(version, name)
    elsewhere = Copy(version, name, tmp_path / "elsewhere" / "lake" / "table")
    shutil.copytree(copy.path, elsewhere.path, copy_function=shutil.copy2)
    target = copy.savepoints[-1]
    old = tree(copy.path)
    restore(elsewhere, target)
    assert restored(elsewhere)
    assert tree(copy.path) == old
    restore(copy, target)
    assert state(elsewhere) == state(copy)


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_restore_begun_by_hudictl_goes_on_elsewhere(
    unpack: Unpack, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[-1]
    removals = plan(copy, target).undo.removals
    with monkeypatch.context() as patch:
        FailDeletion(removals[0].files[0].data.name if removals[0].files else ".parquet").install(patch)
        assert attempt(lambda: restore(copy, target))
    moved = Copy(version, copy.name, tmp_path / "moved")
    copy.path.rename(moved.path)
    restore(moved, target)
    assert restored(moved)
    assert not {file.path for removal in removals for file in removal.files} & moved.data()


# Plans that lie.


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
@pytest.mark.parametrize("victim", ["outside", "needed", "properties"])
def test_a_stored_plan_deletes_nothing_but_files_of_removed_instants(
    unpack: Unpack, version: str, victim: str, tmp_path: Path
) -> None:
    """A plan that names other files (another table's, the savepoint's, the table's own metadata) frightens nobody."""
    copy = unpack(version, "cow_rollback_interrupted")
    target = copy.savepoints[-1]
    requested = copy.timeline / copy.having("rollback.requested")[0]
    stored = rollback.decode_plan(requested.read_bytes(), requested.name)
    outside = put(tmp_path / "other" / "part-0" / stored.requests[0].files[0].rpartition("/")[2], "rows")
    needed = copy.path / sorted(required(copy.table, plan(copy, target).undo.case))[0]
    path = {"outside": outside, "needed": needed, "properties": copy.meta / "hoodie.properties"}[victim]
    lies = (
        RollbackRequest("part-0", (str(path), f"file://{path}")),
        RollbackRequest("../../other/part-0", (str(path),)),
        RollbackRequest(str(path.parent), (path.name,)),
    )
    put(requested, rollback.encode_plan(StoredRollbackPlan(stored.target, (*stored.requests, *lies))))
    before = copy.data()
    restore(copy, target)
    assert restored(copy)
    assert path.exists()
    assert outside.exists()
    assert needed.exists()
    assert before - copy.data() == {file for file in before if file.rpartition("_")[2][:17] > target}


def test_a_stored_plan_that_forgets_files_is_made_anew(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_rollback_interrupted")
    target = copy.savepoints[-1]
    requested = copy.timeline / copy.having("rollback.requested")[0]
    stored = rollback.decode_plan(requested.read_bytes(), requested.name)
    put(requested, rollback.encode_plan(StoredRollbackPlan(stored.target, ())))
    assert stored.target.time in {
        removal.time for removal in plan(copy, target).undo.removals if removal.rollback is None
    }
    restore(copy, target)
    assert restored(copy)
    assert not [path for path in copy.data() if stored.target.time in path]


# Version 6: rollback blocks.


def blocks(copy: Copy) -> list[tuple[str, str | None, str]]:
    """(file, instant time, target) of every rollback block."""
    found = []
    for path in sorted(copy.data()):
        body = (copy.path / path).read_bytes()
        for block in read_blocks(lambda offset, length, body=body: body[offset : offset + length], len(body)):
            if ".log." in path and block.rollback_target:
                found.append((path, block.instant, block.rollback_target))
    return found


def test_a_second_attempt_writes_no_block_twice(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v6", "mor_savepoints")
    target = copy.savepoints[-1]
    with monkeypatch.context() as patch:
        FailDeletion(".parquet").install(patch)
        assert attempt(lambda: restore(copy, target))
    written = blocks(copy)
    assert written
    restore(copy, target)
    assert blocks(copy) == written


def test_a_block_is_as_old_as_what_it_takes_back(unpack: Unpack) -> None:
    """Pitfalls 8: readers of 0.15.0 stop at a block that is newer than the last commit, and miss what is behind it."""
    copy = unpack("v6", "mor_parquet_logs")
    target = savepoint(copy, copy.commits[0])
    restore(copy, target)
    assert {instant == taken for _, instant, taken in blocks(copy)} == {True}


def test_a_block_that_is_gone_again_is_missed(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_parquet_logs")
    target = savepoint(copy, copy.commits[-2])
    monitor = At("verify", lambda: drop(copy.path / blocks(copy)[0][0]))
    with pytest.raises(HudictlError, match="no rollback block") as caught:
        restore(copy, target, monitor)
    assert caught.value.exit_code == 3
    restore(copy, target)
    assert restored(copy)


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_delta_commit_whose_metadata_is_empty_leaves_no_rows(unpack: Unpack, version: str) -> None:
    """A lost page of the completed file: what it wrote is found in the logs themselves, or nothing is done."""
    copy = unpack(version, "mor_parquet_logs")
    target = savepoint(copy, copy.commits[-2])
    whole = plan(copy, target).undo.removals[0]
    done = copy.file(copy.commits[-1], "deltacommit")
    modified = done.stat().st_mtime
    put(done)
    os.utime(done, (modified, modified))
    error = attempt(lambda: plan(copy, target))
    if error is not None:
        assert error.exit_code == 14
        return
    made = plan(copy, target)
    assert {block.slice for block in made.undo.removals[0].blocks} == {block.slice for block in whole.blocks}
    assert {file.path for file in made.undo.removals[0].files} == {file.path for file in whole.files}


# The end.


def test_a_death_right_after_publishing(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line that makes it true was written: there is nothing to do, and nothing of it is done twice."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]

    def dies(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr(execute, "verify_timeline", dies)
        assert attempt(lambda: restore(copy, target))
    assert plan(copy, target).nothing_to_do
    assert len([name for name in copy.instants() if name.endswith(".restore")]) == 1


def test_a_completed_file_that_another_attempt_wrote_is_not_written_twice(unpack: Unpack) -> None:
    """Pitfalls 25: the completion time in its name would make a second file of it."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]

    def publish() -> None:
        (requested,) = copy.having("restore.requested")
        time = requested.partition(".")[0]
        copy.write(f"{time}_{time}.restore", (copy.meta / ".hudictl" / f"restore-{time}").read_bytes())

    restore(copy, target, At("publish the restore", publish))
    assert len(list(copy.timeline.glob("*.restore"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("died", ["while instants went", "when all were gone"])
def test_the_metadata_names_all_instants_not_only_the_last_attempts(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, died: str
) -> None:
    """What the first attempt deleted stands in rollback plans that it removed as well."""
    copy = unpack("v9", "cow_part")
    target = savepoint(copy, copy.commits[0])
    removals = plan(copy, target).undo.removals

    def dies() -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        if died == "while instants went":
            FailDeletion(f"{removals[-1].time}.commit.requested").install(patch)
            assert attempt(lambda: restore(copy, target))
            assert len(copy.having("commit.requested")) == 2
        else:
            assert attempt(lambda: restore(copy, target, At("publish the restore", dies)))
            assert copy.having("rollback") == []
    assert len(copy.commits) == 1
    restore(copy, target)
    (done,) = copy.timeline.glob("*.restore")
    metadata = next(iter(fastavro.reader(io.BytesIO(done.read_bytes()))))
    assert metadata["instantsToRollback"] == [removal.time for removal in removals]
    deleted = {
        path
        for rollbacks in metadata["hoodieRestoreMetadata"].values()
        for entry in rollbacks
        for partition in entry["partitionMetadata"].values()
        for path in partition["successDeleteFiles"]
    }
    assert deleted == {str(copy.path / file.path) for removal in removals for file in removal.files}


def test_scratch_is_empty_after_a_refusal_under_the_claim(unpack: Unpack) -> None:
    """The guards run once more under the claim; a refusal there releases it and leaves nothing else."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    before = tree(copy.path, OWN)
    lock = copy.meta / "lock"
    with pytest.raises(HudictlError) as caught:
        restore(copy, target, At("check again", lambda: put(lock, "{}")))
    assert caught.value.exit_code == 12
    lock.unlink()
    assert tree(copy.path, OWN) == before
    assert [path.name for path in (copy.meta / ".hudictl").rglob("*") if path.is_file()] == ["claim-1"]
    restore(copy, target)
    assert restored(copy)


def test_a_living_heartbeat_under_the_claim(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    target = savepoint(copy, copy.commits[-1])
    (pending,) = plan(copy, target).undo.removed
    before = tree(copy.path, OWN)
    beat = copy.meta / ".heartbeat" / pending
    old = beat.read_bytes(), beat.stat().st_mtime_ns, beat.with_name(f".{pending}.crc").read_bytes()
    with pytest.raises(HudictlError, match=pending) as caught:
        restore(copy, target, At("check again", beat.touch))
    assert caught.value.exit_code == 12
    os.utime(beat, ns=(old[1], old[1]))
    assert tree(copy.path, OWN) == before


def test_storage_says_what_it_could_not_list(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    before = tree(copy.path)
    real = LocalStorage.list

    def listing(storage: LocalStorage, folder: str) -> object:
        if folder.startswith("part-1"):
            raise StorageFailed("cannot list part-1: Permission denied")
        return real(storage, folder)

    monkeypatch.setattr(LocalStorage, "list", listing)
    with pytest.raises(StorageFailed, match="part-1"):
        plan(copy, target)
    assert tree(copy.path) == before


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_restore_whose_result_has_no_content_goes_on(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[-1]
    die(copy, target, "publish the restore")
    (request,) = copy.having("restore.requested")
    time = request.partition(".")[0]
    copy.write(f"{time}.restore" if version == "v6" else f"{time}_{time[:-1]}9.restore")
    assert "its completed file is empty" in describe_table(copy.table).verdict
    assert plan(copy, target).resumes == time
    restore(copy, target)
    assert_ended(copy, target)
    (found,) = load_timeline(copy.table).having("restore")
    assert [file.state.name for file in found.files] == ["REQUESTED", "INFLIGHT", "COMPLETED"]
    assert copy.file(time, "restore").stat().st_size


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_rollback_that_another_completed_since_stays(unpack: Unpack, version: str) -> None:
    """It proves whose files were taken back."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    die(copy, target, "delete files")
    later = "20991231000000000"
    body = rollback.encode_metadata(RollbackMetadata(later, 0, InstantInfo("20991230000000000", "commit"), {}))
    copy.write(f"{later}.rollback.requested", rollback_plan("20991230000000000"))
    copy.write(f"{later}.rollback.inflight")
    copy.write(f"{later}.rollback" if version == "v6" else f"{later}_{later}.rollback", body)
    restore(copy, target)
    assert copy.having("rollback") == sorted(f"{later}.rollback{state}" for state in ("", ".inflight", ".requested"))


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_partition_that_only_an_unpublished_instant_names(unpack: Unpack, version: str) -> None:
    """It has lost its metafile: once the instant is un-published, its stored rollback alone tells of it."""
    copy = unpack(version, "cow_savepoints")
    last = copy.commits[-1]
    path = next(entry for entry in sorted(copy.data()) if f"_{last}." in entry)
    name = path.rpartition("/")[2]
    put(copy.path / "bare" / name, (copy.path / path).read_bytes())
    stat = {"fileId": name.partition("_")[0], "path": f"bare/{name}"}
    put(copy.file(last, "commit"), json.dumps({"partitionToWriteStats": {"bare": [stat]}, "operationType": "UPSERT"}))
    target = copy.savepoints[-1]
    assert f"bare/{name}" in {row.path for row in plan(copy, target).undo.files}
    die(copy, target, "delete files")
    assert f"bare/{name}" in {row.path for row in plan(copy, target).undo.files}
    restore(copy, target)
    assert f"bare/{name}" not in copy.data()


@pytest.mark.slow
@pytest.mark.parametrize("discard", [False, True])
@pytest.mark.parametrize("left", ["inflight", "requested"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_it_dies_while_it_removes_a_rollback_that_had_ended(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, left: str, discard: bool
) -> None:
    """What is left of that rollback looks pending, of an instant that the restore does not name: it is its own work."""
    copy = unpack(version, "cow_part")
    roll_back(copy, copy.commits[-1])
    (rollback,) = load_timeline(copy.table).having("rollback")
    target = copy.commits[-3]
    with monkeypatch.context() as patch:
        FailDeletion(f"{rollback.time}.rollback.{left}").install(patch)
        with pytest.raises(StorageFailed):
            restore(copy, target, options=RestoreOptions(to_instant=True))
    (pending,) = load_timeline(copy.table).having("rollback")
    assert (pending.time, pending.pending) == (rollback.time, True)
    restore(copy, target, options=RestoreOptions(to_instant=True, discard_rollbacks=discard))
    assert_ended(copy, target)


def test_a_rollback_of_a_kept_commit_that_comes_in_is_still_refused(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the restore is pending; its target is there, and the restore keeps it."""
    copy = unpack("v9", "cow_part")
    target = copy.commits[-3]
    with monkeypatch.context() as patch:
        FailDeletion(".parquet").install(patch)
        with pytest.raises(HudictlError):
            restore(copy, target, options=RestoreOptions(to_instant=True))
    (pending,) = load_timeline(copy.table).having("restore")
    copy.write(f"{time_plus_ms(pending.time, -1)}.rollback.requested", rollback_plan(copy.commits[0]))
    with pytest.raises(HudictlError, match="which the restore keeps") as caught:
        restore(copy, target, options=RestoreOptions(to_instant=True))
    assert caught.value.exit_code == 13
