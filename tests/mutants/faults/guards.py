"""What refuses: the guards of restore and rollback."""

from tests.mutants.fault import Fault

CLOCK = "ops/guards/clock.py"
FILES = "ops/guards/files.py"
LIVENESS = "ops/guards/liveness.py"
METADATA = "ops/guards/metadata.py"
ROLLBACK = "ops/guards/rollback.py"
TIMELINE = "ops/guards/timeline.py"

FAULTS = (
    Fault(
        LIVENESS,
        "        steps = [entry for entry in signs.timeline.having(ROLLBACK) if entry.time > restore.time] + [restore]\n",
        "        steps = [restore]\n",
        "a restore of Hudi's that works on its rollbacks counts as dead",
    ),
    Fault(
        FILES,
        "    if not facts.table.rules.logs_named_by_writer:\n        return\n    for time in removed:",
        "    for time in ():",
        "rows in a log under another commit's name stay after an upgrade",
    ),
    Fault(
        "state/writable.py",
        "if instant.time in _BOOTSTRAP_TIMES:",
        "if instant.time in ():",
        "a bootstrapped table is changed where its properties do not tell of it",
    ),
    Fault(
        FILES,
        "    if needed.bare and table",
        "    if needed.bare and not table",
        "a text metafile is written where metafiles have the base file format",
    ),
    # More.
    Fault(
        CLOCK,
        "    writers_zone(table, timeline)\n    refuse_future(table, timeline)\n",
        "    writers_zone(table, timeline)\n",
        "a rollback is planned although the timeline is ahead of the clock",
    ),
    Fault(
        FILES,
        "partitions_in_tables(facts, owners or {})",
        "partitions_in_tables(facts, {})",
        "a partition that a removed instant alone names lies in another table, and is not looked into",
    ),
    Fault(
        FILES,
        "if outcome.contradictions:",
        "if len(outcome.contradictions) > 1:",
        "one file goes with its instant though another needs it",
    ),
    Fault(
        FILES,
        '        raise Refused(\n            f"the pending clean {time} will',
        '        if count > 1:\n          raise Refused(\n            f"the pending clean {time} will',
        "a savepoint names a file that a pending clean will delete",
    ),
    Fault(
        LIVENESS,
        "if lock.held and lock.path != own:",
        "if lock.held and own is None:",
        "with a lock configured, another provider's lock that is held does not count",
    ),
    Fault(
        LIVENESS,
        "taken = lock_config(table, locking).taken",
        "taken = lock_config(table, locking).lock",
        "with --no-lock the writers' lock file that is held does not count",
    ),
    Fault(
        LIVENESS,
        "if instant.pending and instant.time in live:",
        "if instant.time in live:",
        "a completed commit counts as being written while its last heartbeat is young",
    ),
    Fault(
        LIVENESS,
        "told = {beat.time for beat in signs.heartbeats} | set(touched)",
        "told = {beat.time for beat in signs.heartbeats}",
        "a restore that died cannot be resumed for ten minutes",
    ),
    Fault(
        LIVENESS,
        "    return instant.is_write or instant.action == INDEXING",
        "    return instant.is_write",
        "an index is being built, and the metadata table goes from under it",
    ),
    Fault(
        LIVENESS,
        "        if is_recorded(table.storage, restore.time):\n            continue",
        "        if is_recorded(table.storage, restore.time):\n            return",
        "beside a pending restore of hudictl's, one of Hudi's that runs is not noticed",
    ),
    Fault(
        LIVENESS,
        "        quiet_ms = min(signs.timeline.idle_ms(entry, signs.now_ms) for entry in steps)",
        "        quiet_ms = max(signs.timeline.idle_ms(entry, signs.now_ms) for entry in steps)",
        "a restore of Hudi's counts as dead as soon as one of its rollbacks is old",
    ),
    Fault(
        LIVENESS,
        "if instant.time in cleans and quiet_ms < idle_ms:",
        "if quiet_ms < idle_ms:",
        "a restore is refused for a young clean that takes nothing it needs",
    ),
    Fault(
        LIVENESS,
        "    for instant in rollbacks:\n        quiet_ms = signs.timeline.idle_ms(instant, signs.now_ms)\n"
        "        if quiet_ms < idle_ms:",
        "    for instant in rollbacks:\n        quiet_ms = signs.timeline.idle_ms(instant, signs.now_ms)\n"
        "        if quiet_ms < idle_ms and not instant.pending:",
        "a rollback of Hudi's that runs is taken over or discarded",
    ),
    Fault(
        METADATA,
        "for key in (_requested, _completed)]",
        "for key in (_requested,)]",
        "the metadata table is made anew while an indexing is the last to complete",
    ),
    Fault(
        METADATA,
        "if entry.completed and entry.action != SAVEPOINT]",
        "if entry.completed]",
        "a savepoint made after an indexing hides that it is the newest instant",
    ),
    Fault(
        METADATA,
        "    if gap.unlisted:",
        "    if len(gap.unlisted) > 1:",
        "one file that only the metadata table hides comes back as rows",
    ),
    Fault(
        ROLLBACK,
        "for restore in (entry.instant for entry in signs.restores):",
        "for restore in (entry.instant for entry in signs.planned_restores):",
        "an instant is rolled back beside a restore that was requested and has no plan yet",
    ),
    Fault(
        ROLLBACK,
        'if entry.time != target.time and (entry.time > target.time or (entry.completion_time or "") > done)',
        "if entry.time > target.time",
        "a commit is rolled back on which one that began earlier has built",
    ),
    Fault(
        ROLLBACK,
        "        if rollback.target != target:\n",
        "        if rollback.target and rollback.target != target:\n",
        "a commit is rolled back beside a pending rollback whose plan cannot be read",
    ),
    Fault(
        ROLLBACK,
        "if entry.pending and entry.time != target.time and service_of(table, entry) is None",
        "if entry.pending and entry.time > target.time and service_of(table, entry) is None",
        "a commit is rolled back beside a pending write that began before it",
    ),
    Fault(
        ROLLBACK,
        "if entry.pending and entry.time != target.time and service_of(table, entry) is None\n",
        "if entry.pending and entry.time != target.time\n",
        "no commit can be rolled back while a compaction is scheduled",
    ),
    Fault(
        ROLLBACK,
        "if instant.pending and instant.time > target.time and touched &",
        "if instant.pending and touched &",
        "a compaction that was scheduled before the target counts as planned with its files",
    ),
    Fault(
        ROLLBACK,
        "not in (COMPACTION, CLUSTERING):",
        "not in (COMPACTION,):",
        "the plan of a pending clustering cannot be kept",
    ),
    Fault(
        ROLLBACK,
        "    if keep_plan or target is None or target.completed or target.action != COMPACTION:",
        "    if target is None or target.completed or target.action != COMPACTION:",
        "the way out for logs on a pending compaction's slice, --keep-plan, is refused itself",
    ),
    Fault(
        ROLLBACK,
        "any(n not in planned for n in entry.names)]",
        "all(n not in planned for n in entry.names)]",
        "the metadata table goes from under a write that began to write since planning",
    ),
    Fault(
        ROLLBACK,
        "not in known and rollback.target == target:",
        "not in known:",
        "a rollback ends because another instant is rolled back",
    ),
    Fault(
        TIMELINE,
        "moved = sorted(frozenset(timeline.modified_ms) ^ planned)",
        "moved = sorted(frozenset(timeline.modified_ms) - planned)",
        "an instant that has gone since planning is not noticed",
    ),
    Fault(
        TIMELINE,
        "for time in wrote - set(removed) if other.begun else ():",
        "for time in wrote - set(removed):",
        "a restore that was only requested is taken for one that has begun",
    ),
    Fault(
        TIMELINE,
        "if (found is None and time < target) or (found is not None and found.pending):",
        "if found is not None and found.pending:",
        "a restore leaves what another pending one has removed already",
    ),
    Fault(
        TIMELINE,
        "wrote = {info.time for info in other.plan.instants if info.action not in PENDING_ONLY}",
        "wrote = {info.time for info in other.plan.instants}",
        "a scheduled compaction that stays pending counts as taken back by another restore",
    ),
    Fault(
        TIMELINE,
        "        if rollback.instant.time not in discarded:\n",
        "        if rollback.target and rollback.instant.time not in discarded:\n",
        "a restore goes on beside a rollback whose plan cannot be read",
    ),
    Fault(
        TIMELINE,
        "for entry in archived_after(table, target) if entry.action in WRITE_ACTIONS})",
        "for entry in archived_after(table, target)})",
        "an archived clean or rollback stands in the way of every restore",
    ),
    Fault(
        TIMELINE,
        "    if len(completed) > 1:",
        "    if len(completed) > 2:",
        "an instant that two processes have completed is restored or rolled back",
    ),
)
