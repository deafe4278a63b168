"""Command lines on sample tables that print each document of a command (``hudictl.render.documents``).

The page takes keys, types and sentences from the types. Each line is run: its document must have just these keys.
"""

from dataclasses import dataclass

from hudictl.render.documents import DONE, PLANNED, Document

SAVED = "cow_savepoints"
FAILED = "mor_failed_lazy"
UNFINISHED = "mor_restore_interrupted"
REFUSED = "cow_rollback_interrupted"
COMPACTED = "mor_pending_compaction"


@dataclass(frozen=True)
class Example:
    """How a document is printed.

    - ``line``: prints it on the sample table ``table``; LAST is the last operation. None: no table is in this case.
    - ``breaks``: this pattern of files is deleted first, and ``before`` is run.
    """

    line: str | None = ""
    table: str = SAVED
    breaks: str = ""
    before: str = ""


_NO_SAVEPOINT = "savepoint delete 20261121030414313 --yes"
_NO_INSTANT = ".hoodie/timeline/20261121030627840.*"
_KEEPING = "restore 20261121030414313 --keep-files --yes"
_COPY = "--as-of 20261121030412254 --to /tmp/hudictl-no-such-folder"
_DATA_FILE = "384bfc70-33f5-4dfa-9fc7-f4f791e27901-0_2-1607-3438_20261121030410998.parquet"
_PAST = ".hoodie/timeline/20261121030623731*"
_FILE = "part-0/384bfc70-33f5-4dfa-9fc7-f4f791e27901-0_3-1707-3672_20261121030415374.parquet"

_GROUP = "20261121030402687 --group part-0/75aec7d2-c5ef-44c4-aa95-9903e5d37ce6-0"

