"""What a restore's plan says of itself."""

import pytest

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.timeline import load_timeline
from tests.fixtures import Unpack
from tests.helpers import pending_restore, plan, restore

LATER = "20261121040000000"


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_pending_restore_without_instants_is_something_to_do(unpack: Unpack, version: str) -> None:
    """Hudi's restore to the newest commit died: it blocks all writers."""
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    options = RestoreOptions(to_instant=True)
    assert plan(copy, target, options).nothing_to_do
    pending_restore(copy, LATER, target, begun=True)
    made = plan(copy, target, options)
    assert (made.removals, made.resumes, made.nothing_to_do) == ((), LATER, False)
    restore(copy, target, options=options)
    assert [entry.completed for entry in load_timeline(copy.table).having("restore")] == [True]
