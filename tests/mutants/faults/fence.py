"""Tasks that come late, on hosts that were cut off."""

from tests.mutants.fault import Fault

FILE = "fence.py"
SESSION = "ops/session.py"
LATE = ("ops/test_late_tasks.py",)

FAULTS = (
    Fault(
        SESSION,
        "Fenced(held.claim.fence, function), tasks",
        "function, tasks",
        "a task on a host that was cut off deletes what a later writer has written",
        LATE,
    ),
    Fault(
        FILE,
        " or own.size != self.size",
        "",
        "tasks go on after the command has ended",
    ),
    Fault(
        FILE,
        " or max(links) > self.number",
        "",
        "tasks go on after another hudictl has taken over",
    ),
    Fault(
        FILE,
        "FRESH_MS = 40_000\n",
        "FRESH_MS = 400_000\n",
        "tasks go on after another hudictl may have taken over",
    ),
    Fault(
        FILE,
        "            if age_ms <= FRESH_MS:\n                return\n",
        "            return\n",
        "tasks of a process that is stopped go on, though its locks have gone to a writer",
    ),
    Fault(
        FILE,
        "            if time.monotonic() >= until:\n",
        "            if True:\n",
        "a restore fails where the store did not answer for a minute",
    ),
    Fault(
        SESSION,
        "            held.check()\n            looked = time.monotonic()\n",
        "            looked = time.monotonic()\n",
        "an hour of deletions goes on after the lock is lost",
        LATE,
    ),
    Fault(
        SESSION,
        "        held.check()\n        raise\n",
        "        raise\n",
        "that another process is at work is hidden behind the failure of a task",
        LATE,
    ),
)
