"""`rollback` on the command line: what is shown, asked and answered, by eyes and as JSON; and its saved plans."""

import json
from pathlib import Path
from typing import Any

import pytest

from hudictl.errors import StorageFailed
from hudictl.ops.rollback import execute as execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.undo.phases import Phase
from tests import records, support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, FailDeletion, put, savepoint, tree
from tests.ops.rollback.execute_support import died, newest, own_files

LOCAL = ("--engine", "local")
LATER = "20261121040000000"
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)


def line(copy: Copy, target: str, *more: str) -> tuple[object, ...]:
    return ("rollback", target, "-t", copy.path, *LOCAL, *more)


# What is said.


def test_the_undo_of_a_pending_write_names_it(unpack: Unpack, tell: Tell) -> None:
    """No reader sees it: but "0 instants are back" would say that it is gone."""
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    done = tell(*line(copy, target, "--keep-files", "--idle", "0s", "--yes", "-o", "json")).json["result"]
    said = tell("undo", done["undo"], "-t", copy.path, *LOCAL, "--idle", "0s", "--yes")
    assert said.code == 0
    assert f": {target} is pending again, and {done['files_deleted']} files (" in said.out
    assert newest(copy) == target


@VERSIONS
def test_0_done(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    files = len(own_files(copy, target))
    said = tell(*line(copy, target, "--yes"))
    assert (said.code, said.err) == (0, "")
    assert f"Roll back {target}" in said.out
    assert f"rolled back {target} in " in said.out
    assert f"deleted {files} files (" in said.out
    assert target not in copy.commits


@VERSIONS
def test_0_done_as_json(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_part")
    target = newest(copy)
    said = tell(*line(copy, target, "--yes", "-o", "json"))
    result = said.json["result"]
    assert (said.code, said.json["command"], said.json["table"]) == (0, "rollback", f"file://{copy.path}")
    assert (result["target"], result["plan_kept"]) == (target, False)
    assert bool(result["rollback_blocks"]) is (version == "v6")
    assert result["metadata_table"] == "rolled back"
    assert result["metadata_table_given_up"] is None
    assert result["indexes_kept"] == sorted(copy.table.indexes)
    assert copy.file(result["rollback"], "rollback").exists()


@VERSIONS
def test_0_once_more(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    tell(*line(copy, target, "--yes"))
    (rollback,) = [name.partition(".")[0] for name in copy.having("rollback.requested")]
    before = tree(copy.path)
    for more in ((), ("--yes",), ("--plan",)):
        said = tell(*line(copy, target, *more))
        assert (said.code, said.out) == (0, f"{target} was already rolled back by {rollback}: nothing to do\n")
    as_json = tell(*line(copy, target, "-o", "json")).json
    said = f"{target} was already rolled back by {rollback}: nothing to do"
    assert (as_json["result"], as_json["notes"]) == (None, [said])
    assert tree(copy.path) == before


@VERSIONS
def test_0_a_plan_that_nobody_has_begun(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (compaction,) = [name.partition(".")[0] for name in copy.having("compaction.requested")]
    before = tree(copy.path)
    said = tell(*line(copy, compaction, "--keep-plan"))
    assert (said.code, said.out) == (0, f"{compaction} is requested and not begun: nothing to do\n")
    assert tree(copy.path) == before


def test_0_a_table_service_goes_back_to_requested(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_pending_compaction")
    (compaction,) = [name.partition(".")[0] for name in copy.having("compaction.requested")]
    copy.write(f"{compaction}.compaction.inflight")
    said = tell(*line(copy, compaction, "--keep-plan", "--yes"))
    assert (said.code, f"returned {compaction} to requested" in said.out) == (0, True)
    assert copy.having("compaction") == [f"{compaction}.compaction.requested"]


@VERSIONS
def test_the_plan_changes_nothing(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    before = tree(copy.path)
    shown = tell(*line(copy, target, "--plan"))
    assert (shown.code, f"Roll back {target}" in shown.out) == (0, True)
    as_json = tell(*line(copy, target, "--plan", "-o", "json")).json
    result = as_json["result"]
    assert as_json["notes"] == ["planned only: nothing was changed"]
    assert (result["operation"], result["target"], result["resumes"]) == ("rollback", target, None)
    assert {file["path"] for file in result["files"]} == own_files(copy, target)
    assert result["files_to_delete"] == len(result["files"])
    assert result["bytes_to_delete"] == sum(file["bytes"] for file in result["files"])
    assert tree(copy.path) == before


def test_the_plan_names_what_goes_besides(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v6", "cow_record_index")
    target = newest(copy)
    needed = sorted(path for path in copy.data() if path not in own_files(copy, target))
    copy.write(f"{LATER}.clean.requested", records.clean_plan(needed))
    result = tell(*line(copy, target, "--plan", "-o", "json")).json["result"]
    assert (result["metadata_table"]["fate"], result["indexes_lost"]) == ("rolled back", [])
    assert set(result["cleans_discarded"]) == {LATER}
    result = tell(*line(copy, target, "--plan", "--metadata", "delete", "-o", "json")).json["result"]
    assert (result["metadata_table"]["fate"], result["indexes_lost"]) == ("deleted", ["record_index"])
    shown = tell(*line(copy, target, "--plan")).out
    assert ("record_index" in shown, LATER in shown) == (True, True)


@pytest.mark.slow
@VERSIONS
def test_a_rollback_that_goes_on_is_named(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    died(copy, target, "delete files")
    (rollback,) = [name.partition(".")[0] for name in copy.having("rollback.requested")]
    shown = tell(*line(copy, target, "--plan"))
    assert (shown.code, f"Finish the rollback {rollback} of {target}" in shown.out) == (0, True)
    assert tell(*line(copy, target, "--plan", "-o", "json")).json["result"]["resumes"] == rollback
    assert tell(*line(copy, target, "--yes", "-o", "json")).json["result"]["rollback"] == rollback


# What is refused.


@pytest.mark.parametrize("more", [(), ("-o", "json")])
def test_4_no_terminal(unpack: Unpack, tell: Tell, more: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_part")
    before = tree(copy.path)
    said = tell(*line(copy, newest(copy), *more))
    assert said.code == 4
    assert "--yes" in said.err
    assert tree(copy.path) == before


@VERSIONS
@pytest.mark.parametrize("more", [("--yes",), ("--plan",)])
def test_13_a_guard(unpack: Unpack, tell: Tell, version: str, more: tuple[str, ...]) -> None:
    copy = unpack(version, "cow_part")
    target = copy.commits[-2]
    before = tree(copy.path)
    said = tell(*line(copy, target, *more))
    assert (said.code, said.out) == (13, "")
    assert copy.commits[-1] in said.line
    error = tell(*line(copy, target, *more, "-o", "json")).error
    assert error["fields"]["instants"] == [copy.commits[-1]]
    assert tree(copy.path) == before


def test_12_a_live_heartbeat_and_the_rule(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    target = newest(copy)
    put(copy.meta / ".heartbeat" / target, old=False)
    assert tell(*line(copy, target, "--plan")).code == 12
    assert tell(*line(copy, target, "--plan", "--idle", "0s")).code == 12
    put(copy.meta / ".heartbeat" / target)
    assert tell(*line(copy, target, "--plan")).code == 0


def test_idle_is_how_long_silence_must_be(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    copy.file(target, "inflight").touch()
    assert tell(*line(copy, target, "--plan")).code == 12
    assert tell(*line(copy, target, "--plan", "--idle", "0s")).code == 0


@pytest.mark.parametrize(
    "more",
    [
        ("--settle", "1"),
        ("--settle", "nan"),
        ("--settle", "inf"),
        ("--settle", "3601s"),
        ("--grace", "soon"),
        ("--idle", "-1s"),
        ("--interval", "soon"),
        ("--misses", "-1"),
        ("--surprise",),
    ],
)
def test_2_a_value_that_cannot_be_taken(unpack: Unpack, tell: Tell, more: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_part")
    assert tell(*line(copy, newest(copy), "--plan", *more)).code == 2


def test_2_no_instant(unpack: Unpack, tell: Tell) -> None:
    assert tell("rollback", "-t", unpack("v9", "cow_part").path).code == 2


def test_3_a_file_that_cannot_be_deleted(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    target = newest(copy)
    stuck = sorted(own_files(copy, target))[0]
    with monkeypatch.context() as patch:
        FailDeletion(stuck).install(patch)
        said = tell(*line(copy, target, "--yes", "-o", "json"))
    assert (said.code, said.out, said.error["fields"]["failed"]) == (3, "", [stuck])
    assert "hudictl resume" in said.error["hint"]
    assert tell("resume", "-t", copy.path, *LOCAL, "--yes").code == 0
    assert own_files(copy, target) == set()


# Saved plans.


def save(tell: Tell, copy: Copy, target: str, *more: str) -> Path:
    said = tell(*line(copy, target, "--plan", "-o", "json", *more))
    assert said.code == 0
    return put(copy.path.parent / "plan.json", said.out)


def edit(file: Path, *keys: str, value: object) -> Path:
    document: dict[str, Any] = json.loads(file.read_text())
    place = document["result"]
    for key in keys[:-1]:
        place = place[int(key) if key.isdigit() else key]
    place[keys[-1]] = value
    return put(file, json.dumps(document))


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("name", ["cow_part", "mor_failed_direct"])
def test_a_saved_plan_is_applied_once(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    target = newest(copy)
    file = save(tell, copy, target)
    said = tell("apply", file, *LOCAL, "-o", "json")
    assert (said.code, said.json["command"], said.json["result"]["target"]) == (0, "apply", target)
    assert own_files(copy, target) == set()
    again = tell("apply", file, *LOCAL)
    assert (again.code, "already rolled back" in again.out) == (0, True)


@pytest.mark.slow
@VERSIONS
@pytest.mark.parametrize("step", ["prepare", "delete files"])
def test_a_saved_plan_goes_on_where_it_died(
    unpack: Unpack, tell: Tell, version: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pending rollback is the plan's own: that its instant is taken back meanwhile does not count."""
    copy = unpack(version, "cow_part")
    target = newest(copy)
    file = save(tell, copy, target)
    enter = execute_rollback._enter

    def die(run: execute_rollback.RollbackRun, phase: Phase) -> None:
        if phase.label == step:
            raise StorageFailed("the process dies here")
        enter(run, phase)

    with monkeypatch.context() as patch:
        patch.setattr(execute_rollback, "_enter", die)
        assert tell("apply", file, *LOCAL).code == StorageFailed.exit_code
    assert len(copy.having("rollback")) == 2
    assert tell("apply", file, *LOCAL).code == 0
    assert own_files(copy, target) == set()


def test_a_plan_is_read_from_standard_input(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    target = newest(copy)
    with save(tell, copy, target).open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert tell("apply", "-", *LOCAL).code == 0
    assert target not in copy.commits


def move_write(copy: Copy) -> None:
    copy.write(f"{LATER}.commit.requested")


def move_savepoint(copy: Copy) -> None:
    savepoint(copy, copy.commits[0])


def move_rollback(copy: Copy) -> None:
    died(copy, newest(copy), "prepare", RollbackOptions(keep_backup=True))


def move_clean(copy: Copy) -> None:
    needed = sorted(path for path in copy.data() if newest(copy) not in path)
    copy.write(f"{LATER}.clean.requested", records.clean_plan(needed[:1]))


@VERSIONS
@pytest.mark.parametrize(
    ("move", "code"), [(move_write, 13), (move_savepoint, 12), (move_rollback, 12), (move_clean, 12)]
)
def test_12_the_table_has_moved(unpack: Unpack, tell: Tell, version: str, move: Any, code: int) -> None:
    copy = unpack(version, "cow_part")
    target = newest(copy)
    file = save(tell, copy, target)
    move(copy)
    before = tree(copy.path)
    said = tell("apply", file, *LOCAL)
    assert (said.code, said.out) == (code, "")
    assert tree(copy.path) == before


def test_12_more_files_than_the_plan_names(unpack: Unpack, tell: Tell) -> None:
    """A pending write that was silent when it was planned, and wrote one more file, long ago by now."""
    copy = unpack("v9", "cow_failed_direct")
    target = newest(copy)
    file = save(tell, copy, target)
    first = copy.path / sorted(own_files(copy, target))[0]
    put(first.with_name(f"ffffffff-{first.name.partition('-')[2]}"), first.read_bytes())
    said = tell("apply", file, *LOCAL)
    assert (said.code, "not in the plan" in said.line) == (12, True)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("options", "idle_ms"), 0),
        (("options", "keep_plan"), True),
        (("files",), []),
        (("files", "0", "path"), ".hoodie/hoodie.properties"),
        (("fingerprint", "options"), "0"),
        (("operation",), "restore"),
        (("operation",), "savepoint create"),
    ],
)
def test_14_a_plan_that_was_changed_by_hand(unpack: Unpack, tell: Tell, keys: tuple[str, ...], value: object) -> None:
    copy = unpack("v9", "cow_part")
    file = edit(save(tell, copy, newest(copy)), *keys, value=value)
    before = tree(copy.path)
    said = tell("apply", file, *LOCAL)
    assert (said.code, said.out) == (14, "")
    assert tree(copy.path) == before


@pytest.mark.parametrize(("keys", "value"), [(("target",), "20260101000000000"), (("fingerprint", "table"), "x")])
def test_a_plan_of_something_else(unpack: Unpack, tell: Tell, keys: tuple[str, ...], value: object) -> None:
    copy = unpack("v9", "cow_part")
    before = tree(copy.path)
    said = tell("apply", edit(save(tell, copy, newest(copy)), *keys, value=value), *LOCAL)
    assert said.code in (12, 13)
    assert tree(copy.path) == before
