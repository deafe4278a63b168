"""Empty data files: while one is there, Hudi cannot build the metadata table again, and each write fails."""

import pytest

from hudictl.errors import HudictlError, Refused
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, attempt, die, drop, plan, put, restore, roll_back, rollback_of, step_of, tree, unlisted
from tests.state.orphans.find_support import between_commits

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def left_empty(copy: Copy, time: str) -> str:
    """A base file of a write that died at once; returns its path."""
    path = unlisted(copy, time)
    put(copy.path / path, b"")
    return path


def refused(copy: Copy) -> HudictlError:
    before = tree(copy.path)
    error = attempt(lambda: plan(copy, copy.savepoints[-1]))
    assert isinstance(error, Refused)
    assert tree(copy.path) == before
    return error


@VERSIONS
def test_a_restore_is_refused_before_anything_changes(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    path = left_empty(copy, between_commits(copy))
    error = refused(copy)
    assert error.fields["files"] == [path]
    assert "hudictl orphans delete" in error.hint
    drop(copy.path / path)
    assert restore(copy, copy.savepoints[-1]).files_deleted


@VERSIONS
def test_one_of_an_instant_that_is_removed_or_pending_is_not_in_the_way(unpack: Unpack, version: str) -> None:
    """It is deleted with its instant; that of a pending write Hudi leaves out."""
    copy = unpack(version, "cow_savepoints")
    left_empty(copy, copy.commits[-1])
    target = copy.savepoints[-1]
    early = time_plus_ms(copy.commits[0], 1)
    copy.write(f"{early}.commit.requested")
    copy.write(f"{early}.inflight")
    assert plan(copy, target).undo.files_to_delete


@pytest.mark.short("v8", "v9")
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_an_empty_log_harms_from_version_9_on(unpack: Unpack, version: str) -> None:
    """1.0.2 builds the metadata table beside one; below version 8 a restore deletes it."""
    copy = unpack(version, "mor_savepoints")
    log = next(path for path in sorted(copy.data()) if ".log.1_" in path)
    data = parse_data_file(log.rpartition("/")[2])
    assert data is not None
    put(copy.path / log.replace(data.instant, between_commits(copy)), b"")
    error = attempt(lambda: plan(copy, copy.savepoints[-1]))
    assert isinstance(error, Refused) is (version == "v9")


@VERSIONS
def test_none_is_in_the_way_where_nothing_is_to_do(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    left_empty(copy, between_commits(copy))
    assert plan(copy, copy.commits[-1], RestoreOptions(to_instant=True)).nothing_to_do


@VERSIONS
def test_a_table_without_metadata_table_is_not_concerned(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    like = next(path for path in sorted(copy.data()) if path.endswith(".parquet"))
    data = parse_data_file(like)
    assert data is not None
    put(copy.path / like.replace(data.instant, between_commits(copy)).replace(data.file_id, "deadbeef-0"), b"")
    assert plan(copy, copy.commits[-2], RestoreOptions(to_instant=True)).undo.files_to_delete


@VERSIONS
def test_a_restore_that_has_begun_goes_on(unpack: Unpack, version: str) -> None:
    """There is no other way to end it."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    die(copy, target, "delete files")
    left_empty(copy, between_commits(copy))
    assert restore(copy, target).target == target


@pytest.mark.parametrize(("metadata", "step"), [("keep", "set aside"), ("delete", "deleted")])
def test_a_rollback_that_takes_the_metadata_table_out_of_use_is_refused_too(
    unpack: Unpack, metadata: str, step: str
) -> None:
    """One that is set aside may have to be given up."""
    copy = unpack("v6", "cow_part")
    options = RollbackOptions(metadata=metadata)
    assert step_of(rollback_of(copy, copy.commits[-1], options)) == step
    path = left_empty(copy, between_commits(copy))
    error = attempt(lambda: rollback_of(copy, copy.commits[-1], options))
    assert isinstance(error, Refused)
    assert error.fields["files"] == [path]


def test_one_that_keeps_the_metadata_table_is_not(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    left_empty(copy, between_commits(copy))
    roll_back(copy, copy.commits[-1])
