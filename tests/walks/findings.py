"""What ``check`` may find on the table of a walk on which everything has ended, and why. All else is a problem."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.walks.product import Answer
from tests.walks.table import DEATH, FAILURE, Table

# What 0.15.0 leaves by itself; queries may fail then, or miss rows, which is rightly found.
BY_0_15: Mapping[str, str] = {
    "rollback-block-ahead": "each of its rollbacks does, until the next commit; and hudictl's, which do as these",
    "listed-files-missing": "its rollback lists the log of a writer that died before it made that log",
}
# The same, of a step whose write begins an index beside what is pending: it is not begun, and the write is not listed.
LATE_BY_0_15 = "metadata-table-behind"
ALWAYS: Mapping[str, str] = {
    "rollbacks-piled-up": "a walk may roll back again and again, without a commit between",
    "metadata-table-leftover": "what is taken out of use, by Hudi or by hudictl, is moved aside",
    "clustering-waits": "a step may only schedule one",
    "index-waits": "a restore has deleted an index that no write builds",
    "clustering-elsewhere": "the table is a copy",
}
# By what has been done to the table: the name of a step, or a death.
AFTER: Mapping[str, Mapping[str, str]] = {
    DEATH: {
        "temporary-file": "of a hudictl that died; its next command clears it",
        "stale-heartbeat": "of a writer that died, and that Hudi has rolled back",
        "stale-markers": "of a writer or a rollback that died, and that was ended by another",
        "metadata-table-unlisted": "of a writer that died while it made one",
        "properties-backup": "of a hudictl that died while it changed them; their next change clears it",
        "lock-held": "of a writer that died while it held it",
        "savepoint-remnant": "of a hudictl that died, and whose restore Hudi has ended",
    },
    "hudi_rollback": {"plan-names-missing-file": "it does not ask what a pending clustering is going to read"},
    "forty_failed_writes": {"orphans": "Hudi's rollback has left a file without content"},
    FAILURE: {"failed-write": "Hudi gave its own step up in the middle, and left that pending"},
    # Hudi makes a savepoint on a commit of which a clean has taken files.
    "clean": {"savepoint-broken": "its commit was cleaned before"},
    "archive": {"savepoint-behind-archive": "savepoints may be passed"},
    "nested_table": {"other-table": "it is one"},
    "lost_metafile": {
        "savepoint-protects-too-little": "Hudi makes a savepoint without its partition",
        "partition-without-metafile": "its file is lost",
        "savepoint-broken": "what it lacks is that file",
        "metadata-table-behind": "a metadata table that Hudi makes anew does not list its partition",
    },
    "copied_without_times": {"times-not-kept": "they are the copy's"},
    "other_version": {
        "times-not-kept": "a downgrade writes the timeline anew",
        "savepoint-not-restorable": "an upgrade leaves logs that later commits have written into, too",
        "metadata-table-version": "an upgrade leaves it for the next write",
        "metadata-files-damaged": "the next write builds two indexes at one time, and rolls the first back",
    },
    "clock_ahead": {
        "commit-ahead": "its clock was",
        "clustering-overwritten": "a run of one that is planned after it passes over the logs of its time",
        "savepoint-protects-too-little": "one on it does not have what was written after it, and is older by name",
    },
    "late_clustering": {"clustering-overwritten": "its run failed, and its plan is there still"},
    "insert_overwrite": {"clustering-overwritten": "one was only planned, and is not run"},
    "delete_partition": {
        "listed-files-missing": "its clean deletes the folder, and a savepoint keeps the files in the listing (1.2.0)",
        "savepoint-partition-dropped": "it was dropped",
        "clustering-overwritten": "one was only planned, and is not run",
    },
    "lost_instant_file": {
        "empty-plan": "it was emptied",
        "missing-plan": "it was lost",
        "failed-write": "below version 8 a clustering without its request is not told from a write",
        "clean-without-plan": "it was emptied",
        "orphans": "Hudi takes a write whose inflight file is lost for one that has not begun, and leaves its files",
        "unowned-files": "the same, where it has left no rollback",
        "logs-hidden": "the same, where a later write has added a log to their slice: listings do not see it",
        "timeline-without-end": "the same, where nothing is newer",
        "hashing-metadata-left": "Hudi rolls back a resize that has lost a file, and leaves its hashing metadata",
    },
    "temporary_files": {
        "temporary-file": "it is one",
        "archive-manifest-left": "it is one",
        "properties-backup": "it is one",
    },
}
# These no longer, once that is mended.
BROKEN = ("clock_ahead", "lost_instant_file")
# What it must find right after a step, of some versions.
AT_ONCE: Mapping[str, Mapping[str, str]] = {"copied_without_times": {"v6": "times-not-kept"}}


def unexpected(table: Table, check: Answer) -> list[str]:
    """The findings that the table's past does not explain; only asked for where nothing is under way on it."""
    if check.code not in (0, 3):
        return [str(check)]
    hudis = BY_0_15 if table.version == "v6" else {}
    expected = {*ALWAYS, *hudis}.union(*(findings for done, findings in AFTER.items() if done in table.past))
    # A pending clean is of the table of which this is a copy.
    copied = [row for row in check.result if "where the table was when it was planned" in str(row.get("meaning"))]
    explained = [*copied, *_bare(table, check), *_listed(check)]
    left = [row for row in check.result if row["finding"] not in expected and row not in explained]
    return [json.dumps({key: value for key, value in row.items() if key != "table"}) for row in left]


def of_hudi(table: Table, step: str, check: Answer) -> bool:
    """Whether check finds what Hudi leaves by itself, so that rows are missing after a step."""
    late = (LATE_BY_0_15,) if (table.version, step, bool(table.pending)) == ("v6", "late_index", True) else ()
    # A dead writer's base file hides the logs of those that have written since.
    hidden = ("logs-hidden",) if DEATH in table.past else ()
    if "archive" in table.past:
        # Archiving that passes a savepoint.
        hidden += ("archived-rows-unread",)
    return bool(bare(table, check)) or any(row["finding"] in (*BY_0_15, *late, *hidden) for row in check.result)


def bare(table: Table, check: Answer) -> list[str]:
    """The files that readers lack since Hudi took back what had replaced them: its clean had taken them before."""
    return [row["subject"] for row in _bare(table, check)]


def _bare(table: Table, check: Answer) -> list[Any]:
    rows = check.result if check.code in (0, 3) else []
    return [row for row in rows if row["finding"] == "missing-file" and row.get("subject") in table.bare]


def _listed(check: Answer) -> list[Any]:
    """The savepoints that lack only files which the metadata table lists, and which never were: Hudi takes its word."""
    listed = [str(row.get("meaning")) for row in check.result if row["finding"] == "listed-files-missing"]
    broken = [row for row in check.result if row["finding"] == "savepoint-broken"]
    lacking = [str(row.get("meaning")).rpartition(": ")[2].split(", ") for row in broken]
    return [
        row
        for row, files in zip(broken, lacking, strict=True)
        if all(any(Path(file).name in meaning for meaning in listed) for file in files)
    ]


def missed(table: Table, step: str, check: Answer) -> str:
    """The finding that must be there right after a step, and is not; "" where all is found."""
    name = AT_ONCE.get(step, {}).get(table.hudi.version, "") if table.active else ""
    return "" if not name or any(row["finding"] == name for row in check.result) else name
