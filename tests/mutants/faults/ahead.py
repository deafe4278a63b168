"""Commits of a clock that was ahead, tables that vanish, and what dead writers leave."""

from tests.mutants.fault import Fault

AHEAD = "state/timeline/ahead.py"
OWN = ("ops/rollback/test_ahead.py",)

FAULTS = (
    Fault(
        AHEAD,
        "        if entry.time in hidden or entry.time > limit\n",
        "        if entry.time > limit\n",
        "a clock that was an hour ahead hides rows, and nobody says it",
        OWN,
    ),
    Fault(
        AHEAD,
        "        if entry.time in hidden or entry.time > limit\n",
        "        if entry.time in hidden\n",
        "a commit of the future hides all that is written, and nobody says it",
        OWN,
    ),
    Fault(
        "ops/rollback/planning.py",
        "clock.time_can_be_given(table, signs.timeline.without({target}))\n",
        "clock.time_can_be_given(table, signs.timeline)\n",
        "a commit of the future can never be removed",
        OWN,
    ),
    Fault(
        "ops/guards/rollback.py",
        "    if is_ahead(table, target) and metadata_table_in_use(table):\n",
        "    if False:\n",
        "the metadata table gets instants that are older than the one that goes",
        OWN,
    ),
    Fault(
        "ops/guards/rollback.py",
        "    if is_ahead(table, target) and blocks:\n",
        "    if False:\n",
        "version 6: rows that are appended behind the blocks of a future commit are never read",
        OWN,
    ),
    Fault(
        "ops/restore/scope.py",
        "gone = {found.instant.time if found else None, *removed}",
        "gone = {found.instant.time if found else None}",
        "no restore can remove a commit of the future",
        OWN,
    ),
    Fault(
        "ops/restore/execute.py",
        "without({plan.withdrawn, *removed})",
        "without({plan.withdrawn})",
        "a restore that was planned stops at the commit of the future that it is to remove",
        OWN,
    ),
    Fault(
        "ops/restore/planning.py",
        'delete = delete or "a commit to remove is ahead of the clock"',
        "pass",
        "a restore keeps a metadata table whose last instant is in the future",
        OWN,
    ),
    Fault(
        "ops/restore/planning.py",
        "    for removal in removals if scope.pending is None else ():\n",
        "    for removal in ():\n",
        "version 6: a restore leaves blocks of a future commit in logs, and no row behind them is read",
        OWN,
    ),
    Fault(
        "cli/main.py",
        "    if isinstance(error, FileNotFoundError):\n",
        "    if False:\n",
        "a table that vanishes is called a bug of hudictl",
        ("cli/test_vanishing.py",),
    ),
    Fault(
        "storage/local.py",
        'error.errno in (errno.ENOENT, errno.ENOTDIR) and verb not in ("create", "replace"):\n',
        "error.errno in (errno.ENOENT, errno.ENOTDIR):\n",
        "a write into a folder that vanished looks as if the table were not there",
        ("storage/test_untrusted.py", "storage/test_local.py"),
    ),
    Fault(
        "state/services/left_manifests.py",
        " and now_ms - entry.modified_ms >= idle_ms\n",
        "\n",
        "a manifest that an archiving writes now is taken away",
        ("ops/restore/test_left_manifests.py",),
    ),
    Fault(
        "state/services/left_manifests.py",
        "_TEMPORARY.fullmatch(entry.name)",
        '"manifest_" in entry.name',
        "a manifest that counts is taken away: its archived instants are lost",
        ("ops/restore/test_left_manifests.py",),
    ),
    Fault(
        "formats/properties.py",
        "    return CHECKSUM not in properties\n",
        "    return False\n",
        "readers are said to use a backup that Hudi does not look at",
        ("reports/health/test_storage.py",),
    ),
    Fault(
        "ops/restore/leftovers.py",
        " and signs.now_ms - found.modified_ms >= idle_ms\n",
        "\n",
        "the backup of an update at work is taken away",
        ("reports/health/test_storage.py",),
    ),
    Fault(
        "ops/rollback/discard.py",
        "(*untouched, *lost)",
        "(*untouched,)",
        "a rollback that has lost its plan is never removed",
        ("ops/rollback/test_discard.py",),
    ),
    Fault(
        "table/metadata/place.py",
        "        if not table.metadata_partitions and not table.metadata_partitions_inflight:\n",
        "        if False:\n",
        "no write can be rolled back beside a metadata table whose writer died when it began",
        ("ops/rollback/test_new_metadata_table.py::test_one_that_died_at_its_own_properties",),
    ),
    Fault(
        "table/metadata/place.py",
        " if table.metadata_partitions else own\n",
        " if False else own\n",
        "properties of the metadata table at which each write fails pass",
        ("reports/health/test_storage.py",),
    ),
    Fault(
        "table/logs/scan.py",
        ".difference(ended, ending)",
        ".difference(ending)",
        "a pending savepoint of a commit makes the metadata table look as if it did not list the commit",
        ("reports/health/test_check.py::test_a_savepoint_of_the_newest_commit_that_was_interrupted",),
    ),
    Fault(
        "ops/restore/execute.py",
        "    last = max(restore, latest_of_clocks(table, timeline))\n",
        "    last = max(restore, timeline.last_time())\n",
        "a restore that died cannot be finished beside one instant whose name is no time",
        ("ops/restore/test_clock.py::test_a_time_that_no_clock_shows_does_not_stop_a_restore_that_has_begun",),
    ),
    Fault(
        "ops/restore/execute.py",
        "    last = max(restore, latest_of_clocks(table, timeline))\n",
        "    last = restore\n",
        "the rollbacks of a restore are older than what a writer of another zone has done before them",
        (
            "ops/restore/test_clock.py::"
            "test_the_rollbacks_of_a_restore_that_goes_on_are_later_than_what_came_from_another_zone",
        ),
    ),
)
