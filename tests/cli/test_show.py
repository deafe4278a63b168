"""Commands that show: their text, their JSON, and the filters of the timeline."""

import json
import os
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pexpect
import pytest

from hudictl.cli.commands import timeline
from hudictl.cli.main import hudictl
from hudictl.errors import StorageFailed
from hudictl.reports.savepoints import SavepointFile, SavepointRow
from hudictl.reports.table import TableDescription
from hudictl.reports.timeline import TimelineRow
from hudictl.state.files.savepoints import find_savepoint
from hudictl.storage.local import LocalStorage
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, put, tree

ENVELOPE = ["schema_version", "command", "table", "rows", "notes"]


def keys(row_type: type[Any]) -> list[str]:
    return [field.name for field in fields(row_type)]


def rows(tell: Tell, copy: Copy, *arguments: str) -> list[dict[str, Any]]:
    return list(tell("timeline", "show", "-t", copy.path, "-o", "json", *arguments).json["rows"])


def times(tell: Tell, copy: Copy, *arguments: str) -> list[str]:
    return [row["time"] for row in rows(tell, copy, *arguments)]


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_every_table_is_shown_and_left_as_it_was(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    before = tree(copy.path)
    commands: list[tuple[tuple[str, ...], type[Any]]] = [
        (("timeline", "show"), TimelineRow),
        (("savepoint", "list"), SavepointRow),
        *((("savepoint", "show", time), SavepointFile) for time in copy.savepoints),
    ]
    for command, row_type in commands:
        said = tell(*command, "-t", copy.path, "-o", "json")
        assert (said.code, said.err) == (0, "")
        assert list(said.json) == ENVELOPE
        assert said.json["command"] == " ".join(command[:2])
        assert said.json["table"] == f"file://{copy.path}"
        assert said.json["schema_version"] == 1
        assert said.json["notes"] == []
        assert all(list(row) == keys(row_type) for row in said.json["rows"])
        plain = tell(*command, "-t", copy.path)
        assert plain.code == 0
        # A line a row under a line of names.
        assert len(plain.out.splitlines()) == max(1, len(said.json["rows"]) + bool(said.json["rows"]))
    said = tell("table", "show", "-t", copy.path, "-o", "json")
    assert list(said.json) == [key if key != "rows" else "result" for key in ENVELOPE]
    assert list(said.json["result"]) == keys(TableDescription)
    assert said.json["result"]["name"] == name
    assert f"v{said.json['result']['table_version']}" == version
    assert said.json["result"]["verdict"] in tell("table", "show", "-t", copy.path).out
    assert tree(copy.path) == before


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_the_timeline_has_every_instant_once_in_order(unpack: Unpack, tell: Tell, version: str, name: str) -> None:
    copy = unpack(version, name)
    found = rows(tell, copy)
    assert [row["time"] for row in found] == sorted((row["time"] for row in found), reverse=True)
    services = {"compaction": "commit", "clustering": "replacecommit", "inflight": "commit"}
    on_disk = {(file[:17], services.get(file.split(".")[1], file.split(".")[1])) for file in copy.instants()}
    assert {(row["time"], services.get(row["action"], row["action"])) for row in found} == on_disk
    counts = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]["instants"]
    assert sum(count["requested"] + count["inflight"] + count["completed"] for count in counts) == len(found)


