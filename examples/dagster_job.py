"""Nightly savepoints with Dagster: ``dagster dev -f dagster_job.py``, with nightly.py beside it.

A savepoint that cannot be restored fails the job before an older one is deleted.
"""

import nightly
from dagster import Definitions, RetryPolicy, ScheduleDefinition, job, op

PROFILE = "trips"
# A second try is safe, also after one that was killed.
AGAIN = RetryPolicy(max_retries=2)


@op(retry_policy=AGAIN)
def create() -> str:
    """Returns the instant of the savepoint."""
    return nightly.create_savepoint(PROFILE)


@op
def verify(created: str) -> list[str]:
    """Returns the savepoints that can be restored."""
    return nightly.verify_savepoints(PROFILE)


@op(retry_policy=AGAIN)
def prune(verified: list[str]) -> list[str]:
    """Returns the deleted savepoints."""
    return nightly.prune_savepoints(PROFILE)


@job
def nightly_savepoints() -> None:
    """Create, verify, prune."""
    prune(verify(create()))


definitions = Definitions(
    jobs=[nightly_savepoints], schedules=[ScheduleDefinition(job=nightly_savepoints, cron_schedule="30 4 * * *")]
)
