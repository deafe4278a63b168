"""The second base file of a slice: what proves that it goes, and what keeps it."""

from tests.mutants.fault import Fault

STATE = "state/orphans/second.py"
OPS = "ops/clean_up/orphans.py"
TESTS = ("state/orphans/test_second.py",)

FAULTS = (
    Fault(STATE, "if len(right) == 1 and sizes", "if right and sizes", "one of two named files goes", TESTS),
    Fault(
        STATE,
        " in (0, right[0].size):",
        " is not None:",
        "a file that was cut is the one that stays",
        TESTS,
    ),
    Fault(STATE, " | dict(named)", "", "a file that a savepoint names goes", TESTS),
    Fault(
        STATE,
        "in_index = facts.sweep.over(",
        "in_index = () if listed else facts.sweep.over(",
        "a file that the metadata table lists goes",
        TESTS,
    ),
    Fault(
        STATE,
        "    if isinstance(result, HudictlError):\n        return orphan.left(",
        "    if isinstance(result, HudictlError):\n        return orphan.because(",
        "the only file that can be read goes",
        TESTS,
    ),
    Fault("record_workers.py", "(other - right).total()", "0", "rows that are lost are not told", TESTS),
    Fault(OPS, "stays[file.path].path in changed", "False", "both files of a slice are lost", TESTS),
    Fault(
        OPS,
        "plan.options.paths or plan.options.duplicates\n    files",
        "plan.options.paths\n    files",
        "a file that was written again is deleted",
        TESTS,
    ),
)
