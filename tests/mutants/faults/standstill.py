"""What a process does that stood still."""

from tests.mutants.fault import Fault

FILE = "storage/guard.py"
HOLD = ("table/locks/test_hold.py",)
TRIES = ("storage/test_late_tries.py",)
GUARD = ("storage/test_guard.py",)

FAULTS = (
    Fault(
        FILE,
        "abs(now_s - self._last_s)",
        "(now_s - self._last_s)",
        "after a clock that was set back, a process changes a table that others have taken over",
    ),
    Fault(
        FILE,
        "            self._look()\n            self._last_s = now_s\n",
        "            self._last_s = now_s\n            self._look()\n",
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
        "        return _elsewhere, ()\n",
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
        GUARD,
    ),
    Fault(
        "table/locks/hold.py",
        "with table.storage.guard.looking(held.check):",
        "with table.storage.guard.looking(held.claim.check):",
        "a process that stood still changes a table although a writer has its lock",
        HOLD,
    ),
    Fault(
        FILE,
        "        elif not self._elsewhere:\n",
        "        else:\n",
        "a task that deletes all the time never looks whether its operation goes on",
        GUARD,
    ),
    Fault(
        FILE,
        "        if self._elsewhere:\n            self._last_s, self._look = now_s, look\n",
        "        self._last_s = now_s\n",
        "a deletion without an answer is sent again when others have written",
        TRIES,
    ),
    Fault(
        FILE,
        "self._since(time.time()) > _LATE_SECONDS",
        "self._since(time.time()) > 60",
        "a driver sends a deletion again when others have written",
        TRIES,
    ),
    Fault(
        "storage/patience.py",
        "        guard()\n",
        "",
        "a deletion that a store did not answer is sent again when others have written",
        TRIES,
    ),
    Fault(
        "storage/remote.py",
        "        return True if isinstance(error, TooLateError) else None\n",
        "        return None\n",
        "a file that a store did not delete in time is told as failed, though the operation goes on",
        TRIES,
    ),
    Fault(
        "storage/s3_names.py",
        "        driver.guard.refuse_late()\n",
        "        pass\n",
        "s3fs sends a deletion again when others have written",
        TRIES,
    ),
    Fault(
        "storage/s3_names.py",
        '        return *super().__reduce__(), {"guard": self.guard}\n',
        "        return super().__reduce__()\n",
        "s3fs sends a deletion again when others have written, on executors",
        TRIES,
    ),
    Fault(
        "storage/gcs_driver.py",
        "            self.guard.refuse_late()\n",
        "            pass\n",
        "gcsfs sends a deletion again when others have written",
        TRIES,
    ),
    Fault(
        "storage/azure.py",
        '_ONCE: Mapping[str, int] = {"retry_total": 0}\n',
        "_ONCE: Mapping[str, int] = {}\n",
        "Azure's client sends a deletion again when others have written",
        TRIES,
    ),
    Fault(
        "storage/webhdfs.py",
        "            self.guard()\n",
        "            pass\n",
        "a deletion in HDFS is sent again when others have written",
        TRIES,
    ),
    Fault(
        "storage/local.py",
        "        self._guard()\n        try:\n            unlink_in(sidecar",
        "        try:\n            unlink_in(sidecar",
        "a task on a slow mount goes on deleting when its operation has ended",
        GUARD,
    ),
    Fault(
        "storage/remote.py",
        "            self.guard()\n            self._put_once(verb, path, body, **mode)\n",
        "            self._put_once(verb, path, body, **mode)\n",
        "a file that others have written is replaced, as the store did not answer at first",
        TRIES,
    ),
    Fault(
        "storage/remote.py",
        "                raise error from error.__cause__\n",
        "                raise error from None\n",
        "an operation ends where a store is away for half a minute",
        TRIES,
    ),
)
