"""Which files are needed, go, or stay."""

from tests.mutants.fault import Fault

PARTITION = "state/files/partition.py"
NEEDED = "state/files/needed.py"
PLACES = "state/files/instant_files.py"
GAP = "state/metadata/gap.py"
VIEW = "table/files/view.py"

FAULTS = (
    Fault(
        NEEDED,
        'if instant.pending or max(instant.time, instant.completion_time or "") > after:',
        "if instant.pending or instant.time > after:",
        "a clean that was requested before the target took its files unseen",
        ("state/files/test_needed.py::test_a_clean_of_the_active_timeline_counts_by_its_completion",),
    ),
    Fault(
        PARTITION,
        "    if records.saved:\n        needed |=",
        "    if False:\n        needed |=",
        "a lost file of an older slice that the savepoint names is not missed",
        ("state/files/test_needed.py::test_a_file_of_an_older_slice_that_the_savepoint_names_is_needed",),
    ),
    Fault(
        NEEDED,
        ("    return min([newest, *(entry.time for entry in compactions if entry.time in removed)])"),
        "    return newest",
        "what a clean took before a removed compaction is not missed",
        ("state/files/test_needed.py::test_what_a_clean_took_since_a_removed_compaction_is_missed",),
    ),
    Fault(
        VIEW,
        'min((entry.time for entry in timeline.writes()), default="")',
        'min((entry.time for entry in timeline.completed_writes()), default="")',
        "the files of a failed first write count as committed",
        ("ops/savepoint/test_savepoint.py::test_it_names_nothing_of_a_first_write_that_failed",),
    ),
    Fault(
        "table/files/slices.py",
        "from bisect import bisect, insort",
        "from bisect import bisect_left as bisect, insort",
        "a log that completed with its slice goes to the one before",
        ("table/files/test_view.py::test_slices_from_version_8_on",),
    ),
    Fault(
        PARTITION,
        "return bool(file.size) if file.data.is_base else file.size is not None",
        "return file.size is not None",
        "an empty base file counts as there",
        ("ops/restore/test_planning.py::test_a_missing_file_is_named",),
    ),
    Fault(
        PARTITION,
        ("    going = [file for file in going if file.data.is_base or file.data.instant not in view.bases_only]\n"),
        "",
        "later logs go with the compaction whose plan stays",
        ("state/files/test_partition.py::test_of_a_compaction_whose_plan_stays_only_base_files_go",),
    ),
    Fault(
        "table/files/saved.py",
        "        if time is None or time in gone:\n",
        "        if time is None:\n",
        "a file of a removed instant is missed, since the savepoint names it",
        ("state/files/test_needed.py::test_what_a_savepoint_names_of_a_removed_instant_does_not_bind",),
    ),
    Fault(
        NEEDED,
        "kept = {entry.time for entry in timeline.having(REPLACECOMMIT)} - set(removed)",
        "kept = {entry.time for entry in timeline.having(REPLACECOMMIT)}",
        "what a removed replacecommit put out of sight is not needed",
        ("state/files/test_needed.py::test_groups_that_come_back_with_their_replacement_undone",),
    ),
    Fault(
        PLACES,
        ("*(commit.replaced for commit in self.commits)"),
        "()",
        "a partition that was only replaced is not the instant's",
        ("state/files/test_instant_files.py",),
    ),
    Fault(
        PLACES,
        "for known in (commits, backup) if",
        "for known in (commits,) if",
        "an un-published instant has no partitions in a resumed restore",
        ("state/files/test_instant_files.py",),
    ),
    Fault(
        GAP,
        "    unlisted = [*needed.unlisted]\n",
        "    unlisted: list[StoredFile] = []\n",
        "rows of unlisted files appear",
        ("ops/restore/test_strangers.py::test_where_the_metadata_table_keeps_copies_from_readers_it_is_not_given_up",),
    ),
    Fault(
        "state/files/needed.py",
        "    return unknown & taken_back(facts.table, facts.timeline).keys() if unknown else frozenset()\n",
        "    return unknown\n",
        "files of an instant that a lost archive had, and that a savepoint names, are not missed",
        tests=("ops/restore/test_overlaps.py",),
    ),
    Fault(
        "state/files/needed.py",
        "savepointed.instants.intersection(removed) | _taken_back(facts, savepointed)",
        "savepointed.instants.intersection(removed)",
        "a savepoint can be restored once only",
        tests=("ops/restore/test_overlaps.py",),
    ),
)
