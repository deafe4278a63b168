"""Commands that change: plans, confirmations, results and exit codes."""

import json
import os
import re
import tempfile
from pathlib import Path

import pytest

from hudictl.errors import HudictlError, StorageFailed
from hudictl.ops.undo import execute as undo_steps
from hudictl.storage import local
from tests import records, support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import OWN, Copy, FailDeletion, drop, plan, put, required, savepoint, tree

LOCAL = ("--engine", "local")
LATER = "20261121040000000"
PLAN_KEYS = [
    *("plan_version", "operation", "timezone", "target", "options", "fingerprint", "table_version", "rule"),
    *(
        "overlaps",
        "resumes",
        "pending_restores",
        "restores_superseded",
        "later_writes",
        "nothing_to_do",
        "instants",
    ),
    *(
        "files_to_delete",
        "bytes_to_delete",
        "files",
        "files_kept",
        "files_lost",
        "files_deleted_first",
        "rollback_blocks",
    ),
    *("savepoints_deleted", "protecting_savepoint"),
    *("rollbacks_removed", "rollbacks_discarded", "cleans_discarded"),
    *("partition_metafiles_made", "metadata_table", "metadata_table_unread", "indexes_lost"),
    "hashing_metadata_removed",
    *("pending_writes_that_stay", "newer_compactions_that_stay", "catalog", "checkpoint"),
    "table_type_before",
    *("files_needed", "bytes_needed", "timeline", "lock"),
]
RESULT_KEYS = [
    *("restore", "target", "instants", "files_deleted", "bytes_deleted", "rollback_blocks"),
    *("readers_back_ms", "duration_ms", "files_lost", "metadata_table", "indexes_kept", "metadata_table_given_up"),
    *("catalog", "head", "checkpoint", "consumers", "undo", "indexings"),
]
TABLES = [(version, name) for version in support.VERSIONS for name in ("cow_savepoints", "mor_savepoints")]


