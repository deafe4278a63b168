"""Operations that go out of the plan of a compaction, and input groups out of that of a clustering."""

import io

import fastavro
import pytest

from hudictl.errors import Conflict, NotFound, Refused, StorageFailed
from hudictl.formats.instants import RESTORE
from hudictl.formats.plans import (
    CompactedSlice,
    decode_compaction_groups,
    decode_input_groups,
    encode_compaction_plan,
    without_input_groups,
    without_operations,
)
from hudictl.library import changes
from hudictl.ops.repair import plan
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.kept import room_times
from tests import support
from tests.fixtures import Unpack
from tests.helpers import OWN, Copy, put, session, tree
from tests.ops.repair.services_support import (
    back,
    clustering,
    compaction,
    files_of,
    groups_of,
    problems,
    prune,
    unschedule,
    without_later_logs,
)

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def quiet(unpack: Unpack, version: str) -> tuple[Copy, str]:
    """A table with a pending compaction, and no later write."""
    copy = unpack(version, "mor_pending_compaction")
    time, _ = compaction(copy)
    if version == "v6":
        without_later_logs(copy, time)
    return copy, time


@VERSIONS
def test_exactly_the_named_operations_go(unpack: Unpack, version: str) -> None:
    copy, time = quiet(unpack, version)
    path = compaction(copy)[1]
    before, groups, files = tree(copy.path, OWN), groups_of(path), files_of(path)
    named, old = groups[0], path.stat().st_mtime
    made, number = unschedule(copy, time, named)
    assert (len(made.files), made.lost, made.files[0].change) == (1, (), "write")
    assert named in made.files[0].reasons[0]
    assert (groups_of(path), path.stat().st_mtime) == (groups[1:], pytest.approx(old, abs=0.002))
    assert files_of(path) == [file for file in files if named.rpartition("/")[2] not in file]
    changed = {name for name, at in tree(copy.path, OWN).items() if before[name] != at}
    assert str(path.relative_to(copy.path)) in changed
    assert all(path.name in name for name in changed)
    assert unschedule(copy, time, named)[0].files == ()
    back(copy, number)
    assert tree(copy.path, OWN) == before


@VERSIONS
def test_the_compaction_goes_with_its_last_operation(unpack: Unpack, version: str) -> None:
    copy, time = quiet(unpack, version)
    path = compaction(copy)[1]
    before, groups = tree(copy.path, OWN), groups_of(path)
    made, number = unschedule(copy, time, *groups)
    assert made.files[0].change == "set aside"
    assert not path.exists()
    assert unschedule(copy, time, *groups)[0].files == ()
    back(copy, number)
    assert tree(copy.path, OWN) == before


def test_rows_of_later_writes_are_not_lost(unpack: Unpack) -> None:
    """Version 6: they lie in the slices that the operations open."""
    copy = unpack("v6", "mor_pending_compaction")
    time, path = compaction(copy)
    before = tree(copy.path, OWN)
    partition, _, file_id = next(
        group.rpartition("/")
        for group in groups_of(path)
        if list(copy.path.rglob(f".{group.rpartition('/')[2]}_{time}.log.*"))
    )
    with pytest.raises(Refused, match=r"do not find \d+ logs? of later writes with [1-9]\d* records?"):
        unschedule(copy, time, f"{partition}/{file_id}")
    assert tree(copy.path, OWN) == before


def test_a_whole_compaction_below_later_rows_names_a_way_that_goes_on(unpack: Unpack) -> None:
    """Version 6. One that has not begun has nothing that `--keep-plan` could delete."""
    copy = unpack("v6", "mor_pending_compaction")
    time, _ = compaction(copy)
    change = changes.pending_compaction(time, RollbackOptions(idle_ms=0))
    with pytest.raises(Refused, match="logs of later writes") as refused:
        change.plan(session(copy.table))
    assert refused.value.hint == f"let Hudi run the compaction {time}: readers find these logs by its plan"
    copy.write(f"{time}.compaction.inflight")
    with pytest.raises(Refused, match="logs of later writes") as refused:
        change.plan(session(copy.table))
    assert refused.value.hint.startswith(f"`hudictl rollback {time} --keep-plan` deletes")


@pytest.mark.parametrize("keep_plan", [False, True])
@pytest.mark.parametrize("number", [0, -1])
def test_a_commit_is_no_compaction(unpack: Unpack, number: int, *, keep_plan: bool) -> None:
    """Whatever a rollback of it would say."""
    copy = unpack("v9", "cow_part")
    change = changes.pending_compaction(copy.commits[number], RollbackOptions(keep_plan=keep_plan))
    with pytest.raises(NotFound, match="is no pending compaction"):
        change.plan(session(copy.table))


@VERSIONS
def test_what_is_not_to_be_unscheduled(unpack: Unpack, version: str) -> None:
    copy, time = quiet(unpack, version)
    path = compaction(copy)[1]
    (group, *_) = groups_of(path)
    with pytest.raises(NotFound, match="has no operation for part-9/x"):
        unschedule(copy, time, group, "part-9/x")
    with pytest.raises(NotFound, match="no pending compaction"):
        unschedule(copy, copy.commits[-1], group)
    copy.write(f"{time}.compaction.inflight")
    with pytest.raises(Refused, match="has begun") as refused:
        unschedule(copy, time, group)
    assert f"`hudictl rollback {time} --keep-plan`" in refused.value.hint
    (copy.timeline / f"{time}.compaction.inflight").unlink()
    put(path, path.read_bytes()[:99])
    with pytest.raises(Refused, match="is lost"):
        unschedule(copy, time, group)


