"""Partitions that are judged where they are listed: what is counted, what is handed on, and what must not be lost."""

from tests.mutants.fault import Fault

WEIGH = "state/files/changes.py"
PARTITION = "state/files/partition.py"
NEEDED = "state/files/needed.py"
PROTECTED = "state/files/protected.py"
SWEEP = "table/files/sweep.py"
LOCAL = "engine/local.py"
WORK = "engine/work.py"
CHOOSE = "table/files/choose.py"
VERIFY = "ops/undo/verify.py"

FAULTS = (
    Fault(
        WEIGH,
        "    if records.saved:\n        others.update(",
        "    if False:\n        others.update(",
        "an older file of a plain group is not needed though a savepoint names it",
    ),
    Fault(
        WEIGH,
        "for at in rows if times[at] in removed and ids[at] not in others] if removed else []",
        "for at in rows if False] if removed else []",
        "base files of a removed instant stay in a group that has nothing else of note",
    ),
    Fault(
        WEIGH,
        "for at in going if names[at] in records.written or names[at] in records.planned)",
        "for at in going if names[at] in records.planned)",
        "a base file of a removed instant goes from a plain group though a kept commit has written it",
    ),
    Fault(
        WEIGH,
        "for at in going if names[at] in records.written or names[at] in records.planned)",
        "for at in going if names[at] in records.written)",
        "a base file of a removed instant goes from a plain group though a kept table service has planned with it",
    ),
    Fault(
        WEIGH,
        "        if file.data.instant in self.records.owners:\n",
        "        if True:\n",
        "a base file goes from a partition that the removed instant's own records do not name",
    ),
    Fault(
        WEIGH,
        "for time in part.times - removed if time in view.committed}",
        "for time in part.times - removed}",
        "the file of a writer that is at work counts as needed",
    ),
    Fault(
        WEIGH,
        "        if 0 in found.values():\n",
        "        if False:\n",
        "an empty base file of a plain group counts as there",
    ),
    Fault(
        WEIGH,
        "        if self.known is not None and not found.keys() <= self.known:\n",
        "        if False:\n",
        "a plain group that the metadata table does not list is not told",
    ),
    Fault(
        WEIGH,
        "            if self.known is not None and not (file.size is None",
        "            if False and not (file.size is None",
        "a file slice with logs that the metadata table does not list is not told",
    ),
    Fault(
        WEIGH,
        "known if compares else None",
        "known",
        "without a metadata table all files count as unlisted",
    ),
    Fault(
        WEIGH,
        "    if only_future and future is None:\n        return None\n",
        "",
        "a plan is refused for a partition that it does not change",
    ),
    Fault(
        WEIGH,
        'f"{name} {files[name]}\\n"',
        'f"{name}\\n"',
        "two needed files that have changed by the same number of bytes count as whole",
    ),
    Fault(
        WEIGH,
        'f"{name} {files[name]}\\n"',
        'f"{files[name]}\\n"',
        "a needed file counts as there where another one has its size",
    ),
    Fault(
        WEIGH,
        "names - future.going",
        "names",
        "a plan is not refused that deletes a file which a commit or a savepoint names",
    ),
    Fault(
        WEIGH,
        "        if future.going:\n",
        "        if False:\n",
        "a plan is judged as if its base files stayed",
    ),
    Fault(
        WEIGH,
        "        if file.data.name not in future.going:\n",
        "        if True:\n",
        "a plan is judged as if its logs stayed",
    ),
    Fault(
        WEIGH,
        "(*logs_of(tally.path, listing), *future.blocks)",
        "logs_of(tally.path, listing)",
        "a plan is judged without the logs that it writes",
    ),
    Fault(
        WEIGH,
        "            if logs is None or data.is_base or data.cdc or data.name in logs:\n",
        "            if True:\n",
        "a log with rollback blocks counts as a change of the required files",
    ),
    Fault(
        WEIGH,
        "            if logs is None or data.is_base or data.cdc or data.name in logs:\n",
        "            if logs is None or data.is_base or data.cdc:\n",
        "a log of a slice with rollback blocks can be lost without a word",
    ),
    Fault(
        WEIGH,
        "data.is_base or data.cdc or data.name in logs",
        "data.is_base or data.name in logs",
        "a change log beside the logs of a slice makes a restore impossible",
        ("ops/undo/test_blocks.py::test_a_change_log_beside_the_logs_of_a_slice_hinders_no_block",),
    ),
    Fault(
        WEIGH,
        "        self.undated.update(verdict.undated)\n",
        "",
        "the archive is not asked for the slice of a log: its rows are counted to the wrong one",
    ),
    Fault(
        WEIGH,
        "bare=there and (",
        "bare=bool(self.needed) and (",
        "a partition of which all is gone gets a metafile",
    ),
    Fault(
        WEIGH,
        "bare=there and (listing is None or not listing.is_partition)",
        "bare=False",
        "a partition without metafile is not told where it is listed",
    ),
    Fault(
        WEIGH,
        "self.needed.keys() if names is None else",
        "() if names is None else",
        "a pending clean of a whole partition is not found",
    ),
    Fault(
        WEIGH,
        "names & self.needed.keys()",
        "names",
        "a pending clean is called harmful for files that nobody needs",
    ),
    Fault(
        WEIGH,
        "{*groups, *told, *records.replaced,",
        "{*groups, *records.replaced,",
        "a group with a lost file is counted twice: once whole, once as lost",
    ),
    Fault(
        WEIGH,
        "*told, *records.replaced, *records.revived,",
        "*told, *records.revived,",
        "a replaced group of base files alone counts as needed",
    ),
    Fault(
        WEIGH,
        "*records.revived, *records.compactions,",
        "*records.compactions,",
        "a group that comes back is called lost though it is there",
    ),
    Fault(
        WEIGH,
        "place.names if records.names_files else",
        "place.names if False else",
        "a named file that is there counts as gone",
    ),
    Fault(
        PARTITION,
        "        if file_id in groups or named or file_id in records.revived:\n",
        "        if True:\n",
        "of a group that was replaced long ago, what a clean took is missed",
        ("state/files/test_changes.py::test_a_group_of_which_only_a_clean_tells_is_not_missed",),
    ),
    Fault(
        PARTITION,
        "    lost = records.revived.difference(groups, told)\n",
        "    lost = records.revived.difference(groups)\n",
        "a group that comes back is missed twice, by its name and by a file's",
        ("state/files/test_changes.py::test_a_group_that_comes_back_is_missed_once",),
    ),
    Fault(
        PARTITION,
        "written={name: time for time, joined in names for name in",
        "written={name: time for time, joined in names[:1] for name in",
        "of the commits that have written into a partition one counts",
        ("state/files/test_partition.py::test_what_was_packed_is_what_is_unpacked",),
    ),
    Fault(
        PARTITION,
        "binding(saved, view.rules",
        "binding(None, view.rules",
        "what a savepoint names does not bind",
        ("state/files/test_needed_records.py",),
    ),
    Fault(
        NEEDED,
        ", compactions, cleaning, borrowed",
        ", compactions, borrowed",
        "a pending clean of a partition that no commit names is not found",
        ("state/files/test_needed_records.py::test_a_pending_clean_of_a_partition_that_nothing_else_names_counts",),
    ),
    Fault(
        NEEDED,
        "        cleans.update(entry.cleans)\n",
        "        cleans |= entry.cleans\n",
        "of the files that a pending clean would delete, one partition's are told",
        (
            (
                ""
                "state/files/test_needed_records.py::test_the_files_that_a_pending_clean_would_delete_are_counted_in_all_partitions"
            ),
        ),
    ),
    Fault(
        NEEDED,
        (
            "        case = with_completions(facts, case, undated)\n"
            "        weighed = weigh_table(case, facts.sweep, facts.known)\n"
        ),
        "        case = with_completions(facts, case, undated)\n",
        "the archive's word on a log comes after the judgement",
        ("state/files/test_needed_records.py::test_the_archive_tells_the_slice_of_a_log_that_a_clean_has_taken",),
    ),
    Fault(
        PROTECTED,
        "            names[file.data.name] = file.size or 0\n",
        "            names[file.data.name] = 0\n",
        "a log that Hudi's own savepoint names is left out as empty",
        ("state/files/test_savepoint_files.py::test_it_names_later_logs_of_a_slice_as_hudi_does",),
    ),
    Fault(
        PROTECTED,
        "for entry in slices if entry.key <= target), ())",
        "for entry in slices), ())",
        "a savepoint names a later slice, and not its own",
        ("state/files/test_savepoint_files.py::test_of_a_group_with_logs_it_names_the_slice_of_its_commit_alone",),
    ),
    Fault(
        SWEEP,
        "    if listing is None and not (written or saved or listed or given):\n",
        "    if listing is None:\n",
        "a partition that is gone is not judged: its files are not missed",
        ("state/files/test_needed_records.py::test_of_a_partition_that_is_gone_all_is_missed",),
    ),
    Fault(
        SWEEP,
        " and path not in odd:\n",
        ":\n",
        "a partition without metafile that commits name is not looked into",
        ("table/files/test_view.py::test_a_folder_that_nobody_names_is_no_partition",),
    ),
    Fault(
        SWEEP,
        "    if listing is not None and not _counts(listing) and path not in odd:\n",
        "    if False:\n",
        "an operator's copies count as files of the table",
        ("table/files/test_view.py::test_a_folder_that_nobody_names_is_no_partition",),
    ),
    Fault(
        SWEEP,
        "(place.path in named and not place.is_table)]",
        "place.path in named]",
        "files of another table below the base path count as the table's",
        ("table/files/test_view.py::test_a_table_of_its_own_below_a_partition_is_not_swept",),
    ),
    Fault(
        SWEEP,
        "not listing.hidden and not listing.is_table",
        "not listing.hidden",
        "a partition that is another table is not told",
        ("table/files/test_sweep.py",),
    ),
    Fault(
        SWEEP,
        "frozenset(place.path for place in seen if place.linked)",
        "frozenset()",
        "an empty log behind a symbolic link is deleted",
        ("ops/undo/test_planning.py", "table/files/test_sweep.py"),
    ),
    Fault(
        SWEEP,
        "    while waiting and files < _ENOUGH_FILES and not ranges:\n",
        "    while waiting and not ranges:\n",
        "the driver lists a table with very many files alone",
        ("table/files/test_view.py::test_the_rest_of_many_files_goes_to_the_engine",),
    ),
    Fault(
        SWEEP,
        "    where = engine if left or isinstance(engine, LocalEngine) else LocalEngine()\n",
        "    where = LocalEngine()\n",
        "the driver holds the files of a very large table",
        ("table/files/test_view.py::test_the_rest_of_many_files_goes_to_the_engine",),
    ),
    Fault(
        SWEEP,
        '    listings = where.gather("list partitions", _packed, [*listed, *left])\n',
        '    listings = where.gather("list partitions", _packed, [*left] or listed)\n',
        "what the driver has listed of a very large table is forgotten",
        ("table/files/test_view.py::test_the_rest_of_many_files_goes_to_the_engine",),
    ),
    Fault(
        "engine/base.py",
        "    return [result.value for result in results if result.value is not None]\n",
        "    return [result.value for result in results if result.value]\n",
        "an answer that is empty or nought counts for none: answers go to the wrong tasks",
        ("table/files/test_sweep.py",),
    ),
    Fault(
        SWEEP,
        "not any(text in place.listing.names for text in naming)",
        "not all(text in place.listing.names for text in naming)",
        "the traces of one of two pending writes are not seen",
        ("table/files/test_sweep.py",),
    ),
    Fault(
        SWEEP,
        "- place.names]",
        "- (place.names or {*split_names(place.given)})]",
        "deleted files of a folder that is gone count as there",
        ("table/files/test_sweep.py",),
    ),
    Fault(
        CHOOSE,
        "    return file.data.instant in times or (file.partition, file.data.name) in logs\n",
        "    return file.data.instant in times\n",
        "a pending write that appends to another instant's log counts as idle",
    ),
    Fault(
        CHOOSE,
        "    return file.data.is_base and file.data.instant in times\n",
        "    return file.data.instant in times\n",
        "logs of a pending write keep the metadata table from being dropped though readers skip their blocks",
    ),
    Fault(
        CHOOSE,
        "(f.data.is_base or f.data.cdc or f.data.instant in removed)]",
        "(f.data.is_base or f.data.cdc)]",
        "logs that go anyway are read, and may not be readable",
    ),
    Fault(
        "workers.py",
        "zip(*sorted(listing.files), strict=True)",
        "zip(*listing.files, strict=True)",
        "where a store lists in another order, files that nobody needs are missed",
        ("state/files/test_changes.py",),
    ),
    Fault(
        LOCAL,
        "kept.errors.append(result.error)\n",
        "pass\n",
        "a folder that could not be listed counts as empty",
        ("engine/test_local.py",),
    ),
    Fault(
        WORK,
        "    waiting = iter(items)\n",
        "    waiting = items\n",
        "the first items are done again, and the answers go to the wrong ones",
    ),
    Fault(
        LOCAL,
        "sorted({0}.union(*(entry.kept.parts for entry in local)))",
        "sorted(set().union(*(entry.kept.parts for entry in local)))",
        "where no folder could be listed the table counts as empty",
        ("engine/test_local.py",),
    ),
    Fault(
        WORK,
        "    yield from (TaskResult(None, error) for error in errors)\n",
        "",
        "an error while gathering is forgotten by the time the values are used",
        ("engine/test_local.py",),
    ),
    Fault(
        WORK,
        "        if result.value is not None or result.error is not None:\n",
        "        if result.value is not None:\n",
        "a partition that could not be judged counts as one that nobody needs",
        ("engine/test_local.py",),
    ),
    Fault(
        WORK,
        "for key in dict.fromkeys(key for bucket in buckets for key in bucket.values):",
        "for key in buckets[0].values:",
        "records of a partition that is gone are not looked at",
        ("engine/test_local.py",),
    ),
    Fault(
        WORK,
        "        if waited_s > max(_MUCH * worked_s, _SHORT_SECONDS):\n",
        "        if False:\n",
        "calls of a store wait for each other: a restore takes many times as long",
        ("engine/test_local.py",),
    ),
    Fault(
        WORK,
        "                if len(running) == _AHEAD * at_once:\n",
        "                if False:\n",
        "the listings of millions of files wait in memory",
    ),
    Fault(
        VERIFY,
        "    for findings, what in (*wrong, *_deviations(later, needed, outcome.missing, kept)):\n",
        "    for findings, what in ():\n",
        "a plan that contradicts itself is executed",
        ("ops/undo/test_verify.py::test_a_plan_that_does_not_lead_where_it_says_is_refused",),
    ),
    Fault(
        VERIFY,
        "(*wrong, *_deviations(later,",
        "(*(), *_deviations(later,",
        "a plan that forgets a partition is executed",
        ("ops/undo/test_verify.py::test_a_plan_that_forgets_a_partition_is_refused",),
    ),
)
