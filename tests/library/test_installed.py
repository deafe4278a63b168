"""A program of somebody else, against the wheel as it is installed: its types, and what it does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Unpack

pytestmark = pytest.mark.slow
pytest.importorskip("mypy", reason="the extra lint is not installed: pip install 'hudictl[lint]'")
ROOT = Path(__file__).parents[2]
PROGRAM = '''
import sys

import hudictl
from hudictl.errors import Conflict, Findings, HudictlError


def back(path: str) -> int:
    """Restores a table to its newest savepoint; returns how many commits it has then."""
    with hudictl.open(path, engine="local") as table:
        savepoint = max(row.instant for row in table.savepoints(verify=True) if row.restorable)
        planned = table.restore(savepoint, hudictl.RestoreOptions(keep_files=True)).plan()
        if planned.plan is None or planned.nothing is not None:
            return 0
        for file in planned.plan.undo.files:
            print("to delete:", file.path, file.bytes + 1)
        try:
            result = planned.execute()
        except Findings as found:
            print("done, but", found.message, found.report)
        except Conflict as error:
            raise SystemExit(f"{error.message} ({error.hint})") from error
        else:
            print("removed:", ", ".join(result.instants) if result else "nothing")
        assert not [row for row in table.metadata.verify()]
        assert table.verify_savepoint(savepoint).restorable
        frame = table.commits().to_pandas()
        print(frame.to_string(), table.files.sizes().to_arrow().schema)
        return len(frame)


if __name__ == "__main__":
    try:
        print("commits:", back(sys.argv[1]))
    except HudictlError as error:
        sys.exit(error.exit_code)
'''
WRONG = """
import hudictl

table = hudictl.open("/t", engine="flink")
table.restore(to=17)
for row in table.timeline():
    print(row.no_such_column)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    assert (folder / "hudictl" / "py.typed").exists()
    return folder


def run(folder: Path, installed: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    variables = {**os.environ, "PYTHONPATH": str(installed), "MYPYPATH": ""}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def test_its_types_are_right(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    checked = run(tmp_path, installed, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "program.py")
    assert checked.returncode == 0, checked.stdout
    checked = run(tmp_path, installed, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "wrong.py")
    kinds = [line.rpartition("[")[2].rstrip("]") for line in checked.stdout.splitlines() if ": error:" in line]
    assert kinds == ["arg-type", "arg-type", "attr-defined"], checked.stdout


def test_it_restores_a_table(installed: Path, tmp_path: Path, unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    (tmp_path / "program.py").write_text(PROGRAM)
    newest = copy.savepoints[-1]
    done = run(tmp_path, installed, "program.py", str(copy.path))
    assert done.returncode == 0, done.stderr
    assert f"commits: {len(copy.commits)}\n" in done.stdout
    assert "to delete: part-" in done.stdout
    assert copy.commits[-1] == newest
