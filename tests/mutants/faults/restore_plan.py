"""What a restore plans, goes on with, and says of itself."""

from tests.mutants.fault import Fault

EXECUTE = "ops/restore/execute.py"
COMPLETION = "ops/restore/completion.py"
FINGERPRINT = "ops/restore/planning.py"
PROTECTION = "ops/restore/protection.py"
SCOPE = "ops/restore/scope.py"
PLANNING = "ops/restore/planning.py"
VERIFY = "ops/restore/verify.py"
PLAN = "ops/restore/plan.py"

FAULTS = (
    Fault(
        SCOPE,
        "    guards.later_only(table, signs.timeline, target, pending)\n",
        "",
        "a pending restore removes what its plan says, also the target",
        ("ops/restore/test_strange_plans.py::test_a_plan_that_lists_what_readers_of_its_target_saw_is_refused",),
    ),
    Fault(
        "ops/guards/timeline.py",
        "    found += sorted(archived_as_completed(table, timeline, gone))\n",
        "",
        "a pending restore removes an archived commit that was before its target",
        ("ops/restore/test_strange_plans.py::test_a_plan_that_lists_an_archived_commit_is_refused",),
    ),
    Fault(
        "state/timeline/removed.py",
        "        if entry.time == target.time or is_compaction or before:",
        "        if entry.time == target.time or before:",
        "a pending restore removes the compaction on which its target's logs are",
        ("ops/restore/test_strange_plans.py::test_a_compaction_on_whose_slice_the_target_is_stays",),
    ),
    Fault(
        PLANNING,
        "nothing_saved_goes(table, facts.timeline, scope.commit, scope.savepointed, outcome.removed)",
        "nothing_saved_goes(table, facts.timeline, scope.commit, scope.savepointed, {})",
        "a restore deletes what its own savepoint names",
        ("ops/restore/test_strange_plans.py::test_what_the_savepoint_names_stays_whatever_the_plan_says",),
    ),
    Fault(
        EXECUTE,
        "pending_too=run.plan.options.keep_backup)",
        "pending_too=False)",
        "--keep-backup keeps no pending files",
        ("ops/undo/test_backup.py::test_all_their_files_stay_when_asked",),
    ),
    Fault(
        EXECUTE,
        "    with beating(run.table, [run.time, *run.rollbacks.values()]):",
        "    with beating(run.table, [run.time]):",
        "an eager writer takes the rollbacks of a running restore for dead",
        ("ops/restore/test_beside.py::test_a_restore_at_work_and_its_rollbacks_beat",),
    ),
    Fault(
        EXECUTE,
        "    with beating(run.table, [run.time, *run.rollbacks.values()]):",
        "    with beating(run.table, [*run.rollbacks.values()]):",
        "a running restore has no heartbeat",
        ("ops/restore/test_beside.py::test_a_restore_at_work_and_its_rollbacks_beat",),
    ),
    Fault(
        EXECUTE,
        '- {f"{run.time}.restore.requested"}) ^ before',
        '- {f"{run.time}.restore.requested"}) - before',
        "what goes from the timeline while it settles is not seen",
        ("ops/restore/test_beside.py::test_an_instant_that_goes_while_it_settles_stops_it",),
    ),
    Fault(
        EXECUTE,
        '    instants.wait_until(run.table, max(run.rollbacks.values(), default=""))\n',
        "",
        "rollbacks have times of the future",
        ("ops/restore/test_beside.py::test_no_rollback_is_requested_with_a_time_that_is_still_to_come",),
    ),
    Fault(
        EXECUTE,
        (
            '    return any(name.startswith(requested) and name.rpartition(".")[2] in '
            "fmt.COMMIT_ACTIONS for name in before)"
        ),
        '    return any(name.startswith(requested) and name.endswith(".commit") for name in before)',
        "a kept deltacommit that was taken back meanwhile is not seen",
        ("ops/restore/test_beside.py::test_a_delta_commit_that_stays_and_is_taken_back_stops_it",),
    ),
    Fault(
        EXECUTE,
        "    if take_out_of_use(run.table, run.time, run.kept):\n",
        "    if run.undo.metadata_table.partitions and take_out_of_use(run.table, run.time, run.kept):\n",
        "a metadata table that was made beside the restore stays, where there was none",
        ("ops/restore/test_new_metadata_table.py::test_one_that_is_made_anew_goes_out_of_use_again",),
    ),
    Fault(
        COMPLETION,
        "blocks.get(removal.time, ()), duration_ms\n",
        "(), duration_ms\n",
        "the result of a restore does not name the rollback blocks",
        ("ops/restore/test_plan.py::test_the_result_names_the_rollback_blocks",),
    ),
    Fault(
        FINGERPRINT,
        "*(COMMIT_ACTIONS if protects else (SAVEPOINT,))",
        "SAVEPOINT",
        "a saved restore to an instant is applied though its commit was replaced",
        ("ops/restore/test_fingerprint.py::test_an_instant_without_savepoint_by_its_commit",),
    ),
    Fault(
        FINGERPRINT,
        "*(COMMIT_ACTIONS if protects else (SAVEPOINT,))",
        "*COMMIT_ACTIONS",
        "a saved plan is applied though its savepoint was made anew",
        ("ops/restore/test_fingerprint.py::test_a_savepoint_by_what_it_names",),
    ),
    Fault(
        FINGERPRINT,
        '{body_digest(table, subject, timeline.sizes)}"',
        '"',
        "a saved plan is applied though the savepoint names other files",
        ("ops/restore/test_fingerprint.py::test_a_savepoint_by_what_it_names",),
    ),
    Fault(
        PROTECTION,
        "    for clean in timeline.having(CLEAN):\n        if not plan",
        "    for clean in ():\n        if not plan",
        "a resumed restore does not see a clean that came before its savepoint",
        ("ops/restore/test_protection.py::test_a_clean_that_ends_beside_a_resumed_restore_is_seen",),
    ),
    Fault(
        SCOPE,
        "        rule=options.rule or said.rule,\n",
        "        rule=options.rule,\n",
        "a restore that is planned anew forgets the rule that was asked for",
        ("ops/restore/test_plan.py::test_the_rule_that_was_asked_for_holds_for_its_rest",),
    ),
    Fault(
        SCOPE,
        "        keep_backup=options.keep_backup or said.keep_backup,\n",
        "",
        "a resumed restore forgets --keep-backup",
        ("cli/test_resume.py::test_options_of_the_restore_hold_when_it_is_resumed",),
    ),
    Fault(
        SCOPE,
        "        discard_rollbacks=options.discard_rollbacks or agreed.discard_rollbacks,\n",
        "",
        "a resumed restore asks again for --discard-rollbacks",
        ("ops/restore/test_plan.py::test_consent_to_discard_rollbacks_holds_for_its_rest",),
    ),
    Fault(
        SCOPE,
        "if pending is None and (removed or foreign or found):",
        "if pending is None and removed:",
        ("a restore that only discards a rollback, or takes a request back, is begun at a time that cannot be given"),
        ("ops/restore/test_plan.py::test_it_is_not_planned_at_a_time_that_cannot_be_given",),
    ),
    Fault(
        SCOPE,
        "dict.fromkeys([*later, *planned])",
        "dict.fromkeys([*planned, *later])",
        "a later write is un-published after those that it was built on",
        ("ops/restore/test_plan.py::test_a_later_write_goes_before_those_that_it_may_rest_on",),
    ),
    Fault(
        SCOPE,
        "    known_timeline(table, signs.timeline)\n    older",
        "    older",
        "a restore goes on beside actions that nobody knows",
        ("cli/test_saved_plans.py::test_every_guard_runs_again",),
    ),
    Fault(
        "ops/undo/planning.py",
        "for removal in reversed(removals) for block in removal.blocks)",
        "for removal in removals for block in removal.blocks)",
        "rollback blocks stand in the order newest first",
        ("ops/restore/test_plan.py::test_rollback_blocks_stand_in_the_order_of_their_commits",),
    ),
    Fault(
        PLANNING,
        '            for other in others if refusal.fields.keys() & {"missing", "contradictions"} else ():\n',
        "            for other in others:\n",
        "another refusal sends to the other rule, which is refused as well",
        ("ops/restore/test_plan.py::test_the_other_rule_helps_where_files_are_missing_and_nowhere_else",),
    ),
    Fault(
        PLANNING,
        "scope.pending.instants.union(later_writes(table, scope.pending)) if scope.pending else frozenset()",
        "scope.pending.instants if scope.pending else frozenset()",
        "a resumed restore waits for the later write that it has un-published itself",
        ("ops/restore/test_plan.py::test_a_later_write_goes_before_those_that_it_may_rest_on",),
    ),
    Fault(
        "ops/undo/planning.py",
        "    file_guards.no_other_table(facts, owners)\n",
        "",
        "a restore passes over a partition with a .hoodie of its own",
        ("ops/restore/test_plan.py::test_a_partition_that_looks_like_another_table_is_not_passed_over",),
    ),
    Fault(
        PLANNING,
        "    file_guards.metafiles_can_be_made(table, outcome)\n",
        "",
        "a metafile that cannot be made stops a restore in the middle",
        ("ops/restore/test_plan.py::test_a_metafile_that_hudictl_does_not_write_is_asked_for_first",),
    ),
    Fault(
        PLANNING,
        "    if scope.pending is None or not worked_on(table, scope.pending):\n",
        "    if scope.pending is None:\n",
        "a restore of Hudi's goes on though rows would come back with the metadata table",
        ("ops/restore/test_plan.py::test_a_restore_of_hudis_goes_on_only_where_no_rows_come_back",),
    ),
    Fault(
        PLANNING,
        "for info in reversed(pending.plan.instants)}",
        "for info in pending.plan.instants}",
        "the result of a resumed restore names the pending action of a compaction",
        ("ops/restore/test_plan.py::test_a_compaction_that_was_un_published_is_named_by_what_it_completed_as",),
    ),
    Fault(
        PLANNING,
        "    if table.is_cow or completed is None:",
        "    if completed is None:",
        "a copy-on-write table is told of compactions",
        ("ops/restore/test_plan.py::test_compactions_are_told_where_they_stay_and_are_some",),
    ),
    Fault(
        PLANNING,
        "        if entry.time not in scope.removed and (entry.completion_time",
        "        if (entry.completion_time",
        "compactions that go are told as staying",
        ("ops/restore/test_plan.py::test_compactions_are_told_where_they_stay_and_are_some",),
    ),
    Fault(
        PLANNING,
        "        taken_back=sum(entry.pending for entry in present),",
        "        taken_back=len(present),",
        "instants that are completed are told as taken back",
        (
            (
                "ops/restore/test_later_savepoints.py::test_the_newer_target_is_finished_where_the_older_on"
                "es_restore_is_untouched"
            ),
        ),
    ),
    Fault(
        PLANNING,
        ("liveness.no_running_write(table, signs, signs.timeline.instants, idle_ms, facts.sweep, planned)"),
        "liveness.no_running_write(table, signs, signs.timeline.instants, idle_ms, None, planned)",
        "data files that a writer has just written are not seen",
        ("ops/restore/test_planning.py::test_a_pending_write_that_did_something_just_now_may_be_running",),
    ),
    Fault(
        PLANNING,
        "    empty = empty_logs(facts, (), 0) if removed else []\n",
        "    empty = []\n",
        "empty logs stay",
        ("ops/restore/test_plan.py::test_an_empty_log_goes_with_the_restore",),
    ),
    Fault(
        "ops/undo/plan.py",
        "        return self.metadata_table.lost\n",
        "        return ()\n",
        "indexes lost are not told",
        ("ops/restore/test_plan.py::test_indexes_that_go_with_the_metadata_table_are_named",),
    ),
    Fault(
        VERIFY,
        "wrong_type(opened_again(table), timeline)",
        "wrong_type(table, timeline)",
        "properties that cannot be read pass",
        ("ops/restore/test_verify.py::test_properties_that_cannot_be_read_are_told",),
    ),
    Fault(
        PLAN,
        "return sum(removal.records or 0 for removal in self.undo.removals if removal.operation not in REWRITES)",
        "return sum(removal.records or 0 for removal in self.undo.removals)",
        "records that a compaction wrote anew are told as lost",
        ("ops/restore/test_plan.py::test_records_that_a_compaction_has_written_anew_are_not_counted",),
    ),
    Fault(
        PLAN,
        "            LATER_WRITES: list(self.later_writes),\n",
        "",
        "later writes are not recorded",
        ("ops/restore/test_withdraw.py::test_a_later_write_comes_back_with_the_others",),
    ),
    Fault(
        PLAN,
        "not (self.undo.removals or self.resumes or self.withdrawn or self.rollbacks_discarded)",
        "not (self.undo.removals or self.resumes or self.withdrawn)",
        "a rollback that was to be discarded stays: there is nothing to do",
        ("ops/undo/test_untouched.py::test_also_where_no_instant_is_to_be_taken_back",),
    ),
)