EXAMPLES = {
    ("table show", ""): Example(table=UNFINISHED),
    ("table schema", "with `--history`"): Example(None),
    ("partition repair", PLANNED): Example("--plan", breaks="part-1/.hoodie_partition_metadata"),
    ("partition repair", DONE): Example(None),
    ("table set-property", ""): Example("hoodie.database.name=lake --yes"),
    ("timeline show", "with `--with-metadata-table`"): Example("--with-metadata-table"),
    ("timeline report", ""): Example(None),
    ("archive repair", "with `--plan`"): Example(None),
    ("archive repair", "when done"): Example(None),
    ("table repair-properties", "with `--plan`"): Example(None),
    ("table repair-properties", "when done"): Example(None),
    ("timeline quarantine", "with `--plan`"): Example(None),
    ("timeline quarantine", "when done"): Example(None),
    ("commit show", ""): Example("20261121030415374"),
    ("commit show", "with `--by file`"): Example("20261121030415374 --by file"),
    ("checkpoint list", ""): Example(None),
    ("clean list", ""): Example(None),
    ("clean show", ""): Example(None),
    ("clean discard", ""): Example(None),
    ("compaction list", ""): Example(table=COMPACTED),
    ("compaction show", ""): Example("20261121030402687", table=COMPACTED),
    ("compaction validate", ""): Example("20261121030402687", table=COMPACTED, breaks="part-0/*.parquet"),
    ("compaction unschedule", PLANNED): Example(None),
    ("compaction unschedule", DONE): Example(None),
    ("compaction unschedule", f"with `--group`, {PLANNED}"): Example(f"{_GROUP} --plan", table=COMPACTED),
    ("compaction unschedule", f"with `--group`, {DONE}"): Example(f"{_GROUP} --yes", table=COMPACTED),
    ("compaction rebuild-plan", PLANNED): Example(None),
    ("compaction rebuild-plan", DONE): Example(None),
    ("clustering prune", PLANNED): Example(None),
    ("clustering prune", DONE): Example(None),
    ("clustering list", ""): Example(None),
    ("clustering show", ""): Example(None),
    ("indexing list", ""): Example(None),
    ("indexing show", ""): Example(None),
    ("rollback list", ""): Example(table=REFUSED),
    ("rollback show", ""): Example("20261121030655262", table=REFUSED),
    ("restore list", ""): Example(table=UNFINISHED),
    ("restore show", ""): Example("20261121030802660", table=UNFINISHED),
    ("record find", ""): Example("17"),
    ("record history", ""): Example("17"),
    ("record duplicates", ""): Example(),
    ("commit diff", ""): Example("/lake/trips"),
    ("timeline inspect", ""): Example("20261121030415374"),
    ("savepoint create", ""): Example("20261121030415374 --yes"),
    ("savepoint show", ""): Example("20261121030414313"),
    ("savepoint show", "with `--verify`"): Example("20261121030414313 --verify"),
    ("savepoint delete", ""): Example("20261121030414313 --yes"),
    ("savepoint prune", f"{PLANNED}, or nothing to do"): Example("--all --keep-last 1 --plan"),
    ("savepoint prune", DONE): Example("--all --keep-last 1 --yes"),
    ("restore", f"{PLANNED}, or nothing to do"): Example("20261121030414313 --plan"),
    ("restore", DONE): Example("20261121030414313 --yes"),
    ("rollback", PLANNED): Example("20261121030415374 --plan", before=_NO_SAVEPOINT),
    ("rollback", DONE): Example("20261121030415374 --yes", before=_NO_SAVEPOINT),
    ("rollback", "of a pending clean or indexing"): Example(None),
    ("resume", f"of a restore, {PLANNED}"): Example("--plan", table=UNFINISHED),
    ("resume", f"of a restore, {DONE}"): Example("--yes", table=UNFINISHED),
    ("resume", "`--withdraw --plan`"): Example(None),
    ("resume", "`--withdraw`, when done"): Example(None),
    ("resume", "of rollbacks"): Example(None),
    ("resume", "`--discard-rollbacks`, with no rollback to finish"): Example(
        "--discard-rollbacks --yes", table=REFUSED
    ),
    ("resume", "of an ended restore's leftovers"): Example(None),
    ("wait", ""): Example("--for nothing-pending"),
    ("undo", PLANNED): Example("LAST --plan", before=_KEEPING),
    ("undo", DONE): Example("LAST --yes", before=_KEEPING),
    ("undo list", ""): Example(before=_KEEPING),
    ("undo drop", PLANNED): Example("LAST --plan", before=_KEEPING),
    ("undo drop", DONE): Example("LAST --yes", before=_KEEPING),
    ("restore", "of an ended restore's leftovers"): Example(None),
    ("restore", "with `--partition` and `--plan`"): Example("20261121030412254 --partition part-0 --plan"),
    ("copy", f"{PLANNED}, or nothing to do"): Example(f"{_COPY} --plan"),
    ("copy", DONE): Example(None),
    ("failed-writes list", ""): Example(table=FAILED),
    ("failed-writes clean", ""): Example("--yes", table=FAILED),
    ("heartbeat list", ""): Example(table=FAILED),
    ("heartbeat delete", PLANNED): Example("20261121030627840 --plan", table=FAILED),
    ("heartbeat delete", DONE): Example("20261121030627840 --yes", table=FAILED),
    ("marker list", ""): Example(table=FAILED),
    ("marker list", "with an instant"): Example("20261121030627840", table=FAILED),
    ("marker delete", PLANNED): Example("20261121030627840 --plan", table=FAILED, breaks=_NO_INSTANT),
    ("marker delete", DONE): Example("20261121030627840 --yes", table=FAILED, breaks=_NO_INSTANT),
    ("orphans list", ""): Example(table=FAILED, breaks=_NO_INSTANT),
    ("orphans delete", PLANNED): Example("--plan", table=FAILED, breaks=_NO_INSTANT),
    ("orphans delete", DONE): Example(None),
    ("file slices", ""): Example(table=FAILED),
    ("file explain", ""): Example(_DATA_FILE),
    ("file history", ""): Example("384bfc70-33f5-4dfa-9fc7-f4f791e27901-0"),
    ("log records", ""): Example("/lake/trips/part-0", table=FAILED),
    ("log verify", ""): Example(table=FAILED, breaks=_PAST),
    ("log inspect", ""): Example("--partition part-0", table=FAILED),
    ("metadata files", "with a partition"): Example("part-0"),
    ("metadata columns", ""): Example(_FILE),
    ("metadata lookup", ""): Example("17 18", table="cow_record_index"),
    ("metadata drop", PLANNED): Example("--plan"),
    ("metadata drop", DONE): Example("--yes"),
    ("metadata verify", ""): Example(breaks="part-0/*.parquet"),
    ("metadata verify", "with --indexes"): Example(None),
    ("lock break", ""): Example(None),
    ("config list", ""): Example(None),
    ("doctor", ""): Example(None),
    ("check", ""): Example(table=FAILED),
    ("check", "the checks that were skipped"): Example(table=FAILED),
    ("why archive", ""): Example("--assume-defaults"),
    ("why clean", ""): Example("--assume-defaults"),
    ("why compaction", ""): Example("--assume-defaults", table=FAILED),
    ("history", ""): Example(before=_NO_SAVEPOINT),
    ("history show", ""): Example("LAST", before=_NO_SAVEPOINT),
}
"""By command and case; of all others the bare command prints the document."""


def example_of(document: Document) -> Example:
    return EXAMPLES.get((document.command, document.when), Example())


OTHERS = {
    "apply": "the document of the command whose plan it is; `.command` is `apply`.",
    "completion": "text only.",
    "demo": "text only.",
    "mcp": "messages of the Model Context Protocol; the texts of its tools' results are documents of this page.",
}
"""Commands without a document of their own."""
