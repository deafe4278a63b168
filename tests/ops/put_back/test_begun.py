"""An undo that has begun, and died: no writer begins beside it, and what the operation has hidden stays hidden."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hudictl.errors import Conflict, Refused, StorageFailed
from hudictl.formats.instants import RESTORE
from hudictl.formats.log_blocks import encode_rollback_block
from hudictl.ops import writers_out
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.metadata.drop import DropOptions, drop_metadata, plan_metadata_drop
from hudictl.ops.put_back import execute
from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR, Finding
from hudictl.storage import DeleteOutcome
from hudictl.storage.local import LocalStorage
from hudictl.table.kept import begun_undo, room_times
from hudictl.table.metadata.place import listed_partitions
from hudictl.table.timeline.active import load_timeline
from tests import helpers, support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, OWN, At, Copy, plan, put, restore, roll_back, rollback_of, session
from tests.ops.put_back.undo_support import state, undo
from tests.ops.repair.services_support import compaction, groups_of, unschedule, without_later_logs
from tests.ops.rollback.execute_support import newest
from tests.state.orphans.find_support import LATER, between_commits, listed_orphan

# Before tests set it to nothing.
SETTLES = writers_out.SETTLE_S
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
KEEPING = RestoreOptions(to_instant=True, keep_files=True, settle_s=0.0, delete_later_savepoints=True)
PUBLISH, PROPERTIES = "publish instants again", "put the properties back"


def dies(copy: Copy, time: str, step: str) -> None:
    def stop() -> None:
        raise Conflict("it dies here")

    with pytest.raises(Conflict, match="dies here"):
        undo(copy, time, At(step, stop))
    assert begun_undo(copy.table) == time


def drop(copy: Copy, time: str) -> None:
    execute_drop(session(copy.table), plan_drop(session(copy.table), [time], None))
    assert (begun_undo(copy.table), [*room_times(copy.table)]) == (None, [])


def rolled_back(copy: Copy, target: str | None = None) -> str:
    return roll_back(copy, target or copy.commits[-1], options=RollbackOptions(keep_files=True)).rollback


def begun(copy: Copy) -> Finding:
    """What ``check`` says of an undo that has begun."""
    (found,) = [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == "undo-begun"]
    return found


def pending_restores(copy: Copy) -> list[str]:
    """The names on the timeline of restores that are not completed."""
    return [name for name in copy.having(RESTORE) if not name.endswith(".restore")]


def blocks(copy: Copy) -> dict[str, bytes]:
    """The logs with rollback blocks that hudictl has written."""
    found = [*copy.path.glob("*/.*.log.*"), *copy.path.glob(".*.log.*")]
    bodies = {path.relative_to(copy.path).as_posix(): path.read_bytes() for path in found}
    return {path: body for path, body in bodies.items() if path.endswith("_1-0-1")}


@VERSIONS
@pytest.mark.parametrize("step", ["put files back", PUBLISH, PROPERTIES])
def test_no_writer_begins_beside_that_of_a_rollback(unpack: Unpack, version: str, step: str) -> None:
    copy = unpack(version, "mor_part")
    before = state(copy)
    time = rolled_back(copy)
    assert pending_restores(copy) == []
    dies(copy, time, step)
    assert pending_restores(copy) == [f"{int(time) + 1}.restore.requested"]
    assert begun(copy).meaning.endswith("has begun, and not ended: no writer can start")
    undo(copy, time)
    assert state(copy) == before


def orphans(copy: Copy) -> str | None:
    listed_orphan(copy, between_commits(copy))
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0, keep_files=True))
    return delete_orphans(session(copy.table), made).undo


def metadata(copy: Copy) -> str | None:
    made = plan_metadata_drop(session(copy.table), DropOptions(idle_ms=0, keep_files=True))
    return drop_metadata(session(copy.table), made).undo


def operation(copy: Copy) -> str | None:
    time, path = compaction(copy)
    without_later_logs(copy, time)
    return unschedule(copy, time, groups_of(path)[0])[1]


@pytest.mark.parametrize("version", ["v6", "v9"])
@pytest.mark.parametrize(
    ("name", "act"),
    [("cow_part", orphans), ("cow_part", metadata), ("mor_pending_compaction", operation)],
    ids=["orphans", "metadata", "compaction"],
)
@pytest.mark.parametrize("ends", ["undo", "drop"])
def test_nor_beside_that_of_another_operation(
    unpack: Unpack, version: str, name: str, act: Callable[[Copy], str | None], ends: str
) -> None:
    """It would use a metadata table, or find a plan, that is half back."""
    copy = unpack(version, name)
    time = act(copy)
    assert time is not None
    before = copy.having(RESTORE)
    dies(copy, time, PROPERTIES)
    assert pending_restores(copy) == [f"{int(time) + 1}.restore.requested"]
    assert begun(copy).meaning.endswith("has begun, and not ended: no writer can start")
    undo(copy, time) if ends == "undo" else drop(copy, time)
    assert copy.having(RESTORE) == before


def test_it_waits_as_long_as_a_writer_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """From its look at the restores to its own instant."""
    waited: list[float] = []
    monkeypatch.setattr(writers_out, "SETTLE_S", SETTLES)
    monkeypatch.setattr("hudictl.ops.writers_out.time.sleep", waited.append)
    execute.settle()
    assert waited == [2.0]


@pytest.mark.parametrize("what", ["rollback", "restore"])
def test_a_writer_that_came_just_before_is_waited_for(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """It has looked for pending restores when there was none."""
    copy = unpack("v9", "cow_savepoints")
    time = rolled_back(copy) if what == "rollback" else restore(copy, copy.commits[0], options=KEEPING).restore
    seen, there = copy.commits, copy.data()
    monkeypatch.setattr(execute, "settle", lambda: copy.write(f"{LATER}.commit.requested"))
    with pytest.raises(Refused, match="the timeline has changed"):
        undo(copy, time)
    assert (copy.commits, copy.data()) == (seen, there)


@VERSIONS
@pytest.mark.parametrize("step", ["put files back", PUBLISH, PROPERTIES])
def test_a_drop_lets_writers_in(unpack: Unpack, version: str, step: str) -> None:
    """Also of a record that is damaged."""
    copy = unpack(version, "mor_part")
    time = rolled_back(copy)
    dies(copy, time, step)
    if step == PUBLISH:
        put(copy.path / OWN / "undo" / f"{time}.json", b"{")
    drop(copy, time)
    assert pending_restores(copy) == []


@pytest.mark.parametrize("record", ["whole", "damaged"])
def test_the_blocks_of_a_rollback_come_back_with_a_drop(unpack: Unpack, record: str) -> None:
    """The rows of its target would come back as soon as the timeline begins after it."""
    copy = unpack("v6", "mor_part")
    time = rolled_back(copy)
    hidden = blocks(copy)
    assert hidden
    dies(copy, time, PUBLISH)
    assert blocks(copy) == {}
    if record == "damaged":
        put(copy.path / OWN / "undo" / f"{time}.json", b"{")
    drop(copy, time)
    assert blocks(copy) == hidden


def test_so_they_do_with_that_of_a_restore_which_is_then_finished(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    target = copy.commits[0]
    time = restore(copy, target, options=KEEPING).restore
    after, hidden = copy.data(), blocks(copy)
    assert hidden
    dies(copy, time, PUBLISH)
    drop(copy, time)
    restore(copy, target, options=replace(KEEPING, keep_files=False))
    assert (copy.commits, blocks(copy)) == ([target], hidden)
    assert after <= copy.data()


def test_a_drop_that_died_is_run_again(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v6", "mor_part")
    time = rolled_back(copy)
    hidden = blocks(copy)
    dies(copy, time, PUBLISH)
    create, made = LocalStorage.create, []

    def once(storage: LocalStorage, path: str, body: bytes) -> None:
        if path.endswith("_1-0-1"):
            if made:
                raise StorageFailed("it dies here")
            made.append(path)
        create(storage, path, body)

    assert len(hidden) > 1
    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "create", once)
        with pytest.raises(StorageFailed):
            drop(copy, time)
    assert len(blocks(copy)) == 1
    drop(copy, time)
    assert blocks(copy) == hidden


def test_only_the_blocks_of_instants_that_readers_do_not_see(unpack: Unpack) -> None:
    """One log may have the blocks of several."""
    copy = unpack("v6", "mor_part")
    first = copy.commits[0]
    time = restore(copy, first, options=KEEPING).restore
    dies(copy, time, PUBLISH)
    folder = copy.path / OWN / "undo" / time / "aside"
    put(folder / "part-0" / ".x_1.log.9_1-0-1", b"".join(encode_rollback_block(each, each) for each in (first, "5")))
    put(folder / "part-0" / ".y_1.log.9_1-0-1", encode_rollback_block(first, first))
    drop(copy, time)
    assert (copy.path / "part-0" / ".x_1.log.9_1-0-1").read_bytes() == encode_rollback_block("5", "5")
    assert not (copy.path / "part-0" / ".y_1.log.9_1-0-1").exists()


def test_none_comes_back_once_readers_see_the_instants(unpack: Unpack) -> None:
    copy = unpack("v6", "mor_part")
    time = rolled_back(copy)
    dies(copy, time, PROPERTIES)
    for file in copy.timeline.glob(f"{copy.commits[-1]}.*"):
        # It may be archived until then.
        file.unlink()
    drop(copy, time)
    assert blocks(copy) == {}


def test_a_block_that_cannot_be_moved(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v6", "mor_part")
    before = state(copy)
    time = rolled_back(copy)
    move = LocalStorage.move_files

    def refused(storage: LocalStorage, moves: list[tuple[str, str]], *, over: bool = False) -> object:
        if moves and moves[0][0].endswith("_1-0-1"):
            return [DeleteOutcome(path, "no") for path, _ in moves]
        return move(storage, moves, over=over)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "move_files", refused)
        with pytest.raises(StorageFailed, match="cannot move"):
            undo(copy, time)
    undo(copy, time)
    assert state(copy) == before


@VERSIONS
@pytest.mark.parametrize("step", [PUBLISH, PROPERTIES])
def test_what_the_metadata_table_alone_hides_comes_back_behind_it(unpack: Unpack, version: str, step: str) -> None:
    """The first write has died: readers that list folders see its rows, although it is pending."""
    copy = unpack(version, "first_write_failed")
    failed = support.history_facts(version, "first_write_failed")["instants"]["failed"]
    before = state(copy)
    time = rolled_back(copy, failed)
    gone = {path for path in before if path.endswith(".parquet") and failed in path} - copy.data()
    assert gone
    dies(copy, time, step)
    assert gone.isdisjoint(copy.data())
    undo(copy, time)
    assert state(copy) == before


def test_the_metadata_table_stays_in_use_from_then_on(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "first_write_failed")
    failed = support.history_facts("v9", "first_write_failed")["instants"]["failed"]
    before, there = state(copy), copy.data()
    time = rolled_back(copy, failed)
    gone = there - copy.data()
    real = execute._put_data

    def died(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        raise StorageFailed("it dies here")

    with monkeypatch.context() as patch:
        patch.setattr(execute, "_put_data", died)
        with pytest.raises(StorageFailed):
            undo(copy, time)
    assert not gone.isdisjoint(copy.data())
    assert listed_partitions(copy.table)
    with monkeypatch.context() as patch:
        patch.setattr(execute, "update_properties", lambda *_: pytest.fail("readers would list folders"))
        undo(copy, time)
    assert state(copy) == before


def test_an_undo_that_keeps_no_writer_out_says_so(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has died before."""
    copy = unpack("v9", "cow_part")
    time = rolled_back(copy)

    def died(*_: object) -> None:
        raise StorageFailed("it dies here")

    monkeypatch.setattr(execute, "keep_writers_out", died)
    with pytest.raises(StorageFailed):
        undo(copy, time)
    assert begun(copy).severity == ERROR
    assert begun(copy).meaning.endswith("has begun, and not ended: keep writers stopped")


