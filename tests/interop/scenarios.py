"""Tables that the archives of tests/tables don't hold, made by the real Hudi while the tests run.

``SCENARIOS[name](judge, folder)`` makes one under ``folder/name/table``. What the rows should be is worked out here
as well, and the scenario fails when Hudi reads anything else: a test may rest on ``Made.rows``.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.interop.judge import Judge, Rows

Row = list[Any]

MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
THREE_LEVELS = {"hoodie.datasource.write.partitionpath.field": "p,q,r"}
HIVE_STYLE = {
    "hoodie.datasource.write.hive_style_partitioning": "true",
    "hoodie.datasource.write.partitionpath.urlencode": "true",
}
BUCKETS = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
# 1.0.2's timeline server finds nothing in partitions with names beyond Latin-1, and the next upsert fails.
NO_TIMELINE_SERVER = {"hoodie.embed.timeline.server": "false"}
NO_METADATA = {"hoodie.metadata.enable": "false"}
CLUSTER_NOW = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
# Two blocks of a file slice are enough to be merged into one.
MERGE_LOGS = {
    "hoodie.log.compaction.inline": "true",
    "hoodie.log.compaction.blocks.threshold": "2",
    "hoodie.optimized.log.blocks.scan.enable": "true",
}
CLEAN_HARD = {"hoodie.cleaner.commits.retained": "1", "hoodie.clean.automatic": "true"}

PLAIN = (("a",), ("b",), ("c",))
LEVELS = (("eu", "fr", "2026"), ("eu", "de", "2026"), ("us", "ny", "2025"), ("us", "ny", "2026"))
AWKWARD = (("2026-01-01 10:00:00",), ("k=v",), ("100%",), ("a/b",), ("%2F: =",))
FOREIGN = (("Zürich",), ("東京",), ("Ελλάδα",), ("дом",))


@dataclass(frozen=True)
class Step:
    """One write, or a savepoint of the write before it."""

    operation: str
    rows: Sequence[Row] = ()
    partitions: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Made:
    """A table: what a reader saw right after each of its writes, oldest first, and what a later writer must say."""

    name: str
    version: str
    path: Path
    rows: Mapping[str, Rows]
    options: Mapping[str, str]
    savepoint: str | None

    @property
    def instants(self) -> list[str]:
        """The writes, oldest first. Those before a clean may not be restorable; the savepoint always is."""
        return list(self.rows)


def batch(ids: Iterable[int], ts: int, partitions: Sequence[Sequence[str]] = PLAIN, text: str = "v") -> list[Row]:
    """Rows for ids; a record's partition depends on its id alone."""
    return [[one, ts, f"{text}{ts}-{one}", *partitions[one % len(partitions)]] for one in ids]


def build(
    judge: Judge, folder: Path, name: str, steps: Sequence[Step], options: Mapping[str, str] | None = None
) -> Made:
    """Makes a table step by step and reads it after each, by listing and through the metadata table."""
    path = folder / name / "table"
    expected: dict[int, Row] = {}
    rows: dict[str, Rows] = {}
    savepoint = None
    for step in steps:
        if step.operation == "savepoint":
            savepoint = list(rows)[-1]
            judge.savepoint(path, savepoint)
            continue
        instant = write(judge, path, step, {**(options or {}), **step.options}, first=not rows)
        expected = after(expected, step)
        rows[instant] = judge.both_rows(path)
        assert rows[instant] == digest(expected.values()), f"{name} on {judge.version}: {step.operation} at {instant}"
    return Made(name, judge.version, path, rows, dict(options or {}), savepoint)


def write(judge: Judge, path: Path, step: Step, options: Mapping[str, str], first: bool) -> str:
    """One write; returns its instant time."""
    if first:
        return judge.create(path, step.rows, options, step.operation)
    if step.operation == "delete_partition":
        return judge.delete_partitions(path, step.partitions, options)
    return judge.upsert(path, step.rows, step.operation, options)


def after(rows: Mapping[int, Row], step: Step) -> dict[int, Row]:
    """What a step makes of the rows, by id."""
    new = {row[0]: row for row in step.rows}
    if step.operation == "insert_overwrite_table":
        return new
    gone = set(step.partitions)
    if step.operation == "insert_overwrite":
        gone = {"/".join(row[3:]) for row in step.rows}
    return {one: row for one, row in rows.items() if "/".join(row[3:]) not in gone} | new


def digest(rows: Iterable[Row]) -> Rows:
    """The judge's ``rows`` answer for known rows."""
    found = sorted((row[0], row[1], row[2]) for row in rows)
    return {"count": len(found), "digest": hashlib.sha256(repr(found).encode()).hexdigest()[:16]}


