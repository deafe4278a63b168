"""The partitions that a rollback lists: those in which it can change something, or all where a record is incomplete."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.errors import HudictlError
from hudictl.ops.clean_up.orphans import OrphanOptions, plan_orphan_deletion
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.storage.base import FileStatus
from hudictl.storage.local import LocalStorage
from hudictl.table.timeline.active import load_timeline
from hudictl.table.timeline.commits import read_commit
from tests.fixtures import Unpack
from tests.helpers import At, Copy, attempt, put, roll_back, rollback_of, session, tree
from tests.ops.rollback.execute_support import died, newest, own_files
from tests.ops.rollback.new_metadata_table_support import without_metadata_table

VERSIONS = pytest.mark.parametrize("version", ["v6", "v9"])
ELSEWHERE = "elsewhere"


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that are listed, without those below .hoodie."""
    found: list[str] = []
    real = LocalStorage.list

    def listing(store: LocalStorage, folder: str) -> list[FileStatus]:
        if ".hoodie" not in store.absolute(folder):
            found.append(folder)
        return real(store, folder)

    monkeypatch.setattr(LocalStorage, "list", listing)
    return found


def beside(copy: Copy, time: str | None = None) -> Path:
    """A partition that the newest write has not touched, with a file of another write, or of the given one."""
    like = next(path for path in sorted(copy.data()) if path.endswith(".parquet"))
    group = Path(like).name.rpartition("_")[0]
    put(
        copy.path / ELSEWHERE / ".hoodie_partition_metadata",
        (copy.path / "part-0/.hoodie_partition_metadata").read_bytes(),
    )
    return put(copy.path / ELSEWHERE / f"{group}_{time or copy.commits[0]}.parquet", (copy.path / like).read_bytes())


def execute(copy: Copy, target: str) -> None:
    execute_rollback(session(copy.table), rollback_of(copy, target))


def named_by(copy: Copy, target: str) -> set[str]:
    """The partitions in a commit's statistics."""
    (instant,) = [entry for entry in load_timeline(copy.table).writes() if entry.time == target]
    return set(read_commit(copy.table, instant).stats)


@VERSIONS
def test_a_commit_is_rolled_back_in_the_partitions_that_it_names(
    unpack: Unpack, version: str, listed: list[str]
) -> None:
    """The second listing, too, which proves the deletion; the root is listed to look for links and other tables."""
    copy = without_metadata_table(unpack, version, "cow_part")
    target, other = copy.commits[-1], beside(copy)
    places = named_by(copy, target)
    assert places
    listed.clear()
    execute(copy, target)
    assert set(listed) == {"", *places}
    assert own_files(copy, target) == set()
    assert other.exists()


def test_a_metadata_table_that_is_rolled_back_in_its_place_needs_no_more(unpack: Unpack, listed: list[str]) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[-1]
    beside(copy)
    places = named_by(copy, target)
    listed.clear()
    execute(copy, target)
    assert set(listed) == {"", *places}


@pytest.mark.parametrize("name", ["cow_failed_direct", "cow_failed_tls"])
def test_a_failed_write_is_rolled_back_in_the_partitions_of_its_markers(
    unpack: Unpack, name: str, listed: list[str]
) -> None:
    copy = without_metadata_table(unpack, "v9", name)
    target = newest(copy)
    beside(copy)
    listed.clear()
    execute(copy, target)
    assert ELSEWHERE not in listed
    assert own_files(copy, target) == set()


def no_markers(copy: Copy, target: str) -> None:
    shutil.rmtree(copy.meta / ".temp" / target)


def torn_markers(copy: Copy, target: str) -> None:
    put(copy.meta / ".temp" / target / "part-0" / "strange")


@pytest.mark.parametrize("harm", [no_markers, torn_markers])
def test_without_whole_markers_all_partitions_are_listed(
    unpack: Unpack, harm: Callable[[Copy, str], None], listed: list[str]
) -> None:
    copy = without_metadata_table(unpack, "v9", "cow_failed_direct")
    target = newest(copy)
    beside(copy)
    harm(copy, target)
    listed.clear()
    execute(copy, target)
    assert ELSEWHERE in listed


@pytest.mark.parametrize(
    ("version", "name", "options"),
    [
        # Below version 8, empty logs of other writes are deleted, too.
        ("v6", "mor_part", RollbackOptions()),
        # A metadata table that is set aside, or deleted, is compared with all of storage.
        ("v6", "cow_part", RollbackOptions()),
        ("v9", "cow_part", RollbackOptions(metadata="delete")),
    ],
)
def test_where_all_partitions_matter_all_are_listed(
    unpack: Unpack, version: str, name: str, options: RollbackOptions, listed: list[str]
) -> None:
    copy = without_metadata_table(unpack, version, name) if name.startswith("mor") else unpack(version, name)
    target = copy.commits[-1]
    (copy.path / ELSEWHERE).mkdir()
    listed.clear()
    execute_rollback(session(copy.table), rollback_of(copy, target, options))
    assert listed.count(ELSEWHERE) == 2


