"""A change of a plan that dies: the plan is the old one or the new one, and the same command again ends it."""

from pathlib import Path

import pytest

from hudictl.cli.main import run
from hudictl.formats.instants import RESTORE
from hudictl.library import changes
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import Copy, session
from tests.ops.repair.services_support import compaction, groups_of, without_later_logs

pytestmark = pytest.mark.crash


@pytest.mark.short("v6-one", "v9-one", "v9-all")
@pytest.mark.parametrize("whole", [False, True], ids=["one", "all"])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_everywhere(version: str, whole: bool, tmp_path: Path) -> None:
    made = support.unpack(version, "mor_pending_compaction", tmp_path)
    sound = Copy(version, "mor_pending_compaction", made)
    time, path = compaction(sound)
    if version == "v6":
        without_later_logs(sound, time)
    old, groups = path.read_bytes(), groups_of(path)[: None if whole else 1]

    def plan_in(base: Path) -> bytes:
        request = base / path.relative_to(made)
        return request.read_bytes() if request.exists() else b""

    def change(base: Path) -> None:
        unscheduling = changes.unscheduling(time, groups, 0)
        table = Copy(version, sound.name, base).table
        plan = unscheduling.plan(session(table))
        if plan.files:
            unscheduling.execute(session(table), plan)

    trial = copy(made, tmp_path / "trial")
    with dying(None) as system:
        change(trial)
    new = plan_in(trial)
    assert (old == new, system.count > 5) == (False, True)
    for at in deaths(system.count):
        base = copy(made, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            change(base)
        assert plan_in(base) in (old, new)
        if Copy(version, sound.name, base).having(RESTORE):
            # On version 6 it keeps writers out; what is left of that goes as ``check`` says.
            assert run(["resume", "--yes", "--idle=0s", "--settle=2s", "--engine=local", "-t", str(base)]) == 0
        change(base)
        assert plan_in(base) == new
