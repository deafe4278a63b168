"""The work that restore and rollback share: data files in batches, the traces of instants, the wait for queries."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from hudictl.engine.base import Engine, TaskResult
from hudictl.errors import Incomplete, Interrupted, StorageFailed
from hudictl.formats.file_names import parse_data_file
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Kind, Silent
from hudictl.ops.undo import execute as files
from hudictl.storage.local import LocalStorage
from hudictl.table.files.slices import StoredFile
from hudictl.table.writers.heartbeats import heartbeat_path
from tests.fixtures import Unpack
from tests.helpers import FailDeletion, plan, put, session
from tests.ops.held_support import holding


@pytest.mark.parametrize("counts", [[1], [2], [3], [4], [5], [1, 1, 1], [3, 2], [5, 0, 1, 3]])
def test_every_file_of_every_batch_goes(unpack: Unpack, counts: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches end within partitions, and go on with the next."""
    copy = unpack("v9", "cow_flat_nomdt")
    monkeypatch.setattr(LocalStorage, "delete_batch", 2)
    before = copy.data()
    stored = [file for number, count in enumerate(counts) for file in stored_files(f"p{number}", count)]
    for file in stored:
        put(copy.path / file.path, b"rows")
    assert files.delete_data_files(session(copy.table), holding(copy.table), stored) == []
    assert copy.data() == before


def stored_files(partition: str, count: int) -> list[StoredFile]:
    names = (f"f{number}-0_0-1-2_20261121000000000.parquet" for number in range(count))
    return [StoredFile(partition, data, 4) for name in names if (data := parse_data_file(name))]


Names = Sequence[tuple[str, Sequence[str]]]


@dataclass
class Calls:
    """An engine that notes its tasks, and does nothing."""

    tasks: list[Names] = field(default_factory=list)

    def map(self, label: str, function: object, items: Sequence[Names], progress: object) -> list[object]:
        self.tasks += items
        return [TaskResult([]) for _ in items]


@pytest.mark.parametrize("counts", [[1] * 2_500, [10] * 250, [1_250, *[1] * 1_250], [2_500]])
def test_batches_are_full_whatever_the_partitions_have(unpack: Unpack, counts: list[int]) -> None:
    """One file each: few calls of an object store. Half of all files in one: no task is larger than another."""
    stored = [file for number, count in enumerate(counts) for file in stored_files(f"p{number}", count)]
    engine = Calls()
    shuffled = sorted(stored, key=lambda file: file.data.name)
    table = unpack("v9", "cow_part").table
    assert files.delete_data_files(session(table, engine=cast(Engine, engine)), holding(table), shuffled) == []
    assert [sum(len(names) for _, names in task) for task in engine.tasks] == [100] * 25
    found = [(partition, name) for task in engine.tasks for partition, names in task for name in names]
    assert sorted(found) == sorted((file.partition, file.data.name) for file in stored)
    # Each partition is named once a task.
    assert all(len(task) == len(dict(task)) for task in engine.tasks)


def test_one_file_that_stays_is_named_with_the_reason(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    removals = plan(copy, copy.commits[0], RestoreOptions(to_instant=True)).undo.removals
    kept = removals[0].files[0]
    FailDeletion(kept.data.name).install(monkeypatch)
    with pytest.raises(Incomplete, match="Operation not permitted") as caught:
        files.delete_files(session(copy.table), holding(copy.table), removals[0].files, Kind.RESTORE)
    assert caught.value.fields["failed"] == [kept.path]


def test_the_traces_of_instants_go_and_no_others(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    gone, other = copy.commits[:2]
    for time in (gone, other):
        put(copy.path / heartbeat_path(time))
        put(copy.meta / ".temp" / time / "p/f.parquet.marker.CREATE")
    files.remove_traces(copy.table, {gone})
    assert [path.name for path in (copy.meta / ".temp").iterdir()] == [other]
    assert not (copy.path / heartbeat_path(gone)).exists()
    assert (copy.path / heartbeat_path(other)).exists()


def test_a_heartbeat_that_stays_is_told(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is published before: a rerun deletes it."""
    copy = unpack("v9", "cow_part")
    beat = put(copy.path / heartbeat_path(copy.commits[0]))
    with monkeypatch.context() as patch:
        FailDeletion(beat.name).install(patch)
        with pytest.raises(StorageFailed, match="Operation not permitted"):
            files.remove_traces(copy.table, {copy.commits[0]})
    files.remove_traces(copy.table, {copy.commits[0]})
    assert not beat.exists()


def test_a_folder_in_the_place_of_a_heartbeat_stays(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    folder, beat = (copy.path / heartbeat_path(time) for time in copy.commits[:2])
    put(folder / "of somebody")
    put(beat)
    files.remove_traces(copy.table, {*copy.commits[:2]})
    assert (folder.is_dir(), beat.exists()) == (True, False)


def test_the_wait_for_queries_can_be_interrupted() -> None:
    class Stop(Silent):
        def check(self) -> None:
            raise Interrupted("asked to stop")

    with pytest.raises(Interrupted):
        files.wait_for_queries(Stop(), 0.05)
