"""Around a restore: what it asks before it begins, its savepoint, its result, its withdrawal, what is left."""

from tests.mutants.fault import Fault

PLANNING = "ops/restore/planning.py"
SCOPE = "ops/restore/scope.py"
PROTECTION = "ops/restore/protection.py"
COMPLETION = "ops/restore/completion.py"
LEFTOVERS = "ops/restore/leftovers.py"
WITHDRAW = "ops/restore/withdraw.py"

FAULTS = (
    Fault(
        PLANNING,
        "            metadata_guards.no_empty_file(facts, scope.removed)\n",
        "            pass\n",
        "a restore leaves a table of which Hudi cannot build the metadata table",
        ("ops/guards/test_empty_files.py",),
    ),
    Fault(
        PLANNING,
        "        if scope.changes_metadata_table and metadata_table_in_use(table):\n            metadata_guards",
        "        if scope.changes_metadata_table:\n            metadata_guards",
        "a table without metadata table is not restored beside an empty file",
        ("ops/guards/test_empty_files.py",),
    ),
    Fault(
        "ops/rollback/planning.py",
        "        metadata_guards.no_empty_file(facts, {it.time})\n",
        "",
        "a rollback leaves a table of which Hudi cannot build the metadata table",
        ("ops/guards/test_empty_files.py",),
    ),
    Fault(
        "ops/guards/metadata.py",
        "    logs_harm = rules.reads_as != V1_0 and",
        "    logs_harm =",
        "an empty log that does no harm stands in the way of a restore",
        ("ops/guards/test_empty_files.py",),
    ),
    Fault(
        WITHDRAW,
        ("            run.held.check()\n            publish_again"),
        "            publish_again",
        "instants are published beside one who has taken over",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        WITHDRAW,
        ("        run.held.check()\n        remove_traces(table"),
        "        remove_traces(table",
        "a restore is withdrawn beside one who has taken it over",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        LEFTOVERS,
        "        run.held.check()\n",
        "",
        "leftovers go beside one who has taken over",
        ("ops/restore/test_second_looks.py",),
    ),
    Fault(
        PROTECTION,
        "        if not plan.undo.timeline.issuperset(clean.names):\n",
        "        if False:\n",
        "a clean that could not see the protecting savepoint goes on",
        ("ops/restore/test_protection.py::test_a_clean_that_ends_before_it_could_see_the_savepoint",),
    ),
    Fault(
        LEFTOVERS,
        "    if _find(session, signs, idle_ms) != plan or _files(plan, signs.timeline) != files:\n",
        "    if False:\n",
        "what was a leftover when it was planned goes",
        ("ops/restore/test_leftovers.py::test_what_comes_in_under_the_claim_stops_it",),
    ),
    Fault(
        LEFTOVERS,
        "_find(session, signs, idle_ms) != plan or _files(plan, signs.timeline) != files",
        "_find(session, signs, idle_ms) != plan",
        "a savepoint that was made anew goes as a leftover",
        ("ops/restore/test_second_looks.py::test_a_leftover_savepoint_that_is_made_anew_stays",),
    ),
    Fault(
        LEFTOVERS,
        "    liveness.no_lock_in_use(session.table, signs, session.locking)\n",
        "",
        "leftovers go beside a writer who holds the lock",
        ("ops/restore/test_leftovers.py::test_what_comes_in_under_the_claim_stops_it",),
    ),
    Fault(
        WITHDRAW,
        ("    if frozenset(signs.timeline.modified_ms) != plan.timeline or copies != plan.copies:\n"),
        "    if False:\n",
        "a withdrawal goes by a timeline that has moved",
        ("ops/restore/test_withdraw.py::test_a_withdrawal_stops_where_the_timeline_moves",),
    ),
    Fault(
        WITHDRAW,
        "        _nothing_deleted(session, signs, run.found, plan.instants, plan.copies)\n        staying",
        "        staying",
        "files that an executor has just deleted are published again",
        ("ops/restore/test_withdraw.py::test_what_is_deleted_while_instants_are_published_again_is_seen",),
    ),
    Fault(
        WITHDRAW,
        ("    signs = read_signs(session.table)\n    _check_signs(session, signs, idle_ms)\n    restore"),
        ("    signs = read_signs(session.table)\n    restore"),
        "a restore is withdrawn beside who works on it",
        ("ops/restore/test_second_looks.py::test_a_withdrawal_stops_where_a_lock_is_taken_since_planning",),
    ),
    Fault(
        WITHDRAW,
        'sorted(found, key=lambda file: (file.completion_time or "", file.time))',
        'sorted(found, key=lambda file: (file.completion_time or "", file.time), reverse=True)',
        "readers see a later commit before an earlier one",
        ("ops/restore/test_second_looks.py::test_a_withdrawal_publishes_the_oldest_instant_first",),
    ),
    Fault(
        WITHDRAW,
        "        delete_instant(table, timeline.find(plan.restore, RESTORE))\n",
        "",
        "a withdrawn restore blocks all writers",
        ("ops/restore/test_withdraw.py::test_while_nothing_was_deleted_a_restore_can_be_withdrawn",),
    ),
    Fault(
        PROTECTION,
        (
            "    create_instant_file(table, target, SAVEPOINT, State.INFLIGHT)\n"
            "    create_instant_file(table, target, SAVEPOINT, State.COMPLETED, body, completion_now(table, target))\n"
        ),
        (
            "    create_instant_file(table, target, SAVEPOINT, State.COMPLETED, body, completion_now(table, target))\n"
            "    create_instant_file(table, target, SAVEPOINT, State.INFLIGHT)\n"
        ),
        "a completed savepoint stands alone after a crash",
        ("ops/restore/test_order.py::test_the_protecting_savepoint_is_begun_before_it_is_completed",),
    ),
    Fault(
        COMPLETION,
        'if name != f"{_STAGED}{restore_time}"])',
        "])",
        "the result of the restore that goes on is dropped",
        ("ops/restore/test_resume.py::test_the_metadata_names_all_instants_not_only_the_last_attempts",),
    ),
    Fault(
        LEFTOVERS,
        ("    if signs.planned_restores:\n        return Leftovers((), (), ())\n"),
        "",
        "the savepoint of a pending restore goes",
        ("ops/restore/test_leftovers.py::test_while_a_restore_is_pending_its_savepoint_is_none",),
    ),
    Fault(
        WITHDRAW,
        "    last = indexing_without(table, signs.timeline, restore, copies)\n",
        "    last = None\n",
        "Hudi builds an empty record index after a withdrawal, and rows are missing",
        ("ops/restore/test_withdraw_others.py::test_a_deleted_metadata_table_cannot_be_built_after_an_indexing",),
    ),
    Fault(
        WITHDRAW,
        "OwnFiles(tuple(commits.values()), rollbacks=plans).files",
        "OwnFiles(tuple(commits.values())).files",
        "files that only a rollback names were deleted, and the restore is withdrawn",
        ("ops/restore/test_withdraw.py::test_change_logs_count_as_files",),
    ),
    Fault(
        "ops/undo/planning.py",
        "        file_guards.own_files_only(facts, removed, borrowed)\n",
        "        pass\n",
        "rows in a log of another commit stay",
        ("ops/restore/test_planning.py::test_rows_in_a_log_of_another_commit_stop_it",),
    ),
    Fault(
        PLANNING,
        "    liveness.no_running_clean(signs, idle_ms, outcome.cleans)\n",
        "",
        "a clean at work is discarded under its process",
        ("ops/restore/test_planning.py::test_a_clean_that_may_be_running_is_not_discarded",),
    ),
    Fault(
        SCOPE,
        "        guards.completed_once(instant)\n",
        "        pass\n",
        "an instant that was completed twice is restored away half",
        ("ops/restore/test_planning.py::test_an_instant_that_is_completed_twice",),
    ),
    Fault(
        SCOPE,
        "        guards.covered(signs, others, target, removed)\n",
        "",
        "a restore that another pending one goes beyond is begun",
        ("ops/restore/test_later_savepoints.py",),
    ),
    Fault(
        SCOPE,
        "needs_savepoint = not options.to_instant and found is None",
        "needs_savepoint = False",
        "a commit without savepoint is restored to unasked",
        ("ops/restore/test_protection.py::test_a_savepoint_is_asked_for_unless_the_instant_is_named",),
    ),
    Fault(
        SCOPE,
        ("planned = [*later_writes(table, pending), *(info.time for info in pending.plan.instants)]"),
        "planned = [*(info.time for info in pending.plan.instants)]",
        "a resumed restore forgets the later writes that it was told to remove",
        ("ops/restore/test_withdraw.py::test_a_later_write_is_removed_also_after_a_death",),
    ),
)
