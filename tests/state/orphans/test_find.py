"""Orphans: which files belong to no instant, and how sure that is."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Refused
from hudictl.formats import savepoint as savepoint_format
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block
from hudictl.state.orphans.ownership import ON_NO_TIMELINE
from hudictl.table.timeline.archive import archived_after
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import (
    Copy,
    drop,
    pending_restore,
    put,
    restore,
    rollback_plan,
)
from tests.state.orphans.find_support import (
    LATER,
    LONG_AGO,
    UNPROVED,
    between,
    between_commits,
    delete,
    found,
    lose,
    mark,
    orphan,
    orphans,
    refused,
    rollback_result,
    rolled_back,
    stray,
    taken_back,
    written_by,
)

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def archive_of(copy: Copy) -> Path:
    return copy.meta / "archived" if copy.version == "v6" else copy.timeline / "history"


@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_no_real_table_has_any(unpack: Unpack, version: str, name: str) -> None:
    """Also those of killed writers: what a pending write has left is a failed write's; nor the archived, clustered,
    replaced or change log files."""
    assert orphans(unpack(version, name)) == []


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "cow_flat_nomdt", "mor_part"])
def test_a_lost_commit_alone_proves_nothing(unpack: Unpack, version: str, name: str) -> None:
    """It looks as a write that failed; a rollback of it proves that it is none."""
    copy = unpack(version, name)
    files = lose(copy, copy.commits[-1])
    lost = {path for path in files if path in found(copy)}
    assert lost == (files if version != "v6" or name != "mor_part" else set())
    newer = f"{UNPROVED}; the instant is newer than the newest completed write {copy.commits[-1]}"
    assert found(copy) == dict.fromkeys(lost, (newer, False))
    assert not any(entry.visible for entry in orphans(copy))


def cut(copy: Copy, after: str, *, metadata: bool) -> None:
    """The timeline as an older copy of .hoodie has it; the metadata table's, too, or not."""
    folders = [copy.timeline]
    if metadata:
        folders.append(copy.meta / "metadata/.hoodie" / ("" if copy.version == "v6" else "timeline"))
    for folder in folders:
        for path in [*folder.glob("[0-9]*.*")]:
            if path.name[:17] > after:
                drop(path)


@pytest.mark.slow
@VERSIONS
@pytest.mark.short("v6-metadata table too", "v9-the timeline", "v9-mor_part-metadata table too")
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_cleaned", "cow_cluster", "cow_savepoints"])
@pytest.mark.parametrize("metadata", [False, True], ids=["the timeline", "metadata table too"])
def test_put_back_from_an_older_copy_it_loses_nothing(unpack: Unpack, version: str, name: str, metadata: bool) -> None:
    """Whatever commit that copy ends with; the markers of the lost ones may be there."""
    copy = unpack(version, name)
    files = copy.data()
    for path in files:
        mark(copy, path)
    *earlier, _ = copy.commits
    for last in reversed(earlier):
        cut(copy, last, metadata=metadata)
        assert not any(entry.sure for entry in orphans(copy)), last
    assert orphans(copy)
    assert delete(copy).files_deleted == 0
    assert copy.data() == files


@VERSIONS
def test_nor_after_writers_have_gone_on(unpack: Unpack, version: str) -> None:
    """The metadata table was put back along: it goes on like the timeline, and has never known the lost commit."""
    copy = unpack(version, "cow_part")
    files = lose(copy, copy.commits[-2])
    folder = copy.meta / "metadata/.hoodie" / ("" if version == "v6" else "timeline")
    lost = sorted(files)[0].split("_")[-1].split(".")[0]
    for path in [*folder.glob(f"{lost}*")]:
        drop(path)
    found_ = found(copy)
    assert set(found_) == files
    assert not any(sure for _, sure in found_.values())


@VERSIONS
def test_its_rollback_is_the_second_reason(unpack: Unpack, version: str) -> None:
    """Readers pass the files over: their instant is younger than the timeline's start."""
    copy = unpack(version, "cow_part")
    last = copy.commits[-1]
    files = lose(copy, last)
    rolled_back(copy, last, "commit", ("part-3",))
    assert found(copy) == dict.fromkeys(files, (taken_back(), True))
    assert not any(entry.visible or entry.beyond for entry in orphans(copy))


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_log_files_too(unpack: Unpack, version: str) -> None:
    """From version 8 on they carry their writer's instant."""
    copy = unpack(version, "mor_part")
    time = copy.commits[-1]
    lost = lose(copy, time)
    assert any(".log." in path for path in lost)
    rolled_back(copy, time)
    assert found(copy) == dict.fromkeys(lost, (taken_back(), True))


