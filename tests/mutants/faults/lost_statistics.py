"""Commits whose record has lost partitions."""

from tests.mutants.fault import Fault

PLANNING = "ops/rollback/planning.py"

FAULTS = (
    Fault(
        "state/files/instant_files.py",
        "names = time not in commits or bool(commits[time].stats or commits[time].replaced)",
        "names = True",
        "files of a commit that has lost its statistics stay",
        tests=("ops/rollback/test_lost_statistics.py",),
    ),
    Fault(
        PLANNING,
        "    listed = written_partitions(table, {target}) if visible else {}\n",
        "    listed: dict[str, frozenset[str]] = {}\n",
        "files of a commit stay where only the metadata table names its partition",
        tests=("ops/rollback/test_lost_statistics.py",),
    ),
    Fault(
        "ops/undo/planning.py",
        "    if outcome.unproved and not listed:",
        "    if False:",
        "a restore keeps files of a commit where only the metadata table names its partition",
        tests=("ops/rollback/test_lost_statistics.py",),
    ),
    Fault(
        PLANNING,
        "    partly = [time for time, places in it.listed.items() if not places <= facts.commits[time].stats.keys()]\n",
        "    partly = list[str]()\n",
        "rows of a commit stay in logs where only the metadata table names its partition",
        tests=("ops/rollback/test_lost_statistics.py",),
    ),
)
