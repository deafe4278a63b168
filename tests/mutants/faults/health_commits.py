"""``check`` on what commits say of their files, and on the metadata table's version."""

from tests.mutants.fault import Fault

COMMITS = "reports/health/commits.py"
STORAGE = "reports/health/storage.py"
SLICES = "table/files/slices.py"
PARTITION = "reports/health/partition.py"
CHECK = "reports/health/check.py"
GUARDS = "ops/guards/timeline.py"
METADATA = "reports/health/metadata.py"
DEFINITIONS = "table/metadata/definitions.py"
METADATA_TESTS = "reports/health/test_metadata.py"
TESTS = "reports/health/test_commits.py"

FAULTS = (
    Fault(
        PARTITION,
        "        hides = hiding(rules, files, committed, None)\n",
        "        hides = []\n",
        "rows that queries leave out are not told",
        (f"{TESTS}::test_a_base_file_that_hides_later_logs",),
    ),
    Fault(
        PARTITION,
        " not in replaced and log.group not in compacting:\n",
        " not in replaced:\n",
        "logs beside a pending compaction, which queries read, are told as left out",
        (f"{TESTS}::test_what_hides_no_logs",),
    ),
    Fault(
        PARTITION,
        " for entry in begin if entry.data.instant <= ended)",
        " for entry in begin)",
        "logs that were written before a base file began are told as hidden by it",
        (f"{TESTS}::test_a_base_file_that_hides_later_logs",),
    ),
    Fault(
        "table/files/written.py",
        "            sizes[name] = max(size, sizes.get(name, 0))\n",
        "            sizes[name] = size\n",
        "of a log to which several commits have appended a lost end is not found",
        ("reports/health/test_partition.py::test_a_log_has_at_least_the_largest_size_that_a_commit_has_recorded",),
    ),
    Fault(
        "engine/work.py",
        "        if result.error is not None:\n            raise StorageFailed",
        "        if False:\n            raise StorageFailed",
        "a file that cannot be read is called sound",
        ("reports/health/test_partition.py::test_a_file_that_cannot_be_read_ends_the_look_with_one_sentence",),
    ),
    Fault(
        COMMITS,
        "    found = facts.sweep.over(",
        '    facts.sweep.select("collect files", lambda file: True)\n    found = facts.sweep.over(',
        "hudictl's own process collects all files of a table, and ends without memory",
        ("reports/health/test_partition.py::test_what_comes_back_does_not_grow_with_the_files_of_a_sound_table",),
    ),
    Fault(
        PARTITION,
        "            if len(names) > 1 and time in committed:\n",
        "            if len(names) > 1:\n",
        "two files of a retried task, whose write is still pending, are told to be moved away",
        (f"{TESTS}::test_files_of_a_pending_write_are_nobodys_fault",),
    ),
    Fault(
        COMMITS,
        "        wrong = [path for path in paths if path not in right] or paths\n",
        "        wrong = paths\n",
        "of two base files the one that the commit names is told to be wrong",
        (f"{TESTS}::test_a_second_base_file_of_a_slice",),
    ),
    Fault(
        PARTITION,
        "time in completed and names[0] not in told:",
        "time in completed and False:",
        "a file that its commit does not name is not found",
        (f"{TESTS}::test_a_file_that_its_commit_does_not_name",),
    ),
    Fault(
        SLICES,
        "    if not told or found == told:\n",
        "    if True:\n",
        "a file that was cut is not found",
        (f"{TESTS}::test_a_file_that_was_cut",),
    ),
    Fault(
        GUARDS,
        "        if file.time == instant.time:\n            raise Unreadable(",
        "        if False:\n            raise Unreadable(",
        "a savepoint is made on a commit that says nothing of its files",
        (f"{TESTS}::test_a_commit_without_content",),
    ),
    Fault(
        STORAGE,
        "        if found is not None and found.version != table.version and not wrong_lines(table.storage):\n",
        "        if False:\n",
        "a metadata table of another table version is not found",
        (f"{TESTS}::test_a_metadata_table_of_another_table_version",),
    ),
    Fault(
        CHECK,
        "    known = read_known(table, engine, any_format=True)\n",
        "    known = read_known(table, engine)\n",
        "check ends at a metadata table of an unknown table version",
        (f"{TESTS}::test_a_metadata_table_of_another_table_version",),
    ),
    Fault(
        SLICES,
        "(found < told or data.is_base or data.cdc)",
        "(data.is_base or data.cdc)",
        "a log that was cut is not found: readers miss its rows without an error",
        (f"{TESTS}::test_a_log_that_was_cut",),
    ),
    Fault(
        SLICES,
        "(found < told or data.is_base or data.cdc)",
        "True",
        "a log to which a pending write has appended is called damaged",
        (f"{TESTS}::test_a_log_that_is_longer_than_its_commits_say",),
    ),
    Fault(
        PARTITION,
        "told | {log: size for log, (size, _) in changes.items()}",
        "told",
        "a log of changes that was cut is not found",
        (f"{TESTS}::test_a_log_of_changes_that_was_cut",),
    ),
    Fault(
        PARTITION,
        "if log not in there and base in there)",
        "if log not in there)",
        "logs of changes that a clean has taken are called missing",
        (f"{TESTS}::test_a_log_of_changes_that_was_cleaned_with_its_base_file",),
    ),
    Fault(
        METADATA,
        " and not changes and other_table",
        " and other_table",
        "of a log of changes that is gone the metadata table is blamed, too",
        (f"{TESTS}::test_a_log_of_changes_that_was_cut",),
    ),
    Fault(
        SLICES,
        "data.is_base or data.cdc)",
        "data.is_base)",
        "a log of changes that is longer than its commit says is not found: its changes are read twice",
        ("reports/health/test_every_damage.py",),
    ),
    Fault(
        "reports/table.py",
        "    check_last_clean(table, timeline)\n",
        "",
        "writers are said to start that fail at the last clean",
        ("reports/health/test_every_damage.py",),
    ),
    Fault(
        "reports/table.py",
        "        if metadata.version > table.version:\n",
        "        if False:\n",
        "writers are said to start that do not know the metadata table's version",
        ("reports/health/test_every_damage.py",),
    ),
    Fault(
        "reports/table.py",
        "entry.time == newest or entry.action == fmt.REPLACECOMMIT:",
        "entry.time == newest:",
        "writers are said to start that fail at a replacecommit",
        ("reports/health/test_every_damage.py",),
    ),
    Fault(
        "reports/table.py",
        "        _check_commits(metadata, load_timeline(metadata))\n",
        "",
        "writers are said to start that fail at a commit of the metadata table",
        ("reports/health/test_every_damage.py",),
    ),
    Fault(
        METADATA,
        "    for path, problem in unread.items():\n",
        "    for path, problem in ():\n",
        "a commit of the metadata table at which writers fail is not found",
        ("reports/health/test_every_damage.py",),
    ),
    Fault(
        "table/timeline/archive.py",
        "if declared.isdigit() else version",
        "if declared.isdigit() and int(declared) <= version else version",
        "an archive whose manifest is gone is read by an older one",
        ("table/timeline/test_archive.py::test_only_the_manifests_files_count",),
    ),
    Fault(
        "table/timeline/archive.py",
        ' and folder == table.layout.archive.rpartition("/")[2]',
        "",
        "an instant that 1.0.2's upgrade has archived is not found: the names of its files are believed",
        ("table/timeline/test_archive.py::test_the_name_of_an_upgraded_file_does_not_tell_its_times",),
    ),
    Fault(
        METADATA,
        "        if not names:\n            continue\n",
        "        if True:\n            continue\n",
        "a metadata table that has lost its newest instant is not found: queries see the table of before",
        (f"{METADATA_TESTS}::test_a_metadata_table_that_has_lost_its_newest_instant_is_behind",),
    ),
    Fault(
        METADATA,
        "    yield from _behind(look, needed.unlisted)\n",
        (
            "    from hudictl.table.files.choose import unlisted\n"
            '    rest = facts.sweep.over("look", unlisted, facts.known.listing.files)\n'
            "    yield from _behind(look, chain.from_iterable(rest))\n"
        ),
        "a file that a clean has not deleted yet is called unlisted",
        (f"{METADATA_TESTS}::test_a_file_that_readers_do_not_need_may_be_unlisted",),
    ),
    Fault(
        DEFINITIONS,
        "        if _version(definition) not in _VERSIONS:\n",
        "        if False:\n",
        "index definitions of another version, at which every query fails, are not found",
        ("table/metadata/test_definitions.py",),
    ),
    Fault(
        "reports/health/names.py",
        '    "indexes.definitions": "index-definitions-damaged",\n',
        "",
        "damaged index definitions, at which queries fail, are not found",
        ("reports/health/test_indexes.py::test_damaged_definitions_are_found",),
    ),
    Fault(
        DEFINITIONS,
        "        if named and table.indexes:\n",
        "        if False:\n",
        "index definitions that are gone, without which queries fail, are not found",
        ("table/metadata/test_definitions.py",),
    ),
    Fault(
        METADATA,
        "            if not may_be_gone if status is None else",
        "            if status is not None and",
        "a log of the metadata table that is gone is not found",
        (f"{METADATA_TESTS}::test_files_of_the_metadata_table_that_are_gone_or_cut",),
    ),
    Fault(
        METADATA,
        "            if not may_be_gone if status is None else status.size != size and not grown:\n",
        "            if not may_be_gone and status is None:\n",
        "a log of the metadata table that was cut is not found",
        (f"{METADATA_TESTS}::test_files_of_the_metadata_table_that_are_gone_or_cut",),
    ),
    Fault(
        METADATA,
        "if instant.action == DELTACOMMIT and _has_bases(found)}",
        "if instant.action == COMMIT and _has_bases(found)}",
        "an index that a writer has dropped and another has built anew is called damaged for ever",
        (f"{METADATA_TESTS}::test_a_partition_of_the_metadata_table_that_was_built_anew",),
    ),
    Fault(
        METADATA,
        'key=lambda entry: (entry[0].completion_time or "", bool(entry[2]), entry[0].time)',
        "key=lambda entry: (bool(entry[2]), entry[0].time)",
        "files of an index that was built anew are passed over where they are gone: its build has a time of its own",
        (f"{METADATA_TESTS}::test_a_partition_of_the_metadata_table_that_was_built_anew",),
    ),
    Fault(
        METADATA,
        ", instant.time < compacted\n",
        ", False\n",
        "what a clean has taken of the metadata table is called damaged",
        (f"{METADATA_TESTS}::test_a_file_of_the_metadata_table_that_its_clean_may_have_taken",),
    ),
    Fault(
        METADATA,
        'name.startswith(".") and status is not None and status.size > size\n',
        "status is not None and status.size > size\n",
        "a base file of the metadata table with something behind its end, which fills Hudi's memory, is not found",
        (f"{METADATA_TESTS}::test_a_base_file_of_the_metadata_table_that_is_longer",),
    ),
    Fault(
        "reports/table.py",
        "            read_commit(table, entry)\n",
        "            pass\n",
        "a table whose newest commit nobody can read is said to be open to writers",
        ("cli/test_damage.py::test_where_the_newest_write_is_damaged_no_writer_can_start",),
    ),
    Fault(
        "reports/table.py",
        "    check_definitions(table)\n",
        "",
        "a table whose index definitions nobody can read is said to be open to writers",
        ("reports/health/test_every_damage.py::test_where_hudi_cannot_write_no_writer_is_said_to_start",),
    ),
    Fault(
        "reports/table.py",
        "        check_openable(metadata)\n",
        "        pass\n",
        "a table whose metadata table nobody can open is said to be open to writers",
        ("reports/health/test_every_damage.py::test_where_hudi_cannot_write_no_writer_is_said_to_start",),
    ),
)
