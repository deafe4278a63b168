"""``check``: what it must find."""

from tests.mutants.fault import Fault

FILES = "reports/health/files.py"
STORAGE = "reports/health/storage.py"
TIMELINE = "reports/health/timeline.py"
WRITES = "reports/health/writes.py"
HASHING = "reports/health/hashing.py"
PARTITION = "reports/health/partition.py"

FAULTS = (
    Fault(
        FILES,
        "            if timeline.idle_ms(instant, look.facts.signs.now_ms) >= look.idle_ms:\n",
        "            if False:\n",
        "an interrupted savepoint is not found",
        ("reports/health/test_check.py::test_a_savepoint_that_was_interrupted",),
    ),
    Fault(
        FILES,
        "    if lost:\n",
        "    if False:\n",
        "a savepoint that is not whole is not found",
        ("reports/health/test_check.py::test_a_savepoint_with_a_missing_file",),
    ),
    Fault(
        "state/files/late_blocks.py",
        "for block in blocks.commands if block[1] > last)",
        "for block in blocks.commands if block[1] < last)",
        "a rollback block ahead of the last commit is not found",
        ("reports/health/test_files.py::test_a_rollback_block_that_is_ahead",),
    ),
    Fault(
        FILES,
        "        if path in hit:\n",
        "        if False:\n",
        "a .hoodie in a partition is not found",
        ("reports/health/test_files.py::test_another_table_where_records_name_files_is_an_error",),
    ),
    Fault(
        STORAGE,
        "    if lost:\n",
        "    if False:\n",
        "a metadata table that is absent is not found",
        ("reports/health/test_check.py::test_a_metadata_table_that_is_not_what_the_properties_say",),
    ),
    Fault(
        STORAGE,
        ('and look.silent(entry.modified_ms):\n                meaning = "a temporary'),
        ('and True:\n                meaning = "a temporary'),
        "a file that is being written is told to delete",
        ("reports/health/test_check.py::test_temporary_files",),
    ),
    Fault(
        TIMELINE,
        "            grave = entry.name in (ARMED_ROLLBACK, UNDO_BEGUN) or not (entry.writers_can_start or lazy)\n",
        "            grave = entry.name == UNDO_BEGUN or not (entry.writers_can_start or lazy)\n",
        "an armed rollback is only a warning",
        ("reports/health/test_check.py::test_real_tables",),
    ),
    Fault(
        TIMELINE,
        "            elif found.body or found.file.action == RESTORE:\n",
        "            elif False:\n",
        "a damaged instant file is not found",
        ("reports/health/test_check.py::test_a_damaged_file_ends_only_what_rests_on_it",),
    ),
    Fault(
        WRITES,
        "if beat.time not in _pending(look) and (beat.doubtful or not beat.live):",
        "if beat.time not in _pending(look):",
        "the heartbeat of a writer that has just ended is told to delete",
        ("reports/health/test_check.py::test_markers_and_heartbeats_of_instants_that_are_not_pending",),
    ),
    Fault(
        HASHING,
        "_by_instant(file for file in others if file.kind == COMMIT)",
        "_by_instant(others)",
        "a resize at work is called taken back",
        ("reports/health/test_hashing.py::test_a_resize_that_was_taken_back_and_is_pending",),
    ),
    Fault(
        "reports/health/archive.py",
        "        if status is not None and look.silent(status.modified_ms):\n",
        "        if status is not None:\n",
        "a log that is being written is called torn",
        ("reports/health/test_check.py::test_a_torn_end_of_the_archive",),
    ),
)
