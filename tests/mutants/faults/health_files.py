"""``check`` on data files, indexes and the archive: what it must find, and where it must be silent."""

from tests.mutants.fault import Fault

FILES = "reports/health/files.py"
FINDING = "reports/health/finding.py"
LATE = "state/files/late_blocks.py"
LOST = "state/orphans/lost_end.py"
UNREAD = "state/timeline/unread.py"
HASHING = "state/orphans/hashing.py"
INDEXES = "reports/health/indexes.py"
METADATA = "reports/health/metadata.py"
PARTITION = "reports/health/partition.py"

FAULTS = (
    Fault(
        UNREAD,
        "in based if previous < time)",
        "in based if previous <= time)",
        "a commit on which the next one is based is called lost",
        ("reports/health/test_archive.py::test_a_write_on_older_files_has_lost_what_is_archived_between",),
    ),
    Fault(
        UNREAD,
        "    active = {entry.time: facts.commits[entry.time] for entry in facts.timeline.completed_writes()}\n"
        "    found: dict[Group, list[tuple[str, str]]] = defaultdict(list)\n"
        "    for time, commit in {**_archived_commits(facts, archived), **active}.items():",
        "    active = {entry.time: facts.commits[entry.time] for entry in facts.timeline.completed_writes()}\n"
        "    found: dict[Group, list[tuple[str, str]]] = defaultdict(list)\n"
        "    for time, commit in active.items():",
        "rows that an archived write has lost are not found",
        ("reports/health/test_archive.py::test_a_write_on_older_files_has_lost_what_is_archived_between",),
    ),
    Fault(
        UNREAD,
        "            replaced[path].update(ids)\n",
        "            pass\n",
        "replaced files that readers see again are not found",
        ("reports/health/test_archive.py::test_what_an_archived_commit_has_replaced_is_seen_again",),
    ),
    Fault(
        UNREAD,
        " if entry.state is State.COMPLETED}",
        "}",
        "a write that was archived before it completed counts as a commit",
        ("reports/health/test_archive.py::test_a_write_that_was_archived_before_it_completed_is_no_commit",),
    ),
    Fault(
        UNREAD,
        "archived - {entry.time for entry in facts.timeline.writes()}",
        "archived",
        "commits that are on the timeline and in the archive are called unread",
        ("reports/health/test_archive.py::test_a_commit_is_unread_once_it_is_archived_and_gone",),
    ),
    Fault(
        UNREAD,
        "time in archived or time in done)",
        "time in archived)",
        "files that a later commit has written anew are called unread",
        ("reports/health/test_check.py::test_real_tables",),
    ),
    Fault(
        UNREAD,
        " in archived and file_id not in replaced:",
        " in archived:",
        "file groups that a later commit has replaced are called unread",
        ("reports/health/test_archive.py::test_what_a_later_commit_has_replaced_is_not_missed",),
    ),
    Fault(
        "table/files/slices.py",
        "if time > last and counts(time)",
        "if found is None and counts(time)",
        "the oldest file of a group decides whether its rows are read",
        ("reports/health/test_check.py::test_real_tables",),
    ),
    Fault(
        FILES,
        "        size = sum(orphan.file.size or 0 for orphan in members)",
        "        size = max(orphan.file.size or 0 for orphan in members)",
        "the size of one orphan is told for all",
        ("reports/health/test_slices.py::test_orphans_are_told_with_all_their_bytes_and_who_sees_them",),
    ),
    Fault(
        FILES,
        '        if not visible:\n            seen = "readers will',
        '        if not sure:\n            seen = "readers will',
        "orphans that no reader sees as yet are called visible",
        ("reports/health/test_slices.py::test_orphans_are_told_with_all_their_bytes_and_who_sees_them",),
    ),
    Fault(
        "table/timeline/active.py",
        "max((entry.time for entry in self.completed_writes())",
        "max((entry.time for entry in self.writes())",
        "a pending write is told as the last commit of a timeline that lost its end",
        ("reports/health/test_slices.py::test_the_last_commit_of_a_timeline_without_end_is_a_completed_one",),
    ),
    Fault(
        FILES,
        "in timeline.completed_writes()}.intersection(times)",
        "in timeline.writes()}.intersection(times)",
        "a lost commit is told as known to the metadata table, where it is pending alone",
        (("reports/health/test_slices.py::test_the_metadata_table_is_asked_for_completed_commits_that_are_lost"),),
    ),
    Fault(
        FINDING,
        "except (Unreadable, Unsupported):",
        "except Unsupported:",
        "orphans are not told where the metadata table cannot be read",
        ("reports/health/test_slices.py::test_a_lost_end_is_told_beside_a_metadata_table_that_cannot_be_read",),
    ),
    Fault(
        FILES,
        "    except Unreadable:\n        # An unreadable metadata table is",
        "    except AssertionError:\n        # An unreadable metadata table is",
        "orphans are not told where the metadata table has lost its timeline",
        ("reports/health/test_slices.py::test_a_lost_end_is_told_beside_a_metadata_table_without_timeline",),
    ),
    Fault(
        FILES,
        "in timeline.completed_writes()}.intersection(times)",
        "in timeline.completed_writes()}",
        "commits that the timeline has are told as known to the metadata table alone",
        (("reports/health/test_slices.py::test_the_metadata_table_is_asked_for_completed_commits_that_are_lost"),),
    ),
    Fault(
        FILES,
        "if needed.missing and load_timeline(table, timeline)",
        "if load_timeline(table, timeline)",
        "a timeline that moved hides partitions without metafile",
        ("reports/health/test_slices.py::test_a_timeline_that_moves_hides_nothing_but_missing_files",),
    ),
    Fault(
        FILES,
        (
            "load_timeline(table, timeline).modified_ms.keys() != timeline.modified_ms.keys():\n"
            "        # A clean may have deleted a slice"
        ),
        (
            "load_timeline(table, timeline).modified_ms.keys() - timeline.modified_ms.keys():\n"
            "        # A clean may have deleted a slice"
        ),
        "a rollback that ended while files were listed makes its files missing",
        ("reports/health/test_slices.py::test_what_goes_while_it_is_listed_is_not_missing",),
    ),
    Fault(
        FILES,
        " or other_table(path, look.facts.sweep) is not None:\n            # Reported",
        ":\n            # Reported",
        "files below another .hoodie are called missing",
        ("reports/health/test_slices.py::test_files_behind_another_hoodie_are_not_told_as_missing",),
    ),
    Fault(
        FILES,
        "            if not look.facts.signs.planned_restores:\n",
        "            if True:\n",
        "the savepoint that protects a pending restore is told as left",
        ("reports/health/test_slices.py::test_hudictls_own_savepoint_is_wanted_while_its_restore_is_pending",),
    ),
    Fault(
        FILES,
        "elif commit is None or not commit.completed:",
        "elif commit is None:",
        "a savepoint whose commit is pending passes",
        ("reports/health/test_slices.py::test_a_savepoint_whose_commit_was_taken_back",),
    ),
    Fault(
        FILES,
        (
            "    try:\n"
            "        return read_saved(look.facts.table, look.facts.timeline, look.engine, instant.time)\n"
            "    except Unreadable:\n"
            "        # Reported by itself, with all other files of the timeline.\n"
            "        return None\n"
        ),
        "    return read_saved(look.facts.table, look.facts.timeline, look.engine, instant.time)\n",
        "a damaged savepoint hides what is wrong with the others",
        ("reports/health/test_slices.py::test_a_savepoint_that_is_no_good_hides_nothing_of_the_next",),
    ),
    Fault(
        FILES,
        'lost = [*needed.missing, *(f"the metafile of {partition!r}" for partition in needed.bare)]',
        "lost = [*needed.missing]",
        "a savepoint whose partition has lost its metafile is not found",
        ("reports/health/test_slices.py::test_a_savepoint_whose_partition_has_lost_its_metafile",),
    ),
    Fault(
        FILES,
        "    bare = [] if lost else [",
        "    bare = [",
        "a savepoint that cannot be restored is told to be created again",
        ("reports/health/test_slices.py::test_a_broken_savepoint_is_not_told_to_be_made_again",),
    ),
    Fault(
        "state/services/harmful_cleans.py",
        '            yield f"the savepoint {commit.time}", possible_way(ways).outcome.cleans\n',
        "            possible_way(ways)\n",
        "a pending clean that takes a savepoint's files is not found",
        ("reports/health/test_slices.py::test_a_pending_clean_that_takes_what_a_savepoint_alone_needs",),
    ),
    Fault(
        LOST,
        "    if table.rules.logs_named_by_writer or table.is_cow:",
        "    if table.is_cow:",
        "a rollback block is called ahead where no release stops at it",
        ("reports/health/test_slices.py::test_from_table_version_8_on_no_reader_stops_at_a_rollback_block",),
    ),
    Fault(
        LATE,
        "            written = {pair for pair in written if pair[1] != block.rollback_target}\n",
        "",
        "version 6: rows that were rolled back in their logs are told as lost instants",
        ("reports/health/test_slices.py::test_version_6_rows_in_logs_that_a_record_explains_are_no_lost_end",),
    ),
    Fault(
        LOST,
        "    return without_record(facts, gone - naming_nothing(facts.table, gone) if gone else gone)\n",
        "    return frozenset()\n",
        "a commit that is lost in the middle of the timeline is not told",
        ("reports/health/test_files.py::test_a_timeline_that_has_lost_a_commit_in_its_middle",),
    ),
    Fault(
        LOST,
        "    return without_record(facts, gone - naming_nothing(facts.table, gone) if gone else gone)\n",
        "    return frozenset(gone)\n",
        "a rollback that ended is told as a lost commit",
        ("reports/health/test_files.py::test_a_timeline_that_has_lost_a_commit_in_its_middle",),
    ),
    Fault(
        LOST,
        "unknown = without_record(facts, {time for _, time in written}) if written else frozenset()",
        "unknown: frozenset[str] = frozenset()",
        "version 6: delta commits that are lost are not told if they had only appended to logs",
        ("reports/health/test_slices.py::test_version_6_logs_with_rows_of_lost_instants_are_counted",),
    ),
    Fault(
        "state/orphans/find.py",
        "    table, timeline = facts.table, load_timeline(facts.table, facts.timeline)\n    found = {",
        "    table, timeline = facts.table, facts.timeline\n    found = {",
        "version 6: a write that begins beside the check is told as lost",
        ("reports/health/test_slices.py::test_version_6_a_log_that_grows_beside_the_check_is_no_lost_end",),
    ),
    Fault(
        "state/orphans/find.py",
        " - ended - taken_back.keys() - set(marker_folders(table)))",
        " - ended)",
        "version 6: rows of a dead write that has markers or was rolled back are told as lost instants",
        ("reports/health/test_slices.py::test_version_6_rows_in_logs_that_a_record_explains_are_no_lost_end",),
    ),
    Fault(
        LATE,
        "slices[file.data.file_id, file.data.instant]",
        "slices[file.data.file_id, '']",
        "rows of the next slice count as behind a rollback block",
        ("reports/health/test_slices.py::test_a_rollback_block_is_judged_by_its_own_slice",),
    ),
    Fault(
        FILES,
        "        ERROR if hides else WARNING,\n",
        "        ERROR,\n",
        "a rollback block that hides nothing as yet is an error",
        ("reports/health/test_slices.py::test_a_rollback_block_is_judged_by_its_own_slice",),
    ),
    Fault(
        FILES,
        'yield Finding("lone-sidecars", INFO, task.folder.path or ".", meaning)',
        'yield Finding("lone-sidecars", INFO, task.folder.path, meaning)',
        "sidecars of a table without partitions are told of nothing",
        ("reports/health/test_slices.py::test_sidecars_of_a_table_without_partitions",),
    ),
    Fault(
        FILES,
        "orphan.why, orphan.sure, orphan.visible].append",
        "orphan.why, True, orphan.visible].append",
        "files of which nothing is proved are told to delete",
        ("reports/health/test_files.py::test_orphans_are_an_error_once_readers_see_them",),
    ),
    Fault(
        FILES,
        (
            '                yield Finding("savepoint-interrupted", WARNING, str(instant), meaning, remedy)\n'
            "            continue\n"
        ),
        (
            '                yield Finding("savepoint-interrupted", WARNING, str(instant), meaning, remedy)\n'
            "                return\n"
            "            continue\n"
        ),
        "an interrupted savepoint hides what is wrong with the later ones",
        ("reports/health/test_slices.py::test_a_savepoint_that_is_no_good_hides_nothing_of_the_next",),
    ),
    Fault(
        HASHING,
        "    known |= {entry.time for entry in archived_after(table, first)}\n",
        "",
        "archived resizes are called taken back",
        ("reports/health/test_hashing.py::test_one_that_is_archived_behind_an_older_commit_is_in_order",),
    ),
    Fault(
        HASHING,
        " and file.instant > first]\n",
        "]\n",
        "resizes that were archived long ago are called taken back",
        ("reports/health/test_hashing.py::test_one_that_is_archived_is_in_order",),
    ),
    Fault(
        HASHING,
        "first = min((entry.time for entry in timeline.writes())",
        "first = max((entry.time for entry in timeline.writes())",
        "a resize that was taken back is not found",
        ("reports/health/test_hashing.py::test_one_that_is_archived_behind_an_older_commit_is_in_order",),
    ),
    Fault(
        "reports/health/hashing.py",
        "    others = hashing_files(table, look.engine, pending) if pending else ()\n",
        "    others = ()\n",
        "a resize that is pending and counts is not found",
        ("reports/health/test_hashing.py::test_a_resize_that_was_taken_back_and_is_pending",),
    ),
    Fault(
        HASHING,
        "    known = {entry.time for entry in timeline.instants}\n",
        "    known = {entry.time for entry in timeline.completed_writes()}\n",
        "a resize at work is called taken back",
        ("reports/health/test_hashing.py::test_a_resize_that_was_taken_back_and_is_pending",),
    ),
    Fault(
        INDEXES,
        "    removed = {time: by for time, by in back.items() if not _completed(timeline, time)}\n",
        "    removed = back\n",
        "an index is to be dropped for an instant that has completed again",
        ("reports/health/test_indexes.py::test_an_instant_that_has_completed_again_is_in_all_indexes",),
    ),
    Fault(
        INDEXES,
        (" if name in by_key}\n    if metadata.rules"),
        ("}\n    if metadata.rules"),
        "a partition that is no index is told to be dropped",
        ("reports/health/test_indexes.py::test_what_is_left_of_an_index_that_is_not_listed_is_not_told",),
    ),
    Fault(
        INDEXES,
        "(\\d{17})0[1-9]\\d",
        "(\\d{17})\\d{3}",
        "a compaction of the metadata table counts as the building of an index",
        ("ops/rollback/test_indexes.py::test_version_6_names_what_a_partition_was_built_from",),
    ),
    Fault(
        INDEXES,
        (
            "        if any(time not in completed and time < born for time in times):\n"
            "            # The index may be older than its known files.\n"
            "            continue\n"
        ),
        "",
        "an index whose beginning is not known is to be dropped",
        ("reports/health/test_indexes.py::test_an_index_of_whose_files_one_may_be_older_is_none",),
    ),
    Fault(
        INDEXES,
        "born = min((completed[time]",
        "born = max((completed[time]",
        "a later write of an index counts as its building",
        ("reports/health/test_indexes.py::test_what_was_written_into_an_index_later_says_nothing_of_its_age",),
    ),
    Fault(
        INDEXES,
        "            if born < by and ((by_indexer",
        "            if ((by_indexer",
        "an index that was built after the rollback is to be dropped",
        (("reports/health/test_indexes.py::test_an_index_that_was_built_after_the_rollback_holds_nothing_of_it"),),
    ),
    Fault(
        INDEXES,
        "by_indexer = begun < born < ended",
        "by_indexer = begun < born",
        "an index that a writer has built counts as the indexer's",
        ("reports/health/test_indexes.py::test_an_indexer_proves_only_what_it_has_read",),
    ),
    Fault(
        INDEXES,
        "(by_indexer and time <= until)",
        "by_indexer",
        "an instant that the indexer did not read counts as held",
        ("reports/health/test_indexes.py::test_an_indexer_proves_only_what_it_has_read",),
    ),
    Fault(
        INDEXES,
        '(was_completed[time] or "~") < born',
        '(was_completed[time] or "") < born',
        "an instant that may not have completed counts as held",
        ("ops/rollback/test_indexes.py::test_what_is_not_proved_is_no_finding",),
    ),
    Fault(
        INDEXES,
        ("    except Unreadable:\n        return None\n    words"),
        ("    except FileNotFoundError:\n        return None\n    words"),
        "a damaged record of an operation hides what indexes hold",
        ("reports/health/test_indexes.py::test_a_damaged_record_takes_nothing_from_what_the_indexer_proves",),
    ),
    Fault(
        INDEXES,
        "entry.is_write and entry.completed for entry",
        "entry.is_write for entry",
        "an index holds a compaction that was rolled back and is pending, and passes",
        ("reports/health/test_indexes.py::test_an_instant_that_has_completed_again_is_in_all_indexes",),
    ),
    Fault(
        INDEXES,
        "((by_indexer and time <= until) or (was_completed",
        "((was_completed",
        "an index that the indexer has built on a removed instant passes",
        ("ops/rollback/test_indexes.py::test_check_finds_those_that_a_rollback_has_kept",),
    ),
    Fault(
        INDEXES,
        ' or (was_completed[time] or "~") < born)',
        ")",
        "an index that a writer has built on a removed instant passes",
        ("ops/rollback/test_indexes.py::test_check_finds_those_that_a_rollback_has_kept",),
    ),
    Fault(
        METADATA,
        "if path not in named_already and not changes",
        "if not changes",
        "a missing file is told twice",
        ("reports/health/test_slices.py::test_a_file_that_is_missing_is_told_once",),
    ),
    Fault(
        METADATA,
        " and other_table(path, facts.sweep) is None:",
        ":",
        "files below another .hoodie are called missing from the metadata table",
        ("reports/health/test_slices.py::test_files_behind_another_hoodie_are_not_told_as_missing",),
    ),
    Fault(
        METADATA,
        (
            "    if lost and load_timeline(facts.table).modified_ms.keys() != "
            "facts.timeline.modified_ms.keys():\n"
            "        # A clean may have deleted them meanwhile.\n"
            "        return\n"
        ),
        "",
        "files that a clean has just taken are called missing",
        ("reports/health/test_files.py::test_what_moves_while_it_is_listed_is_not_missing",),
    ),
    Fault(
        METADATA,
        (
            "load_timeline(facts.table).modified_ms.keys() != facts.timeline.modified_ms.keys():\n"
            "        # A clean may have deleted them"
        ),
        (
            "load_timeline(facts.table).modified_ms.keys() - facts.timeline.modified_ms.keys():\n"
            "        # A clean may have deleted them"
        ),
        "files that a rollback has just taken are called missing",
        ("reports/health/test_slices.py::test_what_goes_while_it_is_listed_is_not_missing",),
    ),
    Fault(
        FILES,
        "        later = [time for time in archived if time > saved]\n",
        "        later = []\n",
        "a savepoint that cannot be restored passes",
        ("reports/health/test_check.py::test_real_tables",),
    ),
    Fault(
        FILES,
        "data and (data.instant <= record.as_of or data.instant in seen):\n",
        "data:\n",
        "what was lost of a copy since it was made counts as not copied",
        ("reports/health/test_files.py::test_a_copy_of_one_partition_misses_nothing_of_the_others",),
    ),
    Fault(
        FILES,
        "        if partition not in record.partitions and data",
        "        if data",
        "a lost file of a copied partition counts as not copied",
        ("reports/health/test_files.py::test_a_copy_of_one_partition_misses_nothing_of_the_others",),
    ),
)
