"""Logs that a write has put under the name of a pending resize."""

from tests.mutants.fault import Fault

FILE = "state/files/borrowed.py"
TESTS = ("ops/undo/test_borrowed.py",)

FAULTS = (
    Fault(
        "state/files/instant_files.py",
        "        markers = look_at_markers(table, time) if time in marked else None\n",
        "        markers = None\n",
        "a failed write's logs stay in the buckets of a pending resize",
        tests=TESTS,
    ),
    Fault(
        "state/files/instant_files.py",
        "for known in (commits, backup) if",
        "for known in (backup,) if",
        "a completed write's logs stay in the buckets of a pending resize",
        tests=TESTS,
    ),
    Fault(
        "state/files/instant_files.py",
        "if entry.plan is not None and entry.target == time]",
        "if entry.plan is not None]",
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
