"""A copy that dies: the target is no table then, the source is held, and the same command ends both."""

import shutil
from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.ops.copy.execute import execute_copy
from hudictl.ops.copy.plan import CopyOptions
from hudictl.ops.copy.planning import plan_copy
from hudictl.table.open import open_table
from tests import support
from tests.copy_support import data_files, store
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import OWN, session, tree

pytestmark = pytest.mark.crash

ENGINE = LocalEngine(parallelism=1)


def _make(base: Path, to: Path, target: str) -> None:
    table = open_table(str(base))
    plan = plan_copy(session(table, engine=ENGINE), store(to), target, CopyOptions())
    if not plan.done:
        execute_copy(session(table, engine=ENGINE), plan, store(to))


@pytest.mark.parametrize("version", support.VERSIONS)
def test_it_dies_anywhere(version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "mor_part", tmp_path)
    target = sorted(support.facts(version, "mor_part")["rows"])[1]
    before = tree(base)
    with dying(None) as system:
        _make(copy(base, tmp_path / "counted"), tmp_path / "to", target)
    whole = data_files(tmp_path / "to")
    for at in deaths(system.count):
        folder = tmp_path / f"crash-{at}"
        table, to = copy(base, folder / "table"), folder / "to"
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _make(table, to, target)
        if (to / ".hoodie/hoodie.properties").exists():
            # A table is whole.
            assert data_files(to) == whole
        _make(table, to, target)
        assert data_files(to) == whole
        assert tree(table, OWN) == before
        shutil.rmtree(folder)
