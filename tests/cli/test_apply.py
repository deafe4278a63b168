"""`apply`: a plan that was saved is done later, if the table is still what it was."""

import io
import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from hudictl.errors import StorageFailed
from hudictl.ops.restore import execute
from hudictl.ops.restore.plan import RestoreOptions
from tests import records, support
from tests.cli.conftest import Tell, Unpack
from tests.crash.inject import Crash, dying
from tests.helpers import OWN, Copy, die, drop, plan, put, required, rollback_plan, savepoint, tree, written_in
from tests.ops.clean_up.service_support import indexing, left
from tests.ops.rollback.harmful_clean_support import harmful
from tests.state.orphans.find_support import LATER as SERVICE

LOCAL = ("--engine", "local")
LATER = "20261121235959999"
VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
TABLES = [(version, name) for version in support.VERSIONS for name in ("cow_savepoints", "mor_savepoints")]


def save(tell: Tell, copy: Copy, *command: str) -> Path:
    """The plan of a command, in a file."""
    engine = () if command[:2] == ("savepoint", "delete") else LOCAL
    said = tell(*command, "-t", copy.path, *engine, "--plan", "-o", "json")
    assert (said.code, said.err) == (0, "")
    return put(copy.path.parent / "plan.json", said.out)


# It is done as it was planned.


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_a_restore_is_done_as_it_was_saved_and_once(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    file = save(tell, copy, "restore", target)
    wanted = json.loads(file.read_text())["result"]
    data = copy.data()
    done = tell("apply", file, *LOCAL, "-o", "json")
    assert (done.code, done.err) == (0, "")
    assert (done.json["command"], done.json["table"]) == ("apply", f"file://{copy.path}")
    assert done.json["result"]["target"] == target
    assert data - copy.data() == {entry["path"] for entry in wanted["files"]}
    assert copy.commits[-1] == target
    before = tree(copy.path)
    again = tell("apply", file, *LOCAL)
    assert (again.code, again.err) == (0, "")
    assert again.out == f"already restored to {target} by restore {done.json['result']['restore']}\n"
    assert tell("apply", file, *LOCAL, "-o", "json").code == 0
    assert tree(copy.path) == before


def test_a_plan_is_known_as_applied_after_the_table_was_moved(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    file = save(tell, copy, "restore", copy.savepoints[-1])
    assert tell("apply", file, *LOCAL).code == 0
    moved = copy.path.rename(copy.path.parent / "moved")
    said = tell("apply", file, "-t", moved, *LOCAL)
    assert (said.code, said.err) == (0, "")
    assert "already restored" in said.out
    assert " by restore " in said.out


def test_the_plan_is_shown_and_nobody_is_asked(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    file = save(tell, copy, "restore", copy.savepoints[-1])
    said = tell("apply", file, *LOCAL)
    assert said.code == 0
    assert f"Restore to savepoint {copy.savepoints[-1]}" in said.out
    assert "restored to" in said.out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("v6", ("--to-instant",)),
        ("v9", ("--to-instant", "--delete-later-savepoints", "--keep-backup", "--grace", "1s", "--idle", "5m")),
        ("v8", ("--delete-later-savepoints", "--rule", "requested", "--settle", "3s")),
    ],
)
def test_what_was_asked_for_is_in_the_plan(unpack: Unpack, tell: Tell, version: str, options: tuple[str, ...]) -> None:
    copy = unpack(version, "cow_part" if options == ("--to-instant",) else "cow_savepoints")
    target = copy.commits[0] if "--to-instant" in options else copy.savepoints[0]
    at = options.index("--to-instant") + 1 if "--to-instant" in options else 0
    file = save(tell, copy, "restore", *options[:at], target, *options[at:])
    asked = json.loads(file.read_text())["result"]["options"]
    assert tell("apply", file, *LOCAL).code == 0
    assert copy.commits == [time for time in copy.commits if time <= target]
    assert copy.savepoints == ([] if "--to-instant" in options else [target])
    assert (copy.meta / ".rollback_backup").exists() == ("--keep-backup" in options)
    (record,) = (copy.meta / ".hudictl" / "operations").iterdir()
    assert json.loads(record.read_bytes())["plan"]["options"] == asked


def test_from_standard_input(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    body = save(tell, copy, "restore", target).read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(body)))
    assert tell("apply", "-", *LOCAL).code == 0
    assert copy.commits[-1] == target


