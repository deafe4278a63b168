"""Logs that a downgrade has left with names of table version 8."""

from tests.mutants.fault import Fault

OWN = ("ops/restore/test_downgraded_table.py",)

FAULTS = (
    Fault(
        "table/files/slices.py",
        "newest.base is None and any(entry.base for entry in slices)",
        "False",
        "a slice without its base file counts as whole",
        OWN,
    ),
    Fault(
        "ops/restore/planning.py",
        '        file_guards.nothing_misnamed(outcome, f"{scope.target} cannot be restored")\n',
        "",
        "a restore goes back behind the compaction of a downgrade",
        OWN,
    ),
    Fault(
        "ops/rollback/planning.py",
        '            file_guards.nothing_misnamed(outcome, f"{target} cannot be rolled back")\n',
        "            pass\n",
        "the compaction of a downgrade is rolled back",
        OWN,
    ),
    Fault(
        "ops/savepoint/planning.py",
        '    file_guards.nothing_misnamed(way.outcome, f"{commit.time} cannot be restored")\n',
        "",
        "a savepoint names the logs, without their base files",
        OWN,
    ),
    Fault(
        "state/metadata/undo.py",
        "        if misnamed_logs(self._facts.metadata.rules, slices):\n",
        "        if False:\n",
        "a metadata table goes back behind the compaction of its downgrade",
        OWN,
    ),
)