@VERSIONS
def test_check_names_no_command_but_the_undo(unpack: Unpack, version: str) -> None:
    """What comes back looks like orphans, its traces like litter; and each other command would be refused."""
    copy = unpack(version, "cow_part")
    time = rolled_back(copy)
    put(copy.meta / ".heartbeat" / "20200101000000000")
    dies(copy, time, PUBLISH)
    found = check_table(copy.table, ENGINE, 0).findings
    assert {"undo-begun", "orphans", "stale-heartbeat"} <= {entry.finding for entry in found}
    assert [entry.finding for entry in found if entry.remedy] == ["undo-begun"]
    assert all(
        "first end the undo" in entry.meaning for entry in found if entry.finding in ("orphans", "stale-heartbeat")
    )
    undo(copy, time)
    (left,) = [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.finding == "stale-heartbeat"]
    assert left.remedy


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("restores", [True, False])
def test_what_hudi_has_half_done_is_not_kept(unpack: Unpack, version: str, restores: bool) -> None:
    """It may have deleted files, which no undo would bring back. What has only been requested has deleted nothing."""
    copy = unpack(version, "mor_restore_interrupted" if restores else "cow_rollback_interrupted")
    (half,) = load_timeline(copy.table).having("restore" if restores else "rollback")

    def keeping() -> object:
        if restores:
            return plan(copy, copy.savepoints[-1], KEEPING)
        return rollback_of(copy, newest(copy), RollbackOptions(keep_files=True, idle_ms=0))

    with pytest.raises(Refused, match=f"{half.time} was begun without --keep-files") as caught:
        keeping()
    assert caught.value.hint == "run the command with --delete-files"
    for path in [*copy.timeline.glob("*.restore.inflight"), *copy.timeline.glob("*.rollback.inflight")]:
        helpers.drop(path)
    assert keeping()
