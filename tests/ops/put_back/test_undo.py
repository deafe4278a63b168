"""The guards of an undo, each with the thing coming in before it and between its steps; and what is kept."""

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Conflict, HudictlError, Incomplete, Refused, Unreadable
from hudictl.formats import rollback
from hudictl.formats.instants import SAVEPOINT, State, parse_instant_file, time_plus_ms
from hudictl.formats.layouts import PROPERTIES
from hudictl.formats.rollback import InstantInfo, RollbackRequest, StoredRollbackPlan
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.metadata.drop import DropOptions, drop_metadata, plan_metadata_drop
from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.withdraw import plan_withdrawal
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import ERROR
from hudictl.reports.history import history_rows
from hudictl.reports.table import describe_table
from hudictl.reports.undo_list import undo_rows
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.orphans.find import find_orphans
from hudictl.storage import DeleteOutcome, Storage, delete_all, local
from hudictl.storage.local import LocalStorage
from hudictl.table import kept
from hudictl.table.kept import begun_undo, room_times
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, OWN, At, Copy, die, plan, put, restore, roll_back, savepoint, session, tree
from tests.ops.put_back.undo_support import state, undo
from tests.ops.rollback.execute_support import own_files
from tests.ops.rollback.together_support import OPTIONS, clean, many
from tests.state.orphans.find_support import between_commits, listed_orphan

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
KEEPING = RestoreOptions(to_instant=True, keep_files=True, settle_s=0.0, delete_later_savepoints=True)
STEPS = ("put files back", "publish instants again", "put the properties back")


def restored(copy: Copy) -> str:
    """Restored to the first commit; what ``undo`` takes."""
    result = restore(copy, copy.commits[0], options=KEEPING)
    assert result.undo == result.restore
    return result.restore


def a_commit(copy: Copy) -> None:
    copy.write(f"{time_plus_ms(max(room_times(copy.table)), 5000)}.commit.requested")


def a_savepoint(copy: Copy) -> None:
    savepoint(copy, copy.commits[0])


def other_properties(copy: Copy) -> None:
    file = copy.meta / "hoodie.properties"
    file.write_text(
        file.read_text().replace("hoodie.table.name=", "hoodie.compaction.payload.class=x\nhoodie.table.name=")
    )


def no_metadata_table(copy: Copy) -> None:
    shutil.rmtree(copy.meta / "metadata")


def lost(copy: Copy) -> None:
    """A file of the room is deleted."""
    (time,) = room_times(copy.table)
    next((copy.path / OWN / "undo" / time / "kept").rglob("*.parquet")).unlink()


def in_the_way(copy: Copy) -> None:
    (time,) = room_times(copy.table)
    room = copy.path / OWN / "undo" / time / "kept"
    kept = next(path for path in room.rglob("*.parquet") if ".hoodie" not in path.relative_to(room).parts)
    put(copy.path / kept.relative_to(room), b"another file")


@VERSIONS
@pytest.mark.parametrize(
    "name", ["cow_savepoints", "mor_savepoints", "cow_flat_nomdt", "mor_failed_lazy", "cow_cluster"]
)
def test_all_comes_back(unpack: Unpack, version: str, name: str) -> None:
    """With content and modification times; and nothing is left of what was kept."""
    copy = unpack(version, name)
    before = state(copy)
    time = restored(copy)
    assert state(copy) != before
    (row,) = undo_rows(copy.table)
    assert (row.undo, row.operation, row.possible, row.warning) == (time, "restore", True, None)
    result = undo(copy, time)
    assert state(copy) == before
    assert result.files + result.files_removed > 0
    assert not list(room_times(copy.table))
    done, undone = history_rows(copy.table)
    assert done.outcome == f"undone by {undone.instant}"


