"""Every state that a restore can stop in has a way out: withdrawn, finished with what is left, or with later writes."""

from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Conflict, HudictlError, Refused, StorageFailed, Unsupported
from hudictl.ops.restore import execute
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.withdraw import plan_withdrawal, withdraw_restore, withdrawn_already
from hudictl.reports.table import describe_table
from hudictl.storage.local import LocalStorage
from tests import records
from tests.fixtures import Unpack
from tests.helpers import (
    At,
    Copy,
    assert_ended,
    assert_listed,
    attempt,
    die,
    drop,
    pending_restore,
    plan,
    put,
    required,
    restore,
    roll_back,
    rollback_plan,
    savepoint,
    session,
    tree,
)
from tests.ops.restore.withdraw_support import OPTIONS, TABLES, came, oldest, timeline, withdraw
from tests.ops.undo.hashing_support import before as before_resize
from tests.ops.undo.hashing_support import table as hashing_table

NOTHING_DELETED = ("prepare", "write rollback plans", "un-publish instants", "delete files")


def test_the_last_restore_alone_counts_as_withdrawn(unpack: Unpack) -> None:
    """The same again has nothing to do; but a restore that has come since is not withdrawn; Hudi's has no record."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    die(copy, target, "delete files")
    assert withdrawn_already(copy.table) is None
    withdraw(copy)
    assert withdrawn_already(copy.table) is not None
    pending_restore(copy, "20991121050000000", target, begun=False)
    assert withdrawn_already(copy.table) is None
    copy.write("20991121050000000_20991121050000001.restore", b"done")
    assert withdrawn_already(copy.table) is None
    [path.unlink() for path in copy.timeline.glob("20991121050000000*")]
    assert withdrawn_already(copy.table) is not None
    restore(copy, target)
    assert withdrawn_already(copy.table) is None
    for path in [*copy.timeline.glob("*.restore*")]:
        drop(path)
    assert withdrawn_already(copy.table) is None, "its instant is archived"


def test_a_rollback_since_then_may_be_the_one_that_is_meant(unpack: Unpack) -> None:
    """Who wants to withdraw it must not read that nothing is to do."""
    copy = unpack("v9", "cow_savepoints")
    die(copy, copy.savepoints[-1], "delete files")
    withdraw(copy)
    roll_back(copy, copy.commits[-1])
    assert withdrawn_already(copy.table) is None


@pytest.mark.parametrize(("version", "name"), TABLES)
@pytest.mark.parametrize("step", NOTHING_DELETED)
def test_while_nothing_was_deleted_a_restore_can_be_withdrawn(
    unpack: Unpack, version: str, name: str, step: str
) -> None:
    """All completed files come back as they were, and no rollback stays that the next writer would execute."""
    copy = unpack(version, name)
    before, data = timeline(copy), copy.data()
    die(copy, oldest(copy), step, OPTIONS)
    withdraw(copy)
    after = timeline(copy)
    gone = {file for file in before.keys() - after.keys() if ".savepoint" not in file}
    # The plan of a compaction that is completed again.
    assert {file for file in gone if "compaction" not in file} == set()
    assert {file: body for file, body in after.items() if before.get(file, body) != body} == {}
    assert not [file for file in after if "restore" in file or "rollback" in file]
    assert copy.data() == data
    assert not (copy.meta / ".rollback_backup").exists()
    assert plan(copy, oldest(copy), OPTIONS).resumes is None


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), TABLES)
@pytest.mark.parametrize("step", ["verify", "remove instants", "publish the restore"])
def test_once_files_were_deleted_it_can_only_be_finished(unpack: Unpack, version: str, name: str, step: str) -> None:
    copy = unpack(version, name)
    target = oldest(copy)
    die(copy, target, step, OPTIONS)
    error = attempt(lambda: withdraw(copy))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, "resume" in error.hint) == (13, True)
    restore(copy, target, options=OPTIONS)
    assert_ended(copy, target)


def test_rollback_blocks_alone_forbid_it(unpack: Unpack) -> None:
    """Table version 6: they hide the rows of instants that would be published again."""
    copy = unpack("v6", "mor_part")
    bodies = {path: (copy.path / path).read_bytes() for path in copy.data()}
    die(copy, oldest(copy), "verify", OPTIONS)
    gone = bodies.keys() - copy.data()
    for path in gone:
        put(copy.path / path, bodies[path])
    error = attempt(lambda: withdraw(copy))
    assert isinstance(error, Refused)
    lost = error.fields["files"]
    assert gone
    assert lost
    assert all(file.endswith("(a rollback block)") for file in lost)


def test_a_restore_of_hudis_is_not_withdrawn(unpack: Unpack) -> None:
    """What it has done cannot be determined."""
    copy = unpack("v9", "cow_savepoints")
    pending_restore(copy, "20261121050000000", copy.savepoints[-1], begun=True)
    error = attempt(lambda: withdraw(copy))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, "was not started by hudictl" in error.message) == (13, True)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_write_beside_a_pending_restore_is_removed_with_it_on_demand(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    act = came(copy)
    error = attempt(lambda: restore(copy, target, At("delete files", act)))
    assert isinstance(error, HudictlError)
    assert error.exit_code == 12
    error = attempt(lambda: restore(copy, target))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, "--with-later-writes" in error.hint) == (12, True)
    restore(copy, target, options=RestoreOptions(with_later_writes=True))
    assert_ended(copy, target)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_restore_whose_files_are_gone_can_be_ended(unpack: Unpack, version: str) -> None:
    """Refused by itself, and the table says what to do; --accept-loss names what is lost."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    die(copy, target, "verify")
    files = required(copy.table, plan(copy, target).undo.case)
    lost = next(path for path, file in sorted(files.items()) if file.data.is_base)
    drop(copy.path / lost)
    error = attempt(lambda: restore(copy, target))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, lost in error.message, "--accept-loss" in error.hint) == (13, True, True)
    assert "hudictl resume" in describe_table(copy.table).advice
    done = restore(copy, target, options=RestoreOptions(accept_loss=True))
    assert done.files_lost == (lost,)
    assert [entry for entry in copy.having("restore") if "requested" not in entry and "inflight" not in entry]


