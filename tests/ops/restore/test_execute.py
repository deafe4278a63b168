"""The order of a restore: what is true on storage when each of its steps begins, and what may come in between."""

import os
import shutil
import time
from collections.abc import Callable

import pytest

from hudictl.errors import Conflict, HudictlError, Incomplete, Refused, Unreadable
from hudictl.formats.instants import parse_instant_file
from hudictl.formats.restore import decode_plan
from hudictl.formats.rollback import decode_plan as decode_rollback
from hudictl.ops.restore import execute
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.discard import execute_discard, plan_discard
from hudictl.ops.session import Silent
from hudictl.storage.local import LocalStorage
from hudictl.table.properties import read_properties
from tests.fixtures import Unpack
from tests.helpers import (
    OWN,
    At,
    Copy,
    FailDeletion,
    assert_kept,
    drop,
    plan,
    put,
    required,
    restore,
    savepoint,
    session,
    tree,
    whole,
)
from tests.ops.restore.execute_support import FIRST_BUILD

LATER = "20261121235959999"
STEPS = [
    "write rollback plans",
    "prepare",
    "take the metadata table out of use",
    "un-publish instants",
    "delete files",
    "verify",
    "remove instants",
    "roll the metadata table back",
    "publish the restore",
]
UNPUBLISHED = STEPS[4:]


def completed(copy: Copy) -> set[str]:
    """Requested times of completed writes, as a reader lists them."""
    files = (parse_instant_file(name, 2) for name in copy.instants())
    return {file.time for file in files if file and file.action.endswith("commit") and file.state == 2}


def finish(copy: Copy, target: str, metadata: str = "keep") -> None:
    """The same command again: everything that was asked for is done."""
    done = restore(copy, target, options=RestoreOptions(metadata=metadata))
    assert completed(copy) == {time for time in completed(copy) if time <= target}
    assert not any(target < name.partition(".")[0] and ".rollback" in name for name in copy.instants())
    assert len(copy.having("restore.requested")) == len([name for name in copy.instants() if name.endswith(".restore")])
    if metadata == "keep":
        assert done.metadata_table == "rolled back"
        assert_kept(copy, FIRST_BUILD, done.instants)
    else:
        assert not (copy.meta / "metadata").exists()
    assert plan(copy, target).nothing_to_do