@VERSIONS
@pytest.mark.parametrize(
    ("come", "message"),
    [
        (a_commit, "the timeline has changed"),
        (a_savepoint, "the timeline has changed"),
        (other_properties, "hoodie.properties has changed"),
        (no_metadata_table, "are gone"),
        (lost, "not all can come back"),
        (in_the_way, "there is another file of this name"),
    ],
)
def test_a_change_since_then_refuses_it(
    unpack: Unpack, version: str, come: Callable[[Copy], None], message: str
) -> None:
    copy = unpack(version, "cow_part")
    time = restored(copy)
    come(copy)
    before = tree(copy.path)
    with pytest.raises(Refused, match=message) as caught:
        plan_undo(session(copy.table), time, 0)
    assert come is in_the_way or f"`hudictl undo drop {time}`" in caught.value.hint
    assert tree(copy.path) == before
    (row,) = undo_rows(copy.table)
    assert row.possible is (come is in_the_way)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("come", [a_commit, other_properties])
def test_what_comes_between_two_steps_stops_it(unpack: Unpack, step: str, come: Callable[[Copy], None]) -> None:
    """And without it the same command goes on."""
    copy = unpack("v9", "mor_savepoints")
    before = state(copy)
    time = restored(copy)
    after = {path: copy.path.joinpath(path).read_bytes() for path in state(copy)}
    if come is other_properties and step != STEPS[0]:
        pytest.skip("they are hudictl's own by then")
    with pytest.raises(Refused):
        undo(copy, time, At(step, lambda: come(copy)))
    for path in [*copy.timeline.glob("*.commit.requested")]:
        if path.relative_to(copy.path).as_posix() not in {*before, *after}:
            path.unlink()
    if come is other_properties:
        (copy.meta / "hoodie.properties").write_bytes(after[".hoodie/hoodie.properties"])
    undo(copy, time)
    assert state(copy) == before


