"""The example for Dagster, run by it."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import hudictl

dagster = pytest.importorskip("dagster", reason="is installed by .ci/run --all")
pytestmark = pytest.mark.slow
NEWEST = "20261121030301559"


@pytest.fixture
def example(trips: Path) -> Any:
    return import_module("dagster_job")


def test_the_job_creates_verifies_and_prunes(example: Any, trips: Path) -> None:
    result = example.nightly_savepoints.execute_in_process()
    assert result.success
    outputs = {name: result.output_for_node(name) for name in ("create", "verify", "prune")}
    assert outputs == {"create": NEWEST, "verify": [NEWEST], "prune": []}
    assert [row.tag for row in hudictl.open(str(trips), engine="local").savepoints()] == ["nightly"]


def test_a_savepoint_that_cannot_be_restored_fails_the_job_before_it_prunes(example: Any, trips: Path) -> None:
    hudictl.open(str(trips), engine="local").create_savepoint("20261121030250364").plan().execute()
    next(trips.glob("part-0/*_20261121030250364.parquet")).unlink()
    result = example.nightly_savepoints.execute_in_process(raise_on_error=False)
    assert not result.success
    (failed,) = result.get_step_failure_events()
    assert failed.step_key == "verify"
    assert "NotRestorable" in str(failed.event_specific_data.error)


def test_the_schedule_is_nightly(example: Any) -> None:
    (schedule,) = example.definitions.schedules
    assert schedule.cron_schedule == "30 4 * * *"
