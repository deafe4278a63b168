"""``check`` on table services that are pending, and on those that are behind in the metadata table."""

from tests.mutants.fault import Fault

SERVICES = "reports/health/services.py"
TESTS = "reports/health/test_services.py"

BEHIND = "reports/health/behind.py"
INDEXES = "reports/health/indexes.py"

FAULTS = (
    Fault(
        "state/timeline/overwritten.py",
        " if common and not entries_of(table.storage, HASHING_METADATA) else frozenset()\n",
        "\n",
        "updates beside a resize of buckets count as undone a commit",
        ("state/timeline/test_overwritten.py",),
    ),
    Fault(
        "reports/health/metadata.py",
        "        shown, severity = (opened, ERROR) if opened else (names, WARNING)\n",
        "        shown, severity = names, ERROR\n",
        "`check` says that queries fail at a file that none opens",
        ("reports/health/test_files.py",),
    ),
    Fault(
        SERVICES,
        "            if found:\n                yield _undone(",
        "            if False:\n                yield _undone(",
        "`check` is silent about a clustering that has undone a commit",
        ("state/timeline/test_overwritten.py::test_check_finds_what_was_undone",),
    ),
    Fault(
        "state/timeline/overwritten.py",
        '    return other.time > instant.time or (completed or "") > instant.time\n',
        "    return True\n",
        "commits that a clustering was planned on count as undone",
        ("state/timeline/test_overwritten.py",),
    ),
    Fault(
        BEHIND,
        "    if counted <= 2 * threshold:\n        return\n",
        "",
        "check cries of every metadata table",
        ("reports/health/test_behind.py::test_a_metadata_table_that_nobody_compacts",),
    ),
    Fault(
        BEHIND,
        "_ended(look, blocks))\n\n\ndef rollbacks",
        "())\n\n\ndef rollbacks",
        "check says that nothing blocks the metadata table's compaction",
        ("reports/health/test_behind.py::test_what_a_compaction_of_the_metadata_table_waits_for",),
    ),
    Fault(
        INDEXES,
        "len(sizes) < wanted / 2",
        "len(sizes) < wanted",
        "a record index that has enough file groups is called small",
        ("reports/health/test_indexes.py::test_a_record_index_that_its_table_has_outgrown",),
    ),
    Fault(
        INDEXES,
        "sizes[largest] > _SLACK * most or ",
        "",
        "a file group that is too large is not found where others are small",
        ("reports/health/test_indexes.py::test_a_record_index_that_its_table_has_outgrown",),
    ),
    Fault(
        SERVICES,
        "in look.facts.sweep.absent(names) if table.storage.stat(path) is None}\n",
        "in look.facts.sweep.absent(names)}\n",
        "a file that no listing shows is called missing, and a plan that can be executed is taken away",
        (f"{TESTS}::test_a_file_that_no_listing_shows_is_looked_up",),
    ),
    Fault(
        SERVICES,
        "in look.facts.sweep.absent(names) if table.storage.stat(path) is None}\n",
        "in ()}\n",
        "a compaction that fails for ever is not found",
        (f"{TESTS}::test_a_missing_log_of_a_plan_is_found",),
    ),
    Fault(
        SERVICES,
        "        if instant in pending:\n",
        "        if True:\n",
        "a service that ends while check looks is told to fail",
        (f"{TESTS}::test_one_that_ends_while_the_table_is_looked_at_is_not_told",),
    ),
    Fault(
        SERVICES,
        "    remedy = () if later else _gentlest(look.facts.table, instant)\n",
        '    remedy = mended(command_of("rollback", instant.time))\n',
        "check names a command that refuses",
        (f"{TESTS}::test_no_command_is_named_where_logs_of_later_writes_lie_on_the_slices",),
    ),
    Fault(
        SERVICES,
        "chain(*(entry.files for entry in facts.timeline.writes())):",
        "chain(*(entry.files for entry in facts.timeline.having(COMPACTION))):",
        "nothing is said of rows that a compaction has hidden",
        (f"{TESTS}::test_logs_of_later_writes_without_their_operation",),
    ),
)
