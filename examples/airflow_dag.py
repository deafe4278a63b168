"""Nightly savepoints with Airflow 3: put this file and nightly.py into the folder of the DAGs.

A savepoint that cannot be restored fails the DAG before an older one is deleted.
"""

from datetime import datetime, timezone

import nightly
from airflow.sdk import dag, task

PROFILE = "trips"


@dag(schedule="30 4 * * *", start_date=datetime(2026, 1, 1, tzinfo=timezone.utc), catchup=False, max_active_runs=1)
def nightly_savepoints() -> None:
    """Create, verify, prune."""
    # A second try is safe, also after one that was killed.
    create = task(retries=2)(nightly.create_savepoint)
    verify = task(nightly.verify_savepoints)
    prune = task(retries=2)(nightly.prune_savepoints)
    create(PROFILE) >> verify(PROFILE) >> prune(PROFILE)


DAG = nightly_savepoints()
