"""What a repair of the archive has lost: known by a note of it alone, until it is undone."""

from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.table.archive_lost import NOTE, forget_loss, losses, lost_until, note_loss
from hudictl.table.open import open_table
from hudictl.table.table import Table
from tests import support

FIRST, SECOND, THIRD = "20261129120000001", "20261129120000002", "20261129120000003"
EARLY, LATE = "20261121000000001", "20261121000000002"


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return open_table(str(support.unpack("v9", "cow_part", tmp_path)))


def test_the_latest_of_several(table: Table) -> None:
    assert lost_until(table) == ""
    note_loss(table, FIRST, LATE)
    note_loss(table, SECOND, EARLY)
    assert (lost_until(table), losses(table)) == (LATE, {FIRST: LATE, SECOND: EARLY})


def test_each_is_forgotten_by_itself(table: Table) -> None:
    note_loss(table, FIRST, LATE)
    note_loss(table, SECOND, EARLY)
    forget_loss(table, THIRD)
    assert lost_until(table) == LATE
    forget_loss(table, FIRST)
    assert lost_until(table) == EARLY
    forget_loss(table, SECOND)
    assert table.storage.stat(NOTE) is None
    assert lost_until(table) == ""


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1"])
def test_a_damaged_note_is_no_reason_to_go_on(table: Table, body: bytes) -> None:
    table.storage.replace(NOTE, body)
    for act in (lost_until, lambda table: note_loss(table, FIRST, LATE), lambda table: forget_loss(table, FIRST)):
        with pytest.raises(Unreadable, match="what a repair of the archive has lost") as caught:
            act(table)
        assert "lost_until" in caught.value.hint
    assert table.storage.read(NOTE) == body
