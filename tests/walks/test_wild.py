"""What the table of a walk knows once the world has been at it."""

from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from tests import support
from tests.walks.rows import Write
from tests.walks.shape import by_chance
from tests.walks.table import Table
from tests.walks.wild import copied_without_times, lost_instant_file

AHEAD = "20520101000000000"


@dataclass
class Hudi:
    """A Hudi that loads this timeline."""

    version: str
    entries: list[list[str]]

    def timeline(self, path: Path) -> list[list[str]]:
        return self.entries


def table_of(version: str, base: Path, *entries: list[str]) -> Table:
    return Table(cast(Any, Hudi(version, list(entries))), base, by_chance(Random(1)))


@pytest.mark.parametrize(
    ("kept", "known"), [("1", True), ("1A", True), ("1A2", True), ("", True), ("12", False), ("2", False)]
)
def test_rows_are_unknown_where_what_was_built_on_a_commit_that_is_ahead_stays_without_it(
    kept: str, known: bool
) -> None:
    table = table_of("v9", Path("nowhere"))
    table.writes = [Write("1"), Write("to be moved"), Write("2")]
    table.moved(table.writes[1], AHEAD)
    assert (table.ahead, table.is_broken) == (AHEAD, True)
    assert table.rows_known([AHEAD if one == "A" else one for one in kept]) is known


def test_of_a_copy_of_version_6_completion_times_do_not_count() -> None:
    entry = ["20260101000000000", "commit", "COMPLETED", "20260202000000000"]
    table = table_of("v6", Path("nowhere"), entry)
    assert copied_without_times(table, Random(1))
    assert [one.completed for one in table.timeline] == [entry[0]]


@pytest.mark.parametrize("seed", range(6))
def test_a_file_of_a_pending_instant_is_lost_or_empty(seed: int, tmp_path: Path) -> None:
    base = support.unpack("v9", "mor_pending_compaction", tmp_path)
    request = next((base / ".hoodie/timeline").glob("*.compaction.requested"))
    time = request.name.partition(".")[0]
    table = table_of("v9", base, [time, "compaction", "REQUESTED", ""])
    assert lost_instant_file(table, Random(seed))
    assert not request.read_bytes()
    assert table.broken == {time}
    table.hudi.entries[0][2] = "COMPLETED"  # type: ignore[attr-defined]
    assert not table.is_broken
