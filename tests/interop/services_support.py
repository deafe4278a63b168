"""What the tests of services share with others."""

from pathlib import Path

from hudictl.table.open import open_table
from tests.interop import product
from tests.interop.judge import Judge

INDEXER = {
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.metadata.index.async": "true",
    "hoodie.metadata.index.check.timeout.seconds": "20",
}


BLOOM = "BLOOM_FILTERS"


def assert_indexes_again(hudi: Judge, base: Path) -> None:
    """A writer writes, the indexer indexes, and a writer writes with the index."""
    product.upsert(hudi, base)
    assert hudi.index(base, "run", hudi.index(base, "schedule", BLOOM, INDEXER), INDEXER)
    product.upsert(hudi, base)
    assert "bloom_filters" in open_table(str(base)).metadata_partitions