# Pitfalls 3: the settling time.


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_writer_that_comes_in_while_the_restore_settles_is_left_alone(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It passed its own check before restore.requested stood: the restore is withdrawn, and nothing was changed."""
    copy = unpack(version, "cow_savepoints")
    made = plan(copy, copy.savepoints[-1])
    before = tree(copy.path, OWN)
    slept = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        assert len(copy.having("restore.requested")) == 1
        assert copy.having("restore.inflight") == []
        copy.write(f"{LATER}.commit.requested")

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(Conflict, match=f"{LATER}.commit.requested"):
        execute.execute_restore(session(copy.table), made)
    assert slept
    assert 1.0 < slept[0] <= 2.0
    drop(copy.timeline / f"{LATER}.commit.requested")
    assert tree(copy.path, OWN) == before


# Pitfalls 2: a pending restore does not stop table services.


@pytest.mark.parametrize("step", STEPS)
def test_a_write_that_begins_in_the_middle_stops_the_restore(unpack: Unpack, step: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    # The step that begins next is the one that looks.
    with pytest.raises(Conflict, match=LATER) as caught:
        restore(copy, target, At(step, lambda: copy.write(f"{LATER}.commit.requested")))
    assert caught.value.exit_code == 12
    assert copy.having("restore.requested")
    assert copy.having("restore.inflight")
    assert not [name for name in copy.instants() if name.endswith(".restore")]
    drop(copy.timeline / f"{LATER}.commit.requested")
    finish(copy, target)


@pytest.mark.parametrize("step", UNPUBLISHED)
def test_an_instant_that_is_published_again_stops_the_restore(unpack: Unpack, step: str) -> None:
    """An asynchronous compaction takes up the plan that un-publishing made pending, and completes it."""
    copy = unpack("v9", "mor_savepoints")
    target = copy.savepoints[-1]
    (compaction,) = [name.partition(".")[0] for name in copy.having("compaction.requested")]
    again = f"{compaction}_{LATER}.commit"
    with pytest.raises(Conflict, match=compaction):
        restore(copy, target, At(step, lambda: copy.write(again)))
    assert not [name for name in copy.instants() if name.endswith(".restore")]


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_resume_refuses_a_write_that_came_in(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    with pytest.raises(Conflict):
        restore(copy, target, At("delete files", lambda: copy.write(f"{LATER}.commit.requested")))
    before = tree(copy.path)
    with pytest.raises(Conflict, match=LATER):
        plan(copy, target)
    assert tree(copy.path) == before


# Pitfalls 4: files that outlive their instant.


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
@pytest.mark.parametrize("error", ["Operation not permitted", None], ids=["refused", "pretended"])
def test_a_file_that_stays_keeps_the_restore_pending(
    unpack: Unpack, version: str, error: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused, or said to be deleted although it is not: the second listing sees it."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    removals = plan(copy, target).undo.removals
    kept = removals[-1].files[0]
    with monkeypatch.context() as patch:
        FailDeletion(kept.data.name, error).install(patch)
        with pytest.raises(Incomplete, match=kept.data.name) as caught:
            restore(copy, target)
    assert caught.value.exit_code == 3
    assert copy.having("restore.inflight")
    assert not [name for name in copy.instants() if name.endswith(".restore")]
    assert copy.data() & {file.path for removal in removals for file in removal.files} == {kept.path}
    # Readers are back, and each removed instant still has its rollback plan.
    assert completed(copy) == {time for time in completed(copy) if time <= target}
    assert len(copy.having("rollback.inflight")) == len(removals)
    finish(copy, target)
    assert kept.path not in copy.data()


@pytest.mark.parametrize("step", ["verify"])
def test_a_needed_file_that_goes_meanwhile_is_found(unpack: Unpack, step: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    lost = sorted(required(copy.table, plan(copy, copy.savepoints[-1]).undo.case))[0]
    with pytest.raises(Incomplete, match=lost):
        restore(copy, copy.savepoints[-1], At(step, lambda: drop(copy.path / lost)))
    assert not [name for name in copy.instants() if name.endswith(".restore")]


# Pitfalls 9 and 10: the metadata table.


def test_the_metadata_table_goes_in_one_step_after_the_properties(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half deleted under its own name, nothing tells a reader that files are missing in it."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    real, seen = LocalStorage.delete_folder, []

    def delete_folder(storage: LocalStorage, folder: str) -> None:
        if "metadata" in folder and (copy.path / folder).exists():
            assert not (copy.meta / "metadata").exists()
            assert read_properties(storage)["hoodie.table.metadata.partitions"] == ""
            seen.append(folder)
            raise Incomplete("the process dies here")
        real(storage, folder)

    with monkeypatch.context() as patch:
        patch.setattr(LocalStorage, "delete_folder", delete_folder)
        with pytest.raises(Incomplete):
            restore(copy, target, options=RestoreOptions(metadata="delete"))
    assert len(seen) == 1
    finish(copy, target, "delete")
    assert not list((copy.meta / ".hudictl").glob("dropped-*"))


@pytest.mark.parametrize("metadata", ["keep", "delete"])
@pytest.mark.parametrize("step", STEPS[3:])
def test_a_metadata_table_that_comes_back_goes_again(unpack: Unpack, step: str, metadata: str) -> None:
    """An eager writer makes it anew before it notices the restore. The one that was set aside comes back instead."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]

    def writer() -> None:
        put(copy.meta / "metadata" / ".hoodie" / "hoodie.properties", "hoodie.table.name=cow_metadata\n")
        properties = (copy.meta / "hoodie.properties").read_text()
        listed = "hoodie.table.metadata.partitions=files"
        put(copy.meta / "hoodie.properties", properties.replace("hoodie.table.metadata.partitions=", listed))

    before = read_properties(copy.table.storage)["hoodie.table.metadata.partitions"]
    done = restore(copy, target, At(step, writer), RestoreOptions(metadata=metadata))
    listed = read_properties(copy.table.storage)["hoodie.table.metadata.partitions"]
    if metadata == "keep":
        assert (done.metadata_table, listed) == ("rolled back", before)
        assert_kept(copy, FIRST_BUILD, done.instants)
    else:
        assert (done.metadata_table, listed) == ("deleted", "")
        assert not (copy.meta / "metadata").exists()


# Pitfalls 11: no un-publishing without a stored plan.


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_all_rollback_plans_stand_before_the_first_instant_goes(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[-1]
    made = plan(copy, target)
    before = completed(copy)

    def look() -> None:
        assert completed(copy) == before
        plans = [decode_rollback((copy.timeline / name).read_bytes(), name) for name in copy.having("rollback.req")]
        assert {stored.target.time for stored in plans} == made.undo.removed
        assert {name.partition(".")[0] for name in copy.having("rollback.requested")} == {
            name.partition(".")[0] for name in copy.having("rollback.inflight")
        }
        named = {path for stored in plans for request in stored.requests for path in request.files}
        assert named == {str(copy.path / file.path) for removal in made.undo.removals for file in removal.files}

    seen = At("un-publish instants", look)
    restore(copy, target, seen)
    assert seen.done


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"garbage"])
def test_an_instant_without_readable_plan_is_not_un_published(unpack: Unpack, damage: bytes) -> None:
    """Hudi throws such a plan away, and would then take the instant for a failed write without files."""
    copy = unpack("v9", "cow_part")
    target = savepoint(copy, copy.commits[0])
    newest, *older = [removal.time for removal in plan(copy, target).undo.removals]

    spoiled: list[str] = []

    def spoil() -> None:
        for name in copy.having("rollback.requested"):
            body = (copy.timeline / name).read_bytes()
            if decode_rollback(body, name).target.time == newest:
                spoiled.append(name)
                put(copy.timeline / name, damage)

    with pytest.raises(Unreadable, match=r"rollback\.requested"):
        restore(copy, target, At("un-publish instants", spoil))
    assert {newest, *older} <= completed(copy)
    with pytest.raises(Refused, match=spoiled[0].partition(".")[0]) as caught:
        plan(copy, target)
    assert "resume --discard-rollbacks" in caught.value.hint
    shutil.rmtree(copy.meta / ".heartbeat")
    found = plan_discard(session(copy.table), 0)
    assert spoiled[0].partition(".")[0] in found.rollbacks
    execute_discard(session(copy.table), found, 0)
    finish(copy, target)


