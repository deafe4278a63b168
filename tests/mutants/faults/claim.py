"""hudictl's claim: one hudictl at a time."""

from tests.mutants.fault import Fault

FILE = "table/locks/claim.py"

FAULTS = (
    Fault(
        FILE,
        "here = (socket.gethostname(), _boot_id(), _pid_namespace())\n"
        "    if (owner.host, owner.boot_id, owner.pid_namespace) == here:",
        "here = (socket.gethostname(), _boot_id())\n    if (owner.host, owner.boot_id) == here:",
        "a living hudictl in another container counts as dead",
    ),
    Fault(
        FILE,
        'return start in ("", owner.process_start) or not owner.process_start',
        "return start == owner.process_start",
        "a hudictl whose start time is hidden counts as dead",
    ),
    Fault(
        FILE,
        "    _prove_exclusive(held)\n    held.check()\n",
        "    _prove_exclusive(held)\n",
        "a slow process goes on beside the holder of a higher link",
    ),
)
