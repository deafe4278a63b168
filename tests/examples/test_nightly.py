"""The tasks of the example for schedulers, without one."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import hudictl

NEWEST, OLDER = "20261121030301559", "20261121030258116"


@pytest.fixture
def nightly(trips: Path) -> Any:
    return import_module("nightly")


def test_the_newest_commit_gets_a_savepoint_once(nightly: Any, trips: Path) -> None:
    assert nightly.create_savepoint("trips") == NEWEST
    assert nightly.create_savepoint("trips") == NEWEST
    (found,) = hudictl.open(str(trips), engine="local").savepoints()
    assert (found.instant, found.tag) == (NEWEST, "nightly")
    assert nightly.verify_savepoints("trips") == [NEWEST]


def test_pruning_keeps_the_newest_of_a_day_and_what_has_no_tag(nightly: Any, trips: Path) -> None:
    table = hudictl.open(str(trips), engine="local")
    table.create_savepoint(OLDER, hudictl.SavepointOptions(comment="[nightly]")).plan().execute()
    table.create_savepoint("20261121030256109", hudictl.SavepointOptions(comment="by hand")).plan().execute()
    nightly.create_savepoint("trips")
    assert nightly.prune_savepoints("trips") == [OLDER]
    assert nightly.prune_savepoints("trips") == []
    assert [row.instant for row in table.savepoints()] == [NEWEST, "20261121030256109"]


def test_a_savepoint_that_has_lost_a_file_raises(nightly: Any, trips: Path) -> None:
    nightly.create_savepoint("trips")
    next(trips.glob(f"part-0/*_{NEWEST}.parquet")).unlink()
    with pytest.raises(nightly.NotRestorable, match=NEWEST):
        nightly.verify_savepoints("trips")
