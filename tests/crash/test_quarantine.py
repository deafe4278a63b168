"""A quarantine that dies: each file is damaged or mended, the same command ends it, and undo goes back."""

from pathlib import Path

import pytest

from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.repair.plan import execute_repair
from hudictl.ops.repair.timeline import plan_quarantine
from hudictl.table.kept import room_times
from hudictl.table.open import open_table
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import OWN, put, session, tree

pytestmark = pytest.mark.crash


def _quarantine(base: Path, time: str) -> None:
    table = open_table(str(base))
    plan = plan_quarantine(session(table), time, 0)
    if plan.files:
        execute_repair(session(table), plan, lambda: plan_quarantine(session(table), time, 0))


def contents(base: Path) -> dict[str, object]:
    """The files without their times."""
    return {path: found[0] if isinstance(found, tuple) else found for path, found in tree(base, OWN).items()}


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_everywhere(version: str, tmp_path: Path) -> None:
    made = support.unpack(version, "cow_cleaned", tmp_path)
    timeline = made / ".hoodie" if version == "v6" else made / ".hoodie/timeline"
    files = {max(timeline.glob(f"[0-9]*.clean{end}")) for end in ("", ".requested")}
    (time,) = {file.name[:17] for file in files}
    for file in files:
        put(file, file.read_bytes() * 2)
    damaged = tree(made, OWN)
    trial = copy(made, tmp_path / "trial")
    with dying(None) as system:
        _quarantine(trial, time)
    whole = contents(trial)
    assert system.count > 10
    torn = contents(made)
    for at in deaths(system.count):
        base = copy(made, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _quarantine(base, time)
        left = contents(base)
        names = {str((timeline / file.name).relative_to(made)) for file in files}
        assert all(left[name] in (torn[name], whole[name]) for name in names)
        table = open_table(str(base))
        (*_, last) = (*room_times(table), "")
        if at % 2 and last:
            execute_undo(session(table), plan_undo(session(table), last, 0), 0)
            assert tree(base, OWN) == damaged
        _quarantine(base, time)
        assert contents(base) == whole
