"""What a process does that stood still."""

from tests.mutants.fault import Fault

FILE = "storage/guard.py"
HOLD = ("table/locks/test_hold.py",)

FAULTS = (
    Fault(
        FILE,
        "abs(now_s - self._last_s) > STANDSTILL_SECONDS",
        "now_s - self._last_s > STANDSTILL_SECONDS",
        "after a clock that was set back, a process changes a table that others have taken over",
    ),
    Fault(
        FILE,
        "            self._look()\n        self._last_s = now_s",
        "            self._last_s = now_s\n            self._look()\n        self._last_s = now_s",
        "a process that was told that others have taken over changes the table at the next try",
    ),
    Fault(
        FILE,
        "STANDSTILL_SECONDS = 20.0\n",
        "STANDSTILL_SECONDS = 200.0\n",
        "a process that stood still until others have taken over goes on",
    ),
    Fault(
        FILE,
        "        return Guard, ()\n",
        "        return object.__reduce__(self)\n",
        "a storage cannot be sent to executors while a table is held",
    ),
    Fault(
        FILE,
        "        self._last_s, self._look = time.time(), look\n",
        "        self._look = look\n",
        "each operation looks at its locks once more",
    ),
    Fault(
        "storage/base.py",
        "            guard_changes(cls)\n",
        "            pass\n",
        "a process that stood still changes a table that others have taken over",
        ("storage/test_guard.py",),
    ),
    Fault(
        "table/locks/hold.py",
        "with table.storage.guard.looking(held.check):",
        "with table.storage.guard.looking(held.claim.check):",
        "a process that stood still changes a table although a writer has its lock",
        HOLD,
    ),
)