def test_a_new_restore_never_accepts_a_loss(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    drop(copy.path / next(path for path in sorted(required(copy.table, plan(copy, target).undo.case))))
    error = attempt(lambda: plan(copy, target, RestoreOptions(accept_loss=True)))
    assert isinstance(error, HudictlError)
    assert error.exit_code == 13


def test_a_withdrawal_stops_where_the_timeline_moves(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    savepoint(copy, copy.commits[0])
    die(copy, copy.commits[0], "delete files")
    opened = session(copy.table)
    made = plan_withdrawal(opened, 0)
    copy.write("20261121050000000.commit.requested")
    error = attempt(lambda: withdraw_restore(opened, made, 0))
    assert isinstance(error, HudictlError)
    assert error.exit_code == 12


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_what_is_deleted_between_plan_and_claim_is_seen(unpack: Unpack, version: str, name: str) -> None:
    """A resume that deleted files and died leaves the timeline's names as they were."""
    copy = unpack(version, name)
    target = oldest(copy)
    die(copy, target, "delete files", OPTIONS)
    opened = session(copy.table)
    made = plan_withdrawal(opened, 0)
    die(copy, target, "verify", OPTIONS)
    error = attempt(lambda: withdraw_restore(opened, made, 0))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, "already deleted" in error.message) == (13, True)
    restore(copy, target, options=OPTIONS)
    assert_ended(copy, target)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_what_is_deleted_while_instants_are_published_again_is_seen(unpack: Unpack, version: str) -> None:
    """An executor that outlives its driver: the restore stays pending, and can be finished."""
    copy = unpack(version, "cow_savepoints")
    target = oldest(copy)
    die(copy, target, "delete files", OPTIONS)
    path = next(row.path for row in plan(copy, target, OPTIONS).undo.files)
    error = attempt(lambda: withdraw(copy, At("withdraw the restore", lambda: drop(copy.path / path))))
    assert isinstance(error, HudictlError)
    assert (error.exit_code, bool(copy.having("rollback"))) == (13, True)
    restore(copy, target, options=OPTIONS)
    assert_ended(copy, target)


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_change_logs_count_as_files(unpack: Unpack, version: str) -> None:
    """No write statistic of a base file names them; the stored rollbacks do."""
    copy = unpack(version, "cow_cdc")
    target = copy.commits[0]
    die(copy, target, "delete files", OPTIONS)
    gone = [row.path for row in plan(copy, target, OPTIONS).undo.files if row.path.endswith("cdc")]
    assert gone
    drop(copy.path / gone[0])
    error = attempt(lambda: withdraw(copy))
    assert isinstance(error, HudictlError)
    assert error.exit_code == 13


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_later_write_comes_back_with_the_others(unpack: Unpack, version: str) -> None:
    """One that was un-published with a restore that does not name it."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    assert attempt(lambda: restore(copy, target, At("delete files", came(copy)))) is not None
    before = copy.commits
    die(copy, target, "delete files", RestoreOptions(with_later_writes=True))
    done = withdraw(copy)
    assert before[-1] in done.published_again
    assert set(before) <= set(copy.commits)
    assert copy.having("rollback") == []


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_later_write_is_removed_also_after_a_death(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its instant is gone, its rollback is there: the same command without the flag ends it."""
    copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[-1]
    assert attempt(lambda: restore(copy, target, At("delete files", came(copy)))) is not None
    with monkeypatch.context() as patch:

        def dies(*arguments: object) -> None:
            raise StorageFailed("the process dies here")

        patch.setattr(execute, "remove_traces", dies)
        with pytest.raises(StorageFailed, match="dies here"):
            restore(copy, target, options=RestoreOptions(with_later_writes=True))
    restore(copy, target)
    assert_ended(copy, target)


def test_what_does_not_come_back_is_named(unpack: Unpack) -> None:
    """Later savepoints, which the restore was to delete."""
    copy = unpack("v9", "cow_savepoints")
    first, *later = copy.savepoints
    savepoint(copy, copy.commits[-1])
    die(copy, first, "delete files", OPTIONS)
    named = plan_withdrawal(session(copy.table), 0).not_brought_back
    assert f"the savepoint {max(later, default=copy.commits[-1])}" in named


@pytest.mark.parametrize(("version", "name"), [("v6", "cow_part"), ("v8", "mor_savepoints"), ("v9", "cow_cluster")])
def test_hudictls_own_savepoint_that_was_half_made_goes(unpack: Unpack, version: str, name: str) -> None:
    """The metadata table would hide what its commit wrote."""
    copy = unpack(version, name)
    target = copy.commits[0]
    die(copy, target, "prepare", OPTIONS)
    copy.write(f"{target}.savepoint.inflight")
    withdraw(copy)
    assert [name for name in copy.having("savepoint") if name.startswith(target)] == []
    assert_listed(copy.path)


def test_a_lock_that_a_writer_takes_between_plan_and_claim_is_seen(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    die(copy, copy.savepoints[-1], "delete files")
    opened = session(copy.table)
    planned, before = plan_withdrawal(opened, 0), timeline(copy)
    put(copy.meta / "lock", "{}")
    with pytest.raises(Conflict, match=r"\.hoodie/lock"):
        withdraw_restore(opened, planned, 0)
    assert timeline(copy) == before


# What a withdrawal refuses, what it leaves, and what it takes along.

LATER = "20991231000000000"
BOTH = pytest.mark.parametrize("version", ["v6", "v9"])


def died(copy: Copy, step: str = "delete files", options: RestoreOptions = OPTIONS) -> str:
    """A restore to the oldest savepoint or commit that has died; returns its target."""
    die(copy, oldest(copy), step, options)
    return oldest(copy)


@BOTH
def test_a_table_or_a_timeline_that_is_not_known_is_not_changed(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    died(copy)
    before = tree(copy.path)
    with pytest.raises(Unsupported, match="table version 99"):
        plan_withdrawal(session(replace(copy.table, version=99)), 0)
    assert tree(copy.path) == before
    copy.write(f"{LATER}.tidying.requested")
    with pytest.raises(Unsupported, match="tidying"):
        withdraw(copy)


@BOTH
@pytest.mark.parametrize("alive", ["lock", "restore"])
def test_nothing_is_planned_beside_who_is_at_work(unpack: Unpack, version: str, alive: str) -> None:
    """A lock that is held, or a restore that has just been requested."""
    copy = unpack(version, "cow_savepoints")
    died(copy)
    put(copy.meta / "lock", "{}") if alive == "lock" else copy.write(f"{LATER}.restore.requested", old=False)
    with pytest.raises(Conflict):
        plan_withdrawal(session(copy.table), 600_000)


def test_of_several_pending_restores_none_is_withdrawn(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    died(copy)
    pending_restore(copy, LATER, copy.savepoints[-1], begun=True)
    with pytest.raises(Refused, match="exactly one restore must be pending"):
        withdraw(copy)


@pytest.mark.slow
@BOTH
def test_its_own_savepoint_goes_and_the_operators_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    assert died(copy) in copy.savepoints
    withdraw(copy)
    assert copy.having("savepoint") == []
    savepoint(copy, copy.commits[0])
    died(copy)
    withdraw(copy)
    assert copy.savepoints == [copy.commits[0]]


@BOTH
def test_a_later_savepoint_that_it_has_half_deleted_goes(unpack: Unpack, version: str) -> None:
    """And is named before: it does not come back."""
    copy = unpack(version, "cow_savepoints")
    *_, later = copy.savepoints
    died(copy)
    copy.write(f"{later}.savepoint.inflight")
    assert f"the savepoint {later}" in plan_withdrawal(session(copy.table), 0).not_brought_back
    withdraw(copy)
    assert f"{later}.savepoint.inflight" not in copy.instants()


@BOTH
def test_what_it_has_put_aside_goes(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """The metadata table that was taken out of use, and a result that was kept, before the restore itself."""
    copy = unpack(version, "cow_part")
    die(copy, copy.commits[0], "un-publish instants", replace(OPTIONS, metadata="delete"))
    assert list((copy.meta / ".hudictl").glob("dropped-*"))
    (request,) = copy.having("restore.requested")
    kept = put(copy.meta / ".hudictl" / f"restore-{request.partition('.')[0]}", b"{}")
    monkeypatch.setattr("hudictl.ops.restore.withdraw.forget_kept", lambda *_: None)
    assert withdraw(copy).metadata_table == "deleted"
    assert list((copy.meta / ".hudictl").glob("dropped-*")) == []
    assert not kept.exists()


@BOTH
@pytest.mark.parametrize("moves", [True, False], ids=["moves folders", "object store"])
@pytest.mark.parametrize("step", ["prepare", "write rollback plans", "delete files"])
def test_the_metadata_table_that_it_has_set_aside_comes_back_unchanged(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, step: str, moves: bool
) -> None:
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    copy = unpack(version, "cow_record_index")
    before, used = tree(copy.meta / "metadata"), copy.table.metadata_partitions
    die(copy, copy.commits[0], step, OPTIONS)
    assert plan_withdrawal(session(copy.table), 0).not_brought_back == ()
    assert withdraw(copy).metadata_table == ("unchanged" if step == "prepare" else "put back")
    assert copy.table.metadata_partitions == used
    after = tree(copy.meta / "metadata")
    if moves:
        assert after == before
    else:
        # Its properties are written again, with the same content.
        assert {path: body for path, (body, _) in after.items() if "hoodie.properties" not in path} == {
            path: body for path, (body, _) in before.items() if "hoodie.properties" not in path
        }
        assert after[".hoodie/hoodie.properties"][0] == before[".hoodie/hoodie.properties"][0]
    assert_listed(copy.path)
    assert list((copy.meta / ".hudictl").glob("*metadata-*")) == []


@BOTH
def test_where_another_writer_has_made_one_the_one_set_aside_does_not_come_back(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    died(copy, "un-publish instants")
    anew = put(copy.meta / "metadata/.hoodie/hoodie.properties", "hoodie.table.name=t_metadata\n", old=False)
    assert withdraw(copy).metadata_table == "deleted"
    assert anew.exists()
    assert copy.table.metadata_partitions == ()
    assert list((copy.meta / ".hudictl").glob("*metadata-*")) == []


@BOTH
def test_an_instant_that_is_gone_cannot_come_back(unpack: Unpack, version: str) -> None:
    """Its copy alone would publish files that nothing else proves to be whole."""
    copy = unpack(version, "cow_part")
    newest = copy.commits[-1]
    died(copy)
    for name in [name for name in copy.instants() if name.startswith(newest)]:
        drop(copy.timeline / name)
    before = timeline(copy)
    with pytest.raises(Refused, match=f"{newest} was already removed"):
        withdraw(copy)
    assert timeline(copy) == before


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_an_instant_that_has_completed_meanwhile_is_not_completed_twice(unpack: Unpack, version: str) -> None:
    """As a compaction may: from version 8 on its file has another name then."""
    copy = unpack(version, "cow_part")
    newest = copy.commits[-1]
    body = copy.file(newest, "commit").read_bytes()
    died(copy)
    copy.write(f"{newest}_{LATER}.commit", body)
    assert newest not in withdraw(copy).published_again
    assert [path.name for path in copy.timeline.glob(f"{newest}_*.commit")] == [f"{newest}_{LATER}.commit"]


@BOTH
def test_a_deleted_file_that_the_commit_alone_names_is_missed(unpack: Unpack, version: str) -> None:
    """Its rollback plan is gone."""
    copy = unpack(version, "cow_part")
    newest = copy.commits[-1]
    died(copy)
    for name in copy.having("rollback"):
        drop(copy.timeline / name)
    drop(copy.path / next(path for path in sorted(copy.data()) if newest in path))
    with pytest.raises(Refused, match="files were already deleted"):
        withdraw(copy)


@BOTH
def test_a_resize_whose_metadata_is_gone_cannot_come_back(version: str, tmp_path: Path) -> None:
    copy = hashing_table(version, tmp_path)
    die(copy, before_resize(copy), "delete files", OPTIONS)
    with pytest.raises(Refused, match="the hashing metadata of"):
        withdraw(copy)


@BOTH
def test_rollbacks_of_others_stay(unpack: Unpack, version: str) -> None:
    """One of an instant that stays, and one that was there before the restore."""
    copy = unpack(version, "cow_rollback_interrupted")
    earlier = copy.having("rollback.requested")
    die(copy, copy.savepoints[0], "delete files")
    copy.write(f"{LATER}.rollback.requested", rollback_plan(copy.commits[0]))
    withdraw(copy)
    assert copy.having("rollback.requested") == sorted([*earlier, f"{LATER}.rollback.requested"])


def test_cleans_rollbacks_and_indexes_that_do_not_come_back_are_named(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_record_index")
    target = copy.commits[1]
    options = RestoreOptions(to_instant=True, discard_rollbacks=True, idle_ms=0, metadata="delete")
    clean, rollback = "20261121040000001", "20261121040000002"
    copy.write(
        f"{clean}.clean.requested",
        records.clean_plan(sorted(required(copy.table, plan(copy, target, options).undo.case))[:1]),
    )
    copy.write(f"{rollback}.rollback.requested", rollback_plan(copy.commits[0]))
    indexes = {f"the index {name}" for name in copy.table.indexes}
    die(copy, target, "prepare", options)
    assert plan_withdrawal(session(copy.table), 0).not_brought_back == ()
    die(copy, target, "write rollback plans", options)
    named = set(plan_withdrawal(session(copy.table), 0).not_brought_back)
    assert indexes
    assert named == {f"the clean {clean}", f"the rollback {rollback}", *indexes}


@BOTH
def test_a_table_without_a_metadata_table_is_told_nothing_of_one(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_flat_nomdt")
    died(copy, "un-publish instants")
    assert withdraw(copy).metadata_table == "none"
