"""Keeping the metadata table through a restore or rollback: its record, its own rollback, its listing, its return."""

from tests.mutants.fault import Fault

KEEP = "ops/metadata/keep.py"
LISTED = "table/files/listed.py"
RECORD = "state/metadata/record.py"
EXECUTE = "ops/restore/execute.py"
ROLLBACK = "ops/rollback/execute.py"
LEFTOVERS = "ops/restore/leftovers.py"
WITHDRAW = "ops/restore/withdraw.py"
PLANNING = "ops/restore/planning.py"
TEST = "ops/metadata/test_keep.py"
OWN_ROLLBACK = "ops/metadata/test_keep_own_rollback.py"
OF_RECORD = "state/metadata/test_record.py"
OF_RESTORE = "ops/restore/test_metadata_table.py"
OF_KEPT = "ops/restore/test_kept_metadata_table.py"
NEW_ONE = "ops/restore/test_new_metadata_table.py"
OF_ROLLBACK = "ops/rollback/test_metadata_aside.py"
OF_WITHDRAWAL = "ops/restore/test_withdraw.py"

FAULTS = (
    # The record, and what is recorded.
    Fault(
        KEEP,
        "        return Mode.DELETE.value if self.given_up else plan.fate\n",
        "        return plan.fate\n",
        "a metadata table that was deleted is said to be rolled back",
        (f"{OF_RESTORE}::test_where_it_still_differs_from_storage_it_is_given_up",),
    ),
    Fault(
        KEEP,
        "    found = still_kept(table, time)\n    if found is not None or not plan.keeps:\n        return found\n",
        "    if not plan.keeps:\n        return None\n",
        "a rerun plans again for a metadata table that is half rolled back",
        (f"{TEST}::test_the_record_of_an_earlier_attempt_wins",),
    ),
    Fault(
        KEEP,
        "    metadata = unchanged(table, plan)\n",
        "    metadata = open_metadata_table(table) or table\n",
        "a delta commit that came since planning is not undone, and lists files that are deleted",
        (f"{TEST}::test_a_metadata_table_that_has_changed_since_planning_is_a_conflict",),
    ),
    Fault(
        KEEP,
        "fmt.time_plus_ms(max(time, last), 1))\n",
        "fmt.time_plus_ms(time, 1))\n",
        "the delta commit that is added has the time of a pending rollback, and readers do not count it",
        (f"{OWN_ROLLBACK}::test_its_delta_commit_is_later_than_all_that_the_operation_uses",),
    ),
    Fault(
        KEEP,
        "    table.storage.replace(record_path(time), encode_record(kept))\n    return kept\n",
        "    return kept\n",
        "after a death nothing tells that the metadata table is set aside, and it is lost",
        (f"{TEST}::test_nothing_of_the_metadata_table_changes_before_the_record_is_written",),
    ),
    Fault(
        KEEP,
        "frozenset(load_timeline(metadata).sizes) != plan.timeline:\n",
        "False:\n",
        "a table service of the metadata table that began since planning is not noticed",
        (f"{TEST}::test_a_metadata_table_that_has_changed_since_planning_is_a_conflict",),
    ),
    Fault(
        RECORD,
        "        tuple(sorted(plan.hidden)), tuple",
        "        (), tuple",
        "after a death files of dead writers are listed, and become rows",
        (f"{OF_RECORD}::test_what_is_written_is_read",),
    ),
    Fault(
        RECORD,
        "{file.data.name: file.size or 0 for file in fate.files})",
        "{})",
        "after a death files of undone instants stay in the metadata table",
        (f"{OF_RECORD}::test_what_is_written_is_read",),
    ),
    Fault(
        RECORD,
        "        if record.schema_version != _SCHEMA_VERSION:\n",
        "        if False:\n",
        "the record of a later release is read as if it were of this one",
        (f"{OF_RECORD}::test_a_damaged_record_is_told",),
    ),
    Fault(
        RECORD,
        "sorted(times_aside(table) - pending, ",
        "sorted(times_aside(table), ",
        "the metadata table of a pending restore is deleted as a leftover",
        (f"{OF_RECORD}::test_only_records_of_ended_operations_are_left",),
    ),
    Fault(
        RECORD,
        "for name in before if name in self.plan.kept)",
        "for name in before)",
        "an index whose folder is deleted is listed again",
        (f"{OF_RECORD}::test_it_has_what_lists_the_metadata_table",),
    ),
    Fault(
        RECORD,
        '{key: listed.get(key, "") for key in PARTITION_KEYS})',
        '{key: listed.get(key, "") for key in PARTITION_KEYS[:1]})',
        "a withdrawn restore forgets which index was being built",
        (f"{OWN_ROLLBACK}::test_one_that_was_only_set_aside_comes_back_with_what_was_to_be_lost",),
    ),
    # Out of use.
    Fault(
        KEEP,
        "    return drop_metadata_table(table, time)\n",
        "    return False\n",
        "another metadata table stays in use while the files that it lists are deleted",
        (f"{TEST}::test_another_one_in_its_place_is_seen_and_gives_way",),
    ),
    Fault(
        KEEP,
        "    return look(table, kept.aside if kept is not None else keeping_none(time))\n",
        "    return look(table, keeping_none(time))\n",
        "on an object store each operation stops at its own metadata table, for ever",
        (f"{TEST}::test_it_is_taken_out_of_use_as_often_as_one_likes",),
    ),
    # Its own rollback.
    Fault(
        KEEP,
        "    if not set_aside(table, kept.aside):\n        return _given_up(",
        "    if not set_aside(table, kept.aside) and False:\n        return _given_up(",
        "files of another writer's metadata table are deleted",
        (f"{TEST}::test_one_that_is_lost_is_given_up",),
    ),
    Fault(
        KEEP,
        "    except (Unreadable, Unsupported) as error:\n        wrong = error.message\n",
        "    except Unreadable as error:\n        wrong = error.message\n",
        "a log of an unknown kind in the metadata table stops the restore for ever",
        (f"{OWN_ROLLBACK}::test_one_that_cannot_be_read_never_stops_the_operation",),
    ),
    Fault(
        KEEP,
        "    except (Unreadable, Unsupported) as error:\n        wrong = error.message\n",
        "    except Unsupported as error:\n        wrong = error.message\n",
        "damage of the metadata table stops the restore for ever",
        (f"{TEST}::test_one_that_cannot_be_read_is_given_up",),
    ),
    Fault(
        KEEP,
        "    return _given_up(table, kept, wrong) if wrong else MetadataOutcome(kept.plan.kept)\n",
        "    return MetadataOutcome(kept.plan.kept)\n",
        "a metadata table that differs from storage is put back, and readers miss rows",
        (f"{TEST}::test_one_that_still_differs_from_storage_is_given_up",),
    ),
    Fault(
        KEEP,
        "            metadata.storage.delete_folder(fate.partition)\n",
        "            pass\n",
        "the folder of an index that cannot be kept stays with its wrong rows",
        (f"{OF_RESTORE}::test_a_partition_that_cannot_be_kept_is_deleted_alone",),
    ),
    Fault(
        KEEP,
        "    failed = delete_data_files(session, held, files, metadata)\n",
        "    delete_data_files(session, held, files, metadata)\n    failed = None\n",
        "an index keeps rows of a removed instant, because a file of it could not be deleted",
        (f"{TEST}::test_a_file_of_it_that_cannot_be_deleted_gives_it_up",),
    ),
    Fault(
        KEEP,
        "            metadata.storage.sync(folder)\n",
        "            pass\n",
        "after a power failure undone files of the metadata table are there again, and their instant is gone",
        (f"{OWN_ROLLBACK}::test_its_files_are_gone_from_the_disk_before_their_instants",),
    ),
    Fault(
        KEEP,
        "        for instant in (*ended, *(entry for",
        "        for instant in (*ended[:0], *(entry for",
        "Hudi's next write finishes a rollback of an instant that the metadata table no longer has",
        (f"{OWN_ROLLBACK}::test_a_pending_rollback_of_an_undone_instant_and_pending_cleans_go",),
    ),
    Fault(
        KEEP,
        "        for instant in (*ended, *(entry for entry in timeline.having(fmt.CLEAN) if entry.pending)):\n",
        "        for instant in ended:\n",
        "a pending clean of the metadata table deletes slices that are the newest ones again",
        (f"{OWN_ROLLBACK}::test_a_pending_rollback_of_an_undone_instant_and_pending_cleans_go",),
    ),
    Fault(
        KEEP,
        "for entry in timeline.writes() if entry.time in undone]):\n",
        "for entry in timeline.writes() if entry.time in undone and entry.pending]):\n",
        "completed delta commits of removed instants stay, without their files",
        (f"{TEST}::test_it_is_rolled_back_where_it_is_set_aside",),
    ),
    Fault(
        KEEP,
        "    remove_listing(metadata, kept.aside.sync)\n",
        "",
        "after a death at its own delta commit the restore can never be finished",
        (f"{OF_RESTORE}::test_it_comes_back_after_a_death_at_its_own_rollback",),
    ),
    # Its listing.
    Fault(
        KEEP,
        "gather_listing(metadata, session.engine, table, removed), found, look)\n    if changes:\n",
        "gather_listing(metadata, session.engine, table), found, look)\n    if changes:\n",
        "below version 8 a log with a block of the rolled back instant lists deleted files again",
        (f"{OF_ROLLBACK}::test_version_6_a_block_that_stays_in_a_shared_log_is_outweighed",),
    ),
    Fault(
        KEEP,
        "        changes = _changes(table, gather_listing(metadata, session.engine, table, removed), found, look)\n"
        "    paths",
        "        changes = {}\n    paths",
        "nothing checks that the metadata table lists what storage has",
        (f"{TEST}::test_one_that_still_differs_from_storage_is_given_up",),
    ),
    Fault(
        "table/files/choose.py",
        "if name not in stored and parse_data_file(name) is not None",
        "if False",
        "the metadata table lists files that were deleted, and queries fail",
        (f"{TEST}::test_what_it_has_lost_is_listed_again_and_what_it_has_too_much_is_not",),
    ),
    Fault(
        "table/files/choose.py",
        " not in stored and parse_data_file(name) is not None",
        " not in stored",
        "readers no longer see a file of another program that is stored elsewhere",
        (f"{TEST}::test_a_listing_with_a_file_that_is_none_of_hudis_stays_as_it_is",),
    ),
    Fault(
        KEEP,
        "    beyond = _beyond(table, listing, found)\n",
        "    beyond = ()\n",
        "the rows of a partition without metafile are lost, because the listing forgets it",
        (f"{OWN_ROLLBACK}::test_a_partition_without_metafile_stays_listed",),
    ),
    Fault(
        "table/files/choose.py",
        "        if size is not None and size == file.size:\n",
        "        if size is not None:\n",
        "readers read a log only to the size that it had before",
        (f"{TEST}::test_what_it_has_lost_is_listed_again_and_what_it_has_too_much_is_not",),
    ),
    Fault(
        "table/files/choose.py",
        "(file.size and file.data.instant in committed and file.path not in hidden)",
        "(file.size and file.data.instant in committed)",
        "files of dead writers are listed, and become rows",
        (f"{TEST}::test_files_that_it_has_not_listed_stay_hidden",),
    ),
    Fault(
        "table/files/choose.py",
        "(file.size and file.data.instant in committed and file.path not in hidden)",
        "(file.size and file.path not in hidden)",
        "files of a pending write that came since planning are listed",
        (f"{OWN_ROLLBACK}::test_files_that_came_since_planning_are_listed_only_for_completed_instants",),
    ),
    Fault(
        "table/files/choose.py",
        "(file.size and file.data.instant in committed and file.path not in hidden)",
        "(file.data.instant in committed and file.path not in hidden)",
        "an empty file is listed as a data file, and queries fail",
        (f"{OWN_ROLLBACK}::test_files_that_came_since_planning_are_listed_only_for_completed_instants",),
    ),
    Fault(
        KEEP,
        "    delete_aside(table, kept.aside)\n    return MetadataOutcome(lost",
        "    return MetadataOutcome(lost",
        "a metadata table that was given up stays, and is put back by the next attempt",
        (f"{TEST}::test_one_that_cannot_be_read_is_given_up",),
    ),
    # In use again.
    Fault(
        KEEP,
        "        drop_definitions(table, kept.plan.lost)\n",
        "        pass\n",
        "an expression index without a partition is still defined, and queries fail",
        (f"{OWN_ROLLBACK}::test_the_definition_of_a_lost_index_goes_before_it_is_in_use_again",),
    ),
    Fault(
        KEEP,
        "        return _given_up(table, kept, error.message)\n",
        "        raise\n",
        "damaged definitions of indexes stop the restore for ever",
        (f"{OWN_ROLLBACK}::test_with_damaged_definitions_it_is_given_up",),
    ),
    Fault(
        KEEP,
        "    if not put_back(table, kept.aside):\n        raise Conflict(",
        "    if not put_back(table, kept.aside) and False:\n        raise Conflict(",
        "another writer's metadata table is listed with the partitions of this one",
        (f"{TEST}::test_another_one_that_comes_at_the_last_moment_is_a_conflict",),
    ),
    Fault(
        KEEP,
        "{PARTITION_KEYS[0]: kept.partitions, PARTITION_KEYS[1]: ",
        "{PARTITION_KEYS[0]: kept.listed[PARTITION_KEYS[0]], PARTITION_KEYS[1]: ",
        "an index that was deleted is listed, and each write fails",
        (f"{OF_RESTORE}::test_a_partition_that_cannot_be_kept_is_deleted_alone",),
    ),
    Fault(
        KEEP,
        "    update_properties(table.storage, kept.listed)\n",
        "    update_properties(table.storage, {PARTITION_KEYS[0]: kept.partitions})\n",
        "a withdrawn restore takes indexes out of use, and says that nothing was changed",
        (f"{OWN_ROLLBACK}::test_one_that_was_only_set_aside_comes_back_with_what_was_to_be_lost",),
    ),
    Fault(
        KEEP,
        "    delete_aside(table, kept.aside if kept is not None else keeping_none(time))\n"
        "    delete_all(table.storage, [record_path(time)])\n",
        "    delete_all(table.storage, [record_path(time)])\n"
        "    delete_aside(table, kept.aside if kept is not None else keeping_none(time))\n",
        "after a death a metadata table is left on an object store that no record names",
        (f"{OWN_ROLLBACK}::test_a_death_while_it_is_forgotten_leaves_its_record",),
    ),
    # In a restore.
    Fault(
        EXECUTE,
        (
            "    if undo.metadata_table.keeps and still_kept(table, plan.resumes) is None:\n"
            "        unchanged(table, undo.metadata_table)\n"
        ),
        "",
        "a restore that must be refused is requested first, and blocks all writers",
        (f"{OF_KEPT}::test_one_that_has_changed_since_planning_stops_it_before_it_is_requested",),
    ),
    Fault(
        EXECUTE,
        (
            "    run = replace(run, kept=begin_keeping(run.table, run.time, latest, run.undo.metadata_table))\n"
            "    _prepare(run)\n"
        ),
        (
            "    _prepare(run)\n"
            "    run = replace(run, kept=begin_keeping(run.table, run.time, latest, run.undo.metadata_table))\n"
        ),
        "after a death beside a half created savepoint the metadata table cannot be kept any more",
        (f"{OF_KEPT}::test_its_record_is_written_before_a_savepoint_is_half_created",),
    ),
    Fault(
        EXECUTE,
        "    latest = max(run.rollbacks.values(), default=run.time)\n",
        "    latest = run.time\n",
        "the delta commit that is added has the time of a pending rollback",
        (f"{OF_KEPT}::test_its_own_delta_commit_is_later_than_the_rollbacks",),
    ),
    Fault(
        EXECUTE,
        "    looks = run.kept is not None or not planned\n",
        "    looks = not planned\n",
        "a writer loses the metadata table that it builds beside one that is set aside",
        (NEW_ONE,),
    ),
    Fault(
        EXECUTE,
        "    forget_ended(run.table, (run.time, ",
        "    forget_ended(run.table, (",
        "the record of an ended restore stays, and `resume` finds a leftover",
        (f"{OF_RESTORE}::test_two_restores_in_a_row",),
    ),
    Fault(
        EXECUTE,
        "        metadata_table_given_up=metadata_table.given_up,\n",
        "",
        "nothing tells why the metadata table was deleted although it was to be kept",
        (f"{OF_RESTORE}::test_where_it_still_differs_from_storage_it_is_given_up",),
    ),
    Fault(
        EXECUTE,
        "        indexes_kept=metadata_table.indexes,\n",
        "",
        "nothing tells which indexes are kept",
        (f"{OF_RESTORE}::test_to_each_commit_with_all_indexes",),
    ),
    Fault(
        PLANNING,
        "        if kept is not None:\n            return kept.plan\n",
        "",
        "a rerun plans again for a metadata table that is half rolled back",
        (f"{OF_RESTORE}::test_it_comes_back_to_whoever_resumes",),
    ),
    Fault(
        PLANNING,
        '            delete = "the restore began without it"\n',
        "            pass\n",
        "a rerun keeps the metadata table although the restore began with its deletion",
        (f"{OF_KEPT}::test_what_began_with_its_deletion_does_not_keep_it",),
    ),
    # In a rollback.
    Fault(
        ROLLBACK,
        "kept=earlier or begin_keeping(",
        "kept=begin_keeping(",
        "the metadata table that a superseded rollback has set aside is lost",
        (f"{OF_ROLLBACK}::test_one_that_a_superseded_rollback_has_set_aside_comes_back",),
    ),
    Fault(
        ROLLBACK,
        "    forget_ended(table, run.ended)\n",
        "    forget_ended(table, run.times)\n",
        "the record of a superseded rollback stays, and `resume` deletes by it",
        (f"{OF_ROLLBACK}::test_one_that_a_superseded_rollback_has_set_aside_comes_back",),
    ),
    Fault(
        ROLLBACK,
        "        unchanged(table, kept)\n",
        "        pass\n",
        "a rollback that must be refused is requested first, and a writer executes it",
        (f"{OF_ROLLBACK}::test_version_6_a_metadata_table_that_has_changed_since_planning_stops_it",),
    ),
    Fault(
        ROLLBACK,
        "    if not place.is_aside and (one.kept is not None or place.other is not Other.NONE):\n",
        "    if one.kept is None and place.other is not Other.NONE:\n",
        "the metadata table is taken from a writer that began since the last look",
        (f"{OF_ROLLBACK}::test_version_6_one_of_a_writer_that_has_just_begun_is_not_taken_from_it",),
    ),
    Fault(
        ROLLBACK,
        "        indexes_kept=() if metadata.given_up else plan.undo.metadata_table.indexes_kept,\n",
        "        indexes_kept=plan.undo.metadata_table.indexes_kept,\n",
        "indexes are said to be kept that were deleted",
        (f"{OF_ROLLBACK}::test_version_6_what_is_given_up_is_told",),
    ),
    # Leftovers, and withdrawal.
    Fault(
        LEFTOVERS,
        "            forget_kept(session.table, time)\n",
        "            pass\n",
        "a metadata table that is set aside for nothing stays for ever, and is said to be removed",
        (f"{OF_RESTORE}::test_what_is_set_aside_for_a_restore_that_hudi_has_finished_is_found_and_removed",),
    ),
    Fault(
        LEFTOVERS,
        "self.savepoints, self.metadata_tables, self.manifests)",
        "self.savepoints, self.manifests)",
        "a metadata table that is set aside for nothing is not found",
        (f"{OF_RESTORE}::test_what_is_set_aside_for_a_restore_that_hudi_has_finished_is_found_and_removed",),
    ),
    Fault(
        WITHDRAW,
        "        put_back = kept is not None and put_back_unchanged(table, kept)\n",
        "        put_back = False\n",
        "a withdrawn restore deletes the metadata table that it has set aside",
        (f"{OF_WITHDRAWAL}::test_the_metadata_table_that_it_has_set_aside_comes_back_unchanged",),
    ),
    Fault(
        WITHDRAW,
        (
            "        put_back = kept is not None and put_back_unchanged(table, kept)\n"
            "        lost = _metadata_table(table, run.found, staying, aside=kept is not None)\n"
            "        delete_instant(table, timeline.find(plan.restore, RESTORE))\n"
        ),
        (
            "        delete_instant(table, timeline.find(plan.restore, RESTORE))\n"
            "        put_back = kept is not None and put_back_unchanged(table, kept)\n"
            "        lost = _metadata_table(table, run.found, staying, aside=kept is not None)\n"
        ),
        "a writer starts before the metadata table is in its place again, and builds another one",
        (f"{OF_KEPT}::test_it_is_in_use_again_before_writers_may_start",),
    ),
    Fault(
        WITHDRAW,
        "        forget_kept(table, plan.restore)\n",
        "",
        "the record of a withdrawn restore stays, and `resume` finds a leftover",
        (f"{OF_WITHDRAWAL}::test_the_metadata_table_that_it_has_set_aside_comes_back_unchanged",),
    ),
    Fault(
        WITHDRAW,
        "    if read_kept(table, restore.instant.time) is not None:\n        return tuple(gone)\n",
        "",
        "the plan of a withdrawal says that indexes are lost, which come back",
        (f"{OF_WITHDRAWAL}::test_the_metadata_table_that_it_has_set_aside_comes_back_unchanged",),
    ),
)