def test_while_a_writer_is_at_work(unpack: Unpack) -> None:
    copy, time = quiet(unpack, "v9")
    (group, *_) = groups_of(compaction(copy)[1])
    copy.write("20261121040000000.deltacommit.requested", old=False)
    with pytest.raises(Conflict):
        changes.unscheduling(time, [group], 600_000).plan(session(copy.table))


def test_a_plan_that_changes_meanwhile(unpack: Unpack) -> None:
    copy, time = quiet(unpack, "v9")
    path = compaction(copy)[1]
    first, *others = groups_of(path)
    change = changes.unscheduling(time, [first], 0)
    made = change.plan(session(copy.table))
    unschedule(copy, time, others[0])
    left = path.read_bytes()
    with pytest.raises(Conflict, match="changed since planning"):
        change.execute(session(copy.table), made)
    assert path.read_bytes() == left


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("come", ["20261121040000000.deltacommit.requested", "{}.compaction.inflight"])
def test_what_came_beside_the_change_of_a_plan(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, when: str, whole: bool, come: str
) -> None:
    """Version 6: a writer has put its logs where the old plan said, or a run goes on by it."""
    copy, time = quiet(unpack, "v6")
    path = compaction(copy)[1]
    before, groups = tree(copy.path, OWN), groups_of(path)[: None if whole else 1]

    def comes(*arguments: object) -> None:
        real(*arguments)
        # Nobody else may begin.
        assert [name for name in copy.having(RESTORE) if name.endswith("restore.requested")]
        copy.write(come.format(time))

    name = "settle" if when == "before" else "_change"
    real = getattr(plan, name)
    monkeypatch.setattr(plan, name, comes)
    with pytest.raises(Conflict, match="another process changed the timeline"):
        unschedule(copy, time, *groups)
    (copy.timeline / come.format(time)).unlink()
    assert tree(copy.path, OWN) == before
    assert [*room_times(copy.table)] == []


def test_what_kept_writers_out_of_a_change_that_died_goes_with_its_undo(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, time = quiet(unpack, "v6")
    before, groups = tree(copy.path, OWN), groups_of(compaction(copy)[1])

    def died(*_: object) -> None:
        raise StorageFailed("it dies here")

    with monkeypatch.context() as patch:
        patch.setattr(plan, "_verify", died)
        patch.setattr(plan, "delete_all", lambda *_: None)
        with pytest.raises(StorageFailed):
            unschedule(copy, time, groups[0])
    assert copy.having(RESTORE)
    (number,) = room_times(copy.table)
    back(copy, number)
    assert tree(copy.path, OWN) == before


@VERSIONS
@pytest.mark.parametrize("harm", ["missing", "cut"])
def test_input_groups_that_cannot_be_run_go(unpack: Unpack, version: str, harm: str) -> None:
    copy = unpack(version, "cow_cluster")
    time, path = clustering(copy)
    assert prune(copy, time)[0].files == ()
    inputs = decode_input_groups(path.read_bytes(), "it")
    assert len(inputs) > 1
    partition, name = min(inputs[0].files)
    file = copy.path / partition / name
    if harm == "missing":
        file.unlink()
    else:
        put(file, file.read_bytes()[:-20])
    before = tree(copy.path, OWN)
    assert problems(copy, time)[0].file == name
    made, number = prune(copy, time)
    assert f"{partition}/{name}" in made.files[0].reasons[0]
    assert decode_input_groups(path.read_bytes(), "it") == inputs[1:]
    assert (problems(copy, time), prune(copy, time)[0].files) == ([], ())
    back(copy, number)
    assert tree(copy.path, OWN) == before


@VERSIONS
def test_input_groups_with_named_files_go_and_the_last_takes_the_clustering(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cluster")
    time, path = clustering(copy)
    inputs = decode_input_groups(path.read_bytes(), "it")
    partition, name = min(inputs[0].files)
    with pytest.raises(NotFound, match="reads no file x"):
        prune(copy, time, "x.parquet")
    prune(copy, time, f"{partition}/{name}")
    assert decode_input_groups(path.read_bytes(), "it") == inputs[1:]
    made, _ = prune(copy, time, *(min(entry.files)[1] for entry in inputs[1:]))
    assert made.files[0].change == "set aside"
    assert not path.exists()
    assert prune(copy, time)[0].files == ()


def test_a_resize_is_not_pruned(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_cluster")
    time, _ = clustering(copy)
    put(copy.meta / ".bucket_index/consistent_hashing_metadata/part-0/x.hashing_meta", b"{}")
    with pytest.raises(Refused, match="resize"):
        prune(copy, time)


def test_other_operations_of_a_partition_stay() -> None:
    slices = [CompactedSlice("p", one, "1", None, (f".{one}_1.log.1_0-0-0",), 0, 7) for one in "ab"]
    left = without_operations(encode_compaction_plan(slices), "it", [("p", "a")])
    assert decode_compaction_groups(left, "it") == {("p", "b")}


@VERSIONS
@pytest.mark.parametrize("name", ["mor_pending_compaction", "cow_cluster"])
def test_plans_are_written_as_they_were(unpack: Unpack, version: str, name: str) -> None:
    """Without a change, all that a reader decodes is the same, and the schema is the file's own."""
    copy = unpack(version, name)
    again = without_operations if name == "mor_pending_compaction" else without_input_groups
    body = (compaction(copy) if name == "mor_pending_compaction" else clustering(copy))[1].read_bytes()
    made = again(body, "it", ())
    before, after = fastavro.reader(io.BytesIO(body)), fastavro.reader(io.BytesIO(made))
    assert (before.writer_schema, list(before)) == (after.writer_schema, list(after))
