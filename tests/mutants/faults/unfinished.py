"""What has not ended, what it means, and which commands are named for it."""

from tests.mutants.fault import Fault

UNFINISHED = "state/timeline/unfinished.py"
WRITES = "state/writers/failed_writes.py"
CLEAN = "ops/rollback/failed.py"
CLAIM = "table/locks/claim.py"
LAST = "ops/restore/verify.py"
VERDICT = "cli/test_one_verdict.py"

FAULTS = (
    Fault(
        UNFINISHED,
        "[RESUME, *savepoints, *rollbacks]",
        "[RESUME]",
        "the command that is named for a restore over later savepoints is refused",
        ("cli/test_one_verdict.py::test_a_restore_that_was_only_requested",),
    ),
    Fault(
        UNFINISHED,
        "        if rollback.instant.time < begun:\n",
        "        if True:\n",
        "rollbacks of a pending restore are named beside it, with commands that are refused",
        ("reports/health/test_timeline.py::test_rollbacks_of_each_of_several_pending_restores_are_theirs",),
    ),
    Fault(
        UNFINISHED,
        '        return (Remedy(RESUME, f"{target} is rolled back"), *undo)\n',
        '        return (Remedy(DISCARD, f"{target} is kept"),)\n',
        "a rollback that is half done is to be discarded",
        (f"{VERDICT}::test_a_rollback_that_died",),
    ),
    Fault(
        UNFINISHED,
        "    if is_asked_for(table, rollback.instant):\n",
        "    if not is_asked_for(table, rollback.instant):\n",
        "resume is named for a rollback that it refuses",
        (f"{VERDICT}::test_pending_rollbacks",),
    ),
    Fault(
        UNFINISHED,
        "= _is_saved(signs, target) or signs.timeline.last_write > target or _is_built_on(table, signs, target)",
        "= signs.timeline.last_write > target or _is_built_on(table, signs, target)",
        "a rollback is named that the savepoint on its target refuses",
        ("ops/guards/test_beside.py::test_no_rollback_of_a_savepointed_commit_is_named",),
    ),
    Fault(
        UNFINISHED,
        "= _is_saved(signs, target) or signs.timeline.last_write > target or _is_built_on(table, signs, target)",
        "= _is_saved(signs, target) or signs.timeline.last_write > target",
        "a rollback is named that is refused for a commit beside its target",
        ("ops/guards/test_beside.py::test_neither_goes_where_both_have_changed_a_file_group",),
    ),
    Fault(
        UNFINISHED,
        "return signs.timeline.last_write > target and all(",
        "return False and all(",
        "writers are said to get through where Hudi's rollback fails at later commits",
        (f"{VERDICT}::test_pending_rollbacks",),
    ),
    Fault(
        UNFINISHED,
        'may be running" if quiet_ms < idle_ms else ""\n',
        'may be running" if False else ""\n',
        "a restore of Hudi's that may be running is to be resumed",
        (f"{VERDICT}::test_a_restore_of_hudis_that_may_be_running_is_at_work",),
    ),
    Fault(
        UNFINISHED,
        "if is_own(table, restore) and not restore.removed:",
        "if not restore.removed:",
        "a restore of Hudi's is to be withdrawn",
        (f"{VERDICT}::test_every_table",),
    ),
    Fault(
        CLAIM,
        "    if found is None or owner is None or owner.released:\n",
        "    if found is None or owner is None:\n",
        "a hudictl that has ended is at work for ever",
        (f"{VERDICT}::test_a_restore_that_died",),
    ),
    Fault(
        CLAIM,
        "    return owner if alive else None\n",
        "    return owner\n",
        "a hudictl that died is at work for ever",
        ("table/locks/test_claim.py::test_who_works_on_the_table",),
    ),
    Fault(
        WRITES,
        '    if time in look.beats:\n        return Remedy("hudictl failed-writes clean", gone)\n',
        '    if True:\n        return Remedy("hudictl failed-writes clean", gone)\n',
        "cleaning lazily is named for a write without a heartbeat, which it leaves alone",
        ("state/writers/test_failed_writes.py::test_the_remedy_is_the_command_that_works",),
    ),
    Fault(
        WRITES,
        "    if any(other.live for other in look.beats.values()):\n",
        "    if False:\n",
        "eager cleaning is named beside a live heartbeat, where it is refused",
        ("state/writers/test_failed_writes.py::test_beside_a_live_heartbeat_the_remedy_is_a_rollback",),
    ),
    Fault(
        WRITES,
        "    if write.is_service and write.instant.action != LOGCOMPACTION:\n",
        "    if write.is_service:\n",
        "--keep-plan is named for a log compaction, which cannot keep it",
        ("state/writers/test_failed_writes.py::test_a_log_compaction_cannot_keep_its_plan",),
    ),
    Fault(
        CLEAN,
        "    if signs.restores:\n        return Choice((), (), tuple(unfinished))\n",
        "",
        "failed writes are rolled back beside a pending restore",
        ("ops/rollback/test_failed.py::test_a_pending_restore",),
    ),
    Fault(
        CLEAN,
        "{entry.time for entry in unfinished if not entry.at_work})",
        "{entry.time for entry in unfinished})",
        "a rollback of Hudi's that may be running is finished",
        ("ops/rollback/test_failed.py::test_hudis_own_pending_rollback_is_finished",),
    ),
    Fault(
        CLEAN,
        " and not entry.visible and",
        " and",
        "cleaning failed writes ends the rollback of a commit that readers see",
        ("ops/rollback/test_failed.py::test_a_rollback_of_a_completed_commit_is_nobodys_failed_write",),
    ),
    Fault(
        LAST,
        "operation.last.exit_code != 0:",
        "operation.last.exit_code == 3:",
        "what a last look would have found is not found where the process died before it",
        (f"{VERDICT}::test_what_the_last_look_of_a_restore_found_is_found_again",),
    ),
    Fault(
        "reports/table.py",
        "    return entry.writers_can_start or entry.eager_only\n",
        "    return entry.writers_can_start\n",
        "nobody hears of the rollback that lazy writers do, as eager ones are stopped",
        ("state/timeline/test_unfinished.py::test_lazy_writers_roll_a_commit_back_on_which_eager_ones_fail",),
    ),
    Fault(
        UNFINISHED,
        "        not (instant.completed or archived or saved or service)\n",
        "        not (archived or saved or service)\n",
        "a rollback that is completed is said to stop writers",
        ("state/timeline/test_unfinished.py::test_the_empty_result_of_a_rollback_is_a_finding_of_its_own",),
    ),
)
