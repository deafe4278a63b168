"""What proves that the work is done: the second listing, the read timeline, what goes with an instant."""

from tests.mutants.fault import Fault

VERIFY = "ops/undo/verify.py"
LAST = "ops/restore/verify.py"
REMOVALS = "ops/undo/planning.py"
FILES = "ops/undo/execute.py"
UNTOUCHED = "ops/undo/untouched.py"
SWEEP = "table/files/sweep.py"

FAULTS = (
    Fault(
        LAST,
        'return any((entry.completion_time or "") > ended for entry in load_timeline(metadata).instants)',
        "return False",
        "a metadata table that a table service without work has built is a failed restore for good",
        (
            (
                ""
                "ops/restore/test_verify.py::test_a_metadata_table_that_a_service_without_work_has_built_since_is_no_failure"
            ),
        ),
    ),
    Fault(
        LAST,
        "    if findings:\n",
        ("    if not findings:\n        return\n    if False:\n"),
        "what is wrong after a restore is not told",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        VERIFY,
        "path for path in paths if needed.get(path) != outcome.needed.get(path)]",
        "path for path in paths if (path in needed) is not (path in outcome.needed)]",
        "a needed file that was cut counts as whole",
        ("ops/undo/test_verify.py",),
    ),
    Fault(
        VERIFY,
        "found = sweep(session.table, session.engine, case.named, within=case.within, sync=True)",
        "found = sweep(session.table, session.engine, set(needed or ()), within=case.within, sync=True)",
        "a removed file in a folder without metafile is not looked for",
        ("ops/undo/test_verify.py::test_a_file_in_a_folder_without_metafile_is_looked_for",),
    ),
    Fault(
        VERIFY,
        "case.named, within=case.within, sync=True)",
        "case.named, within=case.within)",
        "deleted files come back after a power failure",
        ("ops/undo/test_verify.py::test_deletions_are_on_the_disk_before_instants_are_removed",),
    ),
    Fault(
        SWEEP,
        "    if within is not None and path not in within:\n        return None\n",
        "",
        "files of partitions that were not listed count as missing",
        ("table/files/test_sweep.py::test_only_some_partitions_are_listed_with_the_folders_above",),
    ),
    Fault(
        SWEEP,
        "more = wanted if above is None or folder.path in above else frozenset()",
        "more = frozenset()",
        "partitions below the folders that executors list are not seen",
        ("table/files/test_sweep.py::test_only_some_partitions_are_listed_with_the_folders_above",),
    ),
    Fault(
        SWEEP,
        "workers.ListTask(storage, folder, sync, wanted) for folder in some",
        "workers.ListTask(storage, folder, False, wanted) for folder in some",
        "deletions that the driver attests are not durable",
        ("ops/undo/test_verify.py::test_deletions_are_on_the_disk_before_instants_are_removed",),
    ),
    Fault(
        SWEEP,
        "workers.ListTask(storage, folder, sync, more)",
        "workers.ListTask(storage, folder, False, more)",
        "deletions that an executor attests are not durable",
        ("ops/undo/test_verify.py::test_deletions_are_on_the_disk_before_instants_are_removed",),
    ),
    Fault(
        "workers.py",
        "list_folder(task.storage, waiting.pop(), task.sync)",
        "list_folder(task.storage, waiting.pop(), False)",
        "deletions in deep folders are not durable",
        ("test_workers.py::test_what_is_attested_as_gone_is_synced_in_each_folder_before_it_is_listed",),
    ),
    Fault(
        "workers.py",
        "            storage.sync(place.path)\n",
        "            pass\n",
        "deletions are attested and not synced",
        ("test_workers.py::test_what_is_attested_as_gone_is_synced_in_each_folder_before_it_is_listed",),
    ),
    Fault(
        "table/files/hashing.py",
        "            table.storage.sync(folder)\n",
        "            pass\n",
        "hashing metadata comes back after a power failure",
        ("table/files/test_hashing.py",),
    ),
    Fault(
        LAST,
        "    yield from (str(entry) for entry in timeline.writes() if entry.time in removed)\n",
        "",
        "a removed write that is back is not told",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        LAST,
        "    yield from (str(entry) for entry in timeline.having(fmt.ROLLBACK) if entry.time in ended)\n",
        "",
        "an armed rollback of the restore is not told",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        LAST,
        "ended = {*plan.rollbacks_removed, *rollbacks}",
        "ended = {*rollbacks}",
        "an older rollback that is back is not told",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        LAST,
        "    yield from (str(entry) for entry in timeline.having(fmt.RESTORE) if entry.pending)\n",
        "",
        "another restore that is still pending is not told",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        LAST,
        "if commit is None or not commit.completed:",
        "if commit is None:",
        "a target that was taken back is not told",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        LAST,
        "if completed is None or not completed.completed:",
        "if completed is None:",
        "a restore that is not published passes",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        LAST,
        "if time in {*removed, *ended})",
        "if time in removed)",
        "markers of a rollback are not told",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        LAST,
        "    if table.storage.stat(PROPERTIES_BACKUP) is not None:\n",
        "    if False:\n",
        "a backup of the properties is not told",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        LAST,
        "entry.time > restore for entry",
        "entry.time > plan.target for entry",
        "a metadata table that is back beside an older write is not told",
        ("ops/restore/test_verify.py",),
    ),
    Fault(
        VERIFY,
        ('    if left:\n        yield left, "files of removed instants still exist"\n'),
        "",
        "a file of a removed instant outlives it",
        ("ops/undo/test_verify.py",),
    ),
    Fault(
        VERIFY,
        ('    if late:\n        yield late, "files of removed instants have appeared since planning"\n'),
        "",
        "a late file of a dead writer outlives its instant",
        ("ops/undo/test_verify.py",),
    ),
    Fault(
        VERIFY,
        "    if changed:\n",
        "    if False:\n",
        "a file that has come to what readers see is not told",
        ("ops/undo/test_verify.py",),
    ),
    Fault(
        VERIFY,
        "    if undo.needed is not None and outcome.bare:\n",
        "    if False:\n",
        "a partition that has lost its metafile is not told",
        ("ops/undo/test_verify.py",),
    ),
    Fault(
        VERIFY,
        "        if target not in blocks\n",
        "        if not blocks\n",
        "one of two rollback blocks on a slice is missing",
        ("ops/undo/test_verify.py",),
    ),
    Fault(
        VERIFY,
        '    wrong = [(unmarked, "file slices have no rollback block")] if unmarked else []\n',
        "    wrong: list[tuple[list[str], str]] = []\n",
        "a slice without its rollback block passes: rows stay",
        ("ops/undo/test_verify.py",),
    ),
    Fault(
        REMOVALS,
        ("        if file.path not in saved\n        and (file.path in begun"),
        "        if (file.path in begun",
        "an empty log that a savepoint names is deleted",
        ("ops/undo/test_planning.py",),
    ),
    Fault(
        "state/files/protected.py",
        'names.items() if size or not name.startswith("."))',
        "names.items())",
        "a savepoint names an empty log: the table that is restored to it has no writer that can open it",
        ("state/files/test_savepoint_files.py::test_an_empty_log_is_not_named",),
    ),
    Fault(
        REMOVALS,
        ("for file in files) and all(\n        block.slice in slices for block in blocks\n    )"),
        "for file in files)",
        "a stored rollback without the slices to mark is kept: rows stay",
        ("ops/undo/test_planning.py",),
    ),
    Fault(
        REMOVALS,
        "(file.partition in own and signs.now_ms",
        "(signs.now_ms",
        "an empty log in a folder of nobody's is deleted",
        ("ops/undo/test_planning.py",),
    ),
    Fault(
        REMOVALS,
        "known_partitions(facts) - facts.sweep.linked",
        "known_partitions(facts)",
        "an empty log behind a link is deleted",
        ("ops/undo/test_planning.py",),
    ),
    Fault(
        REMOVALS,
        "signs.now_ms - file.modified_ms >= idle_ms",
        "signs.now_ms - file.modified_ms >= 0",
        "a log that a writer has just begun is deleted",
        ("ops/undo/test_planning.py",),
    ),
    Fault(
        REMOVALS,
        "(file.path in begun or (",
        "(False or (",
        "the empty log of the dead writer itself stays",
        ("ops/undo/test_planning.py",),
    ),
    Fault(
        REMOVALS,
        "paths = {_comparable(path, on_hdfs) for request in plan.requests for path in request.files}",
        "paths = {path for request in plan.requests for path in request.files}",
        "a stored rollback is planned anew, since it says s3a",
        ("ops/undo/test_planning.py",),
    ),
    Fault(
        REMOVALS,
        "all(_comparable(table.storage.absolute(file.path), on_hdfs) in paths",
        "all(any(path.endswith(file.path) for path in paths)",
        "the stored rollback of another table passes for this one's in a copy",
        ("ops/undo/test_planning.py",),
    ),
    Fault(
        FILES,
        "ordered[start : start + size]",
        "ordered[start : start + size - 1]",
        "the last file of each batch stays",
        ("ops/undo/test_execute.py",),
    ),
    Fault(
        FILES,
        "    if failed:\n",
        "    if len(failed) > 1:\n",
        "one file that could not be deleted is not told with its reason",
        ("ops/undo/test_execute.py",),
    ),
    Fault(
        FILES,
        "    delete_all(table.storage, [heartbeat_path(time) for time in sorted(times)])\n",
        "",
        "the heartbeat of a removed instant stays",
        ("ops/undo/test_execute.py",),
    ),
    Fault(
        FILES,
        "    delete_all(table.storage, [heartbeat_path",
        "    table.storage.delete([heartbeat_path",
        "a heartbeat that cannot be deleted stays, and nobody is told",
        ("ops/undo/test_execute.py",),
    ),
    Fault(
        FILES,
        ("        time.sleep(min(1.0, left))\n        monitor.check()"),
        "        time.sleep(min(1.0, left))",
        "Ctrl-C is not heard while queries are waited for",
        ("ops/undo/test_execute.py",),
    ),
    Fault(
        FILES,
        ("        if folder in times:\n            table.storage.delete_folder"),
        ("        if folder not in times:\n            table.storage.delete_folder"),
        "markers of other writers are deleted",
        ("ops/undo/test_execute.py",),
    ),
    Fault(
        "table/files/hashing.py",
        (
            "    uncommit_hashing_metadata(table, files)\n"
            "    _delete(table, {HashingFile(file.folder, file.instant, commits=False) for "
            "file in files})"
        ),
        (
            "    _delete(table, {HashingFile(file.folder, file.instant, commits=False) for "
            "file in files})\n"
            "    uncommit_hashing_metadata(table, files)"
        ),
        "for a moment buckets count whose description is gone",
        ("table/files/test_hashing.py",),
    ),
    Fault(
        VERIFY,
        "    left = [file.path",
        "    if needed is None:\n        return\n    left = [file.path",
        "a rollback beside writers proves no deletion",
        ("ops/undo/test_verify.py::test_the_rollback_of_a_failed_write_proves_its_deletions_too",),
    ),
    Fault(
        REMOVALS,
        "action=DELTACOMMIT if action == LOGCOMPACTION else action,",
        "action=action,",
        "Hudi's own resume ends at a log compaction",
        ("ops/restore/test_log_compaction.py::test_no_plan_names_the_action",),
    ),
    Fault(
        "ops/undo/hashing.py",
        "    if left:\n",
        "    if not left:\n        return\n    if False:\n",
        "hashing metadata that is left passes",
        ("ops/undo/test_hashing.py::test_what_comes_back_keeps_it_pending",),
    ),
    Fault(
        UNTOUCHED,
        "    absent = facts.sweep.absent(names)\n",
        "    absent: list[str] = []\n",
        "a rollback that has deleted files is discarded",
        ("ops/undo/test_untouched.py::test_not_where_a_file_of_its_plan_is_missing",),
    ),
    Fault(
        UNTOUCHED,
        "if target is None or not target.completed:",
        "if target is None:",
        "a rollback that has un-published its target is discarded",
        ("ops/undo/test_untouched.py::test_not_where_its_target_is_not_completed_any_more",),
    ),
)
