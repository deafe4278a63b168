"""What the shell completes: paths, profiles, and names in the table, without a word where there is none."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pexpect
import pytest

from hudictl.cli.main import hudictl
from hudictl.cli.tree import every_command
from hudictl.formats.layouts import OPERATIONS
from hudictl.reports.health.families import NAMES
from tests.cli.conftest import Unpack
from tests.cli.terminal_support import PATIENCE_S, ROOT
from tests.helpers import Copy, put
from tests.ops.savepoint.pruning_support import save

PROFILES = """[profiles.trips]
uri = "{}"
[profiles.tracks]
uri = "s3://lake/tracks\\nplain\\n$(id)"
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hudictl is on the PATH, as it is installed."""
    program = tmp_path / "bin/hudictl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m hudictl "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two profiles; where they lie, there are no others."""
    file = tmp_path / "config/hudictl/config.toml"
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_text(PROFILES.format(tmp_path / "nowhere"))
    file.chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return file


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.stderr == ""
    return done.stdout


def answered(copy: Copy | None, *words: str, **environment: str) -> list[str]:
    """What hudictl says to bash's script about the last word: kinds and values."""
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": words[-1], "_HUDICTL_COMPLETE": "bash_complete"}
    table = {"HUDICTL_TABLE": str(copy.path)} if copy else {}
    pairs = [f"{key}={value}" for key, value in (asked | table | environment).items()]
    return [line for line in run("env", *pairs, "hudictl").splitlines() if line]


def completed(copy: Copy | None, *words: str, **environment: str) -> list[str]:
    """The names among them."""
    found = [line.partition(",") for line in answered(copy, *words, **environment)]
    return [value for kind, _, value in found if kind == "plain"]


