"""What `file explain` calls deletable: an operator may delete it by hand."""

from tests.mutants.fault import Fault

EXPLAIN = "reports/file_explain.py"
HISTORY = "reports/file_history.py"

FAULTS = (
    Fault(
        EXPLAIN,
        ' and fate.fate not in ("older", "replaced", "planned"),\n',
        ",\n",
        "files that time travel reads are called deletable",
        ("reports/test_file_explain.py::test_what_a_clean_has_deleted_or_will",),
    ),
    Fault(
        EXPLAIN,
        "slices[: len(without_base) + 1]",
        "slices[:1]",
        "the slice below a pending compaction is called deletable",
    ),
    Fault(
        EXPLAIN,
        "    yield from _saved(facts, engine, file)\n",
        "",
        "files of savepoints are called deletable",
    ),
    Fault(
        EXPLAIN,
        "    if service:\n        yield",
        "    if False:\n        yield",
        "the input of a pending table service is called deletable",
    ),
    Fault(
        EXPLAIN,
        "ORPHANS if orphan.sure else None",
        "ORPHANS",
        "files of which nothing is known are called deletable",
    ),
    Fault(
        EXPLAIN,
        'symbolic link", deleted_by=None)',
        'symbolic link")',
        "files of another table, behind a link, are called deletable",
    ),
    Fault(
        EXPLAIN,
        "pending_writes(facts.table, DEFAULT_IDLE_MS, None) if by is None else ():",
        "pending_writes(facts.table, DEFAULT_IDLE_MS, None):",
        "rows that a completed write has put into new buckets are called deletable",
    ),
    Fault(
        HISTORY,
        "if event.problem or event.partition in partitions - {None}]",
        "if event.partition in partitions - {None}]",
        "an instant that may have deleted the file is left out, because it is damaged",
    ),
)