def test_plans_are_on_the_disk_before_the_first_instant_goes(unpack: Unpack, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is synced after the last plan was linked, and each plan before it got its name."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    log: list[str] = []
    link, unlink = os.link, os.unlink

    def logged(name: str, real: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: str, **options: int) -> None:
            folder = options.get("dir_fd", options.get("dst_dir_fd"))
            log.append(f"{name} {whole(arguments[0], options.get('src_dir_fd'))} {whole(arguments[-1], folder)}")
            real(*arguments, **options)

        return call

    def fsync(descriptor: int) -> None:
        log.append(f"sync {os.readlink(f'/proc/self/fd/{descriptor}')}")

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", logged("link", link))
    monkeypatch.setattr(os, "unlink", logged("unlink", unlink))
    restore(copy, target)
    done = f" {copy.timeline}/{target[:8]}"
    gone = [index for index, line in enumerate(log) if line.startswith("unlink") and line.endswith(".commit")]
    first = next(index for index in gone if done in log[index])
    plans = [index for index, line in enumerate(log) if line.endswith((".rollback.requested", ".rollback.inflight"))]
    plans = [index for index in plans if log[index].startswith("link") and index < first]
    assert plans
    assert f"sync {copy.timeline}" in log[plans[-1] : first]
    assert all(f"sync {log[index].split()[1]}" in log[:index] for index in plans)


# Pitfalls 12 and 19: rollback instants.


def test_rollbacks_are_gone_before_the_restore_is_published(unpack: Unpack) -> None:
    """Left armed, the next writer would execute them; and one that a later process made is not touched."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    foreign = f"{LATER}.rollback.requested"
    seen = At("publish the restore", lambda: [*map(str, copy.having("rollback"))] == [foreign] or pytest.fail("armed"))
    both = At("remove instants", lambda: copy.write(foreign, copy.file_of("rollback.requested")))

    class Both(Silent):
        def step(self, name: str) -> None:
            both.step(name)
            seen.step(name)

    restore(copy, target, Both())
    assert both.done
    assert seen.done
    assert copy.having("rollback") == [foreign]


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_completed_rollbacks_after_the_savepoint_go_older_ones_stay(unpack: Unpack, version: str) -> None:
    """As Hudi ends a restore: a rollback of what is no more would be an instant newer than the savepoint."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    (later,) = plan(copy, target).undo.removed
    older, newer = f"{target[:-3]}000", f"{later[:-3]}999"
    for rollback in (older, newer):
        for name in (".rollback.requested", ".rollback.inflight"):
            copy.write(f"{rollback}{name}")
        copy.write(f"{rollback}.rollback" if version == "v6" else f"{rollback}_{LATER[:8]}040000000.rollback")
    assert plan(copy, target).rollbacks_removed == (newer,)
    restore(copy, target)
    assert {name.partition(".")[0] for name in copy.having("rollback")} == {older}


@pytest.mark.parametrize("suffix", [".rollback.inflight", ".rollback.requested", "commit.requested", ".inflight"])
def test_a_death_between_the_two_deletes_of_an_instant(
    unpack: Unpack, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_part")
    target = savepoint(copy, copy.commits[0])
    with monkeypatch.context() as patch:
        FailDeletion(suffix).install(patch)
        with pytest.raises(HudictlError):
            restore(copy, target)
    finish(copy, target)


# Pitfalls 13 and 14: un-publishing.


@pytest.mark.parametrize(
    ("version", "name", "service"),
    [
        ("v6", "mor_savepoints", "compaction"),
        ("v8", "mor_savepoints", "compaction"),
        ("v9", "mor_savepoints", "compaction"),
        ("v8", "cow_cluster", "clustering"),
        ("v9", "cow_cluster", "clustering"),
    ],
)
def test_a_table_service_stands_under_both_its_actions(unpack: Unpack, version: str, name: str, service: str) -> None:
    """Hudi's own resume takes the entries whose action is on the timeline, and un-publishing changes it."""
    copy = unpack(version, name)
    target = savepoint(copy, copy.savepoints[-1] if copy.savepoints else copy.commits[0])
    services = {entry.partition(".")[0] for entry in copy.having(f"{service}.requested")}
    pending: list[set[str]] = []
    seen = At("delete files", lambda: pending.append({n for n in copy.instants() if n.partition(".")[0] in services}))
    restore(copy, target, seen)
    (requested,) = copy.having("restore.requested")
    infos = decode_plan((copy.timeline / requested).read_bytes(), requested).instants
    completes = {"compaction": "commit", "clustering": "replacecommit"}[service]
    for time_ in services:
        assert [info.action for info in infos if info.time == time_] == [completes, service]
    # Pending under one name only. A compaction's plan goes: two pending ones of a file group make every reader fail.
    states = (
        ("commit.requested", "inflight") if service == "compaction" else ("clustering.requested", "clustering.inflight")
    )
    assert pending == [{f"{time_}.{state}" for time_ in services for state in states}]


@pytest.mark.parametrize("version", ["v6", "v8", "v9"])
def test_a_compaction_without_plan_gets_no_pending_files(unpack: Unpack, version: str) -> None:
    """An empty plan would show its base files to a reader that loads pending compactions."""
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[-1]
    for name in copy.having("compaction."):
        drop(copy.timeline / name)
    seen: list[list[str]] = []
    restore(copy, target, At("delete files", lambda: seen.append(copy.having("compaction"))))
    assert seen == [[]]
    assert plan(copy, target).nothing_to_do


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_commit_without_pending_files_gets_them(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    (last,) = plan(copy, target).undo.removed
    drop(copy.timeline / f"{last}.inflight")
    drop(copy.timeline / f"{last}.commit.requested")
    seen: list[set[str]] = []
    restore(copy, target, At("delete files", lambda: seen.append({n for n in copy.instants() if n.startswith(last)})))
    assert seen == [{f"{last}.inflight", f"{last}.commit.requested"}]


# Pitfalls 24: the claim.


def test_who_was_taken_for_dead_stops(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    with pytest.raises(Conflict, match="claim 2"):
        restore(copy, target, At("delete files", lambda: put(copy.meta / ".hudictl" / "claim-2", "{}", old=False)))
    assert completed(copy) == {time for time in completed(copy) if time <= target}
    assert not [name for name in copy.instants() if name.endswith(".restore")]


@pytest.mark.parametrize("act", [restore, lambda copy, target: savepoint(copy, copy.commits[-1])])
def test_one_hudictl_at_a_time(unpack: Unpack, act: Callable[[Copy, str], object]) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    heard: list[HudictlError] = []

    def other() -> None:
        before = tree(copy.path)
        with pytest.raises(Conflict) as caught:
            act(copy, target)
        heard.append(caught.value)
        assert tree(copy.path) == before

    restore(copy, target, At("check again", other))
    assert heard[0].exit_code == 12
    assert str(os.getpid()) in heard[0].message


def test_the_set_of_removed_instants_is_made_once(unpack: Unpack) -> None:
    """It is asked for each file: made anew each time, it would cost files times instants."""
    copy = unpack("v9", "cow_savepoints")
    made = plan(copy, copy.savepoints[-1])
    assert made.undo.removed
    assert made.undo.removed is made.undo.removed
