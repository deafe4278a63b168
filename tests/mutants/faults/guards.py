"""What refuses: the guards of restore and rollback."""

from tests.mutants.fault import Fault

CLOCK = "ops/guards/clock.py"
FILES = "ops/guards/files.py"
LIVENESS = "ops/guards/liveness.py"
METADATA = "ops/guards/metadata.py"
ROLLBACK = "ops/guards/rollback.py"
BUILT_ON = "state/timeline/built_on.py"
TIMELINE = "ops/guards/timeline.py"
UNFINISHED = "state/timeline/unfinished.py"

FAULTS = (
    Fault(
        UNFINISHED,
        "    steps = [entry for entry in signs.timeline.having(ROLLBACK) if entry.time > restore.instant.time]\n",
        "    steps = []\n",
        "a restore of Hudi's that works on its rollbacks counts as dead",
        tests=("ops/guards/test_liveness.py::test_a_restore_of_hudis_lives_by_its_rollbacks",),
    ),
    Fault(
        FILES,
        "    for time in removed:\n        for stats in facts.commits",
        "    for time in ():\n        for stats in facts.commits",
        "rows in a log under another commit's name stay after an upgrade",
        tests=("ops/guards/test_files.py::test_rows_in_a_log_under_another_name_are_from_before_an_upgrade",),
    ),
    Fault(
        TIMELINE,
        "    for time in sorted(BOOTSTRAPS.intersection(removed)):",
        "    for time in ():",
        "a bootstrap is rolled back, and the index of its sources stays",
        tests=("state/test_writable.py::test_a_bootstrap_of_whole_records_is_a_table_as_others",),
    ),
    Fault(
        "state/writable.py",
        "    moved = moved_instant(table)\n",
        '    moved = ""\n',
        "the completed writes that half an upgrade has moved are cleaned as failed ones",
        tests=("state/test_writable.py",),
    ),
    Fault(
        "state/writable.py",
        "    if not moved and table.metadata_partitions:\n",
        "    if False:\n",
        "half an upgrade of the metadata table is not seen",
        tests=("state/test_writable.py",),
    ),
    Fault(
        "state/writable.py",
        '    if not table.is_cow or delta <= last.get(COMMIT, ""):\n',
        "    if True:\n",
        "a merge-on-read table that has lost its type is changed as copy on write",
        tests=("reports/health/test_storage.py::test_a_table_type_that_the_timeline_contradicts",),
    ),
    Fault(
        FILES,
        "    if needed.bare and in_base_format(table)",
        "    if needed.bare and not in_base_format(table)",
        "a text metafile is written where metafiles have the base file format",
        tests=("ops/guards/test_rollback.py::test_a_metafile_that_hudictl_cannot_make",),
    ),
    # More.
    Fault(
        CLOCK,
        "    writers_zone(table, timeline)\n    refuse_future(table, timeline)\n",
        "    writers_zone(table, timeline)\n",
        "a rollback is planned although the timeline is ahead of the clock",
        tests=("ops/guards/test_rollback.py::test_a_timeline_that_is_ahead_of_the_clock",),
    ),
    Fault(
        FILES,
        "partitions_in_tables(facts, owners or {})",
        "partitions_in_tables(facts, {})",
        "a partition that a removed instant alone names lies in another table, and is not looked into",
        tests=("ops/guards/test_files.py::test_a_partition_that_the_removed_instant_alone_names_is_not_passed_over",),
    ),
    Fault(
        FILES,
        "if outcome.contradictions:",
        "if len(outcome.contradictions) > 1:",
        "one file goes with its instant though another needs it",
        tests=(
            "ops/restore/test_planning.py::test_a_file_that_goes_and_that_a_kept_commit_has_written_is_a_contradiction",
        ),
    ),
    Fault(
        FILES,
        '        raise Refused(\n            f"the pending clean {time} will',
        '        if count > 1:\n          raise Refused(\n            f"the pending clean {time} will',
        "a savepoint names a file that a pending clean will delete",
        tests=("ops/savepoint/test_savepoint.py::test_a_pending_clean_of_its_files_is_in_the_way",),
    ),
    Fault(
        LIVENESS,
        "if lock.held and lock.path != own:",
        "if lock.held and own is None:",
        "with a lock configured, another provider's lock that is held does not count",
        tests=("cli/test_lock.py::test_a_lock_in_use_that_is_not_configured_is_a_conflict",),
    ),
    Fault(
        LIVENESS,
        "config.taken.inside if isinstance(config.taken, FileLock",
        "config.lock.inside if isinstance(config.lock, FileLock",
        "with --no-lock the writers' lock file that is held does not count",
        tests=("ops/guards/test_liveness.py::test_without_the_writers_lock_one_that_is_held_is_in_the_way",),
    ),
    Fault(
        LIVENESS,
        "if instant.pending and beat is not None and beat.live:",
        "if beat is not None and beat.live:",
        "a completed commit counts as being written while its last heartbeat is young",
        tests=("ops/guards/test_rollback.py::test_the_live_heartbeat_of_a_completed_target_is_its_writers_last",),
    ),
    Fault(
        LIVENESS,
        "known = {beat.time for beat in signs.heartbeats} | set(touched)",
        "known = {beat.time for beat in signs.heartbeats}",
        "a restore that died cannot be resumed for ten minutes",
        tests=("ops/guards/test_rollback.py::test_a_rollback_that_was_only_requested_says_nothing_of_the_writer",),
    ),
    Fault(
        LIVENESS,
        "(entry.is_write or entry.action == INDEXING)",
        "entry.is_write",
        "an index is being built, and the metadata table goes from under it",
        tests=("ops/guards/test_liveness.py::test_an_index_that_is_being_built_counts_as_a_write",),
    ),
    Fault(
        LIVENESS,
        "    for restore in signs.restores:\n        quiet_ms",
        "    for restore in signs.restores[:1]:\n        quiet_ms",
        "beside a pending restore of hudictl's, one of Hudi's that runs is not noticed",
        tests=("ops/guards/test_liveness.py::test_a_restore_of_hudis_lives_beside_one_of_hudictls",),
    ),
    Fault(
        UNFINISHED,
        "    return min(signs.timeline.idle_ms(entry, signs.now_ms) for entry in (*steps, restore.instant))",
        "    return max(signs.timeline.idle_ms(entry, signs.now_ms) for entry in (*steps, restore.instant))",
        "a restore of Hudi's counts as dead as soon as one of its rollbacks is old",
        tests=("ops/guards/test_liveness.py::test_a_restore_of_hudis_lives_by_its_rollbacks",),
    ),
    Fault(
        LIVENESS,
        " if instant.time in cleans]",
        "]",
        "a restore is refused for a young clean that takes nothing it needs",
        tests=("ops/guards/test_liveness.py::test_a_young_clean_that_takes_nothing_needed_is_not_in_the_way",),
    ),
    Fault(
        LIVENESS,
        "    for instant in rollbacks:\n        quiet_ms = signs.timeline.idle_ms(instant, signs.now_ms)\n"
        "        if quiet_ms < idle_ms:",
        "    for instant in rollbacks:\n        quiet_ms = signs.timeline.idle_ms(instant, signs.now_ms)\n"
        "        if quiet_ms < idle_ms and not instant.pending:",
        "a rollback of Hudi's that runs is taken over or discarded",
        tests=("ops/rollback/test_discard.py::test_a_rollback_that_begins_after_the_look_is_not_taken_away",),
    ),
    Fault(
        UNFINISHED,
        "for key in (_requested, _completed))",
        "for key in (_requested,))",
        "the metadata table is made anew while an indexing is the last to complete",
        tests=("ops/guards/test_metadata.py::test_an_indexing_is_the_newest_by_its_completion_too",),
    ),
    Fault(
        UNFINISHED,
        "if entry.completed and entry.action != SAVEPOINT]",
        "if entry.completed]",
        "a savepoint made after an indexing hides that it is the newest instant",
        tests=("ops/guards/test_metadata.py::test_an_indexing_is_the_newest_by_its_completion_too",),
    ),
    Fault(
        METADATA,
        "    if gap.unlisted:",
        "    if len(gap.unlisted) > 1:",
        "one file that only the metadata table hides comes back as rows",
        tests=("ops/guards/test_metadata.py::test_a_log_below_version_8_counts_by_its_blocks",),
    ),
    Fault(
        TIMELINE,
        "    for restore in signs.restores:\n",
        "    for restore in signs.planned_restores:\n",
        "an instant is rolled back beside a restore that was requested and has no plan yet",
        tests=("ops/guards/test_rollback.py::test_a_restore_that_died_before_its_plan_was_written",),
    ),
    Fault(
        BUILT_ON,
        "elif entry.time > target.time or (entry.time < target.time and ended > done):",
        "elif entry.time > target.time:",
        "a commit is rolled back on which one that began earlier has built",
        tests=("ops/guards/test_rollback.py::test_a_commit_that_began_earlier_and_completed_later",),
    ),
    Fault(
        BUILT_ON,
        "later += [entry for entry in beside if changed & _changed(table, entry)]",
        "pass",
        "a commit is rolled back though another one has changed its file group at the same time",
        tests=("ops/guards/test_beside.py::test_neither_goes_where_both_have_changed_a_file_group",),
    ),
    Fault(
        BUILT_ON,
        "entry.time > target.time and ended >= done",
        "entry.time > target.time and ended > done",
        "a store's times in seconds make of the next commit one beside it",
        tests=("ops/guards/test_beside.py::test_completed_in_the_same_moment_is_later",),
    ),
    Fault(
        ROLLBACK,
        "        if rollback.target != target:\n",
        "        if rollback.target and rollback.target != target:\n",
        "a commit is rolled back beside a pending rollback whose plan cannot be read",
        tests=("ops/guards/test_rollback.py::test_a_pending_rollback_without_readable_plan",),
    ),
    Fault(
        ROLLBACK,
        "if entry.pending and entry.time != target.time and service_of(table, entry) is None",
        "if entry.pending and entry.time > target.time and service_of(table, entry) is None",
        "a commit is rolled back beside a pending write that began before it",
        tests=("ops/guards/test_rollback.py::test_a_pending_write_that_began_before_a_completed_target",),
    ),
    Fault(
        ROLLBACK,
        "if entry.pending and entry.time != target.time and service_of(table, entry) is None\n",
        "if entry.pending and entry.time != target.time\n",
        "no commit can be rolled back while a compaction is scheduled",
        tests=("ops/guards/test_rollback.py::test_a_pending_service_on_other_file_groups_is_not_in_the_way",),
    ),
    Fault(
        ROLLBACK,
        "if instant.pending and instant.time > target.time and touched &",
        "if instant.pending and touched &",
        "a compaction that was scheduled before the target counts as planned with its files",
        tests=("ops/guards/test_rollback.py::test_a_pending_compaction_that_has_planned_with_the_targets_files",),
    ),
    Fault(
        ROLLBACK,
        "not in (COMPACTION, CLUSTERING):",
        "not in (COMPACTION,):",
        "the plan of a pending clustering cannot be kept",
        tests=("ops/rollback/test_execute.py::test_a_clustering_that_died",),
    ),
    Fault(
        ROLLBACK,
        "    if keep_plan or target is None:\n        return\n    logs",
        "    if target is None:\n        return\n    logs",
        "the way out for logs on a pending compaction's slice, --keep-plan, is refused itself",
        tests=("ops/guards/test_rollback.py::test_version_6_a_compaction_whose_slices_hold_the_logs_of_later_writes",),
    ),
    Fault(
        ROLLBACK,
        "any(n not in planned for n in entry.names)]",
        "all(n not in planned for n in entry.names)]",
        "the metadata table goes from under a write that began to write since planning",
        tests=(
            "ops/rollback/test_beside.py::test_version_6_a_writer_that_goes_on_since_planning_keeps_the_metadata_table",
        ),
    ),
    Fault(
        ROLLBACK,
        "not in known and rollback.target in targets:",
        "not in known:",
        "a rollback ends because another instant is rolled back",
        tests=("ops/rollback/test_beside.py::test_the_rollback_of_another_instant_is_not_in_the_way",),
    ),
    Fault(
        TIMELINE,
        "moved = sorted(frozenset(timeline.modified_ms) ^ planned)",
        "moved = sorted(frozenset(timeline.modified_ms) - planned)",
        "an instant that has gone since planning is not noticed",
        tests=("ops/guards/test_timeline.py::test_what_has_gone_since_planning_counts_as_moved",),
    ),
    Fault(
        TIMELINE,
        "for time in wrote - set(removed) if other.begun else ():",
        "for time in wrote - set(removed):",
        "a restore that was only requested is taken for one that has begun",
        tests=("ops/guards/test_timeline.py::test_a_restore_that_was_only_requested_has_taken_nothing_back",),
    ),
    Fault(
        TIMELINE,
        "if (found is None and time < target) or (found is not None and found.pending):",
        "if found is not None and found.pending:",
        "a restore leaves what another pending one has removed already",
        tests=(
            (
                ""
                "ops/restore/test_later_savepoints.py::test_a_restore_that_took_back_what_the_newer_one_leaves_must_be_finished"
            ),
        ),
    ),
    Fault(
        TIMELINE,
        "wrote = {info.time for info in other.plan.instants if info.action not in PENDING_ONLY}",
        "wrote = {info.time for info in other.plan.instants}",
        "a scheduled compaction that stays pending counts as taken back by another restore",
        tests=(
            "ops/guards/test_timeline.py::test_what_was_scheduled_when_another_restore_was_planned_says_nothing_of_it",
        ),
    ),
    Fault(
        TIMELINE,
        "        if rollback.instant.time not in ended:\n",
        "        if rollback.target and rollback.instant.time not in discarded:\n",
        "a restore goes on beside a rollback whose plan cannot be read",
        tests=("ops/restore/test_planning.py::test_a_pending_rollback_without_readable_plan_is_in_the_way",),
    ),
    Fault(
        "table/timeline/archive.py",
        "for entry in archived_after(table, time) if entry.action in WRITE_ACTIONS})",
        "for entry in archived_after(table, time)})",
        "an archived clean or rollback stands in the way of every restore",
        tests=("ops/savepoint",),
    ),
    Fault(
        TIMELINE,
        "    if len(completed) > 1:",
        "    if len(completed) > 2:",
        "an instant that two processes have completed is restored or rolled back",
        tests=("ops/guards/test_rollback.py::test_an_instant_that_is_completed_twice",),
    ),
)
