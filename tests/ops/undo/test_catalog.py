"""What a restore and a rollback say of a catalog; also one that died, and is run again."""

import pytest

from hudictl.ops.restore.plan import RestoreOptions
from tests.fixtures import Unpack
from tests.helpers import Copy, die, plan, restore, roll_back, rollback_of, savepoint
from tests.ops.rollback.execute_support import died, newest

LATER_TOO = RestoreOptions(delete_later_savepoints=True)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_restore_names_the_partitions_that_vanish(unpack: Unpack, version: str) -> None:
    """Before, after, and once more after it died: then their files are gone."""
    copy: Copy = unpack(version, "cow_savepoints")
    target = copy.savepoints[0]
    planned = plan(copy, target, LATER_TOO)
    assert planned.undo.catalog.vanishing_partitions == ("part-3",)
    assert planned.undo.catalog.returning_partitions == ()
    die(copy, target, "verify", LATER_TOO)
    assert not list((copy.path / "part-3").glob("*.parquet"))
    again = plan(copy, target, LATER_TOO)
    assert again.resumes is not None
    assert again.undo.catalog == planned.undo.catalog
    assert restore(copy, target, options=LATER_TOO).catalog == planned.undo.catalog


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_a_rollback_names_the_partitions_that_vanish(unpack: Unpack, version: str) -> None:
    copy: Copy = unpack(version, "cow_part")
    target = newest(copy)
    planned = rollback_of(copy, target)
    assert planned.undo.catalog.vanishing_partitions == ("part-3",)
    died(copy, target, "delete files")
    again = rollback_of(copy, target)
    assert again.resumes is not None
    assert again.undo.catalog == planned.undo.catalog
    assert roll_back(copy, target).catalog == planned.undo.catalog


def test_a_failed_write_was_in_no_catalog(unpack: Unpack) -> None:
    copy: Copy = unpack("v9", "cow_failed_direct")
    assert rollback_of(copy, newest(copy)).undo.catalog.empty


def test_a_restore_that_loses_no_partition_says_nothing(unpack: Unpack) -> None:
    copy: Copy = unpack("v9", "cow_savepoints")
    target = savepoint(copy)
    assert plan(copy, target).undo.catalog.empty
