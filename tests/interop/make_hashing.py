"""Makes tests/hashing with the real Hudi: tables with consistent hashing, whose buckets were resized between two
writes, or are to be (``python -m tests.interop.make_hashing v6 v8 v9``)."""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests import support
from tests.interop.judge import Judge, start
from tests.interop.killed import COMPLETED
from tests.interop.make_logs import pack

_CLUSTERING = "org.apache.hudi.client.clustering"
OPTIONS = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "CONSISTENT_HASHING",
    "hoodie.bucket.index.hash.field": "id",
    "hoodie.bucket.index.num.buckets": "1",
    "hoodie.bucket.index.min.num.buckets": "1",
    "hoodie.bucket.index.max.num.buckets": "2",
    # Every bucket is too large.
    "hoodie.parquet.max.file.size": "1000",
    "hoodie.bucket.index.split.threshold": "0.0000001",
    "hoodie.clustering.plan.strategy.class": f"{_CLUSTERING}.plan.strategy.SparkConsistentBucketClusteringPlanStrategy",
    "hoodie.clustering.execution.strategy.class": (
        f"{_CLUSTERING}.run.strategy.SparkConsistentBucketClusteringExecutionStrategy"
    ),
    "hoodie.clustering.updates.strategy": (
        f"{_CLUSTERING}.update.strategy.SparkConsistentBucketDuplicateUpdateStrategy"
    ),
    "hoodie.compact.inline": "false",
    # Small files.
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.metadata.enable": "false",
}


BY_PARTITION = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "SIMPLE",
    "hoodie.bucket.index.hash.field": "id",
    "hoodie.bucket.index.num.buckets": "2",
    "hoodie.index.bloom.num_entries": "10",
    "hoodie.bloom.index.filter.type": "SIMPLE",
    "hoodie.metadata.enable": "false",
    "hoodie.compact.inline": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
"""Two buckets in each partition, until ``rescale`` says otherwise (1.2.0)."""


@dataclass(frozen=True)
class Resized:
    """A table of 40 keys: two writes, a resize, and a write that has found it."""

    path: Path
    before: str
    resize: str
    after: str


def rows(ts: int) -> list[list[object]]:
    """The forty rows, in two partitions."""
    return [[one, ts, f"v{ts}", "ab"[one % 2]] for one in range(40)]


def resized(hudi: Judge, base: Path) -> Resized:
    """Makes such a table."""
    hudi.create(base, rows(1), OPTIONS, operation="upsert")
    before = hudi.upsert(base, rows(2), options=OPTIONS)
    hudi.cluster(base, options=OPTIONS)
    (resize,) = [entry[0] for entry in hudi.timeline(base) if entry[1] == "replacecommit"]
    return Resized(base, before, resize, hudi.upsert(base, rows(3), options=OPTIONS))


def rescale(hudi: Judge, base: Path, buckets: str) -> None:
    """Other numbers of buckets by partition, for example ``a,5``."""
    arguments = f"table => 'judged', overwrite => '{buckets}', bucket_number => 2, dry_run => false"
    hudi.sql(base, [f"call partition_bucket_index_manager({arguments})"])


def rescaled(hudi: Judge, base: Path) -> Resized:
    """The same with numbers of buckets by partition."""
    hudi.create(base, rows(1), BY_PARTITION, operation="upsert")
    before = hudi.upsert(base, rows(2), options=BY_PARTITION)
    rescale(hudi, base, "a,3")
    (resize,) = [entry[0] for entry in hudi.timeline(base) if entry[1] == "replacecommit"]
    return Resized(base, before, resize, hudi.upsert(base, rows(3), options=BY_PARTITION))


def resizing(hudi: Judge, base: Path) -> None:
    """Two writes, a resize that is pending, a write beside it, and one that died there."""
    hudi.create(base, rows(1), OPTIONS, operation="upsert")
    hudi.upsert(base, rows(2), options=OPTIONS)
    hudi.cluster(base, "schedule", OPTIONS)
    hudi.upsert(base, rows(3), options=OPTIONS)
    with hudi.dying(base, COMPLETED):
        hudi.upsert(base, rows(4), options=OPTIONS)


def main(versions: list[str]) -> None:
    """Each version's table."""
    for version in versions:
        for make in (resized, resizing, *([rescaled] if version == "v9" else [])):
            name = make.__name__
            with tempfile.TemporaryDirectory() as scratch, start(version) as hudi:
                make(hudi, Path(scratch, name, "table"))
                pack(Path(scratch), name, support.HASHING / version / f"{name}.tar.gz")


if __name__ == "__main__":
    main(sys.argv[1:])
