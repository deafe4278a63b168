"""`resume`, and what else a restore's options do: what is found, what is asked, and which target is taken."""

import json

import pytest

from hudictl.errors import StorageFailed
from hudictl.formats import rollback
from hudictl.formats import savepoint as savepoint_format
from hudictl.formats.rollback import InstantInfo, StoredRollbackPlan
from hudictl.formats.savepoint import SavepointMetadata
from hudictl.ops.restore import execute
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.operations import operation_path
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.crash.inject import Crash
from tests.helpers import (
    At,
    Copy,
    alone,
    die,
    drop,
    in_the_middle,
    pending_restore,
    put,
    restore,
    savepoint,
    straddle,
    tree,
)

LOCAL = ("--engine", "local")
LATER = "20261121040000000"
FIRST, SECOND = LATER, "20261121050000000"
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def leftovers(copy: Copy) -> tuple[str, str]:
    """A restore of which a rollback and hudictl's own savepoint are left; returns the rollback, and the commit."""
    kept: dict[str, bytes] = {}

    def keep() -> None:
        kept.update({name: (copy.timeline / name).read_bytes() for name in copy.having("rollback")})

    restore(copy, copy.savepoints[-1], At("delete files", keep))
    for name, body in kept.items():
        copy.write(name, body)
    commit = copy.commits[0]
    body = savepoint_format.encode(
        SavepointMetadata("hudictl", 1, f"hudictl: protects the target of restore {LATER}", {})
    )
    copy.write(f"{commit}.savepoint.inflight")
    copy.write(f"{commit}.savepoint" if copy.version == "v6" else f"{commit}_{LATER}.savepoint", body)
    return min(kept).partition(".")[0], commit


# What restores have left.


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("command", ["resume", "restore"])
def test_what_is_left_is_told_asked_for_and_removed(unpack: Unpack, tell: Tell, version: str, command: str) -> None:
    copy = unpack(version, "cow_savepoints")
    rollback_time, commit = leftovers(copy)
    target = copy.savepoints[-1]
    described = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
    assert f"{rollback_time} rollback: a leftover of an ended restore" in described["verdict"]
    assert "resume" in described["advice"]
    line = (command, *([target] if command == "restore" else []), "-t", copy.path, *LOCAL)
    before = tree(copy.path)
    planned = tell(*line, "--plan")
    assert planned.code == 0
    assert "would remove" in planned.out
    assert rollback_time in planned.out
    assert f"savepoint on {commit}" in planned.out
    as_json = tell(*line, "--plan", "-o", "json").json
    assert (as_json["command"], as_json["notes"]) == (command, ["planned only: nothing was changed"])
    assert as_json["result"] == {
        "rollbacks": [rollback_time],
        "restores": [],
        "savepoints": [commit],
        "metadata_tables": [],
        "manifests": [],
        "properties": [],
    }
    asked = tell(*line)
    assert asked.code == 4
    assert "--yes" in asked.line
    assert tree(copy.path) == before
    done = tell(*line, "--yes")
    assert (done.code, done.err) == (0, "")
    assert "removed" in done.out
    assert copy.having("rollback") == []
    assert commit not in copy.savepoints
    assert target in copy.savepoints
    assert "nothing is pending" in tell("table", "show", "-t", copy.path).out
    again = tell(*line, "--yes")
    assert again.code == 0
    assert "removed" not in again.out


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_savepoint_that_cannot_be_read_is_not_taken_for_its_own(unpack: Unpack, tell: Tell, version: str) -> None:
    """It is nobody's business here: nothing is pending, and the savepoint stays."""
    copy = unpack(version, "cow_savepoints")
    put(copy.file(copy.savepoints[0], "savepoint"), b"garbage")
    before = tree(copy.path)
    said = tell("resume", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, said.out) == (0, "nothing is pending\n")
    assert tree(copy.path) == before


# Which restore goes on.


