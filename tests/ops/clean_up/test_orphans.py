"""The deletion of orphans."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Conflict, Incomplete, Refused, Unreadable
from hudictl.formats import savepoint
from hudictl.formats.instants import time_plus_ms
from hudictl.formats.log_blocks import AVRO_DATA, INSTANT_TIME, encode_block
from hudictl.ops.clean_up.orphans import OrphanOptions, plan_orphan_deletion
from hudictl.table.metadata.place import metadata_table_in_use
from hudictl.table.operations import operation_instants, read_operation
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import (
    NEVER,
    OWN,
    At,
    FailDeletion,
    only_listed,
    put,
    session,
    take_over,
    tree,
)
from tests.state.orphans.find_support import (
    LATER,
    between,
    between_commits,
    delete,
    listed_orphan,
    orphan,
    refused,
    rolled_back,
)

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part", "cow_flat_nomdt"])
def test_orphans_go_with_the_metadata_table_where_this_is_asked_for(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    path = listed_orphan(copy, between_commits(copy))
    before = copy.data()
    fate = "none" if name == "cow_flat_nomdt" else "deleted"
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(0, "delete"))
    assert (plan.metadata_table.fate, plan.indexes_lost) == (fate, tuple(sorted(copy.table.indexes)))
    result = delete(copy, metadata="delete")
    assert copy.data() == before - {path}
    assert (result.files_deleted, result.metadata_table) == (1, fate)
    assert not metadata_table_in_use(copy.table)
    assert not list(copy.meta.glob(".metadata*"))
    (operation,) = operation_instants(copy.table.storage)
    record = read_operation(copy.table.storage, operation)
    assert record is not None
    assert (record.operation, record.plan["files"], record.last.exit_code) == ("orphans delete", [path], 0)
    assert (record.plan["metadata_table"], record.plan["indexes_lost"]) == (fate, list(plan.indexes_lost))
    assert delete(copy).files_deleted == 0


@VERSIONS
def test_what_changed_lately_stays(unpack: Unpack, version: str) -> None:
    """A late executor may be at work."""
    copy = unpack(version, "cow_part")
    path = orphan(copy, between_commits(copy), old=False)
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(600000))
    assert (plan.files, plan.metadata_table.fate) == ((), "kept")
    (left,) = plan.left
    assert (left.file.path, left.sure) == (path, False)
    assert "it was changed" in left.why


def test_behind_a_link_none_is_deleted(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    path = orphan(copy, between_commits(copy))
    folder = copy.path / path.rpartition("/")[0]
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    plan = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    assert (plan.orphans, [left.file.path for left in plan.left]) == ((), [path])
    assert "behind a symbolic link" in plan.files_left[0].why
    with pytest.raises(Refused, match="behind a symbolic link"):
        plan_orphan_deletion(session(copy.table), OrphanOptions(0, paths=(path,)))


def test_an_instant_that_appears_keeps_its_files(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    path, other = orphan(copy, between_commits(copy)), orphan(copy, time_plus_ms(copy.commits[0], 2))
    appear = At("delete files", lambda: copy.write(f"{between_commits(copy)}.commit.requested"))
    result = delete(copy, appear)
    assert (result.files_left, result.files_deleted) == ((path,), 1)
    assert path in copy.data()
    assert other not in copy.data()


def test_a_log_below_version_8_that_somebody_goes_on_in_stays(unpack: Unpack) -> None:
    """Where a store can append, a writer takes the newest log of a slice, whoever has begun it. Another log may take
    back what stands in it."""
    copy = unpack("v6", "mor_part")
    log = next(path for path in sorted(copy.data()) if ".log." in path)
    slice_of = f"{log.split('_')[0]}_{between_commits(copy)}"
    paths = [f"{slice_of}.log.{number}_9-9-9" for number in (1, 2)]
    writer = time_plus_ms(between_commits(copy), 1)
    rolled_back(copy, writer)
    block = encode_block(AVRO_DATA, {INSTANT_TIME: writer}, b"rows")
    for path in paths:
        put(copy.path / path, block)
    theirs = encode_block(AVRO_DATA, {INSTANT_TIME: LATER}, b"rows")
    append = At("delete files", lambda: put(copy.path / paths[1], block + theirs, old=False))
    assert delete(copy, append).files_left == tuple(paths)
    assert set(paths) <= copy.data()


@VERSIONS
@pytest.mark.parametrize("what", ["savepoint", "commit", "plan"])
def test_what_something_names_by_then_stays(unpack: Unpack, version: str, what: str) -> None:
    """A savepoint of now, a commit that wrote it, a clean that is planned: the last look is at the deletion."""
    copy = unpack(version, "cow_savepoints")
    newest, time = copy.commits[-1], between_commits(copy)
    like = sorted(entry for entry in copy.data() if newest in entry)[0]
    path, other = like.replace(newest, time), orphan(copy, time)
    put(copy.path / path, b"rows")
    saved = copy.file(copy.savepoints[0], "savepoint")
    metadata = savepoint.decode(saved.read_bytes(), saved.name)
    partition, name = path.rsplit("/", 1)
    commit = copy.file(newest, "commit")

    def appear() -> None:
        if what == "savepoint":
            files = {**metadata.files, partition: (*metadata.files.get(partition, ()), name)}
            put(saved, savepoint.encode(replace(metadata, files=files)), old=False)
        elif what == "commit":
            assert like.encode() in commit.read_bytes()
            put(commit, commit.read_bytes().replace(like.encode(), path.encode()), old=False)
        else:
            copy.write(f"{time_plus_ms(LATER, 9)}.clean.requested", records.clean_plan([path]))

    assert delete(copy, At("delete files", appear)).files_left == (path,)
    assert path in copy.data()
    assert other not in copy.data()


@VERSIONS
def test_a_commit_that_cannot_be_read_by_then_keeps_all(unpack: Unpack, version: str) -> None:
    """It may name any of the files."""
    copy = unpack(version, "cow_part")
    path = orphan(copy, between_commits(copy))
    commit = copy.file(copy.commits[0], "commit")
    with pytest.raises(Unreadable, match=commit.name):
        delete(copy, At("delete files", lambda: put(commit, b"garbage", old=False)))
    assert path in copy.data()


@pytest.mark.parametrize("metadata", ["keep", "delete"])
def test_a_write_that_has_begun_since_planning_keeps_all(unpack: Unpack, metadata: str) -> None:
    """Its metadata table would be taken away, or changed, under it."""
    copy = unpack("v9", "cow_part")
    path = listed_orphan(copy, between_commits(copy))

    def begin() -> None:
        copy.write(f"{time_plus_ms(LATER, 9)}.commit.requested", old=False)
        copy.write(f"{time_plus_ms(LATER, 9)}.inflight", old=False)

    with pytest.raises(Conflict, match="may be running"):
        delete(copy, At("check again", begin), idle_ms=600_000, metadata=metadata)
    assert path in copy.data()
    assert metadata_table_in_use(copy.table)


@pytest.mark.parametrize(
    ("metadata", "step"),
    [("delete", "take the metadata table out of use"), ("keep", "take the files out of the metadata table")],
)
def test_a_claim_that_was_taken_over_keeps_the_metadata_table(unpack: Unpack, metadata: str, step: str) -> None:
    copy = unpack("v9", "cow_part")
    path = listed_orphan(copy, between_commits(copy))
    before = tree(copy.path, OWN)
    with pytest.raises(Conflict, match="taken over"):
        delete(copy, At(step, lambda: take_over(copy)), metadata=metadata)
    assert metadata_table_in_use(copy.table)
    assert tree(copy.path, OWN) == before
    assert path in copy.data()


@pytest.mark.parametrize("metadata", ["keep", "delete"])
def test_a_live_write_keeps_the_metadata_table(unpack: Unpack, metadata: str) -> None:
    """Only where it must go, or change: beside a running writer the rest is harmless."""
    copy = unpack("v9", "cow_part")
    listed_orphan(copy, between_commits(copy))
    copy.write(f"{LATER}.commit.requested", old=False)
    copy.write(f"{LATER}.inflight", old=False)
    with pytest.raises(Conflict, match="may be running"):
        plan_orphan_deletion(session(copy.table), OrphanOptions(600000, metadata))
    flat = unpack("v9", "cow_flat_nomdt")
    orphan(flat, between_commits(flat))
    flat.write(f"{LATER}.commit.requested", old=False)
    assert delete(flat, idle_ms=600_000).files_deleted == 1


def test_a_metadata_table_that_comes_back_goes_again(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    listed_orphan(copy, between_commits(copy))
    kept = copy.path.parent / "kept"
    shutil.copytree(copy.meta / "metadata", kept)
    delete(copy, At("verify", lambda: shutil.copytree(kept, copy.meta / "metadata")), metadata="delete")
    assert not metadata_table_in_use(copy.table)


def test_one_that_came_since_planning_is_nobodys_consent(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    path = orphan(copy, between_commits(copy))
    with pytest.raises(Conflict, match="since planning"):
        delete(copy, At("check again", lambda: (copy.meta / "metadata").mkdir()))
    assert path in copy.data()


def test_a_file_that_cannot_be_deleted_is_named(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    path = orphan(copy, between_commits(copy))
    FailDeletion(path).install(monkeypatch)
    with pytest.raises(Incomplete, match="Operation not permitted") as caught:
        delete(copy)
    assert caught.value.fields["files"] == [path]
    monkeypatch.undo()
    assert delete(copy).files_deleted == 1


def test_a_file_that_is_only_said_to_be_deleted_is_named(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    path = orphan(copy, between_commits(copy))
    FailDeletion(path, None).install(monkeypatch)
    with pytest.raises(Incomplete, match="could not be deleted") as caught:
        delete(copy)
    assert caught.value.fields["files"] == [path]


@VERSIONS
def test_rows_that_only_the_metadata_table_shows_stay(unpack: Unpack, version: str) -> None:
    """No listing comes to the folder; readers do, and a rollback alone does not say what they see."""
    copy = unpack(version, "cow_part")
    path = only_listed(copy, "old")
    rolled_back(copy, NEVER, partitions=("old",))
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0))
    assert made.orphans == ()
    assert [(orphan.file.path, "metadata table" in orphan.why) for orphan in made.left] == [(path, True)]


def test_a_damaged_archive_stops_it(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_cleaned")
    orphan(copy, between(copy))
    for file in (copy.timeline / "history").glob("*.parquet"):
        put(file, b"garbage")
    assert refused(copy, Unreadable).exit_code == 14
