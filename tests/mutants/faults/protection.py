"""What a savepoint must name, and what it keeps."""

from tests.mutants.fault import Fault

FILES = "table/files/saved.py"
SAVED = "state/files/savepoints.py"
PROTECTION = "state/files/savepoint_files.py"
PROTECTED = "state/files/protected.py"

FAULTS = (
    Fault(
        FILES,
        "        if is_base or not rules.logs_named_by_writer or time in committed:\n",
        "        if True:\n",
        "a log that does not count is missed, since Hudi's savepoint names it",
        (
            (
                ""
                "state/files/test_needed_records.py::test_of_an_instant_that_the_timeline_does_not_have_base_files_bind_and_logs_below_version_8"
            ),
        ),
    ),
    Fault(
        FILES,
        "        if is_base or not rules.logs_named_by_writer or time in committed:\n",
        "        if not rules.logs_named_by_writer or time in committed:\n",
        "a base file of an instant that the timeline has lost does not bind",
        (
            (
                ""
                "state/files/test_needed_records.py::test_of_an_instant_that_the_timeline_does_not_have_base_files_bind_and_logs_below_version_8"
            ),
        ),
    ),
    Fault(
        FILES,
        "        if is_base or not rules.logs_named_by_writer or time in committed:\n",
        "        if is_base or time in committed:\n",
        "below table version 8 a log that the savepoint names does not bind",
        ("state/files/test_needed_records.py::test_below_version_8_a_log_binds_by_its_slice",),
    ),
    Fault(
        SAVED,
        "    return head.comment.startswith(PROTECTION_COMMENT)\n",
        "    return PROTECTION_COMMENT in head.comment\n",
        "an operator's savepoint whose comment quotes hudictl's is taken away",
        ("state/files/test_savepoints.py::test_a_comment_that_quotes_hudictls_makes_none_its_own",),
    ),
    Fault(
        SAVED,
        "in savepointed_names(table, timeline) if names}",
        "in savepointed_names(table, timeline)}",
        "a partition of which a savepoint names no file counts as one",
        ("state/files/test_savepoints.py::test_all_completed_savepoints_are_read_and_no_others",),
    ),
    Fault(
        SAVED,
        "    return {partition for _, partition, names in savepointed_names(table, timeline) if names}\n",
        "    return set()\n",
        "a partition that savepoints alone name is not looked at",
        ("state/files/test_savepoints.py::test_all_completed_savepoints_are_read_and_no_others",),
    ),
    Fault(
        PROTECTION,
        "judged(facts, way.times, savepointed, cleans=cleans)) for",
        "judged(facts, way.times, {}, cleans=cleans)) for",
        "what a savepoint names does not bind where it is proved",
        ("state/files/test_savepoint_files.py::test_what_a_savepoint_names_is_missed_where_it_is_gone",),
    ),
    Fault(
        PROTECTION,
        'dict.fromkeys(facts.sweep.partitions, "")',
        "{}",
        "a partition without files has no entry in the savepoint",
        (
            "state/files/test_savepoint_files.py::test_every_partition_has_an_entry_and_no_name_is_of_a_file_that_is_gone",
        ),
    ),
    Fault(
        PROTECTED,
        "names.update((name, size) for name, size in needed.items() if size is not None)",
        "names.update((name, size or 0) for name, size in needed.items())",
        "a savepoint names files that are not there",
        (
            "state/files/test_savepoint_files.py::test_every_partition_has_an_entry_and_no_name_is_of_a_file_that_is_gone",
        ),
    ),
    Fault(
        PROTECTED,
        "    if hudi is not None:\n",
        "    if False:\n",
        "a savepoint names less than Hudi's own",
        ("state/files/test_savepoint_files.py::test_it_names_later_logs_of_a_slice_as_hudi_does",),
    ),
    Fault(
        PROTECTED,
        "zip(ways, records.ways, strict=True)",
        "zip(ways[:1], records.ways, strict=False)",
        "a savepoint names what one way back needs",
        ("state/files/test_savepoint_files.py::test_it_names_what_each_way_back_needs",),
    ),
    Fault(
        PROTECTION,
        "for way in ways if not way.outcome.missing), key=len",
        "for way in ways), key=len",
        "a way back that is impossible says what is unprotected",
        ("state/files/test_savepoint_files.py::test_the_way_back_of_which_most_is_protected_counts",),
    ),
    Fault(
        PROTECTED,
        "    whole = {*map(_file_id, then.needed)}.difference(map(_file_id, then.missing))\n",
        "    whole = {*map(_file_id, then.needed)}\n",
        "a slice counts as protected though a clean takes some of its rows",
        ("state/files/test_savepoint_files.py::test_the_slice_before_a_compaction_protects_its_rows",),
    ),
    Fault(
        PROTECTED,
        "    whole = {*map(_file_id, then.needed)}.difference",
        "    whole = {*map(_file_id, found)}.difference",
        "a file group of which nothing is protected counts as whole",
        (
            "state/files/test_savepoint_files.py::test_a_name_protects_its_whole_slice_below_version_8_and_itself_from_then_on",
        ),
    ),
    Fault(
        PROTECTION,
        "_looked_outside(facts, with_compacted(facts, case))\n",
        "_looked_outside(facts, case)\n",
        "a savepoint that names the slice before a compaction is said to protect too little",
        ("ops/restore/test_overlaps.py::test_hudictls_own_savepoint_protects_all_when_a_pending_compaction_completes",),
    ),
    Fault(
        PROTECTION,
        "    return min((_outside(",
        "    return max((_outside(",
        "files are called unprotected that a way back does not need",
        ("state/files/test_savepoint_files.py::test_the_way_back_of_which_most_is_protected_counts",),
    ),
    Fault(
        PROTECTED,
        "    data = None if rules.logs_named_by_writer else parse_data_file(name)\n",
        "    data = None\n",
        "below version 8 logs are called unprotected that their base file's name protects",
        (
            "state/files/test_savepoint_files.py::test_a_name_protects_its_whole_slice_below_version_8_and_itself_from_then_on",
        ),
    ),
    Fault(
        PROTECTED,
        "    data = None if rules.logs_named_by_writer else parse_data_file(name)\n",
        "    data = parse_data_file(name)\n",
        "from version 8 on a log counts as protected by another log's name",
        (
            "state/files/test_savepoint_files.py::test_a_name_protects_its_whole_slice_below_version_8_and_itself_from_then_on",
        ),
    ),
    Fault(
        PROTECTED,
        "for entry in place.written if entry.time <= target]",
        "for entry in place.written if entry.time < target]",
        "what the target itself replaced is named, and its commit is decoded by the engine",
        (
            "state/files/test_savepoint_files.py::test_what_the_target_has_replaced_is_not_named_and_what_was_replaced_later_is",
        ),
    ),
    Fault(
        PROTECTION,
        "having(REPLACECOMMIT) if entry.time <= target.time}",
        "having(REPLACECOMMIT) if entry.time < target.time}",
        "what the target itself replaced is named",
        (
            "state/files/test_savepoint_files.py::test_what_the_target_has_replaced_is_not_named_and_what_was_replaced_later_is",
        ),
    ),
    Fault(
        PROTECTED,
        "lambda time: time <= target and",
        "lambda time: time < target and",
        "the target's own slice is not the newest",
        (
            "state/files/test_savepoint_files.py::test_every_partition_has_an_entry_and_no_name_is_of_a_file_that_is_gone",
        ),
    ),
    Fault(
        PROTECTED,
        "(entry.files for entry in slices if",
        "(entry.files[:1] for entry in slices if",
        "the logs of a slice are not named",
        ("state/files/test_savepoint_files.py::test_it_names_later_logs_of_a_slice_as_hudi_does",),
    ),
)