@VERSIONS
def test_the_newest_target_is_finished_and_all_are_told(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    older, newer = copy.savepoints
    # The older target's restore is the newer one.
    pending_restore(copy, FIRST, newer, begun=True)
    pending_restore(copy, SECOND, older, begun=True)
    planned = tell("resume", "-t", copy.path, *LOCAL, "--plan")
    assert planned.code == 0
    assert f"Finish the restore {FIRST} to" in planned.out
    for time, target in ((FIRST, newer), (SECOND, older)):
        assert f"Found Hudi's pending restore {time} to {target} (INFLIGHT)" in planned.out
    view = tell("resume", "-t", copy.path, *LOCAL, "--plan", "-o", "json").json["result"]
    assert (view["resumes"], view["target"], view["restores_superseded"]) == (FIRST, newer, [SECOND])
    assert tell("resume", "-t", copy.path, *LOCAL, "--yes").code == 0
    assert copy.commits[-1] == newer
    assert "nothing is pending" in tell("table", "show", "-t", copy.path).out
    assert [name for name in copy.having("restore") if SECOND in name] == []


def test_a_restore_whose_plan_names_no_target_is_to_an_unnamed_instant(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    older, newer = copy.savepoints
    between = next(time for time in copy.commits if older < time < newer)
    pending_restore(copy, SECOND, older, begun=True, named=False)
    for line in (("table", "show", "-o", "json"), ("check", *LOCAL)):
        assert "a restore without a named target has not ended" in tell(*line, "-t", copy.path).out
    pending_restore(copy, FIRST, newer, begun=True)
    line = ("restore", newer, "-t", copy.path, *LOCAL, "--idle", "0s")
    assert f"Found Hudi's pending restore {SECOND} to an unnamed instant (INFLIGHT)" in tell(*line, "--plan").out
    drop(copy.file(between, "commit"))
    said = tell(*line, "--yes")
    assert said.code == 13
    assert f"the pending restore {SECOND} to an unnamed instant has begun to remove {between}" in said.line
    assert "finish it with Hudi" in said.line
    assert "None" not in said.line


def test_13_the_hint_names_the_target_that_finishes_both(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    older, newer = copy.savepoints
    between = next(time for time in copy.commits if older < time < newer)
    pending_restore(copy, FIRST, newer, begun=True)
    pending_restore(copy, SECOND, older, begun=True)
    drop(copy.file(between, "commit"))
    said = tell("resume", "-t", copy.path, *LOCAL, "--yes", "--idle", "0s")
    assert said.code == 13
    assert f"`hudictl restore {older}` finishes both" in alone(said.line)
    options = ("--delete-later-savepoints", "--idle", "0s", "--yes")
    assert tell("restore", older, "-t", copy.path, *LOCAL, *options).code == 0
    assert copy.commits[-1] == older
    assert len(copy.having("restore.requested")) == 1


@VERSIONS
def test_a_rule_that_was_chosen_holds_for_the_rest(
    unpack: Unpack, tell: Tell, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process died before the restore had begun: it is planned anew, by the rule that the operator chose."""
    copy = unpack(version, "cow_savepoints")
    earlier, target = straddle(copy)

    def crash(run: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(execute, "_settle", crash)
        with pytest.raises(Crash):
            tell("restore", target, "--rule", "requested", "-t", copy.path, *LOCAL, "--yes")
    for claim in (copy.meta / ".hudictl").glob("claim-*"):
        claim.unlink()
    said = tell("resume", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, said.err) == (0, "")
    assert earlier in copy.commits
    assert copy.commits[-1] == target


def test_a_restore_without_savepoint_is_resumed(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    target = copy.commits[1]
    planned = tell("restore", "--to-instant", target, "-t", copy.path, *LOCAL, "--plan")
    assert f"Restore to instant {target}" in planned.out
    assert f"A temporary savepoint on {target} protects" in planned.out

    def dies(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr("hudictl.ops.undo.execute.delete_files", dies)
        assert tell("restore", "--to-instant", target, "-t", copy.path, *LOCAL, "--yes").code == 15
    assert copy.savepoints == [target]
    said = tell("resume", "-t", copy.path, *LOCAL, "--yes")
    assert (said.code, said.err) == (0, "")
    assert "Found hudictl's pending restore" in said.out
    assert copy.savepoints == []
    assert copy.commits[-1] == target


@pytest.mark.parametrize(
    "more", [("--metadata", "delete"), ("--discard-rollbacks",), ("--grace", "5m"), ("--require-index", "all")]
)
def test_2_what_means_nothing_to_a_withdrawal(unpack: Unpack, tell: Tell, more: tuple[str, ...]) -> None:
    """It is not ignored in silence."""
    said = tell("resume", "--withdraw", "-t", unpack("v9", "cow_part").path, *LOCAL, "--plan", *more)
    assert (said.code, f"--withdraw cannot be used with {more[0]}" in said.line) == (2, True)


def test_2_one_target(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    for line in ((), (copy.savepoints[0], "--to-instant", copy.commits[0])):
        said = tell("restore", *line, "-t", copy.path, *LOCAL, "--yes")
        assert said.code == 2
        assert "--to-instant" in said.line


def test_a_damaged_record_of_a_rollback_is_in_no_restores_way(unpack: Unpack, tell: Tell) -> None:
    """The restore takes that rollback's target back, too: whether it was wanted is no question."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    body = rollback.encode_plan(StoredRollbackPlan(InstantInfo(copy.commits[-1], "commit"), ()))
    die(copy, target, "delete files")
    (time,) = {path.name.partition(".")[0] for path in copy.timeline.glob("*.restore.requested")}
    copy.write(f"{LATER}.rollback.requested", body)
    put(copy.path / operation_path(LATER), b"{")
    said = tell("resume", "-t", copy.path, *LOCAL, "--plan")
    assert (said.code, time in said.out) == (0, True)


# Options.


@VERSIONS
def test_later_savepoints_are_part_of_the_plan(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    target, later = copy.savepoints
    line = ("restore", target, "-t", copy.path, *LOCAL)
    said = tell(*line, "--yes")
    assert said.code == 13
    assert later in said.line
    assert tell(*line, "--yes", "-o", "json").error["fields"]["savepoints"] == [later]
    planned = tell(*line, "--delete-later-savepoints", "--plan")
    assert f"Later savepoints to delete: {later}." in planned.out
    view = tell(*line, "--delete-later-savepoints", "--plan", "-o", "json").json["result"]
    assert view["savepoints_deleted"] == [later]
    assert tell(*line, "--delete-later-savepoints", "--yes").code == 0
    assert copy.savepoints == [target]


def test_a_discarded_rollback_is_part_of_the_plan(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = savepoint(copy, copy.commits[-1])
    body = rollback.encode_plan(StoredRollbackPlan(InstantInfo(target, "commit"), ()))
    copy.write(f"{LATER}.rollback.requested", body)
    line = ("restore", target, "-t", copy.path, *LOCAL)
    assert tell(*line, "--yes").code == 13
    planned = tell(*line, "--discard-rollbacks", "--plan")
    assert f"The pending rollback {LATER} is discarded: it has changed nothing." in planned.out
    assert "Rollback instants that go" not in planned.out
    assert tell(*line, "--discard-rollbacks", "--yes").code == 0
    assert copy.having("rollback") == []


@pytest.mark.parametrize(("value", "seconds"), [("90", 90.0), ("5m", 300.0), ("1500ms", 1.5)])
def test_grace_is_told(unpack: Unpack, tell: Tell, value: str, seconds: float) -> None:
    copy = unpack("v9", "cow_savepoints")
    line = ("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--plan", "--grace", value)
    assert f"Files are deleted {seconds:g} s after readers see" in tell(*line).out
    assert tell(*line, "-o", "json").json["result"]["options"]["grace_s"] == seconds


@pytest.mark.parametrize("value", ["soon", "-1", "1.5", ""])
def test_2_no_duration(unpack: Unpack, tell: Tell, value: str) -> None:
    copy = unpack("v9", "cow_savepoints")
    said = tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--plan", f"--grace={value}")
    assert said.code == 2
    assert "--grace" in said.line


def test_options_of_the_restore_hold_when_it_is_resumed(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    target, later = copy.savepoints
    die(copy, target, "prepare", RestoreOptions(delete_later_savepoints=True, keep_backup=True))
    view = tell("resume", "-t", copy.path, *LOCAL, "--plan", "-o", "json").json["result"]
    assert (view["options"]["keep_backup"], view["savepoints_deleted"]) == (True, [later])
    assert tell("resume", "-t", copy.path, *LOCAL, "--yes").code == 0
    (record,) = (copy.meta / ".hudictl" / "operations").iterdir()
    assert len(json.loads(record.read_bytes())["attempts"]) == 2
    assert (copy.meta / ".rollback_backup").exists()


@pytest.mark.parametrize("command", ["restore", "resume"])
def test_what_comes_while_it_is_published_is_named_and_the_end_is_3(
    unpack: Unpack, tell: Tell, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The restore has ended; the command must not say that all is well."""
    copy = unpack("v9", "cow_savepoints")
    target, removed = copy.savepoints[-1], copy.commits[-1]
    if command == "resume":
        die(copy, target, "verify")
    come = f"{removed}.commit.requested"
    in_the_middle(monkeypatch, "hudictl.ops.restore.execute.complete_restore", lambda: copy.write(come))
    said = tell(command, *([target] if command == "restore" else []), "-t", copy.path, *LOCAL, "--yes", "-o", "json")
    assert said.code == 3
    assert [finding for finding in said.error["fields"]["findings"] if removed in finding]
