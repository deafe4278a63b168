"""Orphans: which files belong to no instant, how sure that is, and their deletion."""

import shutil
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, HudictlError, Incomplete, Refused, Unreadable
from hudictl.formats import avro, rollback
from hudictl.formats import savepoint as savepoint_format
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block
from hudictl.formats.rollback import InstantInfo, RollbackMetadata
from hudictl.ops.orphans import OrphanOptions, OrphanResult, delete_orphans, plan_orphan_deletion
from hudictl.ops.session import Silent
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.orphans import ON_NO_TIMELINE, Orphan, find_orphans
from hudictl.table.archive import archived_after
from hudictl.table.metadata_table import metadata_table_in_use
from hudictl.table.operations import operation_instants, read_operation
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    OWN,
    At,
    Copy,
    FailDeletion,
    drop,
    pending_restore,
    put,
    restore,
    rollback_plan,
    session,
    tree,
)

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
LONG_AGO = "20200101000000000"
LATER = "20261121235959000"


def orphans(copy: Copy) -> list[Orphan]:
    table = copy.table
    return find_orphans(read_facts(table, ENGINE, read_signs(table)), ENGINE)


def found(copy: Copy) -> dict[str, tuple[str, bool]]:
    return {orphan.file.path: (orphan.why, orphan.sure) for orphan in orphans(copy)}


def delete(copy: Copy, monitor: object = None, idle_ms: int = 0) -> OrphanResult:
    table = copy.table
    plan = plan_orphan_deletion(session(table), OrphanOptions(idle_ms))
    return delete_orphans(session(table, monitor or Silent()), plan)  # type: ignore[arg-type]


def written_by(copy: Copy, time: str) -> set[str]:
    return {path for path in copy.data() if f"_{time}." in path}


def lose(copy: Copy, time: str) -> set[str]:
    """Takes an instant off the timeline, and nothing else; returns its files."""
    for path in [*copy.timeline.glob(f"{time}[._]*")]:
        drop(path)
    return written_by(copy, time)


def stray(copy: Copy, time: str, *, old: bool = True) -> str:
    """A base file as a killed writer leaves it, of another instant than its neighbour's; returns its path."""
    like = sorted(path for path in copy.data() if path.endswith(".parquet"))[0]
    path = f"{like.rpartition('_')[0]}_{time}.parquet"
    put(copy.path / path, (copy.path / like).read_bytes(), old=old)
    return path


def rolled_back(copy: Copy, target: str, rollback_time: str = LATER) -> None:
    """A completed rollback, as Hudi publishes it."""
    record = rollback.metadata_to_avro(RollbackMetadata(rollback_time, 1, InstantInfo(target, "commit"), {}))
    body = avro.encode(record, avro.record(rollback.METADATA, *rollback.METADATA_FIELDS, top=True))
    completed = "" if copy.version == "v6" else f"_{rollback_time}"
    copy.write(f"{rollback_time}{completed}.rollback", body)


@pytest.mark.parametrize(("version", "name"), [(v, name) for v in support.VERSIONS for name in support.names(v)])
def test_no_real_table_has_any(unpack: Unpack, version: str, name: str) -> None:
    """Also those of killed writers: what a pending write has left is a failed write's; nor the archived, clustered,
    replaced or change log files."""
    assert orphans(unpack(version, name)) == []


def between(copy: Copy) -> str:
    """A time between the first two commits that are archived, of which nothing knows."""
    archived = sorted(entry.time for entry in archived_after(copy.table, "") if entry.action == "commit")
    return time_plus_ms(archived[0], 1)


