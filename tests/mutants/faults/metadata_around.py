"""What a rollback makes of the metadata table, listed orphans, what is added to it, and the guards on its loss."""

from tests.mutants.fault import Fault

TREAT = "ops/metadata/treat.py"
UNLIST = "ops/metadata/unlist.py"
WRITER = "table/metadata/writer.py"
GUARDS = "ops/guards/metadata.py"
RESTORE = "ops/restore/planning.py"
ROLLBACK = "ops/rollback/planning.py"
ORPHANS = "ops/clean_up/orphans.py"
CLOCK = "ops/guards/clock.py"
OF_UNLIST = "ops/metadata/test_unlist.py"
OF_WRITER = "table/metadata/test_writer.py"
OF_ROLLBACK = "ops/rollback/test_metadata_aside.py"
REQUIRED = "ops/guards/test_required_indexes.py"
REBUILT = "ops/guards/test_record_index_rebuilt.py"
KEEP = "ops/metadata/keep.py"
RESTORING = "ops/restore/execute.py"
ROLL_BACK = "ops/rollback/execute.py"
OF_GIVEN_UP = ("ops/undo/test_given_up.py",)
OF_CHANGED = ("ops/undo/test_changed_since.py",)

FAULTS = (
    Fault(
        "ops/metadata/in_place.py",
        "_is_whole(table, metadata, time)) else None",
        "True) else None",
        "a rollback keeps an index, or a metadata table, that cannot be read",
        ("ops/rollback/test_metadata.py::test_one_that_cannot_be_read_does_not_stay_in_its_place",),
    ),
    # The time of the delta commit that takes orphans out.
    Fault(
        ORPHANS,
        "is Mode.FORWARD:\n        clock.metadata_time_can_be_given(table, signs.timeline)\n",
        "is Mode.FORWARD:\n        pass\n",
        "a delta commit without effect is planned on a host whose clock is behind",
        (f"{OF_UNLIST}::test_a_clock_behind_the_metadata_table_stops_it",),
    ),
    Fault(
        ORPHANS,
        "plan.metadata_table)\n        clock.metadata_time_can_be_given(table, signs.timeline)\n",
        "plan.undo.metadata_table)\n",
        "the clock is not looked at again when the table is held",
        (f"{OF_UNLIST}::test_a_clock_that_is_set_back_after_planning_stops_it",),
    ),
    Fault(
        CLOCK,
        '        refuse_future(metadata, load_timeline(metadata), "the metadata table\'s timeline")\n',
        "        pass\n",
        "a delta commit is given a time before the metadata table's last instant",
        (f"{OF_UNLIST}::test_a_clock_behind_the_metadata_table_stops_it",),
    ),
    Fault(
        CLOCK,
        "    time_can_be_given(table, timeline)\n    metadata =",
        "    metadata =",
        "a delta commit is given a time before the last instant of the table",
        (f"{OF_UNLIST}::test_a_clock_that_is_set_back_after_planning_stops_it",),
    ),
    Fault(
        UNLIST,
        "    if still:\n",
        "    if False:\n",
        "files that are still listed are left with exit code 0, after the indexes were deleted",
        (f"{OF_UNLIST}::test_a_delta_commit_that_does_nothing_is_told",),
    ),
    # In a rollback.
    Fault(
        TREAT,
        "    if kept is not None:\n        return kept.plan\n",
        "",
        "a rerun plans again for a metadata table that is half rolled back",
        (f"{OF_ROLLBACK}::test_version_6_it_comes_back_to_whoever_goes_on",),
    ),
    Fault(
        TREAT,
        "    if asked is None:\n",
        "    if True:\n",
        "a metadata table stays in its place whose deletion was asked for",
        ("ops/rollback/test_metadata.py::test_it_is_deleted_where_this_is_asked_for",),
    ),
    Fault(
        TREAT,
        "    removed = () if has_nothing_of(table, target, time, stored) else (time,)\n",
        "    removed = ()\n",
        "the indexes keep the keys of the rolled back instant",
        (f"{OF_ROLLBACK}::test_version_6_rollback_blocks_are_listed",),
    ),
    Fault(
        TREAT,
        "    removed = () if has_nothing_of(table, target, time, stored) else (time,)\n",
        "    removed = (time,)\n",
        "a compaction that has nothing of a failed write is undone with it, and indexes are lost",
        (f"{OF_ROLLBACK}::test_version_6_where_it_has_nothing_of_the_instant_nothing_of_it_is_undone",),
    ),
    Fault(
        TREAT,
        "outcome, NOTHING_SAVED, marked=logs, delete=delete)",
        "outcome, NOTHING_SAVED, delete=delete)",
        "a log with a rollback block stays unlisted, and rows of a failed write come back",
        (f"{OF_ROLLBACK}::test_version_6_rollback_blocks_are_listed",),
    ),
    Fault(
        TREAT,
        '            return "the rollback began without it"\n',
        "            return None\n",
        "a rerun keeps the metadata table although the rollback began with its deletion",
        (f"{OF_ROLLBACK}::test_version_6_what_began_with_its_deletion_does_not_keep_it",),
    ),
    Fault(
        TREAT,
        "        if name in later:\n",
        "        if False:\n",
        "the plan says that an index is kept which is deleted",
        ("ops/rollback/test_indexes.py::test_they_are_named_by_the_plan_and_go_and_the_others_stay",),
    ),
    Fault(
        TREAT,
        "    return MetadataPlan(mode, None,",
        "    return MetadataPlan(Mode.KEEP, None,",
        "a metadata table that is rolled back in its place is said to be unchanged",
        ("ops/rollback/test_metadata.py",),
    ),
    Fault(
        TREAT,
        "    listed = frozenset((*table.metadata_partitions, *table.metadata_partitions_inflight))\n",
        "    listed = frozenset(table.metadata_partitions)\n",
        "an index that is being built from the rolled back instant is kept",
        ("ops/rollback/test_indexes.py::test_one_that_is_being_built_goes",),
    ),
    # Orphans that are listed.
    Fault(
        UNLIST,
        "    drop_indexes(table, plan.lost, time)\n",
        "",
        "a record index keeps the keys of deleted orphans",
        (f"{OF_UNLIST}::test_they_are_taken_out_of_the_listing_before_they_are_deleted",),
    ),
    Fault(
        UNLIST,
        "        if instant.pending and _is_own(table, metadata, instant.time):\n",
        "        if instant.pending:\n",
        "the pending delta commit of another writer is removed",
        (f"{OF_UNLIST}::test_a_pending_delta_commit_of_another_is_not_touched",),
    ),
    Fault(
        UNLIST,
        "            remove_listing(metadata, instant.time)\n",
        "            pass\n",
        "a pending delta commit of a dead process blocks Hudi's next write",
        (f"{OF_UNLIST}::test_a_death_in_the_middle_is_made_good_by_the_next_run",),
    ),
    Fault(
        UNLIST,
        '    begun = time.removesuffix(listing_time(metadata, ""))\n',
        "    begun = time\n",
        "below version 8 a pending delta commit of a dead process blocks Hudi's next write",
        (f"{OF_UNLIST}::test_a_death_in_the_middle_is_made_good_by_the_next_run",),
    ),
    Fault(
        UNLIST,
        "    by_keys = {entry.partition for entry in plan.partitions} - {FILES, *OF_FILES}\n",
        "    by_keys = set[str]()\n",
        "a record index keeps the keys of deleted orphans, and the next upsert fails",
        (f"{OF_UNLIST}::test_one_that_lists_some_goes_forward_without_its_indexes_of_keys",),
    ),
    Fault(
        UNLIST,
        "        if plan.mode is Mode.DELETE or found is None:\n            return plan\n",
        "        if found is None:\n            return plan\n",
        "a delta commit is added beside a pending restore of the metadata table, which takes it back",
        (f"{OF_UNLIST}::test_one_that_cannot_be_changed_is_deleted",),
    ),
    # The delta commit that is added.
    Fault(
        WRITER,
        '    return f"{time}{_OF_RESTORE}" if metadata.rules.metadata_is_vouched_for else time\n',
        "    return time\n",
        "below version 8 readers do not count the delta commit that is added",
        (f"{OF_WRITER}::test_its_time_counts_although_the_data_table_has_none_like_it",),
    ),
    Fault(
        WRITER,
        "{ALL_PARTITIONS: partitions} if partitions else {}",
        "{}",
        "the files of a new partition are listed, but not the partition: readers miss its rows",
        (f"{OF_WRITER}::test_a_new_partition_is_listed",),
    ),
    Fault(
        WRITER,
        "for name, files in sizes.items() if any(files.values())}\n",
        "for name, files in sizes.items()}\n",
        "a partition of which only files go is listed again",
        (f"{OF_WRITER}::test_a_partition_of_which_only_files_go_stays_listed_as_it_was",),
    ),
    Fault(
        WRITER,
        "    if len(groups) != 1:\n",
        "    if False:\n",
        "damage of the listing is an error of hudictl's own",
        (f"{OF_WRITER}::test_a_listing_without_a_file_group_is_told",),
    ),
    Fault(
        WRITER,
        "        if file is not None and timeline.sizes[file.name]:\n",
        "        if file is not None:\n",
        "a delta commit without content is followed, and the metadata table counts as damaged",
        (f"{OF_WRITER}::test_the_template_is_the_newest_delta_commit_of_the_listing",),
    ),
    Fault(
        WRITER,
        "    delete_all(metadata.storage, [log.path for log in logs])\n",
        "",
        "the log of a removed delta commit stays, and counts when its instant is written again",
        (f"{OF_WRITER}::test_it_is_removed_without_a_trace",),
    ),
    Fault(
        WRITER,
        "        return file.data.instant == time\n",
        "        return True\n",
        "logs of earlier operations go, and what they have listed",
        (f"{OF_WRITER}::test_it_is_removed_without_a_trace",),
    ),
    Fault(
        WRITER,
        "    return any(block.instant == time for",
        "    return any(block.instant for",
        "below version 8 logs of earlier operations go, and what they have listed",
        (f"{OF_WRITER}::test_it_is_removed_without_a_trace",),
    ),
    Fault(
        WRITER,
        '        "path": log.path,\n',
        "",
        "a compaction of the metadata table does not find what was added, and readers see deleted files",
        (f"{OF_WRITER}::test_it_has_the_form_of_hudis_own",),
    ),
    Fault(
        WRITER,
        '        "logFiles": [log.data.name],\n',
        "",
        "a rollback of the delta commit that is added deletes the log of another one",
        (f"{OF_WRITER}::test_it_has_the_form_of_hudis_own",),
    ),
    # The guards.
    Fault(
        GUARDS,
        "    named = in_use if ALL in required else set(required)\n",
        "    named = set(required)\n",
        "with `--require-index all` indexes are deleted",
        (f"{REQUIRED}::test_one_that_is_lost_is_named_with_the_reason",),
    ),
    Fault(
        GUARDS,
        "        if name not in fates:\n",
        "        if False:\n",
        "an index that is required under a wrong name is deleted",
        (f"{REQUIRED}::test_one_that_is_not_there_is_named",),
    ),
    Fault(
        GUARDS,
        '    if not table.rules.builds_indexes_alone or "record_index" not in dropped:\n',
        '    if "record_index" not in dropped:\n',
        "from version 8 on a pending compaction blocks the deletion of a record index",
        (f"{REBUILT}::test_without_one_and_from_version_8_on_all_of_it_may_go",),
    ),
    Fault(
        "state/metadata/treatment.py",
        "builds_wait_for(table, timeline) if plan.lost_in_use else None",
        "None",
        "Hudi 0.15.0 does not list the write that would build an index again, and queries miss its rows",
        (
            "state/metadata/test_treatment.py::"
            "test_no_index_alone_is_deleted_that_hudi_does_not_build_beside_what_is_pending",
        ),
    ),
    Fault(
        "state/metadata/gap.py",
        "if time in instants or time >= since)",
        "if time in instants)",
        "a metadata table is kept that does not list a log of a completed commit, and queries miss its rows",
        ("state/metadata/test_treatment.py::test_a_log_of_a_later_commit_than_its_slice_is_missed_in_it",),
    ),
    Fault(
        RESTORE,
        "        metadata_guards.required_indexes_kept(plan, options.require_index)\n",
        "        pass\n",
        "a restore deletes an index that is required",
        (f"{REQUIRED}::test_nothing_is_changed",),
    ),
    Fault(
        RESTORE,
        "    if begun is None:\n",
        "    if pending is None:\n",
        "the end of a restore that Hudi has begun deletes an index that is required",
        (f"{REQUIRED}::test_what_hudi_has_begun_is_refused",),
    ),
    Fault(
        ROLLBACK,
        "    if not begun:\n",
        "    if not stored:\n",
        "the end of a rollback that Hudi has begun deletes an index that is required",
        (f"{REQUIRED}::test_what_hudi_has_begun_is_refused",),
    ),
    Fault(
        RESTORE,
        "    if pending is None:\n        metadata_guards",
        "    if True:\n        metadata_guards",
        "a restore that has begun is refused for ever, beside a compaction that came since",
        (f"{REBUILT}::test_what_has_begun_goes_on",),
    ),
    Fault(
        RESTORE,
        "facts.timeline.without(scope.removed), plan.lost_in_use)",
        "facts.timeline, plan.lost_in_use)",
        "a compaction that goes with the restore blocks it",
        (f"{REBUILT}::test_a_compaction_that_goes_with_the_restore_is_not_in_the_way",),
    ),
    Fault(
        RESTORE,
        "metadata_guards.record_index_can_be_built(table, facts.timeline.without(scope.removed), plan.lost_in_use)",
        "pass",
        "a restore deletes a record index that Hudi 0.15.0 cannot build again, and each write fails",
        (f"{REBUILT}::test_it_is_not_deleted",),
    ),
    Fault(
        ROLLBACK,
        "        metadata_guards.required_indexes_kept(metadata_table, it.options.require_index)\n",
        "        pass\n",
        "a rollback deletes an index that is required",
        (f"{REQUIRED}::test_nothing_is_changed",),
    ),
    Fault(
        ROLLBACK,
        "        metadata_guards.record_index_can_be_built(table, staying, metadata_table.lost_in_use)\n",
        "",
        "a rollback deletes a record index that Hudi 0.15.0 cannot build again, and each write fails",
        (f"{REBUILT}::test_it_is_not_deleted",),
    ),
    Fault(
        ROLLBACK,
        "        staying = facts.timeline if it.options.keep_plan else",
        "        staying = facts.timeline if False else",
        "a compaction whose plan is kept is pending afterwards, and each write fails",
        (f"{REBUILT}::test_nor_is_the_one_that_is_rolled_back",),
    ),
    Fault(
        ORPHANS,
        "    metadata_guards.record_index_can_be_built(table, signs.timeline, plan.lost_in_use)\n",
        "",
        "orphans cost a record index that Hudi 0.15.0 cannot build again, and each write fails",
        (f"{REBUILT}::test_orphans_that_are_listed_would_cost_it",),
    ),
    Fault(
        ORPHANS,
        "options.require_index if orphans else ())",
        "())",
        "orphans cost an index that is required",
        (f"{REQUIRED}::test_orphans_that_are_listed_cost_the_indexes_of_keys",),
    ),
    # Given up late.
    Fault(
        KEEP,
        "    table.storage.replace(record_path(kept.aside.time), encode_record(replace(kept, plan=plan)))\n",
        "",
        "whoever goes on says that an index is kept which is deleted, and another reason",
        OF_GIVEN_UP,
    ),
    Fault(
        KEEP,
        "    if lost:\n        raise Findings(\n",
        "    if False:\n        raise Findings(\n",
        "a script goes on without the index that it requires",
        OF_GIVEN_UP,
    ),
    Fault(
        KEEP,
        "        record_index_can_be_built(table, load_timeline(table), reasons.keys())\n",
        "        pass\n",
        "nobody is told that writes fail until the compaction is removed",
        OF_GIVEN_UP,
    ),
    Fault(
        RESTORING,
        "run.plan.options.require_index, metadata_table, result)",
        "(), metadata_table, result)",
        "a restore that loses an index which is required ends with 0",
        OF_GIVEN_UP,
    ),
    Fault(
        ROLL_BACK,
        "plan.undo.metadata_table, plan.options.require_index, metadata, result)",
        "plan.undo.metadata_table, (), metadata, result)",
        "a rollback that loses an index which is required ends with 0",
        OF_GIVEN_UP,
    ),
    # Changed since it was recorded.
    Fault(
        KEEP,
        "    return kept if metadata is None or not _written_since(metadata, kept) else None\n",
        "    return kept\n",
        "a rerun undoes by an old record what a writer has built upon, and the record index misses rows",
        OF_CHANGED,
    ),
    Fault(
        KEEP,
        "        if written := _written_since(metadata, kept):\n",
        "        if written := ():\n",
        "what a writer has added between the record and the setting aside stays in the indexes",
        OF_CHANGED,
    ),
    Fault(
        "ops/rollback/discard.py",
        "                put_back_unchanged(session.table, kept)\n",
        "                pass\n",
        "a discarded rollback takes the metadata table with it",
        OF_CHANGED,
    ),
    Fault(
        RESTORE,
        "_lost_aside(facts, pending) or metadata_fate(",
        "metadata_fate(",
        "a restore passes `--require-index` over indexes that a dead rollback has set aside, and that it deletes",
        OF_CHANGED,
    ),
)
