"""A record index that Hudi's indexer was building while a commit came (tests/beside): it contains that commit."""

import os
from pathlib import Path

import pytest

from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import time_plus_ms
from hudictl.state.metadata.undo import Mode
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, metadata_timeline, put, restore, roll_back, rollback_of
from tests.ops.restore.metadata_table_support import TO_INSTANT
from tests.records import archive
from tests.state.metadata.undo_support import first_logs, planned

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
NEW = pytest.mark.parametrize("version", ["v8", "v9"])


@pytest.fixture
def table(version: str, tmp_path: Path) -> Copy:
    """Commits: two, the one that came beside the build, and one after it."""
    copy = Copy(version, "beside", support.unpack_beside(version, tmp_path))
    assert len(copy.commits) == 4
    assert copy.table.metadata_partitions == ("files", "record_index")
    return copy


@VERSIONS
def test_it_is_not_kept_if_that_commit_is_removed(table: Copy) -> None:
    for removed in (table.commits[2:], table.commits[1:]):
        plan = planned(table, removed)
        assert (plan.mode, plan.kept, plan.lost) == (Mode.UNDO, {"files"}, ("record_index",))
    restore(table, table.commits[1], options=TO_INSTANT)
    assert table.table.metadata_partitions == ("files",)


@VERSIONS
def test_it_is_kept_if_only_a_later_commit_is_removed(table: Copy) -> None:
    plan = planned(table, table.commits[3:])
    assert (plan.mode, plan.kept) == (Mode.UNDO, {"files", "record_index"})


@NEW
def test_a_rollback_of_that_commit_deletes_it(table: Copy) -> None:
    """The metadata table stays in its place. The writer has added its commit to the index that was being built."""
    roll_back(table, table.commits[3])
    assert rollback_of(table, table.commits[2]).undo.indexes_lost == ("record_index",)
    roll_back(table, table.commits[2])
    assert table.table.metadata_partitions == ("files",)


@VERSIONS
def test_a_rollback_of_the_commit_after_it_keeps_it(table: Copy) -> None:
    assert rollback_of(table, table.commits[3]).undo.indexes_lost == ()
    roll_back(table, table.commits[3])
    assert table.table.metadata_partitions == ("files", "record_index")


@pytest.mark.parametrize("version", ["v6"])
def test_version_6_a_rollback_of_that_commit_deletes_it(table: Copy) -> None:
    roll_back(table, table.commits[3])
    assert rollback_of(table, table.commits[2]).undo.indexes_lost == ("record_index",)


@NEW
def test_a_build_whose_indexing_is_archived_is_still_known(table: Copy) -> None:
    for path in table.timeline.glob("*.indexing*"):
        path.unlink()
    assert planned(table, table.commits[2:]).lost == ("record_index",)


def build(copy: Copy) -> Path:
    """The completed delta commit of the build."""
    (path,) = (copy.meta / "metadata/.hoodie").glob("*004.deltacommit")
    return path


@pytest.mark.parametrize("version", ["v6"])
@pytest.mark.parametrize(("after_s", "lost"), [(-0.5, False), (0.5, True)])
def test_version_6_the_moment_of_its_file_decides(table: Copy, after_s: float, lost: bool) -> None:
    """By the storage's clock, which may be behind the writers'."""
    (requested,) = table.timeline.glob(f"{table.commits[2]}.commit.requested")
    moment = requested.stat().st_mtime - 10
    os.utime(requested, (moment, moment))
    os.utime(build(table), (moment + after_s, moment + after_s))
    assert planned(table, table.commits[2:]).lost == (("record_index",) if lost else ())


@pytest.mark.parametrize("version", ["v6"])
def test_version_6_in_a_table_that_was_copied_without_its_times_nothing_proves_it(table: Copy) -> None:
    """All files are new, in any order."""
    for path in table.path.rglob("*"):
        if path.is_file():
            path.touch()
    put(build(table), build(table).read_bytes())
    os.utime(build(table), (1900000000, 1900000000))
    (requested,) = table.timeline.glob(f"{table.commits[2]}.commit.requested")
    os.utime(requested, (1900000001, 1900000001))
    assert planned(table, table.commits[2:]).lost == ("record_index",)


# What is archived.


def archived(copy: Copy, time: str, action: str, end: str) -> None:
    """The instant is no longer on the active timeline."""
    for path in copy.timeline.glob(f"*{time}*"):
        path.unlink()
    archive(copy, time, action, end=end)


def metadata_of(copy: Copy) -> Copy:
    return Copy(copy.version, "metadata", copy.meta / "metadata")


@NEW
def test_an_archived_write_is_no_build(unpack: Unpack, version: str) -> None:
    """One that stays, and was completed after the first removed one was requested. Its keys are to stay, too."""
    copy = unpack(version, "cow_record_index")
    stays, removed = copy.commits[1], copy.commits[3]
    (done,) = metadata_timeline(copy).glob(f"{stays}_*.deltacommit")
    done.rename(done.with_name(f"{stays}_{time_plus_ms(removed, 1)}.deltacommit"))
    assert planned(copy, [removed]).instants_undone == (removed,)
    archived(copy, stays, "commit", time_plus_ms(removed, 2))
    assert planned(copy, [removed]).instants_undone == (removed,)


@NEW
@pytest.mark.parametrize("since", [False, True])
def test_an_archived_build_is_as_old_as_its_completion(unpack: Unpack, version: str, since: bool) -> None:
    """Zeros are archived first, even if they are the newest instants."""
    copy = unpack(version, "cow_record_index")
    removed = copy.commits[3]
    built = parse_data_file(first_logs(copy, "record_index")[0].name)
    assert built is not None
    end = time_plus_ms(removed if since else copy.commits[1], 1)
    archived(metadata_of(copy), built.instant, "deltacommit", end)
    assert ("record_index" in planned(copy, [removed]).kept) is not since
