"""Commands go through the library; and what ``import hudictl`` is."""

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import hudictl as package

PACKAGE = Path(package.__file__).parent
WORDS = {"afterwards_in", "counted", "in_words", "is_service", "tag_of", "ways_out", "with_tag"}
"""Functions that make words of a result, or of an option."""
BESIDE = {"commands/doctor.py", "profile_checks.py", "complete.py"}
"""What looks at this host, and what completes names behind a Tab."""


def second_paths(text: str) -> set[str]:
    """The functions of lower rooms that a command uses beside the library: a program cannot have the same."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[1:2] in (["ops"], ["reports"], ["state"]):
            found |= {alias.name for alias in node.names if not alias.name[0].isupper()} - WORDS
    return found


def test_commands_use_the_library() -> None:
    """What a command shows or does, ``import hudictl`` can show or do: no second path."""
    commands = PACKAGE / "cli"
    sources = {str(source.relative_to(commands)): source.read_text() for source in commands.rglob("*.py")}
    assert len(sources) > 50
    assert {name: found for name, text in sources.items() if name not in BESIDE if (found := second_paths(text))} == {}


@pytest.mark.parametrize(
    "text",
    [
        "from hudictl.reports.commits import commit_rows",
        "def late() -> None:\n    from hudictl.ops.restore.planning import plan_restore",
        "from hudictl.ops import saved_plan",
    ],
)
def test_a_second_path_is_found(text: str) -> None:
    assert second_paths(text)


def test_the_names_of_the_package_are_those_of_its_stub() -> None:
    """Types come from the stub; what is imported at run time, from the table."""
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    typed = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert {name: getattr(package, name) for name in typed} == {
        name: getattr(import_module(place.rpartition(".")[0]), place.rpartition(".")[2])
        for name, place in typed.items()
    }
    assert typed.keys() <= set(dir(package))


def test_import_hudictl_is_quick() -> None:
    """It imports nothing else of the package, and no library."""
    program = "import sys; before = set(sys.modules); import hudictl; print(sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(PACKAGE.parent)},
    )
    assert done.stdout.strip() == "['hudictl']"