@VERSIONS
def test_a_file_whose_instant_the_timeline_does_not_have(unpack: Unpack, version: str) -> None:
    """Readers pass it over: its instant is younger than the timeline's start."""
    copy = unpack(version, "cow_part")
    files = lose(copy, copy.commits[-1])
    assert files
    assert found(copy) == dict.fromkeys(files, (ON_NO_TIMELINE, True))
    assert not any(orphan.visible for orphan in orphans(copy))


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_log_files_too(unpack: Unpack, version: str) -> None:
    """From version 8 on they carry their writer's instant."""
    copy = unpack(version, "mor_part")
    time = copy.commits[-1]
    lose(copy, time)
    lost = {path for path in copy.data() if f"_{time}." in path}
    assert any(".log." in path for path in lost)
    assert found(copy) == dict.fromkeys(lost, (ON_NO_TIMELINE, True))


def between_commits(copy: Copy) -> str:
    return time_plus_ms(copy.commits[0], 1)


def test_a_log_below_version_8_with_nobodys_rows_is_sure(unpack: Unpack) -> None:
    """Its slice's compaction is gone, and so are the writes that went into it."""
    copy = unpack("v6", "mor_part")
    path = next(path for path in sorted(copy.data()) if ".log." in path)
    base = between_commits(copy)
    folder, name = path.rsplit("/", 1)
    other = f"{folder}/{name.split('_')[0]}_{base}.log.1_9-9-9"
    put(copy.path / other, encode_block(AVRO_DATA, {INSTANT_TIME: time_plus_ms(base, 1)}, b"rows"))
    assert found(copy) == {other: (ON_NO_TIMELINE, True)}
    put(copy.path / other, encode_block(AVRO_DATA, {INSTANT_TIME: copy.commits[1]}, b"rows"))
    assert found(copy) == {other: (f"{ON_NO_TIMELINE}; it holds rows of {copy.commits[1]}", False)}


@VERSIONS
def test_older_than_the_timeline_it_is_visible_and_the_archive_proves_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    path = stray(copy, between(copy))
    (orphan,) = orphans(copy)
    assert (orphan.file.path, orphan.why, orphan.sure, orphan.visible) == (path, ON_NO_TIMELINE, True, True)


@VERSIONS
def test_an_archived_commit_owns_its_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    (owner, *_) = sorted(entry.time for entry in archived_after(copy.table, "") if entry.action == "commit")
    stray(copy, owner)
    assert orphans(copy) == []


