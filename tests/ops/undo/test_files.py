"""The work that restore and rollback share: data files in batches, the traces of instants, the wait for queries."""

import pytest

from hudictl.errors import Incomplete, Interrupted, StorageFailed
from hudictl.formats.file_names import parse_data_file
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.session import Kind, Silent
from hudictl.ops.undo import files
from hudictl.table.heartbeats import heartbeat_path
from hudictl.table.slices import StoredFile
from tests.fixtures import Unpack
from tests.helpers import FailDeletion, plan, put, session


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_every_file_of_every_batch_goes(unpack: Unpack, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    monkeypatch.setattr(files, "_BATCH", 2)
    before = copy.data()
    names = [f"f{number}-0_0-1-2_20261121000000000.parquet" for number in range(count)]
    for name in names:
        put(copy.path / "p" / name, b"rows")
    stored = [StoredFile("p", data, 4) for name in names if (data := parse_data_file(name))]
    assert files.delete_data_files(session(copy.table), stored) == []
    assert copy.data() == before


def test_one_file_that_stays_is_named_with_the_reason(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    removals = plan(copy, copy.commits[0], RestoreOptions(to_instant=True)).removals
    kept = removals[0].files[0]
    FailDeletion(kept.data.name).install(monkeypatch)
    with pytest.raises(Incomplete, match="Operation not permitted") as caught:
        files.delete_files(session(copy.table), removals, Kind.RESTORE)
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


def test_the_wait_for_queries_can_be_interrupted() -> None:
    class Stop(Silent):
        def check(self) -> None:
            raise Interrupted("asked to stop")

    with pytest.raises(Interrupted):
        files.wait_for_queries(Stop(), 0.05)