def updates(partitions: Sequence[Sequence[str]] = PLAIN, text: str = "v") -> list[Step]:
    """Four writes that touch every partition: an insert, two upserts, an insert with an update."""
    return [
        Step("insert", batch(range(30), 1, partitions, text)),
        Step("upsert", batch(range(0, 30, 2), 2, partitions, text)),
        Step("upsert", batch(range(10, 40), 3, partitions, text)),
        Step("upsert", batch(range(35, 50), 4, partitions, text)),
    ]


def insert_overwrite(judge: Judge, folder: Path) -> Made:
    """The rows of one partition replaced, with an upsert before and after."""
    steps = [*updates()[:2], Step("insert_overwrite", batch(range(60, 90, 3), 3)), updates()[3]]
    return build(judge, folder, "insert_overwrite", steps)


def insert_overwrite_table(judge: Judge, folder: Path) -> Made:
    """All rows replaced; one partition is not written again."""
    replaced = [row for row in batch(range(30, 60), 3) if row[3] != "c"]
    steps = [*updates()[:2], Step("insert_overwrite_table", replaced), updates()[3]]
    return build(judge, folder, "insert_overwrite_table", steps)


def delete_partition(judge: Judge, folder: Path) -> Made:
    """One partition dropped, and written again by the last upsert."""
    steps = [*updates()[:2], Step("delete_partition", partitions=["b"]), updates()[3]]
    return build(judge, folder, "delete_partition", steps)


def three_levels(judge: Judge, folder: Path) -> Made:
    """Three partition columns, merge on read."""
    return build(judge, folder, "three_levels", updates(LEVELS), MERGE_ON_READ | THREE_LEVELS)


def hive_encoded(judge: Judge, folder: Path) -> Made:
    """Folders ``p=<value>``, with URL encoding of values that need it."""
    return build(judge, folder, "hive_encoded", updates(AWKWARD), HIVE_STYLE)


def hive_encoded_mor(judge: Judge, folder: Path) -> Made:
    """The same with log files."""
    return build(judge, folder, "hive_encoded_mor", updates(AWKWARD), MERGE_ON_READ | HIVE_STYLE)


def non_ascii(judge: Judge, folder: Path) -> Made:
    """Partition folders and values beyond ASCII."""
    return build(judge, folder, "non_ascii", updates(FOREIGN, "Größe-値-"), NO_TIMELINE_SERVER)


def non_ascii_mor(judge: Judge, folder: Path) -> Made:
    """The same with log files."""
    return build(judge, folder, "non_ascii_mor", updates(FOREIGN, "Größe-値-"), MERGE_ON_READ | NO_TIMELINE_SERVER)


def bucket_cow(judge: Judge, folder: Path) -> Made:
    """Bucket index: file ids begin with the bucket's number."""
    return build(judge, folder, "bucket_cow", updates(), BUCKETS)


def bucket_mor(judge: Judge, folder: Path) -> Made:
    """Bucket index, merge on read: inserts may go to logs of groups without a base file."""
    return build(judge, folder, "bucket_mor", updates(), MERGE_ON_READ | BUCKETS)


def bootstrapped_mdt(judge: Judge, folder: Path) -> Made:
    """Two commits without a metadata table, which the third makes out of a listing."""
    without = [Step(step.operation, step.rows, options=NO_METADATA) for step in updates()[:2]]
    return build(judge, folder, "bootstrapped_mdt", [*without, *updates()[2:]])


def savepoint_then_clean(judge: Judge, folder: Path) -> Made:
    """A savepoint, and cleans after it that keep next to nothing else."""
    later = [Step("upsert", batch(range(30), ts), options=CLEAN_HARD) for ts in range(5, 9)]
    return build(judge, folder, "savepoint_then_clean", [*updates()[:2], Step("savepoint"), *later])


def clustered(judge: Judge, folder: Path) -> Made:
    """Inline clustering with the write after a savepoint, and one more write."""
    cluster = Step("upsert", updates()[2].rows, options=CLUSTER_NOW)
    return build(judge, folder, "clustered", [*updates()[:2], Step("savepoint"), cluster, updates()[3]])


def log_compacted(judge: Judge, folder: Path) -> Made:
    """Log compactions after a savepoint, which merge blocks from before it, too."""
    options = MERGE_ON_READ | {"hoodie.compact.inline": "false"}
    later = [Step("upsert", batch(range(0, 30, 2), ts), options=MERGE_LOGS if ts > 5 else {}) for ts in range(4, 8)]
    return build(judge, folder, "log_compacted", [*updates()[:3], Step("savepoint"), *later], options)


SCENARIOS: dict[str, Callable[[Judge, Path], Made]] = {
    scenario.__name__: scenario
    for scenario in (
        insert_overwrite, insert_overwrite_table, delete_partition, three_levels, hive_encoded, hive_encoded_mor,
        non_ascii, non_ascii_mor, bucket_cow, bucket_mor, bootstrapped_mdt, savepoint_then_clean, clustered,
        log_compacted,
    )
}  # fmt: skip
