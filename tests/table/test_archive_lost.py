"""What a repair of the archive has lost: known by its record, until it is undone."""

from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.table.archive_lost import LOST_UNTIL, NOTE, lost_until
from hudictl.table.kept import new_room
from hudictl.table.open import open_table
from hudictl.table.operations import Attempt, Operation, operation_path, recorded
from hudictl.table.table import Table
from tests import support

ATTEMPT = Attempt("", "", "", 1, "", "")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return open_table(str(support.unpack("v9", "cow_part", tmp_path)))


def record(table: Table, instant: str, kind: str, target: str, until: str = "", *, fails: bool = False) -> None:
    def work() -> Attempt:
        if fails:
            raise OSError("no space")
        return replace(ATTEMPT)

    if until:
        table.storage.replace(NOTE, b"")
    operation = Operation(instant, kind, target, {LOST_UNTIL: until} if until else {})
    try:
        recorded(table.storage, operation, "test", work)
    except OSError:
        assert fails


def test_the_latest_of_several(table: Table) -> None:
    assert lost_until(table) == ""
    record(table, "20261129120000001", "archive repair", "archived timeline", "20261121000000002")
    record(table, "20261129120000002", "archive repair", "archived timeline", "20261121000000001")
    record(table, "20261129120000003", "archive repair", "archived timeline")
    record(table, "20261129120000004", "timeline quarantine", "T", "20261122000000000")
    assert lost_until(table) == "20261121000000002"


def test_without_the_note_of_a_loss_no_record_is_read(table: Table) -> None:
    """A table that is old has many."""
    record(table, "20261129120000001", "archive repair", "archived timeline", "20261121000000002")
    table.storage.delete([NOTE])
    assert lost_until(table) == ""


def test_a_repair_that_has_died_counts(table: Table) -> None:
    record(table, "20261129120000001", "archive repair", "archived timeline", "20261121000000002", fails=True)
    assert lost_until(table) == "20261121000000002"


@pytest.mark.parametrize(("fails", "left"), [(True, "20261121000000002"), (False, "")])
def test_only_an_undo_that_is_done_ends_it(table: Table, fails: bool, left: str) -> None:
    record(table, "20261129120000001", "archive repair", "archived timeline", "20261121000000002")
    record(table, "20261129120000002", "undo", "20261129120000000")
    assert lost_until(table) == "20261121000000002"
    record(table, "20261129120000003", "undo", "20261129120000001", fails=fails)
    assert lost_until(table) == left


def test_a_damaged_record_is_in_the_way_only_if_it_may_say_so(table: Table) -> None:
    time = "20261129120000001"
    record(table, time, "archive repair", "archived timeline", "20261121000000002")
    table.storage.replace(operation_path(time), b"{")
    assert lost_until(table) == ""
    new_room(table, (time,), "archive repair", ("archived timeline",))
    with pytest.raises(Unreadable, match="not an operation record"):
        lost_until(table)
