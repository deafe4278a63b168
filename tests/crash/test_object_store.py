"""A restore on S3 (moto's) that dies: readers never see a half, and the same command finishes it as on local files."""

import pytest

from tests.crash.object_store_support import Place, die_at_each_step, end_at_each_change, place
from tests.crash.restore_support import ALL_OPTIONS

__all__ = ["place"]

pytestmark = pytest.mark.crash

TABLES = [("v6", "cow_part", 1), ("v9", "mor_savepoints", 1)]
MORE_TABLES = [
    ("v8", "cow_part", 1),
    ("v6", "mor_savepoints", 1),
    ("v6", "cow_cluster", 0),
    ("v8", "mor_savepoints", 1),
    ("v9", "cow_cluster", 0),
    ("v6", "mor_savepoints", 0, ALL_OPTIONS),
    ("v9", "cow_savepoints", 0, ALL_OPTIONS),
]


@pytest.mark.short(f"{TABLES[1]}-3")
@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("place", TABLES, indirect=True, ids=str)
def test_dies_between_two_steps(place: Place, every: int) -> None:
    die_at_each_step(place, every)


@pytest.mark.full
@pytest.mark.parametrize("place", MORE_TABLES, indirect=True, ids=str)
def test_dies_between_two_steps_on_more_tables(place: Place) -> None:
    die_at_each_step(place)


@pytest.mark.full
@pytest.mark.parametrize("mode", ["dies", "fails"])
@pytest.mark.parametrize("place", TABLES, indirect=True, ids=str)
def test_every_change_of_the_store(place: Place, mode: str) -> None:
    """The process dies there, or the store fails there and goes on afterwards."""
    end_at_each_change(place, mode)
