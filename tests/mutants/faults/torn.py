"""Files of pending instants that a process had not written whole when it died."""

from tests.mutants.fault import Fault

TORN = "ops/rollback/test_torn.py"

FAULTS = (
    Fault(
        "ops/rollback/partitions.py",
        "profiles_ok=True, ",
        "",
        "two failed writes with torn profiles keep each other from being rolled back for good",
        (TORN,),
    ),
    Fault(
        "state/facts.py",
        "[entry.time for entry in timeline.writes() if entry.pending] if",
        "[entry.time for entry in timeline.writes()] if",
        "a rollback goes on although nobody knows what a torn commit has written",
        (TORN,),
    ),
    Fault(
        "state/files/instant_files.py",
        "and not partial and not self.damaged)",
        "and not partial)",
        "files of a failed write stay where its torn profile does not name them",
    ),
    Fault(
        "state/timeline/service_plans.py",
        "        if not table.rules.clusterings_are_named:\n",
        "        if False:\n",
        "a clustering of version 6 with a torn plan is taken for a write",
    ),
    Fault(
        "state/timeline/lost_plans.py",
        "unnamed = instant.action == REPLACECOMMIT and not table.rules.clusterings_are_named",
        "unnamed = instant.action == REPLACECOMMIT",
        "check says of a failed overwrite that a table service plans anew",
        ("state/timeline/test_service_plans.py",),
    ),
    Fault(
        "state/writers/failed_writes.py",
        "compacted is None and not write.problem and",
        "compacted is None and",
        "table show says that writers can start, and each fails on a torn request",
        ("reports/health/test_writes.py", "state/writers/test_failed_writes.py"),
    ),
    Fault(
        "ops/metadata/in_place.py",
        "        # Its writer may have died while it wrote its profile.\n        return False\n",
        "        return True\n",
        "logs of others to which a deltacommit may have appended keep its records",
        ("ops/rollback/test_metadata.py",),
    ),
    Fault(
        "state/files/needed.py",
        "        if instant.pending and not pending:\n            continue\n",
        "",
        "a torn plan of a clean stops the clean-up of failed writes",
        (TORN,),
    ),
    Fault(
        "ops/undo/planning.py",
        "if readers_see else () if backup else None",
        "if readers_see else None",
        "what a clean may have deleted of an un-published commit's slices is not missed",
        (TORN,),
    ),
    Fault(
        "ops/rollback/plan.py",
        "tuple(row for row in self.undo.files_kept if row.instant == self.target)",
        "self.undo.files_kept",
        "each of the writes that are rolled back together says that it has left the files of the others",
        ("cli/test_failed_writes_clean.py",),
    ),
    Fault(
        "ops/rollback/execute.py",
        "        files_kept=plan.files_kept,\n",
        "",
        "a clean-up does not say which files it has left",
        ("cli/test_failed_writes_clean.py",),
    ),
    Fault(
        "ops/rollback/failed.py",
        "        files_kept=len(plan.files_kept),\n",
        "        files_kept=0,\n",
        "a plan does not say which files stay",
        ("cli/test_failed_writes_clean.py",),
    ),
)
