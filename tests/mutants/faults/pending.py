"""What is pending, who is alive, which instants go, and what a saved plan rests on."""

from tests.mutants.fault import Fault

FINGERPRINT = "ops/fingerprint.py"
LATER = "state/later.py"
PENDING = "state/pending.py"
PLAN = "ops/restore/plan.py"
ROLLBACK_FINGERPRINT = "ops/rollback/fingerprint.py"
SAVED = "ops/saved_plan.py"
SESSION = "ops/session.py"
WRITERS = "state/writers.py"

FAULTS = (
    Fault(
        PLAN,
        "return not (self.removals or self.resumes or self.withdrawn or self.rollbacks_discarded)",
        "return not (self.removals or self.withdrawn or self.rollbacks_discarded)",
        "a pending restore without instants left blocks all writers, and there is nothing to do",
    ),
    Fault(
        "ops/restore/execute.py",
        "        run.held.check()\n        delete_files(",
        "        delete_files(",
        "a restore deletes files beside a process that took over while blocks were written",
    ),
    Fault(
        "ops/restore/execute.py",
        "    run.held.check()\n    complete_restore(",
        "    complete_restore(",
        "a restore is published beside a process that took over",
    ),
    Fault(
        "ops/restore/planning.py",
        'until = scope.pending.instant.time if scope.pending else "~"',
        'until = "~"',
        "a resumed restore removes the rollback that another has completed since",
    ),
    # More.
    Fault(
        PENDING,
        "return self.condition in (Condition.INFLIGHT, Condition.EMPTY_RESULT)",
        "return self.condition is Condition.INFLIGHT",
        "a restore with an empty result is planned anew, as if nothing of it was done",
    ),
    Fault(
        PENDING,
        "        elif instant.pending or empty_result(timeline, instant):\n",
        "        elif instant.pending:\n",
        "a restore with an empty result counts as completed",
    ),
    Fault(
        PENDING,
        'late = [entry for entry in rollbacks if entry[0].time < (restore.completion_time or "")]',
        "late = list(rollbacks)",
        "a rollback that was requested after a restore is removed as one of its leftovers",
    ),
    Fault(
        PENDING,
        "                ended = target in planned and timeline.find(target, *WRITE_ACTIONS) is None\n",
        "                ended = target in planned\n",
        "the rollback of an instant that is there again is removed as a leftover",
    ),
    Fault(
        PENDING,
        "return Condition.TARGET_COMPLETED if target is not None and target.completed else _reached(instant)",
        "return _reached(instant)",
        "the rollback of a commit that readers see is finished without being asked for",
    ),
    Fault(
        PENDING,
        "(visible and (discard or not _is_wanted(table, rollback.instant))):",
        "(visible and discard):",
        "resume takes a commit from readers whose rollback Hudi had refused",
    ),
    Fault(
        PENDING,
        'return operation is not None and operation.plan.get("completed") is True',
        "return operation is not None",
        "resume takes a commit from readers that its writer has completed after the rollback was asked for",
    ),
    Fault(
        PENDING,
        "chosen = max(same, key=lambda entry: (entry.begun, entry.instant.time), default=None)",
        "chosen = max(same, key=lambda entry: entry.instant.time, default=None)",
        "of two restores the one goes on that has not begun",
    ),
    Fault(
        PENDING,
        "if entry.target is None or entry.target not in removed]",
        "if entry.target is not None and entry.target not in removed]",
        "a restore goes on beside a rollback of which nobody knows what it takes back",
    ),
    Fault(
        PENDING,
        "    return tuple(operation.plan.get(LATER_WRITES, ())) if operation else ()\n",
        "    return ()\n",
        "a resumed restore forgets the later writes that it was to remove",
    ),
    Fault(
        WRITERS,
        "if entry.state is State.INFLIGHT or service_of(table, entry) is None]",
        "if entry.state is State.INFLIGHT]",
        "a write that is only requested does not count as at work",
    ),
    Fault(
        WRITERS,
        "    dead = {beat.time for beat in signs.heartbeats if not beat.live}\n",
        "    dead = {beat.time for beat in signs.heartbeats}\n",
        "a writer whose heartbeat lives does not count as writing",
    ),
    Fault(
        WRITERS,
        "        if entry.pending and not (entry.action in fmt.PENDING_ONLY and entry.state is State.REQUESTED)\n",
        "        if entry.pending and entry.action not in fmt.PENDING_ONLY\n",
        "a savepoint is made beside a compaction that runs",
    ),
    Fault(
        WRITERS,
        "        if (file.partition, file.data.name) in logs:\n",
        "        if (file.partition, file.data.name) in ():\n",
        "version 6: a writer that appends to the logs of others counts as silent",
    ),
    Fault(
        WRITERS,
        "if file.data.is_base or not _lies_under_others(table, instant)]",
        "if True]",
        "a pending compaction counts as running because later writes lie on its slice",
    ),
    Fault(
        WRITERS,
        "folder.modified_ms if folder else 0, (*mine, *added))",
        "0, (*mine, *added))",
        "a writer whose markers alone are young counts as silent",
    ),
    Fault(
        WRITERS,
        "    return max([_changed_ms(signs.timeline, instant, last_marker_ms(table, instant.time), ()), *beats])\n",
        "    return _changed_ms(signs.timeline, instant, last_marker_ms(table, instant.time), ())\n",
        "a beat since planning is no sign of life",
    ),
    Fault(
        WRITERS,
        "last_marker_ms(table, instant.time), ()), *beats])",
        "0, ()), *beats])",
        "a marker since planning is no sign of life",
    ),
    Fault(
        LATER,
        "        times = {entry.time for entry in writes if entry.time > target.time}\n",
        "        times = {entry.time for entry in writes if entry.time >= target.time}\n",
        "the target goes with what is later",
    ),
    Fault(
        LATER,
        "    if not table.is_cow and {instant.action, target.action} & {COMMIT, COMPACTION}:\n",
        "    if not table.is_cow and instant.action in (COMMIT, COMPACTION):\n",
        "a restore to a compaction removes deltacommits that were requested before it",
    ),
    Fault(
        LATER,
        "    if not table.is_cow and {instant.action, target.action} & {COMMIT, COMPACTION}:\n",
        "    if {instant.action, target.action} & {COMMIT, COMPACTION}:\n",
        "copy on write: a commit that completed after the target stays",
    ),
    Fault(
        LATER,
        "    return COMPLETION if table.rules.restores_by_completion else REQUESTED\n",
        "    return REQUESTED if table.rules.restores_by_completion else COMPLETION\n",
        "a restore goes by the rule of another release",
    ),
    Fault(
        LATER,
        '    return instant.completion_time is None, instant.completion_time or "", instant.time\n',
        '    return False, instant.completion_time or "", instant.time\n',
        "pending writes stay at a restore by completion",
    ),
    Fault(
        LATER,
        "return [entry for entry in signs.timeline.having(SAVEPOINT) if entry.time in removed]",
        "return [entry for entry in signs.timeline.savepoints() if entry.time in removed]",
        "a savepoint whose deletion died half way stays when its commit goes",
    ),
    Fault(
        FINGERPRINT,
        "for key in [*saved, *now] if saved.get(key) != now.get(key)}",
        "for key in saved if saved.get(key) != now.get(key)}",
        "a saved plan is applied although an instant came in that it does not name",
    ),
    Fault(
        FINGERPRINT,
        '    lines = sorted(f"{path} {size}" for path, size in files)\n',
        '    lines = sorted(f"{path}" for path, size in files)\n',
        "a saved plan is applied although a needed file has another size",
    ),
    Fault(
        FINGERPRINT,
        '    return _digest(read_instant(table, file)) if file else "without content"\n',
        '    return "with content" if file else "without content"\n',
        "a saved plan is applied although the target was replaced by another of its time",
    ),
    Fault(
        FINGERPRINT,
        '        "time zone": str(table.zone),\n',
        "",
        "a saved plan is applied although the table's zone is another one",
    ),
    Fault(
        ROLLBACK_FINGERPRINT,
        '        "savepoints": listed(entry.time for entry in timeline.savepoints()),\n',
        "",
        "a saved rollback is applied although a savepoint was made since",
    ),
    Fault(
        ROLLBACK_FINGERPRINT,
        '        f"instant {removal.time}": removal.now,\n',
        "",
        "a saved rollback of a failed write is applied to a commit that completed since",
    ),
    Fault(
        SAVED,
        "    if begun is None or not _applies(begun, saved):\n",
        "    if begun is None:\n",
        "a saved plan ends the pending operation of another plan",
    ),
    Fault(
        SAVED,
        "    _refuse_grown(saved, {file.path for removal in removals for file in removal.files})\n",
        "",
        "more files are deleted than the plan names that somebody looked at",
    ),
    Fault(
        SAVED,
        '    if saved.kind in _DELETING:\n        digests["files to delete"] = files_digest(files)\n',
        "",
        "a plan to whose files somebody has added one by hand is applied",
    ),
    Fault(
        SAVED,
        '    digests = {"options": options_digest(saved.options)}\n',
        "    digests = {}\n",
        "a plan whose options somebody has changed by hand is applied",
    ),
    Fault(
        SAVED,
        "        if time in completed:\n",
        "        if time:\n",
        "a plan whose restore died counts as applied",
    ),
    Fault(
        SAVED,
        "        refuse_moved(_without_files(saved.fingerprint), _without_files(plan.fingerprint))\n"
        "        _refuse_grown(saved, {orphan.file.path for orphan in plan.orphans})\n",
        "        refuse_moved(_without_files(saved.fingerprint), _without_files(plan.fingerprint))\n",
        "orphans are deleted that the plan does not name",
    ),
    Fault(
        SAVED,
        "    done = plan.exists if isinstance(plan, SavepointPlan) else not plan.exists\n",
        "    done = plan.exists\n",
        "a saved deletion takes a savepoint that was made anew since",
    ),
)
