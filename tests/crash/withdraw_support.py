"""What the tests of withdraw share with others."""

from pathlib import Path

import pytest

from hudictl.errors import StorageFailed
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.restore.withdraw import plan_withdrawal, withdraw_restore
from hudictl.state.facts import read_signs
from hudictl.table.open import open_table
from tests import support
from tests.helpers import At, session


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
