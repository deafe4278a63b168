"""The example for Airflow, run by it, with a database of its own."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import hudictl
from tests.examples.conftest import EXAMPLES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("airflow") is None, reason="is installed by .ci/run --all"),
]
NEWEST, OLDEST = "20261121030301559", "20261121030250364"
RUN = """
import airflow_dag
run = airflow_dag.DAG.test()
print("RAN", run.state, *sorted(f"{task.task_id}={task.state}" for task in run.get_task_instances()))
"""


def run_dag(home: Path) -> str:
    environment = os.environ | {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(EXAMPLES),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONPATH": f"{EXAMPLES.parent}:{EXAMPLES}",
    }
    for arguments in ((*("-m", "airflow"), "db", "migrate"), ("-c", RUN)):
        done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("RAN ")]
    return line


def test_the_dag_creates_verifies_and_prunes(trips: Path, tmp_path: Path) -> None:
    said = run_dag(tmp_path / "airflow")
    assert said == "RAN success create_savepoint=success prune_savepoints=success verify_savepoints=success"
    assert [row.instant for row in hudictl.open(str(trips), engine="local").savepoints()] == [NEWEST]


def test_a_savepoint_that_cannot_be_restored_fails_the_dag_before_it_prunes(trips: Path, tmp_path: Path) -> None:
    hudictl.open(str(trips), engine="local").create_savepoint(OLDEST).plan().execute()
    next(trips.glob(f"part-0/*_{OLDEST}.parquet")).unlink()
    said = run_dag(tmp_path / "airflow")
    assert said == "RAN failed create_savepoint=success prune_savepoints=upstream_failed verify_savepoints=failed"
