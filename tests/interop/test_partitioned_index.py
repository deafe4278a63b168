"""A partitioned record index (1.2.0) outlives a restore over the first write into a partition of the table."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.open import open_table
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.make_indexed import FOR_EACH_PARTITION
from tests.interop.scenarios import batch

pytestmark = [pytest.mark.hudi, pytest.mark.parametrize("version", ["v9"])]

WRITER = FOR_EACH_PARTITION | {
    "hoodie.metadata.enable": "true",
    "hoodie.index.type": "RECORD_LEVEL_INDEX",
    "hoodie.table.timeline.timezone": "UTC",
}
OLD, NEW = (("2026-01-01",),), (("2026-01-02",),)


@pytest.mark.full
@pytest.mark.parametrize("writes_after", [0, 3])
def test_it_is_kept(judge: Callable[[str], Judge], version: str, tmp_path: Path, writes_after: int) -> None:
    hudi, base, keys = judge(version), tmp_path / "table", list(range(60))
    hudi.create(base, batch(range(10), 1, OLD), WRITER)
    target = hudi.upsert(base, batch(range(5), 2, OLD), options=WRITER)
    hudi.upsert(base, batch(range(20, 30), 3, NEW), options=WRITER)
    for number in range(writes_after):
        hudi.upsert(base, batch(range(25, 35), 4 + number, NEW), options=WRITER)
    done = product.restore(base, target, RestoreOptions(to_instant=True, require_index=("record_index",)))
    assert done is not None
    assert "record_index" in done.indexes_kept
    assert hudi.index_differences(base, keys) == []
    # The next write begins the partition again, also over a compaction of the metadata table.
    for number in range(5):
        hudi.upsert(base, batch(range(22, 40 + number), 10 + number, NEW), options=WRITER)
        assert hudi.index_differences(base, keys) == []
    assert hudi.both_rows(base)["count"] == 10 + 22
    assert "record_index" in open_table(str(base)).metadata_partitions
