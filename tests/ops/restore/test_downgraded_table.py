"""Merge on read that 1.2.0 has downgraded to version 6: what goes back behind its compaction is refused."""

import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.health.check import check_table
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, plan, restore, roll_back, savepoint, tree

NAME = "downgraded_mor"
TO_INSTANT = RestoreOptions(to_instant=True)
INSTANTS = support.downgraded_facts(NAME)["instants"]


def misnamed(copy: Copy) -> list[str]:
    found = check_table(copy.table, ENGINE, 0).findings
    return [entry.meaning for entry in found if entry.finding == "misnamed-logs"]


def without_compaction(copy: Copy) -> None:
    """As Hudi's own restore, or its rollback of the compaction, leaves the table."""
    for time in (INSTANTS["compaction"], INSTANTS["L"]):
        for file in copy.path.rglob(f"*{time}*"):
            file.unlink()


@pytest.mark.parametrize("target", ["second", "S"])
def test_a_restore_behind_the_compaction_is_refused(unpack: Unpack, target: str) -> None:
    copy = unpack("v6", NAME)
    before = tree(copy.path)
    with pytest.raises(Refused, match="was downgraded") as refusal:
        restore(copy, INSTANTS[target], options=TO_INSTANT)
    assert "upgrade_table" in refusal.value.hint
    assert tree(copy.path) == before


@pytest.mark.parametrize("target", ["first", "compaction"])
def test_a_restore_to_a_commit_without_logs_is_not(unpack: Unpack, target: str) -> None:
    copy = unpack("v6", NAME)
    restore(copy, INSTANTS[target], options=TO_INSTANT)
    assert copy.commits[-1] == INSTANTS[target]
    assert misnamed(copy) == []


def test_neither_is_the_compaction_rolled_back(unpack: Unpack) -> None:
    copy = unpack("v6", NAME)
    roll_back(copy, INSTANTS["L"])
    with pytest.raises(Refused, match="was downgraded"):
        roll_back(copy, INSTANTS["compaction"])


def test_check_says_it_where_hudi_has_removed_the_compaction(unpack: Unpack) -> None:
    """And no savepoint is created: readers of version 6 would need the base files, too, which it would not name."""
    copy = unpack("v6", NAME)
    assert misnamed(copy) == []
    without_compaction(copy)
    (meaning,) = misnamed(copy)
    assert "upgrade_table" in meaning
    with pytest.raises(Refused, match="was downgraded"):
        savepoint(copy)


def test_a_metadata_table_behind_its_own_compaction_is_not_rolled_back(unpack: Unpack) -> None:
    """Hudi would read its logs otherwise than their names say."""
    copy = unpack("v6", "downgraded_cow")
    target = support.downgraded_facts("downgraded_cow")["instants"]["second"]
    made = plan(copy, target, TO_INSTANT)
    assert made.undo.metadata_table.fate == "brought forward"
    assert "names of table version 8" in str(made.undo.metadata_table.reason)
    restore(copy, target, options=TO_INSTANT)
    assert [entry.finding for entry in check_table(copy.table, ENGINE, 0).findings] == ["times-not-kept"]
