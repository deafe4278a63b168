"""Saved plans that cannot be applied: damaged, changed by hand, of another version, or refused by a guard."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, drop, plan, put, required, savepoint, tree

LOCAL = ("--engine", "local")
LATER = "20261121040000000"
Document = dict[str, Any]


def restore_plan(tell: Tell, copy: Copy) -> Document:
    said = tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--plan", "-o", "json")
    assert said.code == 0
    return dict(said.json)


def refused(tell: Tell, copy: Copy, body: bytes | str, code: int) -> str:
    """Applies a file; it must end in one line with the code, and change nothing."""
    file = put(copy.path.parent / "plan.json", body)
    before = tree(copy.path)
    said = tell("apply", file, *LOCAL)
    assert said.code == code
    assert said.out == ""
    as_json = tell("apply", file, *LOCAL, "-o", "json")
    assert as_json.error["exit_code"] == code
    assert tree(copy.path) == before
    return said.line


# No plan at all.


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\n", b"{", b"null", b"7", b'"plan"', b"[]", b"{}", b"\xff\xfe\x00", b"PAR1", b"[" * 100_000),
        *(b'{"result": null}', b'{"result": []}', b'{"result": {}}', b'{"result": {"plan_version": 5}}'),
    ],
)
def test_14_no_plan(unpack: Unpack, tell: Tell, body: bytes) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    line = refused(tell, copy, body, 14)
    assert "plan.json is not a plan" in line
    assert "--plan --output json" in line
    assert len(line) < 1000


@pytest.mark.slow
def test_14_what_other_commands_print(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    for command in (("table", "show"), ("timeline", "show"), ("savepoint", "list"), ("history",)):
        refused(tell, copy, tell(*command, "-t", copy.path, "-o", "json").out, 14)
    done = tell("restore", copy.savepoints[-1], "-t", copy.path, *LOCAL, "--yes", "-o", "json")
    refused(tell, copy, done.out, 14)


def test_2_plans_that_cannot_be_applied(unpack: Unpack, tell: Tell) -> None:
    """What to do is not what was done."""
    copy = unpack("v9", "cow_savepoints")
    asked = ("-t", copy.path, "--plan", "-o", "json")
    made = tell("copy", "--as-of", copy.commits[-1], "--to", copy.path.parent / "k", *LOCAL, *asked).out
    assert "is a plan of copy, whose plans cannot be applied" in refused(tell, copy, made, 2)
    made = tell("resume", *LOCAL, *asked).out
    assert "is not a plan: resume had nothing to do" in refused(tell, copy, made, 2)


def test_10_no_file(tell: Tell, tmp_path: Path) -> None:
    for path in (tmp_path / "absent.json", tmp_path):
        said = tell("apply", path, *LOCAL)
        assert said.code == 10
        assert str(path) in said.line


def test_2_no_argument(tell: Tell) -> None:
    assert tell("apply").code == 2


@pytest.mark.parametrize("version", [0, 1, 4, 6, "5", None, [5]])
def test_11_a_plan_of_another_version(unpack: Unpack, tell: Tell, version: object) -> None:
    copy = unpack("v9", "cow_savepoints")
    document = restore_plan(tell, copy)
    document["result"]["plan_version"] = version
    assert "version 5" in refused(tell, copy, json.dumps(document), 11)


# Changed by hand.


def change(document: Document, path: str, value: object) -> Document:
    *folders, last = path.split("/")
    place = document["result"]
    for folder in folders:
        place = place[int(folder) if folder.isdigit() else folder]
    place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("options/idle_ms", 0),
        ("options/delete_later_savepoints", True),
        ("options/settle_s", "soon"),
        ("options/surprise", 1),
        ("options", {}),
        ("files", []),
        ("files/0/path", ".hoodie/hoodie.properties"),
        ("files/0/bytes", 0),
        ("fingerprint/options", "0123456789abcdef"),
        ("fingerprint/heartbeats", "1000 ms, 1 misses"),
        ("fingerprint/heartbeats", 7),
        ("fingerprint/files to delete", "0 files, 0123456789abcdef"),
        ("operation", "rollback"),
        ("operation", 7),
        ("operation", None),
        ("files", 7),
        ("files", [7]),
        ("files/0/bytes", "many"),
        ("options", None),
        ("options", 7),
        ("fingerprint", None),
        ("fingerprint", ["a"]),
    ],
)
def test_14_a_part_that_was_changed_by_hand(unpack: Unpack, tell: Tell, path: str, value: object) -> None:
    copy = unpack("v9", "cow_savepoints")
    refused(tell, copy, json.dumps(change(restore_plan(tell, copy), path, value)), 14)


@pytest.mark.parametrize("value", [None, 7, ["a"], {"a": 1}])
def test_14_savepoints_to_delete_that_are_no_text(unpack: Unpack, tell: Tell, value: object) -> None:
    copy = unpack("v9", "cow_savepoints")
    said = tell("savepoint", "prune", "--keep-last", "1", "--all", "-t", copy.path, "--plan", "-o", "json")
    document = change(dict(said.json), "fingerprint/savepoints to delete", value)
    assert "savepoints to delete in its fingerprint is no text" in refused(tell, copy, json.dumps(document), 14)


@pytest.mark.parametrize("part", ["options", "files to delete"])
def test_14_a_digest_that_was_taken_out(unpack: Unpack, tell: Tell, part: str) -> None:
    """Else whoever takes it out could change what it stands for."""
    copy = unpack("v9", "cow_savepoints")
    document = restore_plan(tell, copy)
    del document["result"]["fingerprint"][part]
    refused(tell, copy, json.dumps(document), 14)


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("fingerprint/target", "x", 12),
        ("fingerprint/table", "x", 12),
        ("fingerprint/files that are needed", "x", 12),
        ("fingerprint/plan version", "7", 12),
        ("fingerprint/surprise", "x", 12),
        ("fingerprint", {}, 14),
        ("timezone", "Asia/Tokyo", 13),
        ("timezone", "Nowhere/Land", 2),
        ("timezone", 7, 2),
        ("target", "20260101000000000", 13),
        ("target", None, 13),
    ],
)
def test_another_part_that_was_changed_is_not_the_tables(
    unpack: Unpack, tell: Tell, path: str, value: object, code: int
) -> None:
    copy = unpack("v9", "cow_savepoints")
    refused(tell, copy, json.dumps(change(restore_plan(tell, copy), path, value)), code)


def test_12_another_target_of_the_same_table(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    first = savepoint(copy, copy.commits[2])
    document = restore_plan(tell, copy)
    no_savepoint(copy)
    second = savepoint(copy, copy.commits[3])
    assert first < second
    line = refused(tell, copy, json.dumps(change(document, "target", second)), 12)
    assert f"target: was {first}" in line


@pytest.mark.parametrize("table", ["/nowhere", None, 7, ""])
def test_12_another_table(unpack: Unpack, tell: Tell, table: object) -> None:
    copy = unpack("v9", "cow_savepoints")
    document = restore_plan(tell, copy)
    document["table"] = table
    assert f"made for file://{copy.path}" in refused(tell, copy, json.dumps(document), 12)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["restore", "savepoint"])
def test_12_a_copy_of_the_table(unpack: Unpack, tell: Tell, command: str) -> None:
    """All other facts are the same there; -t alone says that it is meant."""
    copy = unpack("v9", "cow_savepoints")
    asked = ("restore", copy.savepoints[-1]) if command == "restore" else ("savepoint", "create", copy.commits[-1])
    document = tell(*asked, "-t", copy.path, *LOCAL, "--plan", "-o", "json").json
    other = copy.path.parent / "other"
    shutil.copytree(copy.path, other)
    before = tree(other)
    refused(tell, copy, json.dumps({**document, "table": f"file://{other}"}), 12)
    assert tree(other) == before
    file = put(copy.path.parent / "plan.json", json.dumps(document))
    assert tell("apply", file, "-t", other, *LOCAL).code == 0
    assert tree(other) != before


def test_10_the_table_is_not_there(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    document = restore_plan(tell, copy)
    shutil.rmtree(copy.meta)
    refused(tell, copy, json.dumps(document), 10)


def test_keys_that_are_for_eyes_may_be_changed(unpack: Unpack, tell: Tell) -> None:
    """What is done is planned anew: a total, or a note, is only told."""
    copy = unpack("v9", "cow_savepoints")
    document = restore_plan(tell, copy)
    document["notes"] = ["looked at by ann"]
    file = put(copy.path.parent / "plan.json", json.dumps(document, indent=2))
    assert tell("apply", file, *LOCAL).code == 0


# Guards, when it is applied.


def lock(copy: Copy) -> None:
    put(copy.meta / "lock", "{}")


def heartbeat(copy: Copy) -> None:
    copy.write(f"{LATER}.commit.requested")
    copy.write(f"{LATER}.inflight")
    put(copy.meta / ".heartbeat" / LATER, old=False)


def running(copy: Copy) -> None:
    copy.write(f"{LATER}.commit.requested", old=False)


def later_savepoint(copy: Copy) -> None:
    savepoint(copy, copy.commits[-1])


def lost(copy: Copy) -> None:
    drop(copy.path / sorted(required(copy.table, plan(copy, copy.savepoints[-1]).undo.case))[0])


def no_savepoint(copy: Copy) -> None:
    time = copy.savepoints[-1]
    drop(copy.file(time, "savepoint"))
    drop(copy.timeline / f"{time}.savepoint.inflight")


def unknown(copy: Copy) -> None:
    copy.write(f"{LATER}.tidying.requested")


def damaged(copy: Copy) -> None:
    done = copy.file(copy.commits[-1], "commit")
    modified = done.stat().st_mtime
    put(done, b"garbage")
    os.utime(done, (modified, modified))


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(
    ("come", "code", "named"),
    [
        (lock, 12, "lock"),
        (heartbeat, 12, LATER),
        (running, 12, LATER),
        (later_savepoint, 13, "--delete-later-savepoints"),
        (lost, 13, "part-"),
        (no_savepoint, 13, "no savepoint"),
        (unknown, 11, "tidying"),
        (damaged, 14, "commit"),
    ],
)
def test_every_guard_runs_again(
    unpack: Unpack, tell: Tell, version: str, come: Callable[[Copy], None], code: int, named: str
) -> None:
    copy = unpack(version, "cow_savepoints")
    document = restore_plan(tell, copy)
    come(copy)
    assert named in refused(tell, copy, json.dumps(document), code)


def as_jq_writes(value: object) -> object:
    """jq 1.6 reads every number as a double, and writes 2.0 as 2."""
    if isinstance(value, dict):
        return {key: as_jq_writes(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [as_jq_writes(entry) for entry in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def test_a_plan_that_went_through_jq_is_not_changed(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_savepoints")
    planned = tell("restore", copy.savepoints[-1], "--plan", "-o", "json", "-t", copy.path, *LOCAL)
    document = json.loads(planned.out)
    assert isinstance(document["result"]["options"]["settle_s"], float)
    file = tmp_path / "pretty.json"
    file.write_text(json.dumps(as_jq_writes(document), indent=2))
    assert "2.0" not in file.read_text()
    assert tell("apply", str(file), *LOCAL).code == 0


@pytest.mark.slow
def test_a_saved_plan_is_shown_again(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    """As the command showed it; nothing is changed, and a table that has moved is said to have."""
    copy = unpack("v9", "cow_savepoints")
    words = ("restore", copy.savepoints[-1], "--plan", "-t", copy.path, *LOCAL)
    file = tmp_path / "plan.json"
    file.write_text(tell(*words, "-o", "json").out)
    before = tree(copy.path)
    assert tell("apply", str(file), "--plan", *LOCAL).out == tell(*words).out
    assert tell("apply", str(file), "--plan", "-o", "json", *LOCAL).json["outcome"] == "planned"
    assert tree(copy.path) == before
    assert tell("savepoint", "create", copy.commits[0], "--yes", "-t", copy.path, *LOCAL).code == 0
    assert tell("apply", str(file), "--plan", *LOCAL).code == 12


def test_yes_is_a_word_without_effect(unpack: Unpack, tell: Tell, tmp_path: Path) -> None:
    copy = unpack("v9", "cow_savepoints")
    file = tmp_path / "plan.json"
    file.write_text(tell("restore", copy.savepoints[-1], "--plan", "-o", "json", "-t", copy.path, *LOCAL).out)
    assert tell("apply", str(file), "--yes", *LOCAL).code == 0
