"""Orphans: which files are sure to be one, and that nothing else is deleted."""

from tests.mutants.fault import Fault

OPS = "ops/clean_up/orphans.py"
STATE = "state/orphans/find.py"
WHOSE = "state/orphans/ownership.py"

FAULTS = (
    Fault(
        WHOSE,
        "bool(proof) and not needs, beyond)",
        "not needs, beyond)",
        "files of a lost archive are called sure orphans",
        ("state/orphans/test_find.py",),
    ),
    Fault(
        OPS,
        "not orphan.unnamed) or orphan.file.path in named.files\n",
        "not orphan.unnamed)\n",
        "a file that a new savepoint names is deleted",
        ("ops/clean_up/test_orphans.py::test_what_something_names_by_then_stays",),
    ),
    Fault(
        OPS,
        "        liveness.no_running_write(table, signs, signs.timeline.instants, plan.options.idle_ms, None, ())\n",
        "        pass\n",
        "the metadata table is taken away under a new writer",
        ("ops/clean_up/test_orphans.py",),
    ),
    Fault(
        STATE,
        "in (*_active(table, timeline), *_archived(table, archived)):",
        "in _active(table, timeline):",
        "archived rollbacks prove nothing",
        ("state/orphans/test_find.py",),
    ),
    Fault(
        OPS,
        ("    _check_signs(session, signs)\n    if plan"),
        "    if plan",
        "files go beside a restore that has begun since planning",
        ("ops/clean_up/test_orphans_second_looks.py",),
    ),
    Fault(
        OPS,
        "if (orphan.file.data.instant in taken and not orphan.unnamed) or orphan.file.path in named.files",
        "if orphan.file.path in named.files",
        "a file whose instant has appeared since planning is deleted",
        ("ops/clean_up/test_orphans.py",),
    ),
    Fault(
        OPS,
        "        if plan.metadata_table.mode is Mode.NONE and metadata_table_in_use(table):\n",
        "        if False:\n",
        "a new metadata table is dropped that nobody was asked for",
        ("ops/clean_up/test_orphans.py",),
    ),
    Fault(
        OPS,
        ("        run.held.check()\n        _prepare("),
        "        _prepare(",
        "files go beside one who has taken over: before the metadata table",
        ("ops/clean_up/test_orphans.py::test_a_claim_that_was_taken_over_keeps_the_metadata_table",),
    ),
    Fault(
        OPS,
        ("    run.held.check()\n    files = [orphan.file"),
        "    files = [orphan.file",
        "files go beside one who has taken over: before the deletion",
        ("ops/clean_up/test_orphans_second_looks.py",),
    ),
    Fault(
        OPS,
        "left = _owned_by_now(session, plan) | _written_since(session, plan)\n",
        "left = _owned_by_now(session, plan)\n",
        "a log into which a writer has just written is deleted",
        ("ops/clean_up/test_orphans.py::test_a_log_below_version_8_that_somebody_goes_on_in_stays",),
    ),
    Fault(
        OPS,
        "{file.partition for file in files}, sync=True)",
        "{file.partition for file in files})",
        "deleted orphans come back after a power failure",
        ("ops/clean_up/test_orphans_second_looks.py",),
    ),
    Fault(
        OPS,
        (
            "    # Again: a writer may have built a new one meanwhile, which lists the deleted files.\n"
            "    _lists_none(session, plan, time, files)\n"
        ),
        "",
        "a metadata table made meanwhile lists files that are gone",
        ("ops/clean_up/test_orphans_metadata_table.py",),
    ),
    Fault(
        OPS,
        "    kept = [file.path for file in files if file.path not in gone]\n",
        "    kept = [file.path for file in files if file.path in failed]\n",
        "a file that the store did not delete counts as deleted",
        ("ops/clean_up/test_orphans.py::test_a_file_that_is_only_said_to_be_deleted_is_named",),
    ),
    Fault(
        OPS,
        ("        _prepare(session, run.held, plan, time)\n        drop_metadata_table(table, time)\n"),
        ("        drop_metadata_table(table, time)\n        _prepare(session, plan, time)\n"),
        "readers see rows of orphans for a moment",
        ("ops/clean_up/test_orphans_second_looks.py",),
    ),
    Fault(
        OPS,
        "    left = _staying(session, plan) if first else set()\n",
        "    left: set[str] = set()\n",
        "a file that is owned by now is deleted before the metadata table goes",
        ("ops/clean_up/test_orphans_second_looks.py",),
    ),
    Fault(
        OPS,
        "wrong = other is Other.BEGUN or (other is Other.MADE and ",
        "wrong = (other is Other.MADE and ",
        "a metadata table that is being made is taken away from its writer",
        ("ops/clean_up/test_orphans_metadata_table.py",),
    ),
    Fault(
        STATE,
        ("return frozenset(times).union(*(restore.instants for restore in find_restores(table, timeline)))"),
        "return frozenset(times)",
        "the files of a restore that died are orphans",
        ("state/orphans/test_find.py::test_what_a_pending_rollback_or_restore_names_is_theirs",),
    ),
    Fault(
        STATE,
        ("    if data_table_of(table) is not None:\n        once = set()\n"),
        "",
        "files of a metadata table are orphans that its data table has written again",
        ("state/orphans/test_find_proved.py::test_nor_is_a_write_of_the_metadata_table",),
    ),
    Fault(
        STATE,
        "        if orphan.file.path in alone\n",
        "        if False\n",
        "rows that only the metadata table shows are deleted",
        ("ops/clean_up/test_orphans.py::test_rows_that_only_the_metadata_table_shows_stay",),
    ),
    Fault(
        WHOSE,
        "    listed = index.files.get(file.partition)\n",
        "    listed = index.files.get(file.partition, frozenset())\n",
        "files in a folder that the metadata table does not know are deleted",
        ("state/orphans/test_ownership.py::test_a_metadata_table_that_does_not_know_the_folder_proves_nothing",),
    ),
    Fault(
        WHOSE,
        ("            if any(not found[file.path].sure for file in members if not file.data.is_base):\n"),
        "            if False:\n",
        "a log goes that takes back what stands in another",
        ("state/orphans/test_find.py::test_a_log_below_version_8_is_sure_once_all_its_rows_were_taken_back",),
    ),
    Fault(
        WHOSE,
        "        if file.data.is_base and file.data.instant in records.owned:\n",
        "        if file.data.instant in records.owned:\n",
        "a log counts as what a clean has left",
        ("state/orphans/test_ownership.py::test_what_a_clean_took_is_proved_by_a_newer_base_file_and_by_no_log",),
    ),
)
