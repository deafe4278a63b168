"""Orphans: the guards of their deletion, its order, and what its plan rests on."""

from tests.mutants.fault import Fault

OPS = "ops/clean_up/orphans.py"
UNLIST = "ops/metadata/unlist.py"
TIMELINE = "ops/guards/timeline.py"
KEEP = "ops/metadata/keep.py"
OF_LEFT = ("ops/clean_up/test_orphans_left.py",)

FAULTS = (
    Fault(
        OPS,
        "    if written.unreadable:\n",
        "    if False:\n",
        "a file is deleted that a commit may name which cannot be read any more",
        ("ops/clean_up/test_orphans.py::test_a_commit_that_cannot_be_read_by_then_keeps_all",),
    ),
    Fault(
        OPS,
        "    writable_table(table, session.locking)\n",
        "",
        "orphans are deleted of a table that hudictl must not change",
        ("ops/clean_up/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        OPS,
        ("    signs = read_signs(table)\n    _check_signs(session, signs)\n\n"),
        ("    signs = read_signs(table)\n\n"),
        "a deletion of orphans is planned beside a writer that holds its lock",
        ("ops/clean_up/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        OPS,
        "    if drops or metadata_table.lost:\n        _can_be_built(table, signs, metadata_table)\n",
        "",
        "the metadata table goes while an indexing is the timeline's last",
        ("ops/guards/test_metadata.py::test_orphans_wait_where_an_indexing_is_the_newest_instant",),
    ),
    Fault(
        OPS,
        (
            "        liveness.no_running_write(table, signs, signs.timeline.instants, options.idle_ms, "
            "facts.sweep, ())\n"
        ),
        "        liveness.no_running_write(table, signs, signs.timeline.instants, options.idle_ms, None, ())\n",
        "a writer that shows only by the files it writes loses its metadata table",
        (
            "ops/clean_up/test_orphans_guards.py::test_a_pending_write_that_shows_by_its_files_alone_keeps_the_metadata_table",
        ),
    ),
    Fault(
        OPS,
        '            "metadata table": metadata_facts(metadata_table),\n',
        "",
        "a saved plan drops a metadata table that came since",
        ("ops/clean_up/test_orphans_guards.py::test_a_saved_plan_is_of_these_files_and_this_metadata_table",),
    ),
    Fault(
        OPS,
        "((orphan.file.path, orphan.file.size or 0) for orphan in orphans), (file.path",
        "(), (file.path",
        "a saved plan deletes files that nobody has agreed to",
        ("ops/clean_up/test_orphans_guards.py::test_a_saved_plan_is_of_these_files_and_this_metadata_table",),
    ),
    Fault(
        OPS,
        "((orphan.file.path, orphan.file.size or 0) for orphan in orphans), (file.path",
        "((orphan.file.path, 0) for orphan in orphans), (file.path",
        "a saved plan deletes a file that has grown since",
        ("ops/clean_up/test_orphans_guards.py::test_a_saved_plan_is_of_these_files_and_this_metadata_table",),
    ),
    Fault(
        OPS,
        "**table_fingerprint(table, asdict(options)),",
        "**table_fingerprint(table, {}),",
        "a saved plan is applied with other options",
        ("ops/clean_up/test_orphans_guards.py::test_a_saved_plan_is_of_what_was_asked_for",),
    ),
    Fault(
        OPS,
        "        return self.metadata_table.lost\n",
        "        return ()\n",
        "nobody is told of the indexes that go",
        ("ops/clean_up/test_orphans.py::test_orphans_go_with_the_metadata_table_where_this_is_asked_for",),
    ),
    Fault(
        OPS,
        "        metadata_table_unread=facts.known.unread if drops else None,\n",
        "",
        "nobody is told that the metadata table could not be compared",
        ("ops/clean_up/test_orphans_guards.py::test_a_metadata_table_that_cannot_be_read_is_told",),
    ),
    Fault(
        OPS,
        "        partition_metafiles_made=bare,\n",
        "        partition_metafiles_made=(),\n",
        "partitions that only the metadata table knows vanish with it",
        (
            "ops/clean_up/test_orphans_guards.py::test_what_the_metadata_table_does_not_list_goes_from_a_folder_without_metafile",
        ),
    ),
    Fault(
        OPS,
        "    file_guards.metafiles_can_be_made(facts.table, needed)\n",
        "",
        "a metafile is made that hides partitions below, or in a folder that is not there",
        ("ops/clean_up/test_orphans_guards.py::test_where_a_metafile_cannot_be_made_the_metadata_table_stays",),
    ),
    Fault(
        OPS,
        "    metadata_guards.nothing_lost_or_gained(gap.without(paths))\n",
        "",
        "the metadata table goes though readers see other rows without it",
        ("ops/guards/test_metadata.py::test_orphans_that_readers_find_through_it_alone_stay",),
    ),
    Fault(
        OPS,
        "nothing_lost_or_gained(gap.without(paths))",
        "nothing_lost_or_gained(gap)",
        "orphans that the metadata table keeps from readers cannot be deleted",
        (
            "ops/clean_up/test_orphans_guards.py::test_where_one_that_the_metadata_table_hides_cannot_go_it_stays_in_use",
        ),
    ),
    Fault(
        OPS,
        "    known_timeline(session.table, signs.timeline)\n",
        "",
        "orphans are deleted beside an action that hudictl does not know",
        ("ops/clean_up/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        OPS,
        "    liveness.no_lock_in_use(session.table, signs, session.locking)\n",
        "",
        "orphans are deleted beside a writer that holds its lock",
        ("ops/clean_up/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        OPS,
        "    clock.writers_zone(session.table, signs.timeline)\n",
        "",
        "orphans are judged in a wrong time zone",
        ("ops/guards/test_clock.py::test_a_command_in_another_zone_than_the_writers_is_refused",),
    ),
    Fault(
        TIMELINE,
        "[*(entry.instant for entry in signs.restores), *(entry.instant for entry in signs.live_rollbacks)]",
        "[*(entry.instant for entry in signs.restores)]",
        "orphans are deleted beside a pending rollback",
        ("ops/clean_up/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        TIMELINE,
        "[*(entry.instant for entry in signs.restores), *(entry.instant for entry in signs.live_rollbacks)]",
        "[*(entry.instant for entry in signs.live_rollbacks)]",
        "orphans are deleted beside a pending restore",
        ("ops/clean_up/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        TIMELINE,
        "for entry in signs.live_rollbacks)]",
        "for entry in signs.rollbacks)]",
        "a rollback that is left over keeps orphans for ever",
        ("ops/clean_up/test_orphans_guards.py::test_a_rollback_that_a_completed_restore_has_left_is_not_in_the_way",),
    ),
    Fault(
        TIMELINE,
        "*(entry.instant for entry in signs.restores),",
        "*(entry.instant for entry in signs.planned_restores),",
        "orphans are deleted beside a restore without readable plan",
        ("ops/clean_up/test_orphans_guards.py::test_none_is_planned",),
    ),
    Fault(
        OPS,
        ("    if not plan.orphans:\n        return OrphanResult(0, 0, (), plan.metadata_table.fate, undo)\n"),
        "",
        "a command with nothing to do takes the claim and writes a record",
        ("ops/clean_up/test_orphans_guards.py::test_without_orphans_nothing_is_changed_and_nothing_said_to_go",),
    ),
    Fault(
        OPS,
        "    recover_properties(table.storage)\n",
        "",
        "an interrupted update of the properties stays beside the deletion of orphans",
        ("ops/clean_up/test_orphans_guards.py::test_an_interrupted_update_of_the_properties_is_ended_first",),
    ),
    Fault(
        OPS,
        ("        _prepare(session, run.held, plan, time)\n        drop_metadata_table(table, time)\n"),
        "        _prepare(session, plan, time)\n",
        "files go while the metadata table lists them",
        ("ops/clean_up/test_orphans_guards.py::test_the_metadata_table_is_out_of_use_before_files_go",),
    ),
    Fault(
        OPS,
        ("return _with_slices(session.table, plan, left)"),
        "return left",
        "of a slice one log goes that takes back what stands in the other",
        (
            (
                ""
                "ops/clean_up/test_orphans_guards.py::test_a_log_that_changes_stays_with_its_slice_though_the_metadata_table_hides_it"
            ),
        ),
    ),
    Fault(
        OPS,
        "    delete_dropped(table, time)\n",
        "",
        "the dropped metadata table stays",
        ("ops/clean_up/test_orphans.py::test_orphans_go_with_the_metadata_table_where_this_is_asked_for",),
    ),
    Fault(
        OPS,
        "bytes_deleted=sum(file.size or 0 for file in files),",
        "bytes_deleted=plan.bytes_to_delete,",
        "bytes that stayed are said to be deleted",
        ("ops/clean_up/test_orphans_guards.py::test_what_a_new_commit_has_built_on_stays_and_is_not_counted",),
    ),
    Fault(
        OPS,
        "        create_metafile(session.table, partition, time)\n",
        "        pass\n",
        "a partition without metafile vanishes with the metadata table",
        ("ops/guards/test_metadata.py::test_orphans_that_readers_find_through_it_alone_stay",),
    ),
    Fault(
        OPS,
        "    for path, error in delete_data_files(session, held, (file for file in first if file.path not in left)):\n",
        (
            "    for path, error in delete_data_files(session, held, (file for file in first if file.path not "
            "in left)) and ():\n"
        ),
        "the metadata table goes though it alone keeps rows from readers",
        (
            "ops/clean_up/test_orphans_guards.py::test_where_one_that_the_metadata_table_hides_cannot_go_it_stays_in_use",
        ),
    ),
    Fault(
        OPS,
        "    left = _staying(session, plan) if first else set()\n",
        "    left = _owned_by_now(session, plan) if first else set()\n",
        "a log that somebody has written into goes before the metadata table does",
        (
            (
                ""
                "ops/clean_up/test_orphans_guards.py::test_a_log_that_changes_stays_with_its_slice_though_the_metadata_table_hides_it"
            ),
        ),
    ),
    Fault(
        OPS,
        "    taken = {entry.time for entry in timeline.instants} | named.built_on\n",
        "    taken = {entry.time for entry in timeline.instants}\n",
        "a file goes on whose instant a commit has built since",
        ("ops/clean_up/test_orphans_guards.py::test_what_a_new_commit_has_built_on_stays_and_is_not_counted",),
    ),
    Fault(
        OPS,
        "if orphan.file.path in left and not orphan.file.data.is_base}",
        "if orphan.file.path in left}",
        "with a base file that stays stay its logs",
        ("ops/clean_up/test_orphans_guards.py::test_a_base_file_that_stays_below_version_8_keeps_no_log_upon_it",),
    ),
    Fault(
        OPS,
        ("    if table.rules.logs_named_by_writer:\n        return left\n"),
        "",
        "from version 8 on a log keeps the others of its instant",
        ("ops/clean_up/test_orphans_guards.py::test_from_version_8_on_each_log_is_its_own",),
    ),
    Fault(
        OPS,
        "if asked or (grow and not",
        "if asked or (not",
        "a log of version 8 that was copied anew stays",
        ("ops/clean_up/test_orphans_guards.py::test_from_version_8_on_each_log_is_its_own",),
    ),
    Fault(
        OPS,
        "if now.get(file.path) != (file.size, file.modified_ms)}",
        "if now.get(file.path, (0, 0))[0] != file.size}",
        "a log that was written anew with the same size is deleted",
        ("ops/clean_up/test_orphans_guards.py::test_a_log_below_version_8_has_changed_by_its_size_or_by_its_time",),
    ),
    Fault(
        OPS,
        "if now.get(file.path) != (file.size, file.modified_ms)}",
        "if now.get(file.path, (0, 0))[1] != file.modified_ms}",
        "a log that has grown within one tick of the clock is deleted",
        ("ops/clean_up/test_orphans_guards.py::test_a_log_below_version_8_has_changed_by_its_size_or_by_its_time",),
    ),
    Fault(
        OPS,
        "    if quiet_ms >= options.idle_ms:\n",
        "    if abs(quiet_ms) >= options.idle_ms:\n",
        "a file of a clock that is ahead goes under its writer",
        ("ops/clean_up/test_orphans_guards.py::test_a_file_from_a_clock_that_is_ahead_stays",),
    ),
    Fault(
        OPS,
        "    left = _staying(session, plan) if first else set()\n",
        "    left = _owned_by_now(session, plan) | _written_since(session, plan) if first else set()\n",
        "of a slice that the metadata table hides one log goes that takes back what stands in the other",
        (
            (
                ""
                "ops/clean_up/test_orphans_guards.py::test_a_log_that_changes_stays_with_its_slice_though_the_metadata_table_hides_it"
            ),
        ),
    ),
    Fault(
        OPS,
        "    if plan.metadata_table.mode is Mode.DELETE or plan.metadata_table.lost:\n"
        "        _can_be_built(table, signs, plan.metadata_table)\n",
        "",
        "the metadata table goes beside an indexing that has completed since planning",
        (
            (
                ""
                "ops/clean_up/test_orphans_second_looks.py::test_an_indexing_that_has_completed_since_planning_keeps_the_metadata_table"
            ),
        ),
    ),
    Fault(
        UNLIST,
        "    if not count:\n        return unchanged(table)\n",
        "    if count:\n        return unchanged(table)\n",
        "a metadata table that lists an orphan is not changed",
        ("ops/clean_up/test_orphans_kept_metadata_table.py",),
    ),
    Fault(
        UNLIST,
        "    if listing is None:\n",
        "    if listing is None:\n        return unchanged(table)\n",
        "a metadata table that cannot be read is kept",
        ("ops/clean_up/test_orphans_guards.py::test_a_metadata_table_that_cannot_be_read_is_told",),
    ),
    Fault(
        OPS,
        "        left |= listed(_listing(session), (orphan.file for orphan in plan.orphans))\n",
        "        pass\n",
        "a file is deleted that the kept metadata table lists by now",
        ("ops/clean_up/test_orphans_kept_metadata_table.py",),
    ),
    Fault(
        OPS,
        "        wrong = other is Other.BEGUN or bool(listed(_listing(session), files))\n",
        "        wrong = other is Other.BEGUN\n",
        "a kept metadata table that lists a deleted file by now is not told",
        ("ops/clean_up/test_orphans_kept_metadata_table.py",),
    ),
    Fault(
        OPS,
        "        wrong = other is Other.BEGUN or bool(listed(_listing(session), files))\n",
        "        wrong = bool(listed(_listing(session), files))\n",
        "a metadata table that is being made beside the deletion is not told",
        ("ops/clean_up/test_orphans_kept_metadata_table.py",),
    ),
    Fault(
        OPS,
        "    metadata_guards.record_index_can_be_built(table, signs.timeline, plan.lost_in_use)\n",
        "",
        "Hudi 0.15.0 cannot build the record index again, and each write fails",
        ("ops/guards/test_record_index_rebuilt.py",),
    ),
    Fault(
        OPS,
        "        forget_ended(table, plan.unfinished)\n",
        "        pass\n",
        "what a deletion that died has put aside stays for ever",
        OF_LEFT,
    ),
    Fault(
        OPS,
        "    if not plan.orphans:\n        return OrphanResult(0, 0, (), plan.metadata_table.fate, undo)\n",
        "",
        "a rerun without orphans takes the rest of its own metadata table for a writer's, and never ends well",
        OF_LEFT,
    ),
    Fault(
        KEEP,
        "found.operation == kind.value)",
        "found)",
        "what another operation has put aside is deleted",
        ("ops/metadata/test_drop.py",),
    ),
    Fault(
        "ops/clean_up/orphans.py",
        "        files = [file for file in files if file.path in there]\n",
        "",
        "an undo waits for an orphan that another program has deleted",
        ("ops/put_back/test_drop.py::test_an_orphan_that_another_program_has_deleted_is_not_waited_for",),
    ),
)
