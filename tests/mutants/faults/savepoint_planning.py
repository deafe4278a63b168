"""Savepoints: what keeps one from being planned, and what is read of one that is there."""

from tests.mutants.fault import Fault

PLANNING = "ops/savepoint/planning.py"
SESSION = "ops/session.py"

FAULTS = (
    Fault(
        "ops/savepoint/planning.py",
        "    if instant is None:\n        # Also where",
        "    if False:\n        # Also where",
        "beside a pending restore the newest commit's savepoint counts as one of now",
        (
            "ops/savepoint/test_savepoint.py::test_a_pending_restore_comes_first_where_the_newest_commit_has_a_savepoint",
        ),
    ),
    Fault(
        PLANNING,
        "if instant is not None else _newest",
        "if instant else _newest",
        "an empty name makes a savepoint on the newest commit",
        ("ops/savepoint/test_guards.py::test_a_name_without_letters_is_not_the_newest_commit",),
    ),
    Fault(
        SESSION,
        "    writable_table(session.table, session.locking)\n",
        "",
        "a savepoint is made of a table that hudictl must not change, or deleted",
        ("ops/savepoint/test_guards.py::test_none_is_planned_and_no_deletion",),
    ),
    Fault(
        SESSION,
        "    known_timeline(session.table, signs.timeline)\n",
        "",
        "a savepoint is made, or deleted, beside an action that hudictl does not know",
        ("ops/savepoint/test_guards.py::test_none_is_planned_and_no_deletion",),
    ),
    Fault(
        PLANNING,
        "    if has is not None and asked not in (None, has):\n",
        "    if False:\n",
        "the savepoint of a night is another series', which deletes it, and all exit codes are 0",
        ("cli/test_savepoint_prune.py::test_13_where_the_newest_commit_has_one_of_another_series",),
    ),
    Fault(
        PLANNING,
        "existing is not None and existing.completed:",
        "existing is not None:",
        "a lone inflight savepoint cannot be completed",
        ("ops/savepoint/test_savepoint.py::test_a_lone_inflight_file_may_be_another_process_in_the_act",),
    ),
    Fault(
        PLANNING,
        "session.monitor.note, without=without, known=known)",
        "session.monitor.note, without=without)",
        "a new savepoint names no file of a partition that the metadata table alone knows",
        ("ops/savepoint/test_guards.py::test_it_names_what_only_the_metadata_table_knows",),
    ),
    Fault(
        PLANNING,
        "    return frozenset.intersection(*(way.times for way in ways))\n",
        "    return frozenset()\n",
        "a damaged later commit keeps a savepoint from being made",
        ("ops/savepoint/test_guards.py::test_the_metadata_of_what_every_way_back_removes_is_not_read",),
    ),
    Fault(
        PLANNING,
        "    return frozenset.intersection(*(way.times for way in ways))\n",
        "    return frozenset().union(*(way.times for way in ways))\n",
        "what a write that one way keeps has written is not read",
        ("ops/savepoint/test_guards.py::test_a_saved_plan_is_of_this_commit_and_these_files",),
    ),
    Fault(
        PLANNING,
        "    needed = check_files(facts, session.engine, commit, ways)\n",
        "    needed = possible_way(ways).outcome\n",
        "a savepoint is made to which no restore is possible",
        ("ops/savepoint/test_guards.py::test_a_partition_that_looks_like_another_table_is_refused",),
    ),
    Fault(
        PLANNING,
        "    liveness.no_lock_in_use(table, signs, session.locking)\n",
        "",
        "a savepoint is made beside a writer that holds its lock",
        ("ops/savepoint/test_guards.py::test_none_is_planned_and_no_deletion",),
    ),
    Fault(
        "ops/guards/timeline.py",
        "    for restore in signs.restores:\n",
        "    for restore in ():\n",
        "a savepoint is made beside a pending restore",
        ("ops/savepoint/test_guards.py::test_a_restore_that_died_before_its_plan_was_written_comes_first",),
    ),
    Fault(
        "ops/guards/timeline.py",
        "    for restore in signs.restores:\n",
        "    for restore in signs.planned_restores:\n",
        "a savepoint is made beside a restore without readable plan",
        ("ops/savepoint/test_guards.py::test_a_restore_that_died_before_its_plan_was_written_comes_first",),
    ),
    Fault(
        PLANNING,
        "    guards.completed_once(commit)\n",
        "",
        "a savepoint stands on an instant with two completed files",
        ("ops/savepoint/test_guards.py::test_none_stands_on_a_commit_that_was_completed_twice",),
    ),
    Fault(
        PLANNING,
        "        if entry.target in (None, commit.time):\n",
        "        if entry.target == commit.time:\n",
        "a savepoint is made on a commit that an unreadable rollback may take back",
        ("ops/savepoint/test_savepoint.py::test_a_pending_rollback_takes_the_commit_back",),
    ),
    Fault(
        PLANNING,
        "        if entry.target in (None, commit.time):\n",
        "        if True:\n",
        "a pending rollback of another instant keeps all savepoints from being made",
        ("ops/savepoint/test_guards.py::test_the_pending_rollback_of_another_instant_is_not_in_the_way",),
    ),
    Fault(
        PLANNING,
        "    for entry in signs.live_rollbacks:\n",
        "    for entry in signs.rollbacks:\n",
        "a rollback that is left over keeps a commit from a savepoint",
        ("ops/savepoint/test_guards.py::test_a_rollback_that_a_completed_restore_has_left_is_not_in_the_way",),
    ),
    Fault(
        PLANNING,
        "for entry in at_work(signs.timeline) if entry.time < commit.time]",
        "for entry in at_work(signs.timeline)]",
        "a savepoint waits for newer writes, which are none of its business",
        ("ops/savepoint/test_guards.py::test_pending_writes_that_are_newer_are_none_of_its_business",),
    ),
    Fault(
        PLANNING,
        "    if writing and not options.allow_pending:\n",
        "    if False:\n",
        "a savepoint is made without a word of older pending writes",
        ("ops/savepoint/test_savepoint.py::test_an_older_write_that_is_pending_may_complete_later",),
    ),
    Fault(
        PLANNING,
        "    if idle_ms < options.idle_ms and not",
        "    if idle_ms < 0 and not",
        "two processes make one savepoint",
        ("ops/savepoint/test_savepoint.py::test_a_lone_inflight_file_may_be_another_process_in_the_act",),
    ),
    Fault(
        PLANNING,
        " < _SOON_MS:\n",
        " < _SOON_MS * 1000:\n",
        "a savepoint that another program is making passes for one that failed long ago",
        ("ops/savepoint/test_savepoint.py::test_what_failed_before_its_end_goes_on_at_once",),
    ),
    Fault(
        PLANNING,
        "        if found.last.exit_code == 0:\n            return False\n",
        "",
        "a savepoint that another program is making passes for one that was made and deleted",
        ("ops/savepoint/test_savepoint.py::test_what_failed_before_its_end_goes_on_at_once",),
    ),
    Fault(
        PLANNING,
        "    file_guards.no_other_table(facts)\n",
        "",
        "a savepoint is made of partitions that are another table's",
        ("ops/savepoint/test_guards.py::test_a_partition_that_looks_like_another_table_is_refused",),
    ),
    Fault(
        PLANNING,
        "    way = possible_way(ways)\n",
        "    way = ways[0]\n",
        "a savepoint is refused that can be restored by the other way",
        ("ops/savepoint/test_guards.py::test_one_way_back_is_enough",),
    ),
    Fault(
        PLANNING,
        "    file_guards.no_clean_in_the_way(way.outcome.cleans)\n",
        "",
        "a savepoint is made whose files a pending clean takes",
        ("ops/savepoint/test_savepoint.py::test_a_pending_clean_of_its_files_is_in_the_way",),
    ),
    Fault(
        PLANNING,
        "if entry.time < oldest]",
        "]",
        "a savepoint is made on a commit with an older pending write",
        ("ops/savepoint/test_savepoint.py::test_an_older_write_that_is_pending_may_complete_later",),
    ),
    Fault(
        PLANNING,
        "    if is_protection(metadata):\n",
        "    if False:\n",
        "a savepoint counts as there that hudictl takes away",
        ("ops/savepoint/test_guards.py::test_a_restores_own_savepoint_is_none",),
    ),
    Fault(
        PLANNING,
        "without=without, savepointed=saved.partitions, known=known)",
        "without=without, known=known)",
        "files are missed in a partition that the savepoint alone names",
        ("ops/savepoint/test_guards.py::test_a_partition_that_it_alone_names_is_looked_into",),
    ),
    Fault(
        PLANNING,
        "without=without, savepointed=saved.partitions, known=known)",
        "without=without, savepointed=saved.partitions)",
        "a savepoint is called whole that lacks a partition which the metadata table alone knows",
        ("ops/savepoint/test_guards.py::test_it_names_what_only_the_metadata_table_knows",),
    ),
    Fault(
        PLANNING,
        "    ways = ways_back(facts, commit, saved, pending_cleans(facts.timeline))\n",
        "    ways = ways_back(facts, commit, NOTHING_SAVED, pending_cleans(facts.timeline))\n",
        "a savepoint is called whole though a file that it names is gone",
        ("ops/savepoint/test_guards.py::test_one_that_is_there_is_proved_by_all_that_it_names",),
    ),
    Fault(
        PLANNING,
        "    file_guards.nothing_rolled_back(facts, session.engine, needed, files, f",
        "    (lambda *_: None)(f",
        "a savepoint keeps files of rolled-back writes for ever",
        ("ops/savepoint/test_guards.py::test_a_file_of_a_rolled_back_write_is_not_kept",),
    ),
    Fault(
        PLANNING,
        "    check_files(facts, session.engine, commit, ways)\n    own_files_only(facts, ways)\n    added",
        "    own_files_only(facts, ways)\n    added",
        "a savepoint that is there is not proved",
        ("ops/savepoint/test_guards.py::test_one_that_is_there_is_proved_by_all_that_it_names",),
    ),
    Fault(
        PLANNING,
        "    added = unprotected(facts, ways)\n",
        "    added: list[str] = []\n",
        "a savepoint that names too little is called whole",
        ("ops/savepoint/test_guards.py::test_it_names_what_only_the_metadata_table_knows",),
    ),
    Fault(
        PLANNING,
        "        user=metadata.saved_by,\n",
        "        user=options.user,\n",
        "a savepoint that is made whole has another user",
        ("ops/savepoint/test_guards.py::test_one_that_is_there_keeps_its_user_and_comment",),
    ),
    Fault(
        PLANNING,
        "        comment=metadata.comment,\n",
        "        comment=options.comment,\n",
        "a savepoint that is made whole loses its comment",
        ("ops/savepoint/test_guards.py::test_one_that_is_there_keeps_its_user_and_comment",),
    ),
    Fault(
        PLANNING,
        "        completes_interrupted=existing is not None,\n",
        "        completes_interrupted=False,\n",
        "nobody is told that an interrupted savepoint is completed",
        ("ops/savepoint/test_savepoint.py::test_a_lone_inflight_file_may_be_another_process_in_the_act",),
    ),
    Fault(
        PLANNING,
        (
            "        exists=True,\n"
            "        warnings=_warnings(session, facts, without, files),\n"
            "        files_added=len(added),\n"
            "        completes_interrupted=False,\n"
            "        chosen=chosen,\n"
        ),
        (
            "        exists=True,\n"
            "        warnings=_warnings(session, facts, without, files),\n"
            "        files_added=len(added),\n"
            "        completes_interrupted=False,\n"
            "        chosen=False,\n"
        ),
        "the plan does not say that nobody has named the commit",
        ("ops/savepoint/test_guards.py::test_one_that_is_there_keeps_its_user_and_comment",),
    ),
    Fault(
        PLANNING,
        "        bytes=facts.sweep.bytes_of(files),\n",
        "        bytes=0,\n",
        "a savepoint that is there is said to be empty",
        ("ops/savepoint/test_guards.py::test_one_that_is_there_keeps_its_user_and_comment",),
    ),
    Fault(
        PLANNING,
        "metadata_guards.empty_files(facts, without) if",
        "[] if",
        "a savepoint is made beside an empty file, and nobody says that a restore to it is refused",
        ("ops/savepoint/test_guards.py::test_an_empty_file_that_a_restore_refuses_is_said",),
    ),
    Fault(
        PLANNING,
        "metadata_guards.empty_files(facts, without) if",
        "metadata_guards.empty_files(facts, ()) if",
        "an empty file that a restore removes is said to keep it from running",
        ("ops/savepoint/test_guards.py::test_an_empty_file_that_a_restore_refuses_is_said",),
    ),
    Fault(
        PLANNING,
        "if Settings(session.locking.settings).flag(ARCHIVE_BEYOND_SAVEPOINT):",
        "if False:",
        "nobody says that the writers archive beyond the savepoint",
        ("ops/savepoint/test_guards.py::test_writers_that_archive_beyond_savepoints_are_said",),
    ),
    Fault(
        PLANNING,
        "    needed = check_files(facts, session.engine, commit, ways)\n    own_files_only(facts, ways)\n",
        "    needed = check_files(facts, session.engine, commit, ways)\n",
        "a savepoint is made to which hudictl cannot restore",
        ("ops/savepoint/test_guards.py::test_none_is_made_before_a_commit_that_no_restore_can_take_back",),
    ),
    Fault(
        PLANNING,
        "    own_files_only(facts, ways)\n    added",
        "    added",
        "an old savepoint is mended to which hudictl cannot restore",
        ("ops/savepoint/test_guards.py::test_none_is_made_before_a_commit_that_no_restore_can_take_back",),
    ),
    Fault(
        "reports/health/files.py",
        "    later = {log for _, log, shared in held if not shared}\n",
        "    later = set()\n",
        "check asks a savepoint for logs of later commits, from before an upgrade",
        ("ops/savepoint/test_guards.py::test_none_is_made_before_a_commit_that_no_restore_can_take_back",),
    ),
)
