"""Nightly savepoints: create one, see whether each can be restored, delete old ones.

Plain functions of a profile's name, for any scheduler: airflow_dag.py and dagster_job.py call them. By hand, or from
cron: ``python nightly.py trips``.
"""

import sys

import hudictl

TAG = "nightly"
KEEP = hudictl.KeepRules(daily=7, weekly=5, monthly=12)


class NotRestorable(Exception):
    """A savepoint cannot be restored now."""


def create_savepoint(profile: str) -> str:
    """Creates a savepoint on the newest commit, if it has none. Returns its instant."""
    with hudictl.open(profile=profile) as table:
        options = hudictl.SavepointOptions(comment="from a scheduler")
        planned = table.create_savepoint(options=options, tag=TAG).plan()
        planned.execute()
        assert planned.plan is not None
        return planned.plan.target


def verify_savepoints(profile: str) -> list[str]:
    """Looks whether each savepoint can be restored now. Returns their instants. Raises NotRestorable."""
    with hudictl.open(profile=profile) as table:
        rows = list(table.savepoints(verify=True))
    broken = [f"{row.instant}: {row.warning}" for row in rows if row.restorable is False]
    if broken:
        raise NotRestorable("; ".join(broken))
    return [row.instant for row in rows if row.restorable]


def prune_savepoints(profile: str) -> list[str]:
    """Deletes the savepoints with the tag that no rule keeps. Returns their instants."""
    with hudictl.open(profile=profile) as table:
        result = table.prune_savepoints(hudictl.PruneOptions(KEEP, TAG)).plan().execute()
    return list(result.savepoints_deleted) if result else []


if __name__ == "__main__":
    print("savepoint on", create_savepoint(sys.argv[1]))
    print("can be restored:", *verify_savepoints(sys.argv[1]))
    print("deleted:", *prune_savepoints(sys.argv[1]) or ["none"])