# Plans.


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), TABLES)
def test_a_plan_changes_nothing_and_is_what_then_happens(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    target = copy.savepoints[-1]
    before = tree(copy.path)
    planned = tell("restore", target, "-t", copy.path, *LOCAL, "--plan", "-o", "json")
    shown = tell("restore", target, "-t", copy.path, *LOCAL, "--plan")
    assert (planned.code, planned.err, shown.code, shown.err) == (0, "", 0, "")
    assert tree(copy.path) == before
    view = planned.json["result"]
    assert list(view) == PLAN_KEYS
    data = copy.data()
    done = tell("restore", target, "-t", copy.path, *LOCAL, "--yes", "-o", "json")
    assert (done.code, done.err) == (0, "")
    result = done.json["result"]
    assert list(done.json) == ["schema_version", "command", "table", "outcome", "result", "notes"]
    assert done.json["command"] == "restore"
    assert list(result) == RESULT_KEYS
    assert {file["path"] for file in view["files"]} == data - copy.data()
    assert view["files_to_delete"] == result["files_deleted"] == len(data - copy.data())
    assert view["bytes_to_delete"] == result["bytes_deleted"] == sum(file["bytes"] for file in view["files"])
    assert [row["time"] for row in view["instants"]] == result["instants"]
    assert len(view["rollback_blocks"]) == result["rollback_blocks"]
    # The text tells of every instant, and how much goes.
    assert all(row["time"] in shown.out for row in view["instants"])
    assert f"Files to delete: {view['files_to_delete']:,} " in shown.out
    assert target in shown.out


@pytest.mark.parametrize("version", support.VERSIONS)
def test_once_more_there_is_nothing_to_do(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_savepoints")
    target = copy.savepoints[-1]
    assert tell("restore", target, "-t", copy.path, *LOCAL, "--yes").code == 0
    before = tree(copy.path)
    again = tell("restore", target, "-t", copy.path, *LOCAL, "--yes")
    assert (again.code, again.err) == (0, "")
    assert "nothing to do" in again.out
    assert tell("restore", target, "-t", copy.path, *LOCAL, "-o", "json").json["result"]["nothing_to_do"] is True
    assert tree(copy.path) == before


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_resume_finishes_what_hudi_left(unpack: Unpack, tell: Tell, version: str) -> None:
    copy = unpack(version, "mor_restore_interrupted")
    before = tree(copy.path)
    planned = tell("resume", "-t", copy.path, *LOCAL, "--plan", "-o", "json")
    assert planned.json["command"] == "resume"
    assert planned.json["result"]["resumes"] + ".restore.requested" in copy.instants()
    assert tree(copy.path) == before
    assert "resume" in tell("table", "show", "-t", copy.path).out
    done = tell("resume", "-t", copy.path, *LOCAL, "--yes")
    assert done.code == 0
    assert "restored to" in done.out
    assert "nothing is pending" in tell("table", "show", "-t", copy.path).out
    nothing = tell("resume", "-t", copy.path, *LOCAL, "--yes", "-o", "json")
    assert nothing.code == 0
    assert (nothing.json["command"], nothing.json["result"]) == ("resume", None)


@pytest.mark.slow
def test_savepoint_create_and_delete(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    time = copy.commits[1]
    create = ("savepoint", "create", time, "-t", copy.path, *LOCAL, "--user", "ann", "--comment", "before the load")
    before = tree(copy.path)
    planned = tell(*create, "--plan", "-o", "json").json["result"]
    assert (planned["target"], planned["exists"], planned["user"]) == (time, False, "ann")
    assert "would create" in tell(*create, "--plan").out
    assert tree(copy.path) == before
    made = tell(*create, "--yes")
    assert made.code == 0
    assert time in made.out
    (row,) = tell("savepoint", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert (row["instant"], row["state"], row["comment"]) == (time, "COMPLETED", "before the load")
    named = tell("savepoint", "show", time, "-t", copy.path, "-o", "json").json["rows"]
    assert len(named) == planned["files"] == sum(map(len, planned["file_names"].values()))
    before = tree(copy.path)
    again = tell(*create, "--yes")
    assert again.code == 0
    assert "already has a savepoint" in again.out
    verified = tell("savepoint", "show", time, "--verify", "-t", copy.path, *LOCAL, "-o", "json").json["result"]
    keys = ["instant", "restorable", "reason", "file_count", "bytes"]
    keys += ["unprotected", "threat", "hint", "later_savepoints", "taken_back"]
    assert list(verified) == keys
    assert verified["restorable"]
    delete = ("savepoint", "delete", time, "-t", copy.path)
    assert "would delete" in tell(*delete, "--plan").out
    assert tree(copy.path) == before
    assert tell(*delete, "--yes", "-o", "json").json["result"]["target"] == time
    assert copy.savepoints == []
    nothing = tell(*delete, "--yes")
    assert nothing.code == 0
    assert "nothing to do" in nothing.out


def test_the_default_is_the_newest_commit_without_older_pending_write(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    first, second, *_ = copy.commits
    drop(copy.file(second, "commit"))
    said = tell("savepoint", "create", "-t", copy.path, *LOCAL, "--yes")
    assert said.code == 0
    assert first in said.out
    assert "pending" in said.out
    assert copy.savepoints == [first]


# Confirmations: where nobody can be asked (the terminal's own tests have one).


@pytest.mark.parametrize(
    "command", [("restore", "S", *LOCAL), ("savepoint", "create", "C", *LOCAL), ("savepoint", "delete", "S")]
)
def test_without_terminal_and_yes_nothing_happens(unpack: Unpack, tell: Tell, command: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_savepoints")
    words = {"S": copy.savepoints[-1], "C": copy.commits[0]}
    before = tree(copy.path)
    said = tell(*(words.get(word, word) for word in command), "-t", copy.path)
    assert said.code == 4
    assert "--yes" in said.line
    form = tell(*(words.get(word, word) for word in command), "-t", copy.path, "-o", "json")
    assert form.error["slug"] == "not-confirmed"
    assert form.out == ""
    assert tree(copy.path) == before


# Exit codes.

EXCEPTIONS = [HudictlError, *HudictlError.__subclasses__(), *StorageFailed.__subclasses__()]


def test_every_exception_has_its_own_line_in_the_table() -> None:
    codes = {found.exit_code: found.slug for found in EXCEPTIONS}
    assert sorted(codes) == [1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 17, 130]
    assert len({found.slug for found in EXCEPTIONS}) == len(EXCEPTIONS)
    assert all(found.meaning and found.__doc__ for found in EXCEPTIONS)


@pytest.mark.parametrize("found", EXCEPTIONS, ids=lambda found: found.slug)
def test_every_exception_ends_in_its_code(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch, found: type[HudictlError]
) -> None:
    """As a line, and as an object with all its keys."""
    copy = unpack("v9", "cow_flat_nomdt")

    def raises(*_: object) -> None:
        raise found("what went\nwrong", hint="the way out", path="p", times=("1", "2"))

    monkeypatch.setattr("hudictl.reports.timeline.timeline_rows", raises)
    said = tell("timeline", "show", "-t", copy.path)
    assert (said.code, said.out) == (found.exit_code, "")
    assert said.line == rf"hudictl: {found.slug} ({found.exit_code}): what went\nwrong (the way out)"
    assert tell("timeline", "show", "-t", copy.path, "-o", "json").error == {
        "slug": found.slug,
        "exit_code": found.exit_code,
        "message": "what went\nwrong",
        "hint": "the way out",
        "fields": {"path": "p", "times": ["1", "2"]},
    }


def test_3_a_file_that_cannot_be_deleted(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    kept = plan(copy, target).undo.removals[0].files[0]
    with monkeypatch.context() as patch:
        FailDeletion(kept.data.name).install(patch)
        said = tell("restore", target, "-t", copy.path, *LOCAL, "--yes")
    assert said.code == 3
    assert kept.path in said.line
    assert "resume" in said.line
    assert tell("resume", "-t", copy.path, *LOCAL, "--yes").code == 0
    assert kept.path not in copy.data()


def test_3_a_savepoint_that_cannot_be_restored(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    lost = sorted(required(copy.table, plan(copy, target).undo.case))[0]
    drop(copy.path / lost)
    said = tell("savepoint", "show", target, "--verify", "-t", copy.path, *LOCAL, "-o", "json")
    assert said.code == 3
    assert said.json["result"]["restorable"] is False
    assert lost in said.json["result"]["reason"]
    assert lost in said.error["message"]


def test_a_later_savepoint_hides_no_lost_file(unpack: Unpack, tell: Tell) -> None:
    """`check` names the command for a broken savepoint, also for an older one: it names the file."""
    copy = unpack("v9", "cow_savepoints")
    older, newer = copy.savepoints[-2:]
    verify = ("savepoint", "show", older, "--verify", "-t", copy.path, *LOCAL)
    good = tell(*verify)
    assert good.code == 0
    assert f"later savepoints: {newer}; a restore to it deletes them, with --delete-later-savepoints" in good.out
    assert tell(*verify, "-o", "json").json["result"]["later_savepoints"] == [newer]
    lost = sorted(path for path in copy.data() if f"_{older}." in path)[0]
    drop(copy.path / lost)
    bad = tell(*verify)
    assert bad.code == 3
    assert lost in bad.line


def test_14_names_the_command_that_tells_what_mends_it(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    damaged = copy.file(copy.commits[-1], "commit")
    damaged.write_text("x")
    told = "`hudictl check "
    for words in (
        ("restore", "--to-instant", copy.commits[0], "--plan", *LOCAL),
        ("rollback", copy.commits[-1], "--plan", *LOCAL),
    ):
        said = tell(*words, "-t", copy.path)
        assert (said.code, damaged.name in said.line, told in said.line) == (14, True, True)
    shown = tell("table", "show", "-t", copy.path).out
    assert (damaged.name in shown, told in shown) == (True, True)
    found = tell("check", "-t", copy.path)
    assert f"hudictl timeline quarantine --table={copy.path} {copy.commits[-1]}" in found.out


@pytest.mark.usefixtures("default_engine")
def test_11_a_cluster_does_not_see_local_files(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    for options in (
        ("--master", "yarn"),
        ("--conf", "spark.master=spark://host:7077"),
        ("--master", "local-cluster[1]"),
    ):
        said = tell("restore", copy.savepoints[-1], "-t", copy.path, *options, "--plan")
        assert said.code == 11
        assert "other hosts" in said.line


@pytest.mark.usefixtures("default_engine")
def test_11_spark_connect_has_no_rdds(unpack: Unpack, tell: Tell) -> None:
    """Also where all hosts see the files: that would not help."""
    copy = unpack("v9", "cow_savepoints")
    for options in (
        ("--master", "sc://host"),
        ("--conf", "spark.remote=sc://host"),
        ("--master", "sc://host", "--shared-filesystem"),
    ):
        said = tell("restore", copy.savepoints[-1], "-t", copy.path, *options, "--plan")
        assert said.code == 11
        assert "Spark Connect (sc://host) has no RDDs, which the Spark engine needs (use --engine local, " in said.line


def test_2_options_of_the_other_engine(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    for option in (("--master", "local"), ("--conf", "a=b"), ("--shared-filesystem",)):
        assert tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, *option, "--plan").code == 2


@pytest.mark.parametrize(("given", "seconds"), [("20s", 20), ("20", 20), ("2.5", 2.5), ("1m", 60)])
def test_settle_is_a_duration_or_a_number_of_seconds(unpack: Unpack, tell: Tell, given: str, seconds: float) -> None:
    copy = unpack("v9", "cow_savepoints")
    said = tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--settle", given, "--plan", "-o", "json")
    assert said.json["result"]["options"]["settle_s"] == seconds


@pytest.mark.parametrize(
    "option",
    [
        ("--settle", "1.9"),
        ("--settle", "nan"),
        ("--settle", "inf"),
        ("--settle", "1s"),
        ("--settle", "soon"),
        ("--grace", "9" * 400),
        ("--idle", "soon"),
        ("--idle", "-5m"),
        ("--rule", "newest"),
    ],
)
def test_2_values_that_cannot_be_taken(unpack: Unpack, tell: Tell, option: tuple[str, str]) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    said = tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--yes", *option)
    assert said.code == 2
    assert option[0] in said.line
    assert tree(copy.path) == before


def test_12_a_lock(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    put(copy.meta / "lock", '{"lockThreadName": "main"}')
    said = tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--yes", "-o", "json")
    assert said.error["exit_code"] == 12
    assert said.error["fields"]["file"] == ".hoodie/lock"


@pytest.mark.parametrize(("idle", "code"), [("10m", 12), ("0s", 0)])
def test_12_a_pending_write_that_may_be_running(unpack: Unpack, tell: Tell, idle: str, code: int) -> None:
    copy = unpack("v9", "cow_failed_direct")
    target = savepoint(copy, copy.commits[-1])
    (pending,) = plan(copy, target).undo.removed
    copy.file(pending, "inflight").touch()
    said = tell("restore", target, "-t", copy.path, *LOCAL, "--plan", "--idle", idle)
    assert said.code == code
    assert (pending in said.line and "--idle" in said.line) if code else pending in said.out


def test_15_storage_says_which_path_and_why(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, os.strerror(13))

    with monkeypatch.context() as patch:
        patch.setattr(local.os, "mkdir", denied)
        for command in (("restore", copy.savepoints[-1]), ("savepoint", "create", copy.commits[0])):
            said = tell(*command, "-t", copy.path, *LOCAL, "--yes")
            assert said.code == 15
            assert "Permission denied" in said.line
            assert OWN in said.line
    assert tree(copy.path) == before


@pytest.mark.usefixtures("default_engine")
def test_16_no_java(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Never a silent change to the other engine."""
    copy = unpack("v9", "cow_savepoints")
    before = tree(copy.path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("hudictl.engine.java.find_spec", lambda name: None)
    # This host's own launcher needs no Java only where nothing is to be listed by it.
    monkeypatch.setattr("hudictl.table.files.sweep._ENOUGH_FILES", 0)
    for command in (("restore", copy.savepoints[-1]), ("savepoint", "create", copy.commits[0])):
        said = tell(*command, "-t", copy.path, "--yes")
        assert said.code == 16
        assert "Java" in said.line
        assert "--engine local" in said.line
    assert tree(copy.path) == before


def test_130_between_two_steps(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    real = undo_steps.delete_files

    def signalled(*arguments: object) -> None:
        os.kill(os.getpid(), 2)
        real(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr("hudictl.ops.undo.execute.delete_files", signalled)
        said = tell("restore", target, "-t", copy.path, *LOCAL, "--yes")
    assert said.code == 130
    last = said.err.splitlines()[-1]
    assert last.startswith("hudictl: interrupted (130): interrupted before: verify")
    assert "resume" in last
    # The step that was begun was ended.
    assert not {file.path for removal in plan(copy, target).undo.removals for file in removal.files}
    assert tell("resume", "-t", copy.path, *LOCAL, "--yes").code == 0


def test_130_at_once_with_the_second_signal(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]

    def twice(*_: object) -> None:
        os.kill(os.getpid(), 2)
        os.kill(os.getpid(), 2)

    with monkeypatch.context() as patch:
        patch.setattr("hudictl.ops.undo.execute.delete_files", twice)
        said = tell("restore", target, "-t", copy.path, *LOCAL, "--yes")
    assert said.code == 130
    assert tell("restore", target, "-t", copy.path, *LOCAL, "--yes").code == 0


def test_a_refused_create_names_only_options_that_it_has(unpack: Unpack, tell: Tell) -> None:
    """A way out that leads nowhere is none."""
    copy = unpack("v9", "cow_part")
    drop(copy.file(copy.commits[1], "commit"))
    third = copy.commits[1]
    said = tell("savepoint", "create", third, "-t", copy.path, *LOCAL, "--yes")
    assert said.code == 12
    assert "--allow-pending" in said.line
    said = tell("savepoint", "create", third, "-t", copy.path, *LOCAL, "--yes", "--allow-pending")
    offered = re.findall(r"--[a-z-]+", said.err)
    known = tell("savepoint", "create", "--help").out
    assert [option for option in offered if option not in known] == []


def test_the_plan_says_what_else_goes(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_record_index")
    target = savepoint(copy, copy.commits[0])
    needed = sorted(required(copy.table, plan(copy, target).undo.case))
    copy.write(f"{LATER}.clean.requested", records.clean_plan(needed[:1]))
    drop(copy.path / needed[0].rpartition("/")[0] / ".hoodie_partition_metadata")
    said = tell("restore", target, "-t", copy.path, *LOCAL, "--plan")
    assert f"pending clean {LATER}" in said.out
    assert "record_index" in said.out
    assert needed[0].rpartition("/")[0] in said.out
    view = tell("restore", target, "-t", copy.path, *LOCAL, "--plan", "-o", "json").json["result"]
    assert view["cleans_discarded"] == {LATER: 1}
    assert (view["metadata_table"]["fate"], view["indexes_lost"]) == ("rolled back", [])
    assert {row["partition"]: row["fate"] for row in view["metadata_table"]["partitions"]}["record_index"] == "kept"
    deleting = (*LOCAL, "--plan", "--metadata", "delete", "-o", "json")
    view = tell("restore", target, "-t", copy.path, *deleting).json["result"]
    assert (view["metadata_table"]["fate"], "record_index" in view["indexes_lost"]) == ("deleted", True)
    assert view["partition_metafiles_made"] == [needed[0].rpartition("/")[0]]


@pytest.mark.parametrize("keep", [False, True])
def test_the_demo(tell: Tell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, keep: bool) -> None:
    """It restores a real table in a folder that is gone afterwards, unless it is to be kept."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    said = tell("demo", *LOCAL, *(["--keep"] * keep))
    assert (said.code, said.err) == (0, "")
    assert "files that it had when the savepoint" in said.out
    assert len(list(tmp_path.iterdir())) == keep


def test_only_one_document_is_printed(unpack: Unpack, tell: Tell) -> None:
    """A script reads the result; the plan is asked for apart."""
    copy: Copy = unpack("v9", "cow_savepoints")
    said = tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--yes", "-o", "json")
    assert len(said.out.splitlines()) == 1
    assert json.loads(said.out)["result"]["target"] == copy.savepoints[-1]
