"""Makes indexes that are younger than commits, with the real Hudi: ``python -m tests.interop.make_indexes v6 v8 v9``.

``tests/indexes/<version>/later.tar.gz`` (not v6): an insert and an upsert, with a record index from the start; then a
secondary and an expression index, which hold what the upsert wrote.

``tests/beside/<version>.tar.gz``: an insert and an upsert; then the indexer schedules a record index, an upsert comes
between, and the indexer builds the index, which holds what that upsert wrote; then one more upsert.
"""

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests import support
from tests.interop.judge import Judge, start
from tests.interop.make_logs import pack
from tests.interop.scenarios import batch

RECORD_INDEX = {
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "1",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "1",
    "hoodie.metadata.index.column.stats.enable": "false",
    "hoodie.metadata.index.partition.stats.enable": "false",
}
ALONE = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
"""Hudi 1.2.0 creates no index without a lock provider."""
SECONDARY = "CREATE INDEX idx_val ON judged (val)"
EXPRESSION = "CREATE INDEX idx_day ON judged USING column_stats(ts) OPTIONS(expr='from_unixtime', format='yyyy-MM-dd')"


def later(hudi: Judge, base: Path) -> str:
    """A table with indexes that were made after its last commit; returns that commit."""
    options = RECORD_INDEX | {"hoodie.table.timeline.timezone": "UTC"}
    hudi.create(base, batch(range(6), 1, (("a",),)), options)
    last = hudi.upsert(base, batch(range(4), 2, (("a",),)), options=options)
    hudi.sql(base, [SECONDARY], RECORD_INDEX | ALONE)
    hudi.sql(base, [EXPRESSION], RECORD_INDEX | ALONE)
    return last


SCHEMA = {
    "hoodie.avro.schema": '{"type":"record","name":"judged","fields":['
    '{"name":"id","type":["null","long"],"default":null},{"name":"ts","type":["null","long"],"default":null},'
    '{"name":"val","type":["null","string"],"default":null},{"name":"p","type":["null","string"],"default":null}]}'
}
"""Hudi's indexer reads the schema from its configuration (1.2.0)."""
INDEXER = ALONE | {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.cleaner.policy.failed.writes": "LAZY",
    "hoodie.metadata.index.async": "true",
}


def beside(hudi: Judge, base: Path) -> None:
    """A table with a record index whose build was scheduled before the last commit but one, and done after it."""
    without = {key: "false" for key in RECORD_INDEX if key.endswith("enable")} | {
        "hoodie.table.timeline.timezone": "UTC"
    }
    hudi.create(base, batch(range(6), 1, (("a",),)), without)
    hudi.upsert(base, batch(range(4), 2, (("a",),)), options=without)
    scheduled = hudi.index(base, "schedule", "RECORD_INDEX", RECORD_INDEX | INDEXER | SCHEMA)
    hudi.upsert(base, batch(range(10, 14), 3, (("a",),)), options=without)
    hudi.index(base, "run", scheduled, RECORD_INDEX | INDEXER | SCHEMA)
    hudi.upsert(
        base, batch(range(12, 16), 4, (("a",),)), options=RECORD_INDEX | {"hoodie.table.timeline.timezone": "UTC"}
    )


def main(versions: Iterable[str]) -> None:
    """Makes those of some versions."""
    for version in versions:
        with start(version) as hudi, tempfile.TemporaryDirectory() as scratch:
            beside(hudi, Path(scratch, "beside", "table"))
            pack(Path(scratch), "beside", support.BESIDE / f"{version}.tar.gz")
            if version != "v6":
                later(hudi, Path(scratch, "later", "table"))
                pack(Path(scratch), "later", support.INDEXES / version / "later.tar.gz")


if __name__ == "__main__":
    main(sys.argv[1:])
