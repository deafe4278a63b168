"""Files that are deleted because their paths were given: nothing that the table needs."""

from tests.mutants.fault import Fault

STATE = "state/orphans/asked.py"
OPS = "ops/clean_up/orphans.py"
TESTS = ("state/orphans/test_asked.py",)

FAULTS = (
    Fault(STATE, "and facts.commits[time].stats:", "and True:", "a commit that names nothing proves something", TESTS),
    Fault(STATE, "        if path in named:\n", "        if False:\n", "a file that a commit names goes", TESTS),
    Fault(STATE, "file.data.is_base and time in completed", "time in completed", "a log of a commit is deleted", TESTS),
    Fault(OPS, "    if options.paths:\n        raise", "    if False:\n        raise", "a new file is skipped", TESTS),
    Fault(OPS, "if asked or (grow and", "if (grow and", "a file that was written again is deleted", TESTS),
    Fault(OPS, " and not orphan.unnamed)", ")", "a file that no commit names always stays", TESTS),
    Fault(
        "state/orphans/ownership.py",
        "    if file.path in records.asked:\n        return ASKED",
        "    if True:\n        return ASKED",
        "each unknown orphan counts as asked for",
        ("state/orphans/test_find.py",),
    ),
)
