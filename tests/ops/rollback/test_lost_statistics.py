"""Rollback of a commit whose record names none, or not all, of the partitions in which it has written."""

import pytest

from hudictl.formats.commit_metadata import encode_like, read_record
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.restore.plan import RestoreOptions
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, put, restore, roll_back, rollback_of
from tests.ops.rollback.execute_support import own_files
from tests.ops.rollback.new_metadata_table_support import without_metadata_table

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
TABLES = pytest.mark.parametrize("name", ["cow_part", "mor_savepoints"])


def forget(copy: Copy, time: str, count: int | None = None) -> None:
    """Takes the first partitions out of a commit's record; None for all."""
    (done,) = [path for path in copy.timeline.glob(f"{time}*commit") if "requested" not in path.name]
    stats = read_record(done.read_bytes(), done.name).fields["partitionToWriteStats"]
    left = sorted(stats)[count:] if count is not None else []
    put(done, encode_like(done.read_bytes(), {path: stats[path] for path in left}, done.name))


def undone(copy: Copy, target: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The files that a rollback deletes, and the slices that it marks."""
    (removal,) = rollback_of(copy, target).undo.removals
    return {file.path for file in removal.files}, {(block.partition, block.file_id) for block in removal.blocks}


@VERSIONS
@TABLES
@pytest.mark.parametrize("count", [1, None], ids=["one", "all"])
def test_what_the_metadata_table_still_names_is_undone_too(
    unpack: Unpack, version: str, name: str, count: int | None
) -> None:
    copy = unpack(version, name)
    target = copy.commits[-1]
    sound = undone(copy, target)
    forget(copy, target, count)
    assert undone(copy, target) == sound
    roll_back(copy, target)
    assert own_files(copy, target) == set()


@VERSIONS
@TABLES
def test_of_a_record_that_names_nothing_all_partitions_are_listed(unpack: Unpack, version: str, name: str) -> None:
    """Also without a metadata table: other records of the table name the partitions."""
    copy = without_metadata_table(unpack, version, name)
    target = copy.commits[-1]
    only = {path for path in copy.data() if target in path and path.startswith("part-3")}
    forget(copy, target)
    roll_back(copy, target)
    assert own_files(copy, target) == only


@VERSIONS
@TABLES
@pytest.mark.parametrize("count", [1, None], ids=["one", "all"])
def test_a_restore_removes_what_such_a_commit_has_written(
    unpack: Unpack, version: str, name: str, count: int | None
) -> None:
    copy = unpack(version, name)
    target, last = copy.commits[-2:]
    forget(copy, last, count)
    restore(copy, target, options=RestoreOptions(to_instant=True, delete_later_savepoints=True))
    assert own_files(copy, last) == set()


@VERSIONS
@TABLES
def test_a_write_of_nothing_is_rolled_back(unpack: Unpack, version: str, name: str) -> None:
    """A streamer commits its checkpoint without rows."""
    copy = without_metadata_table(unpack, version, name)
    last = copy.commits[-1]
    time = time_plus_ms(last, 60_000)
    for path in [*copy.timeline.glob(f"{last}*")]:
        if "savepoint" not in path.name:
            put(copy.timeline / path.name.replace(last, time).replace(last[:12], time[:12]), path.read_bytes())
    forget(copy, time)
    before = copy.data()
    assert copy.commits[-1] == time
    roll_back(copy, time)
    assert copy.data() == before
    assert copy.commits[-1] == last
