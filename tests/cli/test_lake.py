"""The lake of ``benchmarks.years`` in small: what the benchmark measures are commands that succeed on a sound table."""

import datetime as dt
from pathlib import Path

import pytest

from benchmarks.lake import Lake, make
from tests.cli.conftest import Tell

LOCAL = ("--engine", "local")


@pytest.fixture
def lake(tmp_path: Path) -> tuple[Lake, str]:
    end = dt.datetime.now(dt.timezone.utc).replace(second=0, microsecond=217_000)
    made = Lake(days=4, keep=2, ruled=0, end=end)
    return made, make(made, tmp_path)


@pytest.mark.slow
def test_a_lake_with_a_history_is_sound(lake: tuple[Lake, str], tell: Tell) -> None:
    made, base = lake
    checked = tell("check", "-t", base, *LOCAL)
    assert checked.code == 0, checked.out
    assert tell("orphans", "list", "-t", base, "-o", "json", *LOCAL).json["rows"] == []
    assert len(tell("failed-writes", "list", "-t", base, "-o", "json").json["rows"]) == 3

    plan = ("--plan", "--idle=0s", "--interval=60s", "--misses=2", "-o", "json", *LOCAL)
    restore = tell("restore", made.last_saved, "-t", base, *plan).json["result"]
    assert restore["target"] == made.last_saved
    created = tell("savepoint", "create", "-t", base, *plan).json["result"]
    assert created["target"] > made.last_saved
    assert tell("rollback", made.last_failed, "-t", base, *plan).code == 0
