"""Files of another size than their commit has recorded."""

from tests.mutants.fault import Fault

OWN = ("ops/test_damaged_files.py",)

FAULTS = (
    Fault(
        "state/files/changes.py",
        "            missing=(*self.missing, *sorted(sizes)),\n",
        "            missing=tuple(self.missing),\n",
        "a restore deletes the good copy of a damaged base file",
        OWN,
    ),
    Fault(
        "state/files/changes.py",
        "entry.time not in view.removed)",
        "False)",
        "no size is compared",
        OWN,
    ),
    Fault(
        "reports/health/files.py",
        "path in needed.sizes or path in not_copied",
        "path in not_copied",
        "check calls a damaged file missing",
        OWN,
    ),
)