def test_an_instant_tells_what_it_did(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_part")
    first = rows(tell, copy, "--timezone", "UTC")[-1]
    time = copy.commits[0]
    end = copy.file(time, "deltacommit").name[18:35]
    assert first["time"] == time
    assert first["completion_time"] == end
    assert (first["action"], first["state"], first["operation"]) == ("deltacommit", "COMPLETED", "INSERT")
    assert (first["partitions"], first["files"], first["records"]) == (3, 3, 60)
    assert first["bytes"] == sum(path.stat().st_size for path in copy.path.glob(f"part-*/*_{time}.parquet"))
    assert first["duration_ms"] == 1239
    assert first["requested_utc"] == "2026-11-21T03:03:43.547+00:00"


def test_times_in_utc_only_where_the_zone_is_known(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    assert {row["requested_utc"] for row in rows(tell, copy)} == {None}
    berlin = rows(tell, copy, "--timezone", "Europe/Berlin")[0]["requested_utc"]
    assert berlin.startswith(f"2026-11-21T{int(copy.commits[0][8:10]) - 1:02d}:")
    assert tell("timeline", "show", "-t", copy.path, "--timezone", "Mars/Base").code == 2


# Filters.


def test_filters(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    everything = rows(tell, copy)
    actions = sorted({row["action"] for row in everything})
    for action in actions:
        wanted = [row for row in everything if row["action"] == action]
        assert rows(tell, copy, "--action", action) == wanted
    assert rows(tell, copy, *(part for action in actions for part in ("--action", action))) == everything
    for state in ("requested", "inflight", "completed"):
        assert rows(tell, copy, "--state", state) == [row for row in everything if row["state"].lower() == state]
    assert rows(tell, copy, "--asc") == everything[::-1]
    assert rows(tell, copy, "--limit", "2") == everything[:2]
    assert rows(tell, copy, "--limit", "2", "--asc") == everything[:2][::-1]
    assert (
        rows(tell, copy, "--limit", "1", "--where", "state=REQUESTED")
        == [row for row in everything if row["state"] == "REQUESTED"][:1]
    )
    assert rows(tell, copy, "--limit", "0") == []


def test_since_and_until_include_both_ends(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    everything = times(tell, copy, "--asc")
    assert times(tell, copy, "--asc", "--since", everything[2]) == everything[2:]
    assert times(tell, copy, "--asc", "--until", everything[2]) == everything[:3]
    assert times(tell, copy, "--asc", "--since", everything[1], "--until", everything[1]) == [everything[1]]
    day = everything[0][:8]
    assert times(tell, copy, "--asc", "--since", f"{day[:4]}-{day[4:6]}-{day[6:]}") == everything
    assert times(tell, copy, "--asc", "--until", day) == everything
    assert times(tell, copy, "--asc", "--until", "20251231") == []
    minute = f"{day[:4]}-{day[4:6]}-{day[6:]}T{everything[2][8:10]}:{everything[2][10:12]}"
    assert everything[2] in times(tell, copy, "--asc", "--since", minute, "--until", minute)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--action", "comit"),
        ("--state", "done"),
        ("--since", "yesterday"),
        ("--until", "1"),
        ("--limit", "-1"),
        ("--limit", "many"),
        ("--frobnicate",),
        ("stray",),
        ("-o", "xml"),
        ("--storage-option", "novalue"),
    ],
)
def test_values_that_cannot_be_taken(unpack: Unpack, tell: Tell, arguments: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    said = tell("timeline", "show", "-t", copy.path, *arguments)
    assert (said.code, said.out) == (2, "")
    # The value of a storage option may be a secret.
    assert (arguments[0] if arguments[0] == "--storage-option" else arguments[-1]) in said.line
    if arguments[0] != "-o":
        assert tell("timeline", "show", "-t", copy.path, "-o", "json", *arguments).error["slug"] == "usage"


# Where settings come from, and where output goes.


def test_settings_from_the_environment(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    assert tell("table", "show").code == 2
    monkeypatch.setenv("HUDICTL_TABLE", str(copy.path))
    assert "cow_flat_nomdt" in tell("table", "show").out
    monkeypatch.setenv("HUDICTL_OUTPUT", "json")
    assert tell("table", "show").json["result"]["name"] == "cow_flat_nomdt"
    assert tell("savepoint", "show", "1").error["slug"] == "refused"
    monkeypatch.setenv("HUDICTL_TABLE", "/nowhere")
    assert tell("table", "show", "-t", copy.path).code == 0


def test_an_option_wins_over_the_environment_for_errors_too(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    monkeypatch.setenv("HUDICTL_OUTPUT", "json")
    assert tell("table", "show", "-t", copy.path, "-o", "text").out.startswith("verdict ")
    assert tell("savepoint", "show", "1", "-t", copy.path, "-o", "text").line


@pytest.mark.parametrize("form", [("-o", "json"), ("-ojson",), ("--output", "json"), ("--output=json",), ("-vojson",)])
def test_errors_come_in_the_form_that_was_asked_for(unpack: Unpack, tell: Tell, form: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    said = tell("savepoint", "show", "1", "-t", copy.path, *form)
    found = json.loads(said.err.splitlines()[-1])
    assert (found["slug"], found["exit_code"], said.code) == ("refused", 13, 13)
    assert "1" in found["message"]
    assert found["hint"]
    assert found["fields"] == {"savepoint": "1"}


def test_a_missing_savepoint_names_those_that_exist(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    for command in (("savepoint", "show"), ("restore",), ("savepoint", "delete")):
        said = tell(
            *command, "20260101000000000", "-t", copy.path, *(["--engine", "local"] * (command[0] == "restore"))
        )
        assert said.code == 13
        assert all(time in said.line for time in copy.savepoints)
    bare = unpack("v9", "cow_part")
    assert "none" in tell("savepoint", "show", "1", "-t", bare.path).line


def test_a_wide_table_is_not_cut_where_nobody_looks(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    copy = unpack("v9", "cow_part")
    lines = tell("timeline", "show", "-t", copy.path).out.splitlines()
    assert len(lines) == 1 + len(rows(tell, copy))
    assert all("…" not in line for line in lines)
    assert len(max(lines, key=len)) > 100
    uri = f"file://{copy.path}"
    assert uri in tell("table", "show", "-t", copy.path).out


@pytest.mark.slow
@pytest.mark.parametrize("plain", [("--no-color",), ("env",), ()])
def test_colours_only_on_a_terminal_that_wants_them(unpack: Unpack, tell: Tell, plain: tuple[str, ...]) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    assert "\x1b" not in tell("timeline", "show", "-t", copy.path).out
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    environment |= {"TERM": "xterm-256color", **({"NO_COLOR": "1"} if plain == ("env",) else {})}
    options = " ".join(plain if plain != ("env",) else ())
    command = f"{sys.executable} -m hudictl timeline show -t {copy.path} {options}"
    seen = pexpect.run(command, env=environment, cwd=Path(__file__).parents[2])
    assert (b"\x1b[1m" in seen) == (plain == ())


@pytest.mark.slow
@pytest.mark.parametrize("form", [(), ("-o", "json")])
@pytest.mark.parametrize("command", [("timeline", "show"), ("table", "show")])
def test_a_reader_that_has_seen_enough_is_no_failure(
    unpack: Unpack, command: tuple[str, ...], form: tuple[str, ...]
) -> None:
    """As in ``hudictl timeline show | head -1``."""
    copy = unpack("v9", "cow_part")
    process = subprocess.Popen(
        [sys.executable, "-m", "hudictl", *command, "-t", str(copy.path), *form],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(30) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_verbose_tells_what_is_read_on_stderr(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    said = tell("timeline", "show", "-t", copy.path, "-v", "-o", "json")
    assert said.json["rows"]
    assert "list .hoodie/timeline" in said.err


# Help.


def commands(group: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [path]
    for name, command in getattr(group, "commands", {}).items():
        found += commands(command, (*path, name))
    return found


@pytest.mark.parametrize("path", commands(hudictl), ids=" ".join)
def test_every_command_has_help(tell: Tell, path: tuple[str, ...]) -> None:
    said = tell(*path, "--help")
    assert said.code == 0
    assert said.out.startswith(f"Usage: hudictl {' '.join(path)}".rstrip())


@pytest.mark.parametrize("path", [(), ("log",), ("savepoint",)], ids=" ".join)
def test_a_group_without_a_command_shows_its_help(
    tell: Tell, monkeypatch: pytest.MonkeyPatch, path: tuple[str, ...]
) -> None:
    for output in ("text", "json"):
        monkeypatch.setenv("HUDICTL_OUTPUT", output)
        said = tell(*path)
        assert (said.code, said.out) == (2, "")
        assert said.err.rstrip() == tell(*path, "--help").out.rstrip()


def test_ctrl_c_while_a_class_is_being_made_is_one(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python before 3.12 wraps it, as where it comes during an import."""

    class Pressed:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def imported(*_: object, **__: object) -> None:
        type("Made", (), {"field": Pressed()})

    monkeypatch.setattr("hudictl.table.open.open_table", imported)
    said = tell("timeline", "show", "-t", unpack("v9", "cow_part").path)
    assert (said.code, said.line.startswith("hudictl: interrupted")) == (130, True)


@pytest.mark.slow
def test_reading_starts_neither_spark_nor_arrow(unpack: Unpack) -> None:
    """A timeline is shown while Spark would still be starting."""
    copy = unpack("v9", "cow_part")
    code = (
        "import sys; from hudictl.cli.main import run; "
        f"assert run(['timeline', 'show', '-t', {str(copy.path)!r}]) == 0; "
        "print([name for name in ('pyspark', 'pyarrow', 'fsspec') if name in sys.modules])"
    )
    root = Path(__file__).parents[2]
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert shown.stdout.splitlines()[-1] == "[]"


def test_unknown_commands(tell: Tell) -> None:
    for arguments in (("frobnicate",), ("table", "drop"), ("savepoint", "create", "1", "2", "-t", "x")):
        said = tell(*arguments)
        assert said.code == 2
        assert arguments[-1] in said.line + "x"
    assert tell("--version").out.startswith("hudictl")


def test_a_bug_is_one_line_with_its_own_code(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_flat_nomdt")

    def broken(*_: object) -> None:
        raise RuntimeError("first line\nsecond line")

    monkeypatch.setattr("hudictl.reports.timeline.timeline_rows", broken)
    said = tell("timeline", "show", "-t", copy.path)
    assert said.code == 1
    assert "RuntimeError" in said.line
    assert "HUDICTL_DEBUG" in said.line
    monkeypatch.setenv("HUDICTL_DEBUG", "1")
    said = tell("timeline", "show", "-t", copy.path)
    assert (said.code, said.err.startswith("Traceback "), "in broken" in said.err) == (1, True, True)


def test_a_missing_file_of_a_savepoint_has_no_size(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    target = copy.savepoints[-1]
    shown = tell("savepoint", "show", target, "-t", copy.path, "-o", "json").json["rows"]
    assert all(row["bytes"] == (copy.path / row["partition"] / row["name"]).stat().st_size for row in shown)
    (copy.path / shown[0]["partition"] / shown[0]["name"]).unlink()
    again = tell("savepoint", "show", target, "-t", copy.path, "-o", "json").json["rows"]
    assert again[0]["bytes"] is None
    assert again[1:] == shown[1:]


def test_a_savepoint_whose_creation_was_interrupted_protects_nothing(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_part")
    copy.write(f"{copy.commits[0]}.savepoint.inflight")
    (row,) = tell("savepoint", "list", "-t", copy.path, "-o", "json").json["rows"]
    assert row["state"] == "INFLIGHT"
    assert "interrupted" in row["warning"]
    assert os.linesep not in row["warning"]


def test_a_savepoint_that_the_store_does_not_give_is_no_row(
    unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged one is a row with its problem; a store that fails is the command's failure."""
    copy = unpack("v9", "cow_savepoints")
    read = LocalStorage.read

    def fail(storage: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        if path.endswith(".savepoint"):
            raise StorageFailed(f"cannot read {path}: no answer")
        return read(storage, path, start, length)

    monkeypatch.setattr(LocalStorage, "read", fail)
    said = tell("savepoint", "list", "-t", copy.path)
    assert (said.code, "no answer" in said.line, said.out) == (15, True, "")


@pytest.mark.parametrize("body", ["x", "{}"])
def test_locks_are_shown(unpack: Unpack, tell: Tell, body: str) -> None:
    copy = unpack("v9", "cow_flat_nomdt")
    put(copy.meta / "lock", body)
    found = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
    assert [lock["path"] for lock in found["locks"]] == [".hoodie/lock"]
    assert ".hoodie/lock" in found["verdict"]


def test_the_timeline_is_watched_until_ctrl_c(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = unpack("v9", "cow_part")
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        copy.write("20261121040000000.commit.requested")
        if len(waits) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(timeline.time, "sleep", sleep)
    said = tell("timeline", "show", "--watch", "0.5", "--limit", "1", "-t", copy.path)
    assert (said.code, waits) == (0, [0.5, 0.5])
    assert [line.split()[0] for line in said.out.splitlines() if line[:1].isdigit()] == [
        copy.commits[-1],
        "20261121040000000",
    ]
    assert tell("timeline", "show", "--watch", "1", "-o", "json", "-t", copy.path).code == 2


def test_savepoints_that_cannot_be_restored_are_named(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "cow_savepoints")
    asked = ("savepoint", "list", "--verify", "--engine", "local", "-t", copy.path)
    assert {row["restorable"] for row in tell(*asked, "-o", "json").json["rows"]} == {True}
    files = find_savepoint(copy.table, load_timeline(copy.table), copy.savepoints[0]).files
    partition, names = next(iter(files.items()))
    (copy.path / partition / names[0]).unlink()
    said = tell(*asked, "-o", "json")
    assert said.code == 3
    assert copy.savepoints[0] in said.err
    assert [row["restorable"] for row in said.json["rows"]] == [True, False]
    assert names[0] in said.json["rows"][1]["warning"]
    # A condition on it is not met by what was not looked at.
    asked = ("savepoint", "list", "--where", "restorable=no", "--engine", "local", "-t", copy.path)
    said = tell(*asked, "-o", "json")
    assert (said.code, [row["instant"] for row in said.json["rows"]]) == (3, [copy.savepoints[0]])


@pytest.mark.parametrize(("age_s", "reason"), [(0, "its heartbeat is live"), (1800, "it may be running")])
def test_a_write_that_is_not_completed_says_why_it_may_be_running(
    unpack: Unpack, tell: Tell, age_s: int, reason: str
) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    then = time.time() - age_s
    for beat in (copy.meta / ".heartbeat").iterdir():
        os.utime(beat, (then, then))
    shown = tell("table", "show", "-t", copy.path, "-o", "json").json["result"]
    assert shown["verdict"].startswith("not completed: 20261121030627840 deltacommit INFLIGHT (")
    assert reason in shown["verdict"]
    assert shown["remedy"] == []
