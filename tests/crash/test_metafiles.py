"""The repair of metafiles that dies: each is whole or as before, and the same command again ends it."""

from pathlib import Path

import pytest

from hudictl.formats.properties import decode
from hudictl.ops.repair.metafiles import plan_metafiles
from hudictl.ops.repair.plan import execute_repair
from hudictl.table.open import open_table
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import session

pytestmark = pytest.mark.crash

NAME = ".hoodie_partition_metadata"


def _repair(base: Path) -> None:
    table = open_table(str(base))
    plan = plan_metafiles(session(table))
    if plan.files:
        execute_repair(session(table), plan, lambda: plan_metafiles(session(table)))


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_everywhere(version: str, tmp_path: Path) -> None:
    made = support.unpack(version, "cow_part", tmp_path)
    lost, cut = sorted(made.glob(f"part-*/{NAME}"))[:2]
    right = {file.parent.name: decode(file.read_bytes()) for file in (lost, cut)}
    lost.unlink()
    cut.write_bytes(broken := cut.read_bytes()[:30])
    (cut.parent / f".{NAME}.crc").unlink(missing_ok=True)
    trial = copy(made, tmp_path / "trial")
    with dying(None) as system:
        _repair(trial)
    assert system.count > 5
    for at in deaths(system.count):
        base = copy(made, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _repair(base)
        first, second = base / lost.parent.name / NAME, base / cut.parent.name / NAME
        assert not first.exists() or decode(first.read_bytes()) == right[lost.parent.name]
        assert second.read_bytes() == broken or decode(second.read_bytes()) == right[cut.parent.name]
        _repair(base)
        assert {file.parent.name: decode(file.read_bytes()) for file in (first, second)} == right
