"""Orphans: which files belong to no instant, and how sure that is."""

import shutil
from dataclasses import replace

import pytest

from hudictl.errors import HudictlError, Refused
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
from tests import support
from tests.fixtures import Unpack
from tests.helpers import (
    ENGINE,
    Copy,
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


def refused(copy: Copy, kind: type[HudictlError]) -> HudictlError:
    before = tree(copy.path)
    with pytest.raises(kind) as caught:
        plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    assert tree(copy.path) == before
    return caught.value


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
