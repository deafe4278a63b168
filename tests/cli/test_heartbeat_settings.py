"""The writers' heartbeat settings: read the same by every command, from wherever they are specified."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.helpers import Copy, put, tree

TEN_MINUTES = 600
INTERVAL = "hoodie.client.heartbeat.interval_in_ms"
MISSES = "hoodie.client.heartbeat.tolerable.misses"


@pytest.fixture
def beaten(unpack: Unpack) -> Callable[[int], Copy]:
    """A table with a pending write whose last heartbeat was some seconds ago."""

    def made(age_s: int) -> Copy:
        copy = unpack("v9", "mor_failed_lazy")
        (beat,) = (copy.meta / ".heartbeat").glob("[0-9]*")
        moment = time.time() - age_s
        os.utime(beat, (moment, moment))
        return copy

    return made


def commands(copy: Copy) -> list[list[str]]:
    """All that would remove the pending write, or go on beside it."""
    (beat,) = [path.name for path in (copy.meta / ".heartbeat").glob("[0-9]*")]
    first = copy.commits[0]
    return [
        ["restore", "--to-instant", first, "--yes"],
        ["rollback", beat, "--yes"],
        ["heartbeat", "delete", beat, "--yes"],
    ]


@pytest.mark.parametrize("how", ["options", "conf", "props", "profile"])
def test_a_writer_that_beats_every_hour_is_alive(
    tell: Tell, beaten: Callable[[int], Copy], tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of it is removed, whichever way the settings are specified, and by whichever command."""
    copy = beaten(2 * 3600)
    props = put(tmp_path / "writer.properties", f"{INTERVAL}=3600000\n{MISSES}=3\n")
    config = put(tmp_path / "hudictl.toml", f'[profiles.trips]\nuri = "{copy.path}"\nprops = "{props}"\n')
    config.chmod(0o600)
    given = {
        "options": ["--interval", "1h", "--misses", "3"],
        "conf": ["--hoodie-conf", f"{INTERVAL}=3600000", "--hoodie-conf", f"{MISSES}=3"],
        "props": ["--props", str(props)],
        "profile": ["--profile", "trips"],
    }[how]
    if how == "profile":
        monkeypatch.setenv("HUDICTL_CONFIG", str(config))
    before = tree(copy.path, ".hoodie/.hudictl")
    for command in commands(copy):
        said = (
            tell(*command, "-t", copy.path, *given, "--idle", "0")
            if command[0] != "heartbeat"
            else tell(*command, "-t", copy.path, *given)
        )
        assert said.code == 12, (command, said)
        assert "alive" in said.line or "live" in said.line
    assert tell("failed-writes", "clean", "-t", copy.path, *given, "--yes").code == 0
    assert tree(copy.path, ".hoodie/.hudictl") == before
    (row,) = tell("failed-writes", "list", "-t", copy.path, "-o", "json", *given).json["rows"]
    assert (row["verdict"], row["heartbeat"]) == ("running", "live")
    (beat,) = tell("heartbeat", "list", "-t", copy.path, "-o", "json", *given).json["rows"]
    assert (beat["state"], beat["interval_ms"], beat["assumed"]) == ("live", 3_600_000, False)
    assert "failed-write" not in tell("check", "-t", copy.path, *given, "--idle", "0").out


def test_a_young_beat_is_no_proof_where_nothing_is_specified(tell: Tell, beaten: Callable[[int], Copy]) -> None:
    """Each command names the options; with them it goes on."""
    copy = beaten(TEN_MINUTES)
    for command in commands(copy):
        said = tell(*command, "-t", copy.path)
        assert said.code == 12, (command, said)
        assert "may be" in said.line
        assert "--interval=60s --misses=2" in said.err
    said = tell("failed-writes", "clean", "-t", copy.path, "--yes")
    assert said.code == 0
    assert "the writers' heartbeat settings are not known (--interval, --misses): it may be running" in said.out
    found = tell("check", "-t", copy.path, "--idle", "0", "-o", "json").json["rows"]
    assert "failed-write" not in {row["finding"] for row in found}
    known = ("--interval=60s", "--misses=2")
    assert tell("failed-writes", "clean", *known, "-t", copy.path, "--yes").code == 0
    assert tell("failed-writes", "list", "-t", copy.path, "-o", "json").json["rows"] == []


@pytest.mark.parametrize(("age_s", "code"), [(3_500, 12), (3_700, 0)])
def test_after_an_hour_it_is_proof(tell: Tell, beaten: Callable[[int], Copy], age_s: int, code: int) -> None:
    copy = beaten(age_s)
    assert tell("restore", "--to-instant", copy.commits[0], "--yes", "-t", copy.path, "--plan").code == code


def test_a_saved_plan_keeps_the_settings(
    tell: Tell, beaten: Callable[[int], Copy], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is applied by the rule that it was made by; one that is specified anew wins."""
    copy = beaten(TEN_MINUTES)
    words = ["restore", "--to-instant", copy.commits[0], "-t", copy.path]
    saved = tell(*words, "--plan", "-o", "json", "--interval", "60s")
    assert saved.code == 0
    file = put(tmp_path / "plan.json", saved.out)
    assert tell("apply", str(file), "--interval", "10m").code == 12
    # A profile is not the command line.
    config = put(tmp_path / "hudictl.toml", f'[profiles.trips.hoodie_conf]\n"{INTERVAL}" = "600000"\n')
    config.chmod(0o600)
    monkeypatch.setenv("HUDICTL_CONFIG", str(config))
    assert tell("apply", str(file), "--profile", "trips").code == 0


@pytest.mark.parametrize("value", ["soon", "-1", "", "9" * 30, "²"])
def test_a_setting_that_is_no_number(tell: Tell, beaten: Callable[[int], Copy], value: str) -> None:
    said = tell("heartbeat", "list", "-t", beaten(0).path, "--hoodie-conf", f"{INTERVAL}={value}")
    assert said.code == 2
    assert INTERVAL in said.line


def test_misses_alone_say_nothing_of_the_interval(tell: Tell, beaten: Callable[[int], Copy]) -> None:
    copy = beaten(TEN_MINUTES)
    (row,) = tell("heartbeat", "list", "--misses", "3", "-t", copy.path, "-o", "json").json["rows"]
    assert (row["state"], row["assumed"]) == ("unknown", True)


def test_verify_knows_the_settings(tell: Tell, beaten: Callable[[int], Copy]) -> None:
    copy = beaten(TEN_MINUTES)
    target = copy.commits[0]
    assert tell("savepoint", "create", target, "--allow-pending", "--yes", "-t", copy.path).code == 0
    said = tell("savepoint", "show", target, "--verify", "-t", copy.path)
    assert said.code == 3
    assert "--interval=60s --misses=2" in said.err
    assert tell("savepoint", "show", target, "--verify", "--interval", "60s", "-t", copy.path).code == 0
    said = tell("savepoint", "list", "--verify", "-t", copy.path, "-o", "json")
    assert (said.code, "does not prove that it has died" in said.json["rows"][0]["warning"]) == (3, True)
    assert tell("savepoint", "list", "--verify", "--interval", "60s", "-t", copy.path).code == 0