@pytest.mark.slow
@VERSIONS
def test_while_an_undo_has_begun_nothing_else_begins(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    before = state(copy)
    time = restored(copy)

    def dies() -> None:
        raise Conflict("it dies here")

    with pytest.raises(Conflict, match="dies here"):
        undo(copy, time, At("put files back", dies))
    assert begun_undo(copy.table) == time
    for act in (
        lambda: plan(copy, copy.commits[0], KEEPING),
        lambda: savepoint(copy),
        lambda: plan_metadata_drop(session(copy.table), DropOptions(idle_ms=0)),
        lambda: plan_withdrawal(session(copy.table), 0),
        lambda: plan_orphan_deletion(session(copy.table), OrphanOptions(0)),
    ):
        with pytest.raises(Refused, match=f"the undo of {time} has begun"):
            act()
    (found,) = [entry for entry in check_table(copy.table, ENGINE, 0).findings if entry.severity == ERROR]
    assert (found.finding, found.advice) == ("undo-begun", f"`hudictl undo {time}`")
    shown = describe_table(copy.table)
    assert (shown.writers_can_start, shown.advice) == (False, f"`hudictl undo {time}` finishes it")
    undo(copy, time)
    assert (state(copy), begun_undo(copy.table)) == (before, None)


@pytest.mark.slow
def test_an_undo_that_cannot_end_is_dropped_and_the_restore_finished(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[0]
    time = restored(copy)
    after = copy.data()
    with pytest.raises(Refused):
        undo(copy, time, At("publish instants again", lambda: a_commit(copy)))
    next(path for path in copy.timeline.glob("*.commit.requested") if path.name > time).unlink()
    dropped = execute_drop(session(copy.table), plan_drop(session(copy.table), [time], None))
    assert [entry.undo for entry in dropped.dropped] == [time]
    restore(copy, target, options=replace(KEEPING, keep_files=False))
    assert copy.commits == [target]
    # What had come back is on no timeline, and found.
    facts = read_facts(copy.table, ENGINE, read_signs(copy.table))
    assert {orphan.file.path for orphan in find_orphans(facts, ENGINE)} == copy.data() - after


@pytest.mark.slow
@VERSIONS
def test_a_pending_one_is_undone_not_withdrawn_and_not_dropped(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    before = state(copy)
    die(copy, copy.commits[0], "verify", KEEPING)
    (time,) = room_times(copy.table)
    with pytest.raises(Refused, match="keeps its files"):
        plan_withdrawal(session(copy.table), 0)
    with pytest.raises(Refused, match="is pending"):
        plan_drop(session(copy.table), [time], None)
    assert plan_drop(session(copy.table), [], 0).pending == (time,)
    undo(copy, time)
    assert state(copy) == before


def test_what_began_without_it_is_not_kept_later(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    die(copy, copy.commits[0], "verify", replace(KEEPING, keep_files=False))
    with pytest.raises(Refused, match="begun without --keep-files") as caught:
        plan(copy, copy.commits[0], KEEPING)
    assert caught.value.hint.startswith("`hudictl resume --withdraw` takes it back if it has deleted none: ")


def test_a_restore_that_another_writer_disturbs_keeps_nothing(unpack: Unpack) -> None:
    """The request is withdrawn, and so is what was to be kept."""
    copy = unpack("v9", "cow_savepoints")
    before = state(copy)
    came = At("request the restore", lambda: copy.write("20991121000000000.commit.requested"))
    with pytest.raises(Conflict):
        restore(copy, copy.commits[0], came, KEEPING)
    next(copy.timeline.glob("2099*")).unlink()
    assert state(copy) == before
    assert not list(room_times(copy.table))


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_part"])
def test_a_rollback(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    before = state(copy)
    result = roll_back(copy, copy.commits[-1], options=RollbackOptions(keep_files=True))
    assert result.undo == result.rollback
    undo(copy, result.rollback)
    assert state(copy) == before


@pytest.mark.slow
@VERSIONS
def test_a_rollback_that_another_program_has_requested(unpack: Unpack, version: str) -> None:
    """It is pending again, with the heartbeat of its writer."""
    copy = unpack(version, "cow_part")
    target, time = copy.commits[-1], "20261121040000000"
    requests = tuple(
        RollbackRequest(path.rpartition("/")[0], (f"{copy.path}/{path}",)) for path in own_files(copy, target)
    )
    body = rollback.encode_plan(StoredRollbackPlan(InstantInfo(target, "commit"), requests))
    copy.write(f"{time}.rollback.requested", body)
    beat = copy.meta / ".heartbeat" / time
    put(beat, b"")
    os.utime(beat, (1, 1))
    before = state(copy)
    assert roll_back(copy, target, options=RollbackOptions(keep_files=True)).undo == time
    assert not beat.exists()
    undo(copy, time)
    assert state(copy) == before
    assert beat.stat().st_mtime == 1


@VERSIONS
def test_orphans(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = listed_orphan(copy, between_commits(copy))
    before = state(copy)
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0, keep_files=True))
    result = delete_orphans(session(copy.table), made)
    assert not (copy.path / path).exists()
    assert result.undo is not None
    undo(copy, result.undo)
    assert state(copy) == before


def test_old_ones_are_dropped(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    time = restored(copy)
    assert not plan_drop(session(copy.table), [], 3_600_000).dropped
    record = copy.path / OWN / "undo" / f"{time}.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"begun_at": "2026-01-01T00:00:00+00:00"}))
    made = plan_drop(session(copy.table), [], 3_600_000)
    assert [entry.undo for entry in made.dropped] == [time]
    execute_drop(session(copy.table), made)
    assert not list((copy.path / OWN / "undo").iterdir())
    with pytest.raises(Refused, match="nothing is kept"):
        plan_undo(session(copy.table), time, 0)


def test_a_live_writer(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    result = roll_back(
        copy,
        max(entry.name for entry in (copy.meta / ".heartbeat").iterdir() if entry.name.isdigit()),
        options=RollbackOptions(keep_files=True, idle_ms=0),
    )
    later = time_plus_ms(result.rollback, 1000)
    copy.write(f"{later}.deltacommit.requested", old=False)
    with pytest.raises(HudictlError) as caught:
        plan_undo(session(copy.table), result.rollback, 600_000)
    assert caught.value.exit_code in (12, 13)


def test_a_writer_that_has_been_there_all_the_time(unpack: Unpack) -> None:
    """The timeline is as the rollback has left it: only the writer's activity stops the undo."""
    copy = unpack("v9", "cow_part")
    time = max(many(copy, 3))
    result = roll_back(copy, time, options=RollbackOptions(keep_files=True, idle_ms=0))
    with pytest.raises(Conflict):
        plan_undo(session(copy.table), result.rollback, 2**50)
    undo(copy, result.rollback)


@pytest.mark.parametrize("body", [b"", b"{", b'{"version": 2}', b"[]"])
def test_a_damaged_record(unpack: Unpack, body: bytes) -> None:
    copy = unpack("v9", "cow_part")
    time = restored(copy)
    (copy.path / OWN / "undo" / f"{time}.json").write_bytes(body)
    with pytest.raises(Unreadable):
        plan_undo(session(copy.table), time, 0)
    (row,) = undo_rows(copy.table)
    assert row.problem


def test_a_room_with_hudictls_own_files(unpack: Unpack) -> None:
    """Whoever can write into the table puts a claim into the room: it comes to no other place."""
    copy = unpack("v9", "cow_part")
    time = restored(copy)
    put(copy.path / OWN / "undo" / time / "kept" / OWN / "claim-9", b"{}")
    with pytest.raises(Unreadable, match="hudictl's own"):
        plan_undo(session(copy.table), time, 0)


def test_a_partition_that_is_a_link_now(unpack: Unpack, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_part")
    time = restored(copy)
    folder = copy.path / "part-0"
    elsewhere = tmp_path / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    seen = tree(elsewhere)
    with pytest.raises(Refused, match="behind a link"):
        plan_undo(session(copy.table), time, 0)
    assert tree(elsewhere) == seen


@pytest.mark.slow
def test_where_files_of_others_cannot_be_linked(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux allows links to one's own files alone, as it is set up: they are renamed then."""
    copy = unpack("v9", "mor_savepoints")
    before = state(copy)
    link = local.os.link

    def refused(source: str, target: str, **folders: object) -> None:
        if "parquet" in source or ".log." in source:
            raise PermissionError(1, "Operation not permitted")
        link(source, target, **folders)  # type: ignore[arg-type]

    monkeypatch.setattr(local.os, "link", refused)
    undo(copy, restored(copy))
    assert state(copy) == before


def test_several_failed_writes_together(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    times = many(copy, 3)
    before = state(copy)
    assert len(clean(copy, replace(OPTIONS, keep_files=True, idle_ms=0))) == len(times)
    (time,) = room_times(copy.table)
    undo(copy, time)
    assert state(copy) == before


def test_a_drop_of_the_metadata_table_since_then(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    time = restored(copy)
    drop_metadata(session(copy.table), plan_metadata_drop(session(copy.table), DropOptions(idle_ms=0)))
    with pytest.raises(Refused, match=r"(is|are) gone|ha(s|ve) (come|changed)"):
        plan_undo(session(copy.table), time, 0)


@pytest.mark.slow
@VERSIONS
def test_an_interrupted_update_of_the_properties_is_as_before(unpack: Unpack, version: str) -> None:
    """The operation ends it; so its backup comes back, too."""
    copy = unpack(version, "cow_part")
    shutil.copy2(copy.meta / "hoodie.properties", copy.meta / "hoodie.properties.backup")
    before = state(copy)
    undo(copy, restored(copy))
    assert state(copy) == before


@pytest.mark.slow
def test_a_drop_that_died_is_finished(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """That an undo has begun is forgotten first: without its record nothing would end it."""
    copy = unpack("v9", "cow_part")
    time = restored(copy)
    with pytest.raises(Refused):
        undo(copy, time, At("put files back", lambda: a_commit(copy)))

    def dies(storage: Storage, paths: Sequence[str]) -> None:
        delete_all(storage, paths)
        raise Conflict("it dies here")

    made = plan_drop(session(copy.table), [time], None)
    with monkeypatch.context() as patch:
        patch.setattr(kept, "delete_all", dies)
        with pytest.raises(Conflict, match="dies here"):
            execute_drop(session(copy.table), made)
    assert (begun_undo(copy.table), [*room_times(copy.table)]) == (None, [time])


@VERSIONS
def test_a_kept_instant_that_was_written_again(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    time = restored(copy)
    file = copy.file(copy.commits[0], "commit")
    put(file, file.read_bytes() + b" ")
    with pytest.raises(Refused, match="has changed"):
        plan_undo(session(copy.table), time, 0)


@pytest.mark.slow
def test_one_undo_at_a_time(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    listed_orphan(copy, between_commits(copy))
    made = plan_orphan_deletion(session(copy.table), OrphanOptions(0, keep_files=True))
    other = delete_orphans(session(copy.table), made).undo
    assert other is not None
    time = restored(copy)
    with pytest.raises(Refused):
        undo(copy, time, At("put files back", lambda: a_commit(copy)))
    with pytest.raises(Refused, match=f"the undo of {time} has begun"):
        plan_undo(session(copy.table), other, 0)


def test_what_comes_after_the_plan_stops_it(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    time = restored(copy)
    made = plan_undo(session(copy.table), time, 0)
    in_the_way(copy)
    before = state(copy)
    with pytest.raises(Refused, match="another file of this name"):
        execute_undo(session(copy.table), made, 0)
    assert (state(copy), begun_undo(copy.table)) == (before, None)


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_savepoints", "mor_savepoints"])
def test_the_order_of_an_undo(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, name: str) -> None:
    """First what no reader sees, then the timeline, of each instant the completed file first; then the properties."""
    copy = unpack(version, name)
    time = restored(copy)
    move, moved = LocalStorage.move_files, []

    def noted(storage: LocalStorage, moves: Sequence[tuple[str, str]], *, over: bool = False) -> list[DeleteOutcome]:
        moved.extend(target for _, target in moves)
        assert not [file for file in copy.timeline.glob(f"{time}*.restore") if file.stat().st_size]
        return move(storage, moves, over=over)

    monkeypatch.setattr(LocalStorage, "move_files", noted)
    undo(copy, time)
    timeline = copy.timeline.relative_to(copy.path).as_posix()

    def place(path: str) -> tuple[int, str, int]:
        folder, _, name = path.rpartition("/")
        if folder != timeline or path == PROPERTIES:
            return (2 if path == PROPERTIES else 0, "", 0)
        file = parse_instant_file(name, copy.table.layout.version)
        return (1, file.time, 9 * (file.action == SAVEPOINT) - file.state) if file is not None else (3, path, 0)

    places = [place(path) for path in moved]
    assert places == sorted(places)
    kinds = {(kind, state) for kind, _, state in places}
    assert {(0, 0), (1, -State.REQUESTED), (1, -State.COMPLETED), (2, 0)} <= kinds


@pytest.mark.slow
def test_what_did_not_come_back_is_said(unpack: Unpack) -> None:
    """And the record of what is kept stays."""
    copy = unpack("v9", "cow_part")
    before = copy.data()
    time = restored(copy)
    gone = min(before - copy.data())
    with pytest.raises(Incomplete, match="not as before"):
        undo(copy, time, At("put the properties back", lambda: (copy.path / gone).unlink()))
    assert [*room_times(copy.table)] == [time]
