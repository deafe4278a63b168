"""Requested compactions and clusterings, and the changes of their plans."""

from pathlib import Path

from hudictl.formats.plans import decode_compaction_files, decode_compaction_groups
from hudictl.library import changes
from hudictl.library.change import Change
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.repair.plan import RepairPlan, RepairResult
from hudictl.state.facts import read_facts, read_signs
from hudictl.state.services.plan_problems import PlanProblem, plan_problems
from tests.helpers import ENGINE, Copy, put, session


def request_of(copy: Copy, action: str) -> Path:
    return max(copy.timeline.glob(f"[0-9]*.{action}.requested"))


def compaction(copy: Copy) -> tuple[str, Path]:
    """The time and the request of the pending compaction."""
    path = request_of(copy, "compaction")
    return path.name.partition(".")[0], path


def clustering(copy: Copy) -> tuple[str, Path]:
    """The same of the newest clustering, which has not run then."""
    path = request_of(copy, "replacecommit" if copy.version == "v6" else "clustering")
    time = path.name.partition(".")[0]
    for file in copy.timeline.glob(f"{time}*"):
        if file != path:
            file.unlink()
    for file in copy.path.rglob(f"*_{time}.parquet"):
        file.unlink()
    put(path, path.read_bytes())
    return time, path


def without_later_logs(copy: Copy, time: str) -> None:
    """Version 6: no write has come after the plan."""
    for path in copy.path.rglob(f".*_{time}.log.*"):
        path.unlink()
    for path in [path for path in copy.timeline.iterdir() if path.name[0].isdigit() and path.name[:17] > time]:
        path.unlink()


def groups_of(path: Path) -> list[str]:
    found = decode_compaction_groups(path.read_bytes(), "it")
    return sorted(f"{partition}/{one}".lstrip("/") for partition, one in found)


def files_of(path: Path) -> list[str]:
    return sorted(f"{partition}/{name}" for partition, name in decode_compaction_files(path.read_bytes(), "it"))


def done(copy: Copy, change: Change[RepairPlan, RepairResult]) -> tuple[RepairPlan, str]:
    """The plan, and the number of the repair; "" if nothing was to do."""
    made = change.plan(session(copy.table))
    return made, change.execute(session(copy.table), made).undo if made.files else ""


def unschedule(copy: Copy, time: str, *groups: str) -> tuple[RepairPlan, str]:
    return done(copy, changes.unscheduling(time, groups, 0))


def prune(copy: Copy, time: str, *files: str) -> tuple[RepairPlan, str]:
    return done(copy, changes.pruning(time, files, 0))


def back(copy: Copy, number: str) -> None:
    execute_undo(session(copy.table), plan_undo(session(copy.table), number, 0), 0)


def problems(copy: Copy, time: str) -> list[PlanProblem]:
    signs = read_signs(copy.table)
    (instant,) = [entry for entry in signs.timeline.instants if entry.time == time]
    return plan_problems(read_facts(copy.table, ENGINE, signs), instant)
