"""What the tests of restore share with others."""

from pathlib import Path

from tests.interop.judge import Judge
from tests.interop.scenarios import digest

# One of each kind on every run; all with the long form.
QUICK = {"cow_part", "cow_cluster", "mor_part", "mor_pending_compaction"}


def upsert_and_read(judge: Judge, base: Path, rows: list[list[object]]) -> None:
    """The table is open to writers: an upsert of seven rows changes just these, by either way of reading."""
    whole = judge.read(base, columns=("id", "ts", "val", *partition_columns(judge, base)))
    # The judge writes a column p also where the table is not partitioned by it.
    changed = [[row[0], 9_999_999, "after the restore", *(row[3:] or ["-"])] for row in whole[:7]]
    judge.upsert(base, changed)
    kept = {row[0]: row for row in rows} | {row[0]: row[:3] for row in changed}
    assert judge.both_rows(base) == digest(kept.values())


def partition_columns(judge: Judge, base: Path) -> list[str]:
    """The partition fields of a table; none where it is not partitioned."""
    return [field for field in judge.properties(base).get("hoodie.table.partition.fields", "").split(",") if field]
