"""A withdrawal is named as a way out where it is possible, and only there."""

from dataclasses import replace

import pytest

from hudictl.errors import Refused
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.reports.table import describe_table
from hudictl.table.kept import room_times
from tests.fixtures import Unpack
from tests.helpers import assert_ended, attempt, die, drop, restore
from tests.ops.put_back.undo_support import state, undo
from tests.ops.restore.withdraw_support import OPTIONS, TABLES, oldest, withdraw


@pytest.mark.parametrize(("version", "name"), TABLES)
@pytest.mark.parametrize(
    ("step", "offered"), [("un-publish instants", True), ("delete files", True), ("publish the restore", False)]
)
def test_it_is_offered_where_it_is_possible(unpack: Unpack, version: str, name: str, step: str, offered: bool) -> None:
    copy = unpack(version, name)
    die(copy, oldest(copy), step, OPTIONS)
    assert any("--withdraw" in way.command for way in describe_table(copy.table).remedy) == offered
    error = attempt(lambda: withdraw(copy))
    assert (error is None) == offered


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_where_files_are_kept_the_undo_is_offered_instead(unpack: Unpack, version: str) -> None:
    """A withdrawal refuses them."""
    copy = unpack(version, "cow_savepoints")
    before = state(copy)
    die(copy, oldest(copy), "delete files", replace(OPTIONS, keep_files=True))
    (time,) = room_times(copy.table)
    assert [way.command for way in describe_table(copy.table).remedy] == ["hudictl resume", f"hudictl undo {time}"]
    with pytest.raises(Refused, match="an undo takes it back"):
        withdraw(copy)
    undo(copy, time)
    assert state(copy) == before


@pytest.mark.parametrize("keep", [False, True], ids=["delete", "keep"])
@pytest.mark.parametrize("why", ["another target", "a required file is missing"])
def test_a_refused_restore_names_what_takes_the_pending_one_back(unpack: Unpack, why: str, keep: bool) -> None:
    copy = unpack("v9", "cow_savepoints")
    target, other = copy.savepoints
    die(copy, target, "delete files", replace(OPTIONS, keep_files=keep))
    if why != "another target":
        drop(next(copy.path.rglob(f"*_{target}.parquet")))
    refused = attempt(lambda: restore(copy, other if why == "another target" else target))
    assert isinstance(refused, Refused)
    (back,) = (way.command for way in describe_table(copy.table).remedy if way.command != "hudictl resume")
    assert (f"`{back}`" in refused.hint, "undo" in back, "--withdraw" in refused.hint) == (True, keep, not keep)


def test_a_restore_of_hudis_is_not_withdrawn_once_hudictl_has_gone_on_with_it(unpack: Unpack) -> None:
    """Only Hudi knows what it has un-published: the withdrawal would leave a committed write as a failed one."""
    copy = unpack("v6", "mor_restore_interrupted")
    target = copy.savepoints[-1]
    die(copy, target, "delete files", RestoreOptions())
    assert [way.command for way in describe_table(copy.table).remedy] == ["hudictl resume"]
    with pytest.raises(Refused, match="was not started by hudictl"):
        withdraw(copy)
    restore(copy, target)
    assert_ended(copy, target)
