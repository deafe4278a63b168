"""A restore that dies between its steps, or at a change of the store, on each server."""

from pathlib import Path

import pytest

from tests.crash.object_store_support import die_at_each_step, end_at_each_change, place_of
from tests.stores.server import Server

pytestmark = pytest.mark.stores

TABLES = pytest.mark.parametrize(
    "table", [("v6", "cow_part", 1), ("v8", "cow_part", 1), ("v9", "mor_savepoints", 1)], ids=["v6", "v8", "v9"]
)


@pytest.mark.full
@pytest.mark.parametrize("every", [1, 9])
@TABLES
def test_dies_between_two_steps(server: Server, tmp_path: Path, table: tuple[str, str, int], every: int) -> None:
    """Readers never see a half, and the same command finishes it."""
    die_at_each_step(place_of(server, tmp_path, *table), every)


@pytest.mark.full
@TABLES
def test_dies_at_every_change_of_the_store(server: Server, tmp_path: Path, table: tuple[str, str, int]) -> None:
    """Of one deletion's objects, the store has deleted some."""
    end_at_each_change(place_of(server, tmp_path, *table), "dies")