def test_a_required_file_that_is_missing_elsewhere_is_no_reason_to_refuse(unpack: Unpack) -> None:
    """It is missing with and without the rollback. In a partition that the rollback changes, it is."""
    copy = without_metadata_table(unpack, "v6", "cow_part")
    first, target = copy.commits[0], copy.commits[-1]
    done = copy.file(first, "commit")
    told = json.loads(done.read_text())
    (lost, *_) = told["partitionToWriteStats"]["part-0"]
    for partition in (ELSEWHERE, "part-0"):
        path = f"{partition}/{lost['fileId']}x_0-0-0_{first}.parquet"
        stats = told["partitionToWriteStats"].setdefault(partition, [])
        stats.append({**lost, "fileId": f"{lost['fileId']}x", "path": path, "partitionPath": partition})
        put(done, json.dumps(told))
        error = attempt(lambda: rollback_of(copy, target))
        assert (error and error.exit_code) == (13 if partition == "part-0" else None)


def test_a_file_of_the_instant_where_no_record_names_it_stays_and_is_an_orphan(unpack: Unpack) -> None:
    copy = without_metadata_table(unpack, "v9", "cow_part")
    target = copy.commits[-1]
    stray = beside(copy, target)
    execute(copy, target)
    assert stray.exists()
    left = plan_orphan_deletion(session(copy.table), OrphanOptions(idle_ms=0))
    assert str(stray.relative_to(copy.path)) in {entry.file.path for entry in (*left.orphans, *left.left)}


def test_a_late_file_whose_marker_names_another_partition_stops_the_rollback(unpack: Unpack) -> None:
    """An executor of the dead writer goes on: it makes its marker first. Then the next run lists the partition."""
    copy = without_metadata_table(unpack, "v9", "cow_failed_direct")
    target = newest(copy)

    def come() -> None:
        late = beside(copy, target)
        put(copy.meta / ".temp" / target / ELSEWHERE / f"{late.name}.marker.CREATE", old=False)

    error = attempt(lambda: roll_back(copy, target, At("verify", come)))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, "is alive" in error.message) == (12, True)
    execute(copy, target)
    assert own_files(copy, target) == set()


def test_a_rollback_that_died_lists_the_partitions_of_its_plan(unpack: Unpack, listed: list[str]) -> None:
    """Its target is no longer on the timeline: the stored plan and the copy of the commit name them."""
    copy = without_metadata_table(unpack, "v9", "cow_part")
    target = copy.commits[-1]
    places = named_by(copy, target)
    beside(copy)
    died(copy, target, "delete files")
    listed.clear()
    execute(copy, target)
    assert set(listed) == {"", *places}
    assert own_files(copy, target) == set()


def test_a_metadata_table_that_is_put_back_is_compared_with_all_partitions(unpack: Unpack, listed: list[str]) -> None:
    copy = unpack("v6", "cow_part")
    target = copy.commits[-1]
    died(copy, target, "delete files")
    (copy.path / ELSEWHERE).mkdir()
    listed.clear()
    execute(copy, target)
    assert ELSEWHERE in listed


def test_a_table_service_that_runs_beside_is_seen_by_its_files(unpack: Unpack) -> None:
    """A compaction writes one large file for longer than --idle: only the file shows it, in a partition that its
    marker names."""
    copy = without_metadata_table(unpack, "v9", "mor_pending_compaction")
    target = copy.commits[-1]
    (service, *_) = [entry for entry in load_timeline(copy.table).writes() if entry.pending]
    copy.write(f"{service.time}.compaction.inflight")
    growing = beside(copy, service.time)
    put(copy.meta / ".temp" / service.time / "MARKERS.type", "TIMELINE_SERVER_BASED")
    put(copy.meta / ".temp" / service.time / "MARKERS0", f"{ELSEWHERE}/{growing.name}.marker.CREATE\n")
    os.utime(growing, (time.time(), time.time()))
    before = tree(copy.path)
    error = attempt(lambda: rollback_of(copy, target))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, f"{service.time}" in error.message) == (12, True)
    assert tree(copy.path) == before


@pytest.mark.parametrize("markers", [None, "part-0/"], ids=["none", "torn"])
def test_a_table_service_without_whole_markers_is_looked_for_everywhere(unpack: Unpack, markers: str | None) -> None:
    copy = without_metadata_table(unpack, "v9", "mor_pending_compaction")
    target = copy.commits[-1]
    (service, *_) = [entry for entry in load_timeline(copy.table).writes() if entry.pending]
    copy.write(f"{service.time}.compaction.inflight")
    if markers is not None:
        put(copy.meta / ".temp" / service.time / "MARKERS.type", "TIMELINE_SERVER_BASED")
        put(copy.meta / ".temp" / service.time / "MARKERS0", markers)
    growing = beside(copy, service.time)
    os.utime(growing, (time.time(), time.time()))
    error = attempt(lambda: rollback_of(copy, target))
    assert isinstance(error, HudictlError)
    assert error.exit_code == 12
