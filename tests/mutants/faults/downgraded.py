"""Logs that a downgrade has left with names of table version 8; and those that 1.0.2 writes in version 6."""

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
        "            file_guards.nothing_misnamed(found.outcome, refusal)\n",
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
    # Below version 8 1.0.2 gives all logs the token of the first one.
    Fault(
        "state/metadata/undo.py",
        "        if self._named:\n            return {log.data.instant}\n",
        "        if self._named or log.data.write_token == FIRST_LOG:\n            return {log.data.instant}\n",
        "records of a removed instant stay in the metadata table where 1.0.2 writes table version 6",
        ("state/metadata/test_undo_partitions.py::test_version_6_a_log_goes_with_its_writer_whatever_its_token",),
    ),
    Fault(
        "state/metadata/undo.py",
        "begins_group(log.data) and time == log.data.instant\n",
        "begins_group(log.data)\n",
        "a block of an archived instant comes to count where 1.0.2 writes table version 6",
        (
            "state/metadata/test_undo_partitions.py::test_version_6_a_block_counts_only_with_its_instant_in_the_data_table",
        ),
    ),
)
