"""What `why` and `check` say of table services."""

from tests.mutants.fault import Fault

BLOCKS = "state/services/blocks.py"
SETTINGS = "table/settings.py"
OVERDUE = "state/services/overdue.py"
DUE = "state/services/due.py"
HEALTH = "reports/health/behind.py"
CHECK = "reports/health/check.py"
CHECKED = "reports/health/test_behind.py"
TESTS = "state/services/test_due.py"
CLI = "cli/test_why.py"

FAULTS = (
    Fault(
        DUE,
        "        for entry in timeline.savepoints()[:1]:\n",
        "        for entry in ():\n",
        "archiving is said to go on beyond a savepoint",
        (f"{TESTS}::test_a_savepoint_stops_it",),
    ),
    Fault(
        DUE,
        "if one.time < pending.time), default=pending.time)",
        "if one.time < pending.time), default='~')",
        "archiving is said to go on beyond a pending write that is older than all commits",
        (f"{TESTS}::test_a_pending_write_before_all_commits_stops_all",),
    ),
    Fault(
        DUE,
        "    bound = (cleaned.earliest or cleaned.time) if cleaned",
        "    bound = cleaned.time if cleaned",
        "a replacecommit whose files are not cleaned is said to be archived",
        (f"{TESTS}::test_what_was_replaced_must_be_cleaned_before",),
    ),
    Fault(
        DUE,
        "    if metadata is not None and settings.flag(METADATA_ENABLE):\n",
        "    if False:\n",
        "a metadata table that is not compacted is said not to stop archiving",
        (f"{TESTS}::test_the_metadata_tables_compaction_comes_first",),
    ),
    Fault(
        BLOCKS,
        "            return replace(block, because=because, remedy=(way,) if clustering else ())\n",
        "            return replace(block, because=because, remedy=(way,))\n",
        "the way out of a scheduled compaction is a command that refuses",
        (f"{CLI}::test_as_json",),
    ),
    Fault(
        SETTINGS,
        "        if self.assume_defaults:\n            return ()\n",
        "        if True:\n            return ()\n",
        "thresholds that nobody gave are taken for the table's",
        (f"{CLI}::test_settings_that_are_missing_or_wrong",),
    ),
    Fault(
        OVERDUE,
        "if match[3] < kept.since][:-1]\n",
        "if match[3] < kept.since]\n",
        "the file that readers of the oldest commit see is told to be overdue",
        (f"{TESTS}::test_files_that_cleaning_was_to_take",),
    ),
    Fault(
        OVERDUE,
        " if match[0] not in spared)\n",
        ")\n",
        "files of a savepoint are told to be overdue",
        (f"{TESTS}::test_files_of_savepoints_and_of_pending_writes_are_not_overdue",),
    ),
    Fault(
        DUE,
        "    counted = sum(entry.completed for entry in since)\n",
        "    counted = len(since)\n",
        "a compaction is said to be due that Hudi does not schedule",
        (f"{TESTS}::test_delta_commits_count_from_the_last_compaction_on",),
    ),
    Fault(
        DUE,
        "if rules and rules.compaction_waits_for_writes else ()",
        "if rules else ()",
        "a pending write is said to stop compactions of releases that do not wait for it",
        (f"{TESTS}::test_a_pending_write_stops_writers_that_are_alone_of_the_oldest_release",),
    ),
    Fault(
        HEALTH,
        "    if len(recent) >= FAILING_WRITES:\n",
        "    if False:\n",
        "a job that fails again and again is not found",
        (f"{CHECKED}::test_a_job_that_fails_again_and_again",),
    ),
    Fault(
        HEALTH,
        "file and size >= HUGE_PLAN_BYTES:",
        "file and False:",
        "a huge plan is not found",
        (f"{CHECKED}::test_a_plan_that_is_a_risk_to_whoever_reads_it",),
    ),
    Fault(
        CHECK,
        "                    skipped.append(entry)\n",
        "                    pass\n",
        "nobody hears that a check was skipped",
        (f"{CHECKED}::test_what_is_not_given_is_skipped_by_name",),
    ),
)
