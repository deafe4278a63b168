"""Makes the tables of tests/indexes with the real Hudi: ``python -m tests.interop.make_indexes v8 v9``.

``<version>/later.tar.gz``: an insert and an upsert, with a record index from the start; then a secondary and an
expression index, which hold what the upsert wrote.
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


def main(versions: Iterable[str]) -> None:
    """Makes those of some versions."""
    for version in versions:
        with start(version) as hudi, tempfile.TemporaryDirectory() as scratch:
            later(hudi, Path(scratch, "later", "table"))
            pack(Path(scratch), "later", support.INDEXES / version / "later.tar.gz")


if __name__ == "__main__":
    main(sys.argv[1:])