def test_what_does_not_end_is_no_plan(tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudictl.cli.commands.apply.PLAN_BYTES", 10_000_000)
    said = tell("apply", "/dev/zero")
    assert (said.code, "/dev/zero is not a plan: it has more than 10,000,000 bytes" in said.err) == (14, True)


@VERSIONS
def test_a_savepoint_is_created_as_it_was_saved(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    # The newest one, as it was then.
    file = save(tell, copy, "savepoint", "create", "--user", "ann", "--comment", "before the load")
    newest = copy.commits[-1]
    said = tell("apply", file, *LOCAL)
    assert (said.code, said.err) == (0, "")
    (row,) = tell("savepoint", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert (row["instant"], row["user"], row["comment"]) == (newest, "ann", "before the load")
    before = tree(copy.path)
    again = tell("apply", file, *LOCAL)
    assert again.code == 0
    assert "already has a savepoint" in again.out
    assert tree(copy.path) == before


@VERSIONS
def test_a_savepoint_is_deleted_as_it_was_saved(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    first, second = copy.savepoints
    file = save(tell, copy, "savepoint", "delete", first)
    assert tell("apply", file).code == 0
    assert copy.savepoints == [second]
    before = tree(copy.path)
    again = tell("apply", file)
    assert again.code == 0
    assert "nothing to do" in again.out
    assert tree(copy.path) == before


def test_12_another_savepoint_stands_there_now(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    first = copy.savepoints[0]
    file = save(tell, copy, "savepoint", "delete", first)
    assert tell("savepoint", "delete", first, "-t", copy.path, "--yes").code == 0
    assert tell("savepoint", "create", first, "-t", copy.path, *LOCAL, "--yes").code == 0
    said = tell("apply", file)
    assert said.code == 12
    assert "savepoint: was" in said.line
    assert first in copy.savepoints


# Interrupted.


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), TABLES)
@pytest.mark.parametrize("fewer", [False, True], ids=["same files", "fewer files"])
def test_the_same_plan_again_finishes_it(
    unpack: Unpack, tell: Tell, version: str, name: str, fewer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    file = save(tell, copy, "restore", target)
    if fewer:
        drop(copy.path / json.loads(file.read_text())["result"]["files"][0]["path"])

    def dies(*_: object) -> None:
        raise StorageFailed("the process dies here")

    with monkeypatch.context() as patch:
        patch.setattr("hudictl.ops.undo.execute.delete_files", dies)
        assert tell("apply", file, *LOCAL).code == 15
    assert copy.having("restore.inflight")
    said = tell("apply", file, *LOCAL)
    assert (said.code, said.err) == (0, "")
    assert "Finish the restore" in said.out
    assert copy.having("rollback") == []
    assert tell("apply", file, *LOCAL).code == 0
    (row,) = tell("history", "-t", copy.path, "-o", "json").json["rows"]
    assert (row["attempts"], row["exit_code"]) == (2, 0)


@pytest.mark.slow
@pytest.mark.parametrize("at", range(8, 60, 4))
def test_a_death_anywhere_and_the_same_plan_again(unpack: Unpack, tell: Tell, at: int) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[0]
    file = save(tell, copy, "restore", "--to-instant", copy.commits[0], "--delete-later-savepoints")
    with dying(at), pytest.raises(Crash):
        tell("apply", file, *LOCAL)
    said = tell("apply", file, *LOCAL)
    assert (said.code, said.err) == (0, "")
    assert copy.commits == [time for time in copy.commits if time < target]
    assert [name for name in copy.instants() if "savepoint" in name or "rollback" in name] == []


def test_12_what_was_only_requested_is_compared_again(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it was done: the table may have moved meanwhile as any other."""
    copy = unpack("v9", "cow_savepoints")
    older, target = copy.savepoints
    file = save(tell, copy, "restore", target)
    dies_while_settling(tell, file, monkeypatch)
    assert copy.having("restore") == copy.having("restore.requested") != []
    forget_claims(copy)
    drop(copy.file(older, "savepoint"))
    said = tell("apply", file, *LOCAL)
    assert said.code == 12
    assert "savepoints: was" in said.line


@pytest.mark.slow
def test_what_was_only_requested_is_planned_anew(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    file = save(tell, copy, "restore", copy.savepoints[-1])
    dies_while_settling(tell, file, monkeypatch)
    forget_claims(copy)
    assert tell("apply", file, *LOCAL).code == 0
    assert len(copy.having("restore.requested")) == 1
    assert tell("apply", file, *LOCAL).code == 0


def dies_while_settling(tell: Tell, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A death between the request and its inflight file."""

    def crash(run: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(execute, "_settle", crash)
        with pytest.raises(Crash):
            tell("apply", file, *LOCAL)


def forget_claims(copy: Copy) -> None:
    """The process that held them is gone."""
    for claim in (copy.meta / ".hudictl").glob("claim-*"):
        claim.unlink()


@pytest.mark.slow
def test_the_plan_of_a_resumption(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_restore_interrupted")
    file = save(tell, copy, "resume")
    assert tell("apply", file, *LOCAL).code == 0
    assert copy.having("rollback") == []
    assert tell("apply", file, *LOCAL).code == 0


# Somewhere else.


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_on_a_copy_of_the_table(unpack: Unpack, tell: Tell, tmp_path: Path, version: str, name: str) -> None:
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    file = save(tell, copy, "restore", target)
    other = Copy(version, name, tmp_path / "elsewhere")
    shutil.copytree(copy.path, other.path, copy_function=shutil.copy2)
    before = tree(copy.path)
    assert tell("apply", file, "-t", other.path, *LOCAL).code == 0
    assert other.commits[-1] == target
    assert tree(copy.path) == before
    assert tell("apply", file, *LOCAL).code == 0
    assert copy.data() == other.data()


def test_on_another_table(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    """No guard's words alone: what does not fit is told as what it is."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    file = save(tell, copy, "restore", target)
    other = Copy("v9", "cow_part", support.unpack("v9", "cow_part", tmp_path / "elsewhere"))
    before = tree(other.path, OWN)
    said = tell("apply", file, "-t", other.path, *LOCAL)
    assert (said.code, f"the plan names another table: file://{copy.path}" in said.line) == (13, True)
    assert tree(other.path, OWN) == before
    drop(copy.path / sorted(required(copy.table, plan(copy, target).undo.case))[0])
    said = tell("apply", file, *LOCAL)
    assert (said.code, "another table" in said.line) == (13, False)


def test_the_environment_names_no_other_table(
    unpack: Unpack, tell: Tell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    file = save(tell, copy, "restore", target)
    other = tmp_path / "elsewhere"
    shutil.copytree(copy.path, other, copy_function=shutil.copy2)
    before = tree(other)
    monkeypatch.setenv("HUDICTL_TABLE", str(other))
    assert tell("apply", file, *LOCAL).code == 0
    assert tree(other) == before
    assert copy.commits[-1] == target


def test_the_time_zone_is_kept(unpack: Unpack, tell: Tell) -> None:
    copy = written_in(unpack("v9", "cow_savepoints"), hours=9)
    file = save(tell, copy, "restore", copy.savepoints[-1], "--timezone", "Asia/Tokyo")
    other = tell("apply", file, *LOCAL, "--timezone", "Asia/Seoul")
    assert other.code == 12
    assert "time zone: was Asia/Tokyo, is now Asia/Seoul" in other.line
    done = tell("apply", file, *LOCAL, "-o", "json")
    there = datetime.now(ZoneInfo("Asia/Tokyo"))
    made = datetime.strptime(done.json["result"]["restore"][:14], "%Y%m%d%H%M%S").replace(tzinfo=there.tzinfo)
    assert abs((there - made).total_seconds()) < 60


# 12: the table has moved.


def commit(copy: Copy, *, pending: bool = False) -> str:
    copy.write(f"{LATER}.commit.requested")
    copy.write(f"{LATER}.inflight")
    if not pending:
        copy.write(f"{LATER}.commit" if copy.version == "v6" else f"{LATER}_{LATER}.commit", old=False)
    return f"instant {LATER}: was absent, is now commit"


def pending_write(copy: Copy) -> str:
    return commit(copy, pending=True)


def new_savepoint(copy: Copy) -> str:
    savepoint(copy, copy.commits[0])
    return f"savepoints: was {copy.savepoints[1]}, is now {copy.commits[0]}, "


def other_savepoint(copy: Copy) -> str:
    """Deleted and made anew by somebody, with another comment."""
    done = copy.file(copy.savepoints[-1], "savepoint")
    drop(done)
    drop(copy.timeline / f"{done.name[:17]}.savepoint.inflight")
    savepoint(copy, done.name[:17])
    return f"target: was {done.name[:17]} savepoint COMPLETED"


def pending_clean(copy: Copy) -> str:
    target = copy.savepoints[-1]
    spare = sorted(copy.data() - set(required(copy.table, plan(copy, target).undo.case)))[:1]
    copy.write(f"{LATER}.clean.requested", records.clean_plan(spare))
    return f"pending cleans: was none, is now {LATER}"


def pending_rollback(copy: Copy) -> str:
    copy.write(f"{LATER}.rollback.requested", rollback_plan(copy.commits[-1]))
    return f"pending rollbacks: was none, is now {LATER}"


def changed_file(copy: Copy) -> str:
    """A log: a base file would be damaged."""
    needed = required(copy.table, plan(copy, copy.savepoints[-1]).undo.case)
    path = copy.path / min(path for path in needed if ".log." in path)
    put(path, path.read_bytes() + b"x")
    return "files that are needed: was"


@VERSIONS
@pytest.mark.parametrize(
    "move", [commit, pending_write, new_savepoint, other_savepoint, pending_clean, pending_rollback, changed_file]
)
def test_12_what_has_moved_is_named(unpack: Unpack, tell: Tell, version: str, move: Callable[[Copy], str]) -> None:
    copy = unpack(version, "mor_savepoints" if move is changed_file else "cow_savepoints")
    file = save(tell, copy, "restore", copy.savepoints[-1])
    named = move(copy)
    before = tree(copy.path, OWN)
    said = tell("apply", file, *LOCAL)
    assert said.code == 12
    assert named in said.line
    error = tell("apply", file, *LOCAL, "-o", "json").error
    assert any(name in named for name in error["fields"]["moved"])
    assert tree(copy.path, OWN) == before


@pytest.mark.slow
def test_12_a_restore_that_another_plan_has_begun(unpack: Unpack, tell: Tell) -> None:
    """To the same target, but asked for otherwise."""
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    file = save(tell, copy, "restore", target)
    die(copy, target, "delete files", RestoreOptions(idle_ms=7))
    said = tell("apply", file, *LOCAL)
    assert said.code == 12
    assert "pending restores: was none" in said.line
    assert tell("resume", "-t", copy.path, *LOCAL, "--yes").code == 0


@VERSIONS
def test_12_restored_and_written_to_since(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    file = save(tell, copy, "restore", copy.savepoints[-1])
    assert tell("apply", file, *LOCAL).code == 0
    (restored,) = copy.having("restore.requested")
    commit(copy)
    before = tree(copy.path)
    said = tell("apply", file, *LOCAL)
    assert said.code == 12
    assert f"already applied by restore {restored.partition('.')[0]}" in said.line
    assert tree(copy.path) == before


@pytest.mark.parametrize(("version", "name"), TABLES)
def test_fewer_files_are_none_the_worse_and_more_are_12(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    file = save(tell, copy, "restore", copy.savepoints[-1])
    first, *_, last = [entry["path"] for entry in json.loads(file.read_text())["result"]["files"]]
    stem, _, suffix = last.rpartition("_" if last.endswith(".parquet") else "-")
    more = put(copy.path / f"{stem[:-1]}{(int(stem[-1]) + 1) % 10}{'_' if last.endswith('.parquet') else '-'}{suffix}")
    drop(copy.path / first)
    said = tell("apply", file, *LOCAL)
    assert said.code == 12
    assert more.name in said.line
    assert "1 file to delete, but not in the plan" in said.line
    drop(more)
    assert tell("apply", file, *LOCAL).code == 0


@VERSIONS
def test_a_completed_clean_is_harmless_where_a_savepoint_stands(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_savepoints")
    file = save(tell, copy, "restore", copy.savepoints[-1])
    clean = "20261121040000000"
    copy.write(f"{clean}.clean.requested")
    copy.write(f"{clean}.clean.inflight")
    copy.write(f"{clean}.clean" if version == "v6" else f"{clean}_{clean}.clean")
    assert tell("apply", file, *LOCAL).code == 0
    assert copy.commits[-1] == copy.savepoints[-1]


# The removal of a clean, or an indexing.


@VERSIONS
@pytest.mark.parametrize("what", [lambda copy: harmful(copy), lambda copy: indexing(copy, begun=False)])
def test_a_removal_of_a_table_service(unpack: Unpack, tell: Tell, version: str, what: Callable[[Copy], None]) -> None:
    copy = unpack(version, "cow_part")
    what(copy)
    file = save(tell, copy, "rollback", SERVICE)
    assert tell("apply", file, *LOCAL).code == 0
    assert left(copy) == []
    again = tell("apply", file, *LOCAL)
    assert (again.code, "was already removed" in again.out) == (0, True)


@VERSIONS
def test_a_removal_of_what_has_begun_since(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "cow_part")
    indexing(copy, begun=False)
    file = save(tell, copy, "rollback", SERVICE)
    indexing(copy, begun=True)
    said = tell("apply", file, *LOCAL)
    assert said.code == 12
    assert f"files to delete: was {SERVICE}.indexing.requested, is now {SERVICE}.indexing.inflight" in said.line
    assert len(left(copy)) == 2
