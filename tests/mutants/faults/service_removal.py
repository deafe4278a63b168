"""The removal of pending cleans without plan, and of indexings."""

from tests.mutants.fault import Fault

SERVICE = "ops/clean_up/service.py"
CLEANS = "state/timeline/clean_plans.py"
STALLED = "state/services/stalled.py"
CHECK = "reports/health/check.py"
TESTS = "ops/clean_up/test_service.py"
HARMFUL = "state/services/harmful_cleans.py"
HARMFUL_TESTS = "ops/rollback/test_harmful_clean.py"
HEALTH = "reports/health/test_services.py"

FAULTS = (
    Fault(
        SERVICE,
        "        if now.files != plan.files:\n",
        "        if False:\n",
        "an indexing that an indexer has taken up since planning is removed",
        (f"{TESTS}::test_an_indexing_that_began_again_since_planning_stays",),
    ),
    Fault(
        SERVICE,
        "    liveness.no_running_rollback(signs, options.idle_ms, [instant])\n",
        "",
        "a clean that is just being requested is removed",
        (f"{TESTS}::test_one_that_was_active_just_now_may_be_running",),
    ),
    Fault(
        SERVICE,
        "    if making:\n",
        "    if False:\n",
        "an indexing that writes into the metadata table loses its instant",
        (
            f"{TESTS}::test_an_indexing_that_comes_to_write_since_planning_stays",
            f"{HEALTH}::test_an_indexing_that_has_begun_is_hudis_to_drop",
        ),
    ),
    Fault(
        SERVICE,
        "        if without.instant.time == instant.time:\n",
        "        if True:\n",
        "a clean with a plan is removed for another's sake",
        (f"{TESTS}::test_a_clean_with_a_plan_beside_one_without_stays",),
    ),
    Fault(
        STALLED,
        "    return tuple(sorted({*begun, *_written(table, instant.time)}))\n",
        "    return tuple(sorted(begun))\n",
        "what an indexing has written is left in the metadata table without its instant",
        (f"{HEALTH}::test_an_indexing_that_has_begun_is_hudis_to_drop",),
    ),
    Fault(
        STALLED,
        "if name in planned or not planned]\n",
        "if name in planned]\n",
        "an indexing whose plan is damaged is removed while its partition is in the making",
        (f"{TESTS}::test_a_plan_that_cannot_be_read_means_every_partition_that_is_in_the_making",),
    ),
    Fault(
        STALLED,
        "            at_work=lately_active(now_ms - _indexed_ms(table, timeline, instant), idle_ms),\n",
        "            at_work=lately_active(timeline.idle_ms(instant, now_ms), idle_ms),\n",
        "an indexer that builds for long is called dead, and what it builds is told to drop",
        (f"{HEALTH}::test_an_indexer_that_works_in_the_metadata_table_is_at_work",),
    ),
    Fault(
        CLEANS,
        "        dropped = not table.rules.cleans_read_from_request\n",
        "        dropped = True\n",
        "a clean at which Hudi 1.2.0 fails for ever is told to go by itself",
        (f"{HEALTH}::test_a_clean_whose_plan_cannot_be_read_is_told_once_with_its_way_out",),
    ),
    Fault(
        CLEANS,
        "    if table.rules.cleans_read_from_request:\n        return instant.file(State.REQUESTED)\n",
        "",
        "a clean without request, at which Hudi 1.2.0 fails, passes",
        (f"{HEALTH}::test_the_plan_of_a_clean_is_read_where_hudi_reads_it",),
    ),
    Fault(
        CHECK,
        "if finding.finding != UNREADABLE or finding.subject not in names]\n",
        "if finding.finding != UNREADABLE]\n",
        "damaged files are not told",
        ("reports/health/test_check.py", "reports/health/test_commits.py", "reports/health/test_timeline.py"),
    ),
    Fault(
        HARMFUL,
        "    if facts.known.unread is not None:\n",
        "    if False:\n",
        "what a clean has deleted stays listed by a metadata table that hudictl could not read",
        (f"{HARMFUL_TESTS}::test_a_metadata_table_that_cannot_be_read_may_list_it",),
    ),
    Fault(
        HARMFUL,
        "if partition in plan.partitions or name in plan.files.get(partition, ())]",
        "if name in plan.files.get(partition, ())]",
        "what a clean of a whole partition has deleted stays listed",
        (f"{HARMFUL_TESTS}::test_of_a_whole_partition_too",),
    ),
    Fault(
        SERVICE,
        "    if found.stays:\n",
        "    if False:\n",
        "the metadata table lists files for ever that a clean has deleted",
        (f"{HARMFUL_TESTS}::test_what_it_has_deleted_the_metadata_table_still_lists",),
    ),
    Fault(
        SERVICE,
        "    if found is None:\n",
        "    if False:\n",
        "a clean that Hudi can finish is removed",
        (f"{HARMFUL_TESTS}::test_one_that_deletes_what_nobody_needs_stays",),
    ),
)
