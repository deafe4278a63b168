"""What `why` and `check` say of table services."""

from tests.mutants.fault import Fault

ARCHIVE = "state/archive_due.py"
BLOCKS = "state/blocks.py"
SETTINGS = "table/settings.py"
TESTS = "state/test_archive_due.py"
CLI = "cli/test_why.py"

FAULTS = (
    Fault(
        ARCHIVE,
        "        for entry in timeline.savepoints()[:1]:\n",
        "        for entry in ():\n",
        "archiving is said to go on beyond a savepoint",
        (f"{TESTS}::test_a_savepoint_stops_it",),
    ),
    Fault(
        ARCHIVE,
        "if one.time < pending.time), default=pending.time)",
        "if one.time < pending.time), default='~')",
        "archiving is said to go on beyond a pending write that is older than all commits",
        (f"{TESTS}::test_a_pending_write_before_all_commits_stops_all",),
    ),
    Fault(
        ARCHIVE,
        "    if wanted and keep.pending and keep.least > free.least:\n",
        "    if False:\n",
        "a pending write that keeps archiving from ever being due is not named",
        (f"{TESTS}::test_a_pending_write_that_moves_what_cleaning_keeps_stops_archiving",),
    ),
    Fault(
        ARCHIVE,
        "    return cleaned.earliest or cleaned.time\n",
        "    return cleaned.time\n",
        "a replacecommit whose files are not cleaned is said to be archived",
        (f"{TESTS}::test_what_was_replaced_must_be_cleaned_before",),
    ),
    Fault(
        ARCHIVE,
        "        if not look.rules.archives_cleans_apart:\n            limit = next(",
        "        if False:\n            limit = next(",
        "a commit that was completed after the metadata table's compaction is said to be archived",
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
)