def test_a_log_below_version_8_is_sure_once_all_its_rows_were_taken_back(unpack: Unpack) -> None:
    """Its slice's compaction is gone, and so are the writes that went into it: their rollbacks prove it."""
    copy = unpack("v6", "mor_part")
    path = next(path for path in sorted(copy.data()) if ".log." in path)
    base = between_commits(copy)
    writer = time_plus_ms(base, 1)
    folder, name = path.rsplit("/", 1)
    logs = [f"{folder}/{name.split('_')[0]}_{base}.log.{number}_9-9-9" for number in (1, 2)]
    for log in logs:
        put(copy.path / log, encode_block(AVRO_DATA, {INSTANT_TIME: writer}, b"rows"))
    assert found(copy) == dict.fromkeys(logs, (f"{UNPROVED}; the file contains rows of {writer}", False))
    rolled_back(copy, writer)
    assert found(copy) == dict.fromkeys(logs, (taken_back(), True))
    # Of a slice nothing goes before all of it can: a log may take back what stands in another one.
    put(copy.path / logs[0], encode_block(AVRO_DATA, {INSTANT_TIME: copy.commits[1]}, b"rows"))
    assert found(copy) == {
        logs[0]: (f"{UNPROVED}; the file contains rows of {copy.commits[1]}", False),
        logs[1]: (f"{taken_back()}; a log of its slice is kept", False),
    }


@VERSIONS
def test_older_than_the_timeline_it_is_visible_and_the_archive_alone_proves_nothing(
    unpack: Unpack, version: str
) -> None:
    """The archive may have lost the very instant; it knows rollbacks, too, and they prove it."""
    copy = unpack(version, "cow_cleaned")
    time = between(copy)
    path = stray(copy, time)
    (entry,) = orphans(copy)
    assert (entry.file.path, entry.why, entry.sure, entry.visible) == (path, UNPROVED, False, True)
    records.archive(copy, LATER, "rollback", rollback_result(time))
    (entry,) = orphans(copy)
    assert (entry.file.path, entry.why, entry.sure, entry.visible) == (path, taken_back(), True, True)


@VERSIONS
def test_an_archived_commit_owns_its_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    (owner, *_) = sorted(entry.time for entry in archived_after(copy.table, "") if entry.action == "commit")
    stray(copy, owner)
    assert orphans(copy) == []


@VERSIONS
@pytest.mark.parametrize("archived", [False, True], ids=["active", "archived"])
def test_before_the_archive_begins_a_rollback_proves_it(unpack: Unpack, version: str, archived: bool) -> None:
    copy = unpack(version, "cow_cleaned")
    path = stray(copy, LONG_AGO)
    assert found(copy) == {path: (UNPROVED, False)}
    if archived:
        records.archive(copy, LATER, "rollback", rollback_result(LONG_AGO))
    else:
        rolled_back(copy, LONG_AGO)
    assert found(copy) == {path: (taken_back(), True)}


def keep_one(copy: Copy) -> str:
    """The timeline as a writer leaves it that archives beyond a savepoint: an old commit stays. Returns its time."""
    (old, *_) = sorted(entry.time for entry in archived_after(copy.table, "") if entry.action == "commit")
    like = copy.file(copy.commits[0], "commit")
    copy.write(like.name.replace(copy.commits[0], old), like.read_bytes())
    return old


@VERSIONS
@pytest.mark.parametrize("old", [False, True], ids=["", "one old commit stays"])
@pytest.mark.parametrize("part", ["whole", "end"])
def test_with_the_archive_lost_nothing_is_sure(unpack: Unpack, version: str, part: str, old: bool) -> None:
    """Whole commits would be deleted."""
    copy = unpack(version, "cow_cleaned")
    archived = sorted(entry.time for entry in archived_after(copy.table, "") if entry.action == "commit")
    path = stray(copy, archived[-1])
    if old:
        keep_one(copy)
    if part == "whole":
        shutil.rmtree(archive_of(copy))
    elif version == "v6":
        logs = sorted(archive_of(copy).glob(".commits_.archive.*"), key=lambda log: int(log.name[18:].split("_")[0]))
        for log in logs[-2:]:
            drop(log)
    else:
        lose_end(archive_of(copy))
    assert path in found(copy)
    assert not any(sure for _, sure in found(copy).values())


def lose_end(folder: Path) -> None:
    """The last file of a version 8 archive, and the manifest's word of it."""
    for manifest in folder.glob("manifest_*"):
        named = json.loads(manifest.read_text())
        named["files"] = sorted(named["files"], key=lambda file: str(file["fileName"]))[:-1]
        put(manifest, json.dumps(named))


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
    assert set(built.values()) == {f"{UNPROVED}; later commits are based on its instant"}
    rolled_back(copy, sorted(files)[0].split("_")[-1].split(".")[0], "commit")
    assert set(found(copy).values()) == {(f"{taken_back()}; later commits are based on its instant", False)}


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
    assert found(copy) == {path: (f"{ON_NO_TIMELINE}, and the restore {done.restore} rolled it back", True)}


@VERSIONS
def test_a_savepoint_keeps_what_it_names(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    path = orphan(copy, between_commits(copy))
    saved = copy.file(copy.savepoints[0], "savepoint")
    metadata = savepoint_format.decode(saved.read_bytes(), saved.name)
    partition, name = path.rsplit("/", 1)
    names = (*metadata.files[partition], name)
    put(saved, savepoint_format.encode(replace(metadata, files={**metadata.files, partition: names})), old=False)
    assert found(copy) == {path: (f"{taken_back()}; the savepoint {copy.savepoints[0]} names the file", False)}
    assert delete(copy).files_deleted == 0
    assert path in copy.data()
