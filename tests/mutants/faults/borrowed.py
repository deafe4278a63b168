"""Logs that a write has put under the name of a pending resize."""

from tests.mutants.fault import Fault

FILE = "state/files/borrowed.py"
TESTS = ("ops/undo/test_borrowed.py",)

FAULTS = (
    Fault(
        FILE,
        "    markers = look_at_markers(facts.table, time) if time in marked else None\n",
        "    markers = None\n",
        "a failed write's logs stay in the buckets of a pending resize",
        tests=TESTS,
    ),
    Fault(
        FILE,
        "for commits in (facts.commits, backup):",
        "for commits in (backup,):",
        "a completed write's logs stay in the buckets of a pending resize",
        tests=TESTS,
    ),
    Fault(
        FILE,
        "        if rollback.plan is not None and rollback.target == time:",
        "        if rollback.plan is not None:",
        "another rollback's files go with this one",
        tests=TESTS,
    ),
    Fault(
        "ops/guards/files.py",
        "if data is not None and data.instant not in own and name not in borrowed.get(partition, ()):",
        "if False:",
        "a log of an instant that nobody knows is left with its rows",
        tests=TESTS,
    ),
    Fault(
        "ops/undo/plan.py",
        "        return named or file in self.borrowed",
        "        return named",
        "a write's logs under another name are passed over as logs of others",
        tests=TESTS,
    ),
    Fault(
        "reports/health/metadata.py",
        "    yield from _missing(look, facts.known.listing, needed.missing)\n",
        "",
        "check passes a metadata table that lists files which are gone",
        tests=("reports/health/test_files.py",),
    ),
)
