"""A withdrawal that dies at any change to the file system: the same command ends it, and the table is as it was."""

from pathlib import Path

import pytest

from hudictl.errors import StorageFailed
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.restore.withdraw import plan_withdrawal, withdraw_restore
from hudictl.state.facts import read_signs
from hudictl.table.table import open_table
from tests import support
from tests.crash import reader
from tests.crash.inject import Crash, copy, dying
from tests.helpers import At, session

pytestmark = pytest.mark.crash


def begun(version: str, name: str, folder: Path) -> Path:
    """A restore to the first commit that died when readers were there, and no file was deleted."""
    base = support.unpack(version, name, folder)
    target = sorted(support.facts(version, name)["rows"])[0]

    def dies() -> None:
        raise StorageFailed("the process dies here")

    table = open_table(str(base))
    options = RestoreOptions(to_instant=True, delete_later_savepoints=True, settle_s=0.0)
    made = plan_restore(session(table), target, options)
    with pytest.raises(StorageFailed, match="dies here"):
        execute_restore(session(table, At("delete files", dies)), made)
    return base


def withdraw(base: Path) -> None:
    table = open_table(str(base))
    if read_signs(table).planned_restores:
        withdraw_restore(session(table), plan_withdrawal(session(table), 0), 0)


@pytest.mark.parametrize(("version", "name"), [("v6", "mor_part"), ("v9", "cow_cluster")])
def test_dies_anywhere(version: str, name: str, tmp_path: Path) -> None:
    base = begun(version, name, tmp_path)
    done = copy(base, tmp_path / "done")
    with dying(None) as system:
        withdraw(done)
    wanted = reader.snapshot(done).digest
    assert wanted == reader.snapshot(support.unpack(version, name, tmp_path / "fresh")).digest
    for at in range(system.count):
        died = copy(base, tmp_path / f"crash-{at}")
        with dying(at), pytest.raises(Crash):
            withdraw(died)
        withdraw(died)
        assert reader.snapshot(died).digest == wanted, at
        assert not [entry for entry in reader.instants(died) if entry[1] in ("restore", "rollback")], at
