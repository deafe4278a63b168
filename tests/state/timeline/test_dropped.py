"""Partitions that were dropped after a savepoint: a clean of Hudi deletes their folders, whatever is savepointed."""

from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.savepoint.planning import plan_savepoint
from hudictl.ops.savepoint.verify import verify_savepoint
from hudictl.reports.health.finding import ERROR
from hudictl.reports.savepoints import savepoint_rows
from hudictl.state.timeline.dropped import dropped_partitions
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, put, restore, savepoint, session
from tests.reports.health.check_support import brief, check
from tests.state.timeline.dropped_support import groups, replaced

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def dropped(copy: Copy) -> dict[str, str]:
    return dropped_partitions(copy.table, load_timeline(copy.table), LocalEngine())


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_it_is_said_wherever_the_savepoint_is_looked_at(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    saved = savepoint(copy)
    assert dropped(copy) == {}
    before = {brief(entry) for entry in check(copy)}
    by = replaced(copy, "part-0", groups(copy, "part-0"))
    assert dropped(copy) == {"part-0": by}

    (found,) = [entry for entry in check(copy) if brief(entry) not in before and entry.severity == ERROR]
    assert (found.finding, found.subject) == ("savepoint-partition-dropped", saved)
    assert f"{by} dropped 1 partition with files of the savepoint ('part-0')" in found.meaning
    assert [way.command for way in found.remedy] == [f"hudictl restore {saved}", f"hudictl savepoint delete {saved}"]
    (row,) = [entry for entry in savepoint_rows(copy.table) if entry.instant == saved]
    assert row.warning is not None
    assert "hoodie.clean.automatic=false" in row.warning
    result = verify_savepoint(session(copy.table), saved, RestoreOptions())
    assert (result.restorable, result.threat) == (True, row.warning)


@pytest.mark.parametrize("lost", [False, True])
def test_only_what_can_be_done_is_offered(unpack: Unpack, lost: bool) -> None:
    """A restore to it deletes later savepoints, where that is asked for; and needs all of its files."""
    copy = unpack("v9", "cow_part")
    first, later = copy.commits[0], copy.commits[-1]
    savepoint(copy, first)
    savepoint(copy, later)
    replaced(copy, "part-0", groups(copy, "part-0"))
    for path in (copy.path / "part-1").glob(f"*{first}.parquet") if lost else ():
        path.unlink()
    (found,) = [entry for entry in check(copy) if brief(entry)[::2] == ("savepoint-partition-dropped", first)]
    restores = [f"hudictl restore {first} --delete-later-savepoints"]
    assert [way.command for way in found.remedy] == [*restores[lost:], f"hudictl savepoint delete {first}"]


@VERSIONS
def test_a_savepoint_that_is_created_afterwards_warns(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    assert plan_savepoint(session(copy.table), target).warnings == ()
    replaced(copy, "part-0", groups(copy, "part-0"))
    (warning,) = plan_savepoint(session(copy.table), target).warnings
    assert "('part-0')" in warning


@VERSIONS
def test_the_restore_ends_it(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    saved = savepoint(copy)
    replaced(copy, "part-0", groups(copy, "part-0"))
    restore(copy, saved)
    assert dropped(copy) == {}
    assert verify_savepoint(session(copy.table), saved, RestoreOptions()).threat == ""


def test_a_partition_with_another_file_group_is_not_dropped(unpack: Unpack) -> None:
    """As after an insert overwrite, or a new row in it: a clean keeps what is savepointed there."""
    copy = unpack("v9", "cow_part")
    savepoint(copy)
    replaced(copy, "part-0", groups(copy, "part-0"))
    like = next(path for path in (copy.path / "part-0").iterdir() if path.suffix == ".parquet")
    other = like.name.replace(like.name[:8], "00000000", 1)
    put(like.with_name(other), like.read_bytes())
    assert dropped(copy) == {}


def test_a_part_of_the_groups_is_no_drop(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    replaced(copy, "part-0", ["another"])
    assert dropped(copy) == {}


def test_a_drop_that_is_pending_or_unreadable_is_none(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    time = replaced(copy, "part-0", groups(copy, "part-0"))
    copy.file(time, "replacecommit").write_bytes(b"")
    assert dropped(copy) == {}
    copy.file(time, "replacecommit").unlink()
    assert dropped(copy) == {}


@VERSIONS
def test_a_savepoint_without_files_in_it_is_not_threatened(unpack: Unpack, version: str) -> None:
    """It names all partitions, also the one that was dropped before."""
    copy = unpack(version, "cow_part")
    replaced(copy, "part-0", groups(copy, "part-0"))
    saved = savepoint(copy)
    assert dropped(copy)
    assert "savepoint-partition-dropped" not in {entry.finding for entry in check(copy)}
    assert verify_savepoint(session(copy.table), saved, RestoreOptions()).threat == ""
    assert all(entry.problem is None for entry in savepoint_rows(copy.table))


def test_a_damaged_savepoint_does_not_end_the_list(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    replaced(copy, "part-0", groups(copy, "part-0"))
    copy.file(copy.savepoints[0], "savepoint").write_bytes(b"damaged")
    whole, damaged = savepoint_rows(copy.table)
    assert (whole.problem, damaged.warning) == (None, None)
    assert damaged.problem is not None
    assert "hoodie.clean.automatic=false" in str(whole.warning)