@VERSIONS
def test_before_the_archive_begins_nobody_can_tell(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    path = stray(copy, LONG_AGO)
    assert found(copy) == {path: ("its instant is on no timeline, and the archive does not reach there", False)}
    rolled_back(copy, LONG_AGO)
    assert found(copy) == {path: (f"taken back by the rollback {LATER}", True)}


@VERSIONS
def test_with_the_archive_lost_nothing_older_than_the_timeline_is_sure(unpack: Unpack, version: str) -> None:
    """Whole commits would be deleted."""
    copy = unpack(version, "cow_cleaned")
    stray(copy, between(copy))
    archive = copy.meta / "archived" if version == "v6" else copy.timeline / "history"
    shutil.rmtree(archive)
    assert found(copy)
    assert not any(sure for _, sure in found(copy).values())


def test_with_a_part_of_the_archive_lost_neither(unpack: Unpack) -> None:
    """Version 6: a log file of the archive is gone, and later commits have built on what it held."""
    copy = unpack("v6", "cow_cleaned")
    path = stray(copy, between(copy))
    assert found(copy)[path][1]
    logs = sorted(
        (copy.meta / "archived").glob(".commits_.archive.*"), key=lambda log: int(log.name.split(".")[3].split("_")[0])
    )
    drop(logs[-1])
    assert not found(copy)[path][1]


@VERSIONS
def test_a_timeline_that_lost_its_beginning_makes_nothing_sure(unpack: Unpack, version: str) -> None:
    """Of what lies between the archive and the timeline nobody knows anything."""
    copy = unpack(version, "cow_savepoints")
    for time in copy.commits[:2]:
        lose(copy, time)
    assert found(copy)
    assert not any(sure for _, sure in found(copy).values())


@VERSIONS
def test_nor_does_an_empty_timeline(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    for time in copy.commits:
        lose(copy, time)
    assert set(found(copy)) == copy.data()
    assert not any(sure for _, sure in found(copy).values())


@VERSIONS
def test_a_lost_commit_that_others_have_built_on_is_not_sure(unpack: Unpack, version: str) -> None:
    """Somebody deleted its files by hand: the rows may be wanted back."""
    copy = unpack(version, "cow_savepoints")
    files = lose(copy, copy.commits[1])
    built = {path: why for path, (why, sure) in found(copy).items() if not sure}
    assert set(built) == set(found(copy)) == files
    assert set(built.values()) == {"later commits have built on its instant, which is on no timeline"}


@VERSIONS
def test_what_a_pending_rollback_or_restore_names_is_theirs(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    lost = copy.commits[-1]
    assert lose(copy, lost)
    request = copy.write(f"{LATER}.rollback.requested", rollback_plan(lost))
    assert orphans(copy) == []
    assert "is pending" in refused(copy, Refused).message
    drop(request)
    assert orphans(copy)
    copy.write(f"{lost}.commit")
    pending_restore(copy, LATER, copy.commits[0], begun=False)
    drop(copy.timeline / f"{lost}.commit")
    assert orphans(copy) == []
    assert "is pending" in refused(copy, Refused).message


@VERSIONS
def test_what_a_completed_restore_names_is_sure(unpack: Unpack, version: str) -> None:
    """A late executor's file."""
    copy = unpack(version, "cow_savepoints")
    target, gone = copy.savepoints[-1], copy.commits[-1]
    path = sorted(written_by(copy, gone))[0]
    body = (copy.path / path).read_bytes()
    done = restore(copy, target)
    put(copy.path / path, body)
    assert found(copy) == {path: (f"taken back by the restore {done.restore}", True)}


@VERSIONS
def test_a_savepoint_keeps_what_it_names(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    path = stray(copy, between_commits(copy))
    saved = copy.file(copy.savepoints[0], "savepoint")
    metadata = savepoint_format.decode(saved.read_bytes(), saved.name)
    partition, name = path.rsplit("/", 1)
    names = (*metadata.files[partition], name)
    put(saved, savepoint_format.encode(replace(metadata, files={**metadata.files, partition: names})), old=False)
    assert found(copy) == {path: (f"{ON_NO_TIMELINE}; the savepoint {copy.savepoints[0]} names it", False)}
    assert delete(copy).files_deleted == 0
    assert path in copy.data()


def refused(copy: Copy, kind: type[HudictlError]) -> HudictlError:
    before = tree(copy.path)
    with pytest.raises(kind) as caught:
        plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    assert tree(copy.path) == before
    return caught.value


# Deleting


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_flat_nomdt"])
def test_orphans_go_with_the_metadata_table_that_may_list_them(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    path = stray(copy, between_commits(copy))
    before = copy.data()
    used = metadata_table_in_use(copy.table)
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    assert (plan.metadata_table_dropped, plan.indexes_lost) == (used, copy.table.indexes)
    result = delete(copy)
    assert copy.data() == before - {path}
    assert result.files_deleted == 1
    assert result.metadata_table_dropped == used == (name != "cow_flat_nomdt")
    assert not metadata_table_in_use(copy.table)
    assert not list(copy.meta.glob(".metadata*"))
    (operation,) = operation_instants(copy.table.storage)
    record = read_operation(copy.table.storage, operation)
    assert record is not None
    assert (record.operation, record.plan["files"], record.last.exit_code) == ("orphans delete", [path], 0)
    assert delete(copy).files_deleted == 0


@VERSIONS
def test_what_changed_lately_stays(unpack: Unpack, version: str) -> None:
    """A late executor may be at work."""
    copy = unpack(version, "cow_part")
    path = stray(copy, between_commits(copy), old=False)
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(600000))
    assert (plan.files, plan.metadata_table_dropped) == ((), False)
    (left,) = plan.left
    assert (left.file.path, left.sure) == (path, False)
    assert "it changed" in left.why


def test_an_instant_that_appears_keeps_its_files(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    path, other = stray(copy, between_commits(copy)), stray(copy, time_plus_ms(copy.commits[0], 2))
    appear = At("delete files", lambda: copy.write(f"{between_commits(copy)}.commit.requested"))
    result = delete(copy, appear)
    assert (result.files_left, result.files_deleted) == ((path,), 1)
    assert path in copy.data()
    assert other not in copy.data()


def test_a_log_below_version_8_that_somebody_goes_on_in_stays(unpack: Unpack) -> None:
    """Where a store can append, a writer takes the newest log of a slice, whoever has begun it."""
    copy = unpack("v6", "mor_part")
    log = next(path for path in sorted(copy.data()) if ".log." in path)
    slice_of = f"{log.split('_')[0]}_{between_commits(copy)}"
    paths = [f"{slice_of}.log.{number}_9-9-9" for number in (1, 2)]
    block = encode_block(AVRO_DATA, {INSTANT_TIME: time_plus_ms(between_commits(copy), 1)}, b"rows")
    for path in paths:
        put(copy.path / path, block)
    theirs = encode_block(AVRO_DATA, {INSTANT_TIME: LATER}, b"rows")
    append = At("delete files", lambda: put(copy.path / paths[1], block + theirs, old=False))
    assert delete(copy, append).files_left == (paths[1],)
    assert set(paths) & copy.data() == {paths[1]}


def test_a_claim_that_was_taken_over_keeps_the_metadata_table(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    path = stray(copy, between_commits(copy))
    take_over = At("take the metadata table out of use", lambda: put(copy.path / OWN / "claim-2", "{}"))
    with pytest.raises(Conflict, match="taken over"):
        delete(copy, take_over)
    assert metadata_table_in_use(copy.table)
    assert path in copy.data()


def test_a_live_write_keeps_the_metadata_table(unpack: Unpack) -> None:
    """Only where it must go: beside a running writer the rest is harmless."""
    copy = unpack("v9", "cow_part")
    stray(copy, between_commits(copy))
    copy.write(f"{LATER}.commit.requested", old=False)
    copy.write(f"{LATER}.inflight", old=False)
    with pytest.raises(Conflict, match="may be running"):
        plan_orphan_deletion(session(copy.table), OrphanOptions(600000))
    flat = unpack("v9", "cow_flat_nomdt")
    stray(flat, between_commits(flat))
    flat.write(f"{LATER}.commit.requested", old=False)
    assert delete(flat, idle_ms=600_000).files_deleted == 1


def test_a_metadata_table_that_comes_back_goes_again(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    stray(copy, between_commits(copy))
    kept = copy.path.parent / "kept"
    shutil.copytree(copy.meta / "metadata", kept)
    delete(copy, At("verify", lambda: shutil.copytree(kept, copy.meta / "metadata")))
    assert not metadata_table_in_use(copy.table)


def test_one_that_came_since_planning_is_nobodys_consent(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    path = stray(copy, between_commits(copy))
    with pytest.raises(Conflict, match="since planning"):
        delete(copy, At("check again", lambda: (copy.meta / "metadata").mkdir()))
    assert path in copy.data()


def test_a_file_that_cannot_be_deleted_is_named(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    path = stray(copy, between_commits(copy))
    FailDeletion(path).install(monkeypatch)
    with pytest.raises(Incomplete, match="Operation not permitted") as caught:
        delete(copy)
    assert caught.value.fields["files"] == [path]
    monkeypatch.undo()
    assert delete(copy).files_deleted == 1


def test_a_damaged_archive_stops_it(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_cleaned")
    stray(copy, between(copy))
    for file in (copy.timeline / "history").glob("*.parquet"):
        put(file, b"garbage")
    assert refused(copy, Unreadable).exit_code == 14
