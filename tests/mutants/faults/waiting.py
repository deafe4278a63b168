"""What `wait` takes for a living writer, how it looks, and what is said after a restore."""

from tests.mutants.fault import Fault

WAITING = "ops/waiting.py"
LIVENESS = "ops/guards/liveness.py"
TESTS = ("ops/test_waiting.py",)
AFTERWARDS = "ops/undo/afterwards.py"

FAULTS = (
    Fault(
        WAITING,
        "max(least_ms, min(every_ms, timeout_ms - waited_ms), (clock() - started) * 1000)",
        "min(every_ms, timeout_ms - waited_ms)",
        "a large table is listed without a pause",
    ),
    Fault(WAITING, "    if owner is not None:\n", "    if False:\n", "a script restores beside another hudictl"),
    Fault(
        LIVENESS,
        "    no_lock_in_use(table, signs, locking)\n    no_running_restore(",
        "    no_running_restore(",
        "a script restores beside the holder of the lock",
        TESTS,
    ),
    Fault(
        LIVENESS,
        "        no_running_write(table, signs, timeline.instants, idle_ms, sweep(table, engine, named), own)\n",
        "        pass\n",
        "a script restores beside a writer that has no heartbeat",
        TESTS,
    ),
    Fault(
        LIVENESS,
        "[*rollbacks, *pending_cleans(timeline)]",
        "rollbacks",
        "a script restores beside a clean",
        TESTS,
    ),
    Fault(
        LIVENESS,
        " if entry.target not in own]",
        "]",
        "a restore that died is waited for",
        TESTS,
    ),
    Fault(
        WAITING,
        'late = "verified when the others hold" if missing else ""',
        'late = ""',
        "all files are listed at each look",
    ),
    Fault(WAITING, "fails and (failed or over)", "fails and over", "a lost table is waited for until the time is over"),
    Fault(
        WAITING,
        "            ended = restore.time if time in {info.time for info in plan.instants} else ended\n",
        "",
        "what a restore has removed is told as if it had never been",
    ),
    Fault(
        AFTERWARDS,
        "entry.completion_time and entry.operation not in REWRITES",
        "entry.completion_time",
        "consumers start again for a compaction",
    ),
    Fault(
        AFTERWARDS,
        "            begin = time_plus_ms(begin, 1)\n",
        "            pass\n",
        "a consumer of 1.0.2 reads the target's rows twice",
    ),
    Fault(
        AFTERWARDS,
        "found | {entry.time: entry for entry in begun.instants if entry.completion_time}",
        "found",
        "a restore that died says nothing to consumers",
    ),
    Fault(
        AFTERWARDS,
        "restart = max(before, key=position, default=None)",
        "restart = min(before, key=position, default=None)",
        "consumers read the whole table again",
    ),
)