@pytest.mark.slow
@pytest.mark.usefixtures("path")
def test_what_fits_the_command(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    assert completed(copy, "hudictl", "restore", "2026") == copy.savepoints[::-1]
    assert completed(copy, "hudictl", "restore", "--to-instant", "2026") == copy.commits[::-1]
    assert completed(copy, "hudictl", "savepoint", "create", "2026") == copy.commits[::-1]
    assert completed(copy, "hudictl", "metadata", "files", "part-") == [f"part-{number}" for number in range(4)]
    indexes = ["column_stats", "partition_stats"]
    assert completed(copy, "hudictl", "metadata", "drop", "") == indexes
    assert completed(copy, "hudictl", "rollback", "x", "--require-index", "") == indexes
    assert completed(None, "hudictl", "restore", "-t", str(copy.path), "2026") == copy.savepoints[::-1]
    assert completed(None, "hudictl", "check", "--only", "") == sorted(NAMES)
    assert "savepoint" in completed(copy, "hudictl", "save")
    assert completed(copy, "hudictl", "savepoint", "prune", "--tag", "") == []
    save(copy, copy.commits[-1], "nightly")
    assert completed(copy, "hudictl", "savepoint", "prune", "--tag", "n") == ["nightly"]


@pytest.mark.slow
@pytest.mark.usefixtures("path")
def test_instants_that_have_what_is_deleted(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    beats = sorted(entry.name for entry in (copy.meta / ".heartbeat").iterdir() if entry.name.isdigit())
    assert 0 < len(beats) < len(copy.instants())
    assert completed(copy, "hudictl", "heartbeat", "delete", "") == beats[::-1]
    marked = sorted(entry.name for entry in (copy.meta / ".temp").iterdir())
    assert completed(copy, "hudictl", "marker", "delete", "") == marked[::-1]
    for name in ("20261121040000000.json", "x.json"):
        put(copy.path / OPERATIONS / name)
    assert completed(copy, "hudictl", "history", "show", "") == ["20261121040000000"]


@pytest.mark.slow
@pytest.mark.usefixtures("path")
def test_partitions_by_level(unpack: Unpack, tmp_path: Path) -> None:
    """Nothing outside the table, and nothing of its own folder."""
    copy = unpack("v6", "cow_part")
    for name in ("dt=1/hr=1", "dt=1/hr=2", "dt=2/hr=1", ".hidden"):
        (copy.path / name).mkdir(parents=True)
    (tmp_path / "outside").mkdir()

    def below(begun: str) -> list[str]:
        return completed(copy, "hudictl", "file", "slices", "--partition", begun)

    assert below("d") == ["dt=1", "dt=2"]
    assert below("dt=1") == ["dt=1/hr=1", "dt=1/hr=2"]
    assert below("dt=2") == below("dt=2/") == ["dt=2/hr=1"]
    assert below("../") == below("/") == below("nowhere/") == []


@pytest.mark.slow
@pytest.mark.usefixtures("path")
def test_without_a_table_nothing_is_said(tmp_path: Path) -> None:
    assert answered(None, "hudictl", "restore", "2026") == []
    assert answered(None, "hudictl", "restore", "2026", HUDICTL_TABLE=str(tmp_path)) == []


@pytest.mark.slow
@pytest.mark.usefixtures("path")
def test_names_that_a_shell_would_run_are_not_completed(unpack: Unpack) -> None:
    """What is completed stands in the line, and nothing quotes it there."""
    copy = unpack("v6", "cow_part")
    for name in ("$(id)", "a b", "1;id", "a\nplain,part-x", "--yes", "~", "*", "p\x1b", "dt=2026-11-21", "gr\xf6\xdfe"):
        (copy.path / name).mkdir()
    found = completed(copy, "hudictl", "log", "inspect", "--partition", "")
    assert [name for name in found if "part" not in name] == ["dt=2026-11-21", "gr\xf6\xdfe"]


@pytest.mark.slow
@pytest.mark.usefixtures("path")
def test_profiles_beside_folders(profiles: Path) -> None:
    """A profile's name that a shell would run is an error in its file; its table stands beside it, as one line."""
    assert answered(None, "hudictl", "check", "-t", "tri") == ["dir,tri", "plain,trips"]
    assert completed(None, "hudictl", "restore", "--profile", "tr") == ["tracks", "trips"]
    assert completed(None, "hudictl", "--config", str(profiles), "config", "list", "--profile", "tra") == ["tracks"]
    asked = ("_HUDICTL_COMPLETE=zsh_complete", "COMP_WORDS=hudictl check --profile tra", "COMP_CWORD=3")
    assert run("env", *asked, "hudictl") == "plain\ntracks\ns3://lake/tracks\\nplain\\n$(id)\n"
    profiles.write_text('[profiles."$(id)"]\nuri = "/x"\n[profiles.trips]\nuri = "/x"\n')
    assert completed(None, "hudictl", "check", "--profile", "") == []


def test_every_path_is_completed_by_the_shell() -> None:
    """Of an argument or an option: what says FILE, PATH or URI is one."""
    found = {
        (f"{name} {parameter.human_readable_name}".strip(), getattr(kind, "type", ""))
        for name, command in every_command(hudictl)
        for context in [click.Context(command)]
        for parameter in command.params
        if re.search(r"\b(FILE|PATH|URI)\b", parameter.make_metavar(context))
        for kind in parameter.shell_complete(context, "nothing") or [None]
    }
    assert len(found) > 60
    assert {"apply FILE", "log inspect [PATH]...", "config_file", "check textfile"} <= {name for name, _ in found}
    assert [
        name for name, kind in found if kind != ("dir" if name.split()[-1] in ("uri", "named", "served") else "file")
    ] == []


STARTS = {
    "bash": ("bash --norc --noprofile -i", "source <(hudictl completion bash)"),
    "zsh": ("zsh -f -i", "autoload -U compinit; compinit -u -D; source <(hudictl completion zsh)"),
    "fish": ("fish --no-config -i", "hudictl completion fish | source"),
}
TYPED = {
    "restore 202611210304143": "restore 20261121030414313",
    "restore --to-instant=202611210304143": "restore --to-instant=20261121030414313",
    "table show -t lake/tri": "table show -t lake/trips",
    "table show --table=lake/tri": "table show --table=lake/trips",
    "table show -t tri": "table show -t trips",
    "table show -t tra": "table show -t tracks",
    "table show -t lak": "table show -t lake",
    "check --profile=tri": "check --profile=trips",
    "check --only misn": "check --only misnamed-logs",
    "log inspect lake/plan-": "log inspect lake/plan-1.json",
    "apply 'lake/plan o": "apply lake/plan one.json",
    "restore --props lake/plan-": "restore --props lake/plan-1.json",
    "file slices --partition dt=2026": "file slices --partition dt=2026-11-21",
    "restore -t ~/table 202611210304143": "restore -t ~/table 20261121030414313",
}
"""What is typed before a Tab, and the line behind it."""


@pytest.mark.slow
@pytest.mark.usefixtures("path", "profiles")
@pytest.mark.parametrize("shell", list(STARTS))
def test_a_tab_in_a_real_shell(unpack: Unpack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    copy = unpack("v9", "cow_savepoints")
    (copy.path / "dt=2026-11-21").mkdir()
    home = tmp_path / "home"
    (home / "lake/trips").mkdir(parents=True)
    for name in ("plan-1.json", "plan one.json"):
        (home / "lake" / name).touch()
    (home / "table").symlink_to(copy.path)
    for name, value in {"HOME": str(home), "HUDICTL_TABLE": str(copy.path), "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    start, load = STARTS[shell]
    child = pexpect.spawn(start, cwd=home, encoding="utf-8", timeout=PATIENCE_S, dimensions=(50, 400))
    child.send(f"{load}; echo rea''dy\r")
    child.expect("ready\r\n")
    found = {}
    for typed in TYPED:
        # To the begin of the line, and its end: what the shell has made of it is printed, not run.
        child.send(f"hudictl {typed}\t\x01echo '<' \x05 '>'\r")
        child.expect(r"< hudictl (.*?) +>\r?\n")
        # zsh takes the slash behind a folder away again.
        found[typed] = child.match[1].rstrip("/").replace(str(home), "~")
    child.kill(signal.SIGKILL)
    child.wait()
    assert found == TYPED
