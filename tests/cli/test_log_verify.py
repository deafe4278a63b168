"""``log verify``: exit codes, formats, and what it may be asked."""

import json
from pathlib import Path

import pytest

from hudictl.cli.commands import log_verify
from hudictl.engine.spark import SparkEngine
from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, put

KEYS = ["table", "file", "index", "offset", "defect", "severity", "instant", "what"]


def logs(copy: Copy) -> list[Path]:
    return sorted(copy.path / path for path in copy.data() if ".log." in path)


def test_a_sound_table(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_part")
    said = tell("log", "verify", "-t", copy.path, "--engine", "local", "-o", "json")
    assert (said.code, said.err) == (0, "")
    assert said.json["command"] == "log verify"
    assert said.json["rows"] == []
    (note,) = said.json["notes"]
    assert note.endswith("0 errors, 0 warnings")
    said = tell("log", "verify", "-t", copy.path, "--engine", "local")
    assert said.out.splitlines() == ["no defects", note]


def test_errors_are_exit_code_3(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_part")
    log = logs(copy)[0]
    put(log, log.read_bytes()[:-1])
    said = tell("log", "verify", log, "-o", "json")
    assert said.code == 3
    assert said.error["slug"] == "findings"
    assert said.error["fields"] == {"errors": 2, "warnings": 0}
    assert [list(row) for row in said.json["rows"]] == [KEYS, KEYS]
    assert {row["defect"] for row in said.json["rows"]} == {"truncated-tail", "other-size"}
    assert {row["file"] for row in said.json["rows"]} == {log.relative_to(copy.path).as_posix()}
    assert said.json["table"] == copy.table.uri


def test_a_row_a_line(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v6", "mor_part")
    log = logs(copy)[0]
    put(log, log.read_bytes() + b"#")
    said = tell("log", "verify", log, "-o", "ndjson")
    assert said.code == 3
    (line,) = said.out.splitlines()
    assert json.loads(line)["defect"] == "stray-bytes"


def test_text_obeys_no_log(unpack: Unpack, tell: Tell) -> None:
    """A header may hold anything."""
    copy = unpack("v6", "mor_part")
    log = logs(copy)[0]
    body = log.read_bytes()
    time = next(time.encode() for time in copy.commits if time.encode() in body)
    put(log, body.replace(time, b"\x1b[2J" + time[4:]))
    said = tell("log", "verify", log)
    assert said.code == 3
    assert "\x1b" not in said.out
    assert "bad-header" in said.out


def test_warnings_alone_are_exit_code_0(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_part")
    time = "20991121000000000"
    copy.write(f"{time}.deltacommit.requested")
    log = logs(copy)[0].parent / f".f-0_{time}.log.1_0-0-0"
    put(log, b"#HUDI#\x00")
    said = tell("log", "verify", log)
    assert (said.code, said.err) == (0, "")
    file, head, row = said.out.splitlines()[:3]
    assert (".log." in file, head.split()[:4]) == (True, ["index", "offset", "severity", "defect"])
    assert "truncated-tail" in row
    assert said.out.splitlines()[-1].endswith("0 errors, 1 warning")


def test_what_may_be_named(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths, or a table; the environment's counts where there are no paths."""
    copy = unpack("v9", "mor_part")
    log = logs(copy)[0]
    assert tell("log", "verify").line.startswith("hudictl: usage (2): no log is given")
    assert tell("log", "verify", log, "-t", copy.path).code == 2
    assert tell("log", "verify", f"{log}x").code == 10
    monkeypatch.setenv("HUDICTL_TABLE", str(copy.path))
    assert tell("log", "verify", log).out.splitlines()[-1].startswith("1 log verified")
    assert not tell("log", "verify", "--engine", "local").out.splitlines()[-1].startswith("1 log verified")


@pytest.mark.usefixtures("default_engine")
def test_a_few_logs_start_no_spark(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: SparkEngine) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SparkEngine, "start", refuse)
    copy = unpack("v9", "mor_part")
    assert tell("log", "verify", logs(copy)[0].parent).code == 0
    assert tell("log", "verify", "-t", copy.path).code == 1
    monkeypatch.setattr(log_verify, "_FEW_BYTES", 10)
    assert tell("log", "verify", logs(copy)[0]).code == 1
    assert tell("log", "verify", logs(copy)[0], "--engine", "local").code == 0


@pytest.mark.slow
def test_progress_on_a_terminal(unpack: Unpack, tell: Tell, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none elsewhere, or where it was not wanted."""
    monkeypatch.setattr("hudictl.cli.progress._TOLD_EVERY_S", 0)
    copy = unpack("v9", "mor_part")
    line = ("log", "verify", "-t", copy.path, "--engine", "local")
    assert tell(*line).err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = tell(*line)
    assert "verify logs ... " in said.err
    assert " a second, " in said.err
    assert "verify logs" not in said.out
    assert tell(*line, "-q").err == ""


def test_progress_for_scripts(unpack: Unpack, tell: Tell) -> None:
    copy = unpack("v9", "mor_part")
    said = tell("log", "verify", "-t", copy.path, "--engine", "local", "--progress", "ndjson")
    rows = [json.loads(line) for line in said.err.splitlines()]
    assert (rows[0], rows[-1].keys()) == ({"step": "verify logs"}, {"step", "seconds"})


def test_help_says_which_logs() -> None:
    words = (log_verify.verify.help or "").split()
    assert {"metadata", "archived"} < set(words)
