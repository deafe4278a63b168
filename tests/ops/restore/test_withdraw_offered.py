"""A withdrawal is named as a way out where it is possible, and only there."""

import pytest

from hudictl.reports.table import describe_table
from tests.fixtures import Unpack
from tests.helpers import attempt, die
from tests.ops.restore.withdraw_support import OPTIONS, TABLES, oldest, withdraw


@pytest.mark.parametrize(("version", "name"), TABLES)
@pytest.mark.parametrize(
    ("step", "offered"),
    [("un-publish instants", "sure"), ("delete files", "perhaps"), ("publish the restore", "no")],
)
def test_it_is_offered_where_it_is_possible(unpack: Unpack, version: str, name: str, step: str, offered: str) -> None:
    copy = unpack(version, name)
    die(copy, oldest(copy), step, OPTIONS)
    leaves = [way.leaves for way in describe_table(copy.table).remedy if "--withdraw" in way.command]
    said = "only possible while no data file is deleted"
    assert (len(leaves), any(said in text for text in leaves)) == (offered != "no", offered == "perhaps")
    error = attempt(lambda: withdraw(copy))
    assert (error is None) == (offered != "no")
