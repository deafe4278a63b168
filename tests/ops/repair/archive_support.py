"""What the tests of the archive's repair share."""

from pathlib import Path

from hudictl.ops.repair.archive import plan_archive
from hudictl.ops.repair.plan import RepairPlan, RepairResult, execute_repair
from hudictl.table.open import open_table
from tests import support
from tests.damage.cases import of_table
from tests.helpers import session

BEYOND = "archived_beyond_savepoint"
TABLES = ("cow_cleaned", BEYOND)
CASES = [
    case
    for version in support.VERSIONS
    for name in TABLES
    for case in of_table(version, name)
    if case.kind.startswith("archive")
]


def plan(base: Path, idle_ms: int = 0) -> RepairPlan:
    return plan_archive(session(open_table(str(base))), idle_ms)


def repair(base: Path) -> RepairResult:
    made = plan(base)
    return execute_repair(session(open_table(str(base))), made, lambda: plan(base))


def files(base: Path) -> dict[str, tuple[bytes, int]]:
    found = (path for path in base.rglob("*") if path.is_file() and ".hudictl" not in path.parts)
    return {path.relative_to(base).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def repair_is_nothing(made: RepairPlan) -> bool:
    return not (made.files or made.lost or made.lost_until)
