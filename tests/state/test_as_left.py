"""What a table that has changed since a kept operation needs first, before the operation can be undone."""

import pytest

from hudictl.errors import Refused
from hudictl.ops.put_back.drop import execute_drop, plan_drop
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.reports.undo_list import undo_rows
from tests import support
from tests.fixtures import Unpack
from tests.helpers import restore, roll_back, session
from tests.ops.put_back.undo_support import state, undo


@pytest.mark.parametrize("version", support.VERSIONS)
def test_of_two_kept_operations_the_later_one_is_undone_first(unpack: Unpack, version: str) -> None:
    """Each can come back; only what was dropped cannot, and then what is kept of the earlier one is of no use."""
    copy = unpack(version, "cow_part")
    first = roll_back(copy, copy.commits[-1], options=RollbackOptions(keep_files=True, settle_s=0.0)).undo
    assert first is not None
    between = state(copy)
    options = RestoreOptions(to_instant=True, keep_files=True, settle_s=0.0, delete_later_savepoints=True)

    def later() -> str:
        return restore(copy, copy.commits[0], options=options).restore

    second = later()
    with pytest.raises(Refused) as caught:
        plan_undo(session(copy.table), first, 0)
    assert caught.value.hint == f"`hudictl undo {second}` first, then this one"
    newer, older = undo_rows(copy.table)
    assert (newer.possible, older.possible) == (True, False)
    assert f"undo the restore {second} first" in (older.warning or "")

    undo(copy, second)
    assert state(copy) == between
    execute_drop(session(copy.table), plan_drop(session(copy.table), [later()], None))
    with pytest.raises(Refused) as caught:
        plan_undo(session(copy.table), first, 0)
    assert f"`hudictl undo drop {first}`" in caught.value.hint
