"""What the shell completes: instants, savepoints and partitions of the table, without a word where there is none."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tell, Unpack
from tests.cli.test_terminal import PATIENCE_S, ROOT
from tests.helpers import Copy, put


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hudictl is on the PATH, as it is installed."""
    program = tmp_path / "bin/hudictl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m hudictl "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.stderr == ""
    return done.stdout


def completed(copy: Copy | None, *words: str, **environment: str) -> list[str]:
    """What bash's script asks of hudictl for the last word."""
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), "_HUDICTL_COMPLETE": "bash_complete"}
    table = {"HUDICTL_TABLE": str(copy.path)} if copy else {}
    pairs = [f"{key}={value}" for key, value in (asked | table | environment).items()]
    return [line.partition(",")[2] for line in run("env", *pairs, "hudictl").splitlines() if line]


@pytest.mark.usefixtures("path")
def test_what_fits_the_command(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    assert completed(copy, "hudictl", "restore", "2026") == copy.savepoints[::-1]
    assert completed(copy, "hudictl", "savepoint", "create", "2026") == copy.commits[::-1]
    assert completed(copy, "hudictl", "metadata", "files", "part-") == [f"part-{number}" for number in range(4)]
    assert completed(None, "hudictl", "restore", "-t", str(copy.path), "2026") == copy.savepoints[::-1]
    assert "savepoint" in completed(copy, "hudictl", "save")


@pytest.mark.usefixtures("path")
def test_without_a_table_nothing_is_said(tmp_path: Path) -> None:
    assert completed(None, "hudictl", "restore", "2026") == []
    assert completed(None, "hudictl", "restore", "2026", HUDICTL_TABLE=str(tmp_path)) == []


@pytest.mark.usefixtures("path")
def test_names_that_a_shell_would_run_are_not_completed(unpack: Unpack) -> None:
    """What is completed stands in the line, and nothing quotes it there."""
    copy = unpack("v6", "cow_part")
    names = ("$(id)", "a b", "1;id", "a\nplain,part-x", "--yes", "~", "*", "p\x1b", "dt=2026-11-21", "gr\xf6\xdfe")
    for path in copy.meta.glob("*.commit"):
        known = json.loads(path.read_text())
        stats = known["partitionToWriteStats"]
        put(path, json.dumps(known | {"partitionToWriteStats": {name: [] for name in names} | stats}))
    shutil.rmtree(copy.meta / "metadata", ignore_errors=True)
    with open(copy.meta / "hoodie.properties", "a") as file:
        file.write("hoodie.table.metadata.partitions=\n")
    found = [name for name in completed(copy, "hudictl", "log", "inspect", "--partition", "") if "part" not in name]
    assert found == ["dt=2026-11-21", "gr\xf6\xdfe"]


BASH = """source <(hudictl completion bash)
COMP_WORDS=(hudictl restore 2026) COMP_CWORD=2
_hudictl_completion hudictl
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = """hudictl completion fish | source
complete -C 'hudictl restore 2026'
"""


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("shell", "line"), [("bash", BASH), ("fish", FISH)])
def test_in_a_real_shell(unpack: Unpack, monkeypatch: pytest.MonkeyPatch, shell: str, line: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell} here")
    copy = unpack("v9", "cow_savepoints")
    monkeypatch.setenv("HUDICTL_TABLE", str(copy.path))
    found = run(shell, "-c", line).splitlines()
    assert [word.split("\t")[0] for word in found] == copy.savepoints[::-1]


@pytest.mark.usefixtures("path")
def test_the_script_of_zsh_is_one(tell: Tell) -> None:
    """It completes at a prompt alone; that it can be read is all that is asked of a zsh without one."""
    script = tell("completion", "zsh").out
    assert script.startswith("#compdef hudictl")
    if shutil.which("zsh"):
        assert run("zsh", "-n", "-c", script) == ""
