"""``check`` on the timeline, on writers, and on what lies beside it."""

from tests.mutants.fault import Fault

STORAGE = "reports/health/storage.py"
LOST_PLANS = "state/timeline/lost_plans.py"
TIMELINE = "reports/health/timeline.py"
WRITES = "reports/health/writes.py"
CHECK = "reports/health/check.py"
UNFINISHED = "state/timeline/unfinished.py"
FAILED = "state/writers/failed_writes.py"

FAULTS = (
    Fault(
        FAILED,
        " if entry.time <= last}",
        "}",
        "each write that died is said to stop all writers",
        ("reports/health/test_check.py::test_real_tables", "state/writers/test_failed_writes.py"),
    ),
    Fault(
        FAILED,
        "can_start = compacted is None and not",
        "can_start = not",
        "table show says that a writer can open a table on which it fails each time",
        ("reports/health/test_writes.py::test_a_write_that_the_metadata_table_was_compacted_over_stops_writers",),
    ),
    Fault(
        UNFINISHED,
        "        not (instant.completed or archived or saved or service)\n",
        "        False\n",
        "a writer is said to open a table on which eager cleaning fails before each write",
        ("state/timeline/test_unfinished.py",),
    ),
    Fault(
        FAILED,
        "    if log_compaction and eager_fails:\n",
        "    if False:\n",
        "the next run of a log compaction is said to mend what it makes worse",
        ("state/timeline/test_unfinished.py",),
    ),
    Fault(
        STORAGE,
        "        elif backup is not None and look.silent(backup.modified_ms):\n",
        "        elif backup is not None:\n",
        "an update of the properties at work is called interrupted",
        ("reports/health/test_storage.py::test_an_update_of_the_properties_that_is_at_work_is_none_that_died",),
    ),
    Fault(
        "table/properties.py",
        "        with suppress(ValueError):\n            if properties.taken_whole",
        "        with suppress():\n            if properties.taken_whole",
        "check ends at properties that are damaged",
        ("reports/health/test_storage.py::test_properties_that_cannot_be_decoded_are_damaged",),
    ),
    Fault(
        STORAGE,
        "listed = (*table.metadata_partitions, *table.metadata_partitions_inflight)",
        "listed = table.metadata_partitions",
        "a metadata table that is being built is called unlisted",
        ("reports/health/test_storage.py::test_a_metadata_table_that_is_being_built_is_listed",),
    ),
    Fault(
        "table/metadata/place.py",
        "    if table.metadata_partitions and all(table.storage.stat(path) is None for path in paths):\n",
        "    if False:\n",
        "a metadata table without its properties, at which writers fail, passes",
        ("reports/health/test_storage.py::test_a_metadata_table_without_its_properties_stops_writers",),
    ),
    Fault(
        STORAGE,
        "if not listed and table.storage.has_folder(METADATA_TABLE):",
        "if not listed and there:",
        "the remains of a metadata table pass",
        ("reports/health/test_storage.py::test_what_is_left_of_a_metadata_table_is_in_the_next_writers_way",),
    ),
    Fault(
        STORAGE,
        "startswith(beginning) and look.silent(entry.modified_ms):",
        "startswith(beginning):",
        "a metadata table that is just being taken out of use is told to delete",
        ("reports/health/test_storage.py::test_a_metadata_table_that_is_just_going_out_of_use_is_no_finding",),
    ),
    Fault(
        STORAGE,
        "in sorted({META, table.layout.timeline, SCRATCH}):",
        "in sorted({table.layout.timeline, SCRATCH}):",
        "temporary files beside the properties are not found",
        ("reports/health/test_storage.py::test_a_temporary_file_beside_the_properties",),
    ),
    Fault(
        STORAGE,
        "(folder != METADATA_TABLE or entry.name == META)",
        "folder != METADATA_TABLE",
        "checksums of the metadata table's timeline are not compared",
        (
            (
                "reports/health/test_storage.py::test_checksums_of_the_metadata_tables_timeline_are_compare"
                "d_and_those_of_its_data_are_not"
            ),
        ),
    ),
    Fault(
        STORAGE,
        "(folder != METADATA_TABLE or entry.name == META)",
        "True",
        "data files of the metadata table are read for their checksums",
        (
            (
                "reports/health/test_storage.py::test_checksums_of_the_metadata_tables_timeline_are_compare"
                "d_and_those_of_its_data_are_not"
            ),
        ),
    ),
    Fault(
        STORAGE,
        "        unread = entry.name in _UNCHECKED or entry.name.startswith(_LEFT)\n",
        "        unread = entry.name in _UNCHECKED\n",
        "a metadata table out of use is compared with its checksums",
        ("reports/health/test_storage.py::test_sidecars_of_what_comes_and_goes_are_not_looked_at",),
    ),
    Fault(
        STORAGE,
        "        unread = entry.name in _UNCHECKED or entry.name.startswith(_LEFT)\n",
        "        unread = entry.name.startswith(_LEFT)\n",
        "sidecars of markers and heartbeats, which come and go, are told",
        ("reports/health/test_storage.py::test_sidecars_of_what_comes_and_goes_are_not_looked_at",),
    ),
    Fault(
        STORAGE,
        ("        # A writer has just removed it.\n        return True"),
        "        return False",
        "a file that a writer has just removed is called damaged",
        ("reports/health/test_storage.py::test_a_file_that_goes_while_it_is_compared_is_no_mismatch",),
    ),
    Fault(
        STORAGE,
        '_UNCHECKED = (".temp", ".heartbeat", ".hudictl")',
        '_UNCHECKED = (".temp", ".heartbeat")',
        "hudictl's own records are told as damaged",
        ("reports/health/test_storage.py::test_sidecars_of_what_comes_and_goes_are_not_looked_at",),
    ),
    Fault(
        TIMELINE,
        "        elif not entry.completed:\n",
        "        else:\n",
        "a restore that ended without result is told twice",
        ("reports/health/test_timeline.py::test_a_restore_that_ended_without_result_is_told_once",),
    ),
    Fault(
        UNFINISHED,
        "begun = min((restore.instant.time",
        "begun = max((restore.instant.time",
        "rollbacks of the older of two pending restores are told to finish alone",
        ("reports/health/test_timeline.py::test_rollbacks_of_each_of_several_pending_restores_are_theirs",),
    ),
    Fault(
        UNFINISHED,
        "        completed=instant.completed,\n",
        "        completed=False,\n",
        "a rollback that ended without result is told as pending",
        ("reports/health/test_timeline.py::test_a_rollback_that_ended_without_result_is_told_once",),
    ),
    Fault(
        UNFINISHED,
        'meaning += "the commit has a savepoint" if saved else',
        'meaning += "the commit has a savepoint" if True else',
        "nobody hears that the next writer takes a commit back",
        ("reports/health/test_timeline.py::test_who_takes_back_a_commit_without_savepoint_is_the_next_writer",),
    ),
    Fault(
        UNFINISHED,
        "    elif target is not None:\n",
        "    elif True:\n",
        "a rollback without plan is told as one of nothing",
        ("reports/health/test_timeline.py::test_a_rollback_without_plan_says_so",),
    ),
    Fault(
        LOST_PLANS,
        "services = (COMPACTION, LOGCOMPACTION, CLUSTERING)",
        "services = (COMPACTION, CLUSTERING)",
        "a log compaction without plan passes",
        ("reports/health/test_timeline.py::test_a_log_compaction_without_plan",),
    ),
    Fault(
        "state/timeline/damaged.py",
        "        if file.action in COMMIT_ACTIONS and file.state is not State.REQUESTED:\n",
        "        if False:\n",
        "a commit that is no commit passes",
        ("reports/health/test_timeline.py::test_a_commit_that_holds_another_record_is_damaged",),
    ),
    Fault(
        FAILED,
        "== FAILED) and self.rollback is None and",
        "== FAILED) and",
        "a write whose rollback is pending is told as failed, too",
        ("reports/health/test_writes.py::test_a_failed_write_that_a_rollback_takes_back_is_its_to_tell",),
    ),
    Fault(
        FAILED,
        " and self.rollback is None and self.restore is None",
        " and self.rollback is None",
        "the instants of a pending restore are told as failed writes",
        ("reports/health/test_writes.py::test_a_write_that_a_restore_takes_back_is_its_to_tell",),
    ),
    Fault(
        FAILED,
        "return not self.is_service or self.instant.state is not State.REQUESTED",
        "return self.instant.state is not State.REQUESTED",
        "a writer that died after its request is not found",
        ("reports/health/test_writes.py::test_a_writer_that_died_after_its_request_has_failed",),
    ),
    Fault(
        WRITES,
        "        if lock.held and lock.age_ms is not None",
        "        if lock.age_ms is not None",
        "a lock that nobody holds is told as held",
        ("reports/health/test_writes.py::test_a_lock_that_is_free_is_no_finding",),
    ),
    Fault(
        WRITES,
        "for entry in look.facts.timeline.instants if entry.pending}",
        "for entry in look.facts.timeline.writes() if entry.pending}",
        "the heartbeat of a pending rollback is told to delete",
        ("reports/health/test_writes.py::test_the_heartbeat_of_a_pending_restore_is_not_stale",),
    ),
    Fault(
        CHECK,
        "tuple({(finding.finding, finding.subject): finding for finding in asked}.values())",
        "tuple(told)",
        "a damaged file is told once for each who reads it",
        ("reports/health/test_check.py::test_a_damaged_file_ends_only_what_rests_on_it",),
    ),
    Fault(
        "state/files/savepoints.py",
        "        with suppress(Unreadable):\n",
        "        with suppress(FileNotFoundError):\n",
        "check ends at a damaged savepoint",
        ("reports/health/test_check.py::test_a_damaged_file_ends_only_what_rests_on_it",),
    ),
    Fault(
        "state/facts.py",
        "    return Signs(load_timeline(table), (), (), beats, locks, now_ms)",
        "    return Signs(load_timeline(table), (), (), (), (), now_ms)",
        "beside a damaged restore no lock is told, and writers with heartbeats are called dead",
        ("reports/health/test_timeline.py::test_locks_are_told_beside_a_restore_that_cannot_be_read",),
    ),
    Fault(
        "state/files/savepoints.py",
        "in readable_savepoints(table, timeline, engine) for",
        "in [*readable_savepoints(table, timeline, engine)][-1:] for",
        "only the last savepoint's partitions are looked at",
        ("reports/health/test_timeline.py::test_the_partitions_of_all_savepoints_are_looked_at",),
    ),
)
