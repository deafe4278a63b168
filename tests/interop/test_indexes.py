"""After a rollback of hudictl no index of the real Hudi says what the instant wrote, whenever the index was made."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hudictl.table.open import open_table
from tests.crash.inject import Crash, copy, dying
from tests.helpers import Copy
from tests.interop import product
from tests.interop.indexes_support import SKIP
from tests.interop.judge import Judge
from tests.interop.make_indexes import ALONE, RECORD_INDEX, SECONDARY, later
from tests.interop.scenarios import batch
from tests.ops.rollback.indexes_support import LATER, holding

pytestmark = [pytest.mark.hudi, pytest.mark.parametrize("version", ["v8", "v9"])]

Judges = Callable[[str], Judge]
ONE = (("a",),)
STATS = RECORD_INDEX | {
    "hoodie.metadata.index.column.stats.enable": "true",
    "hoodie.metadata.index.partition.stats.enable": "true",
    "hoodie.metadata.index.bloom.filter.enable": "true",
    "hoodie.bloom.index.use.metadata": "true",
}


def assert_answers(hudi: Judge, base: Path, values: Mapping[int, str]) -> None:
    """Each row is found by its value, by its key and by an expression, and no value that was rolled back."""
    for one, value in values.items():
        for where in (f"val = '{value}'", f"id = {one}"):
            assert hudi.sql(base, [f"SELECT id, val FROM judged WHERE {where}"], SKIP) == [[one, value]], where
    day = "from_unixtime(ts, 'yyyy-MM-dd') = '1970-01-01'"
    assert hudi.sql(base, [f"SELECT count(*) FROM judged WHERE {day}"], SKIP) == [[len(values)]]
    assert hudi.sql(base, ["SELECT id FROM judged WHERE val = 'v2-1'"], SKIP) == []
    assert hudi.both_rows(base)["count"] == len(values)


def assert_goes_on(hudi: Judge, base: Path, ids: range, options: Mapping[str, str]) -> None:
    """The next writer builds what it is configured for, and finds each key where it is."""
    for ts in (5, 6):
        hudi.upsert(base, batch(ids, ts, ONE), options=dict(options) | {"hoodie.index.type": "RECORD_INDEX"})
        assert_answers(hudi, base, {one: f"v{ts}-{one}" for one in ids})


@pytest.mark.full
def test_indexes_of_sql(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "sql" / "table"
    target = later(hudi, base)
    found = hudi.sql(base, ["SELECT id FROM judged WHERE val = 'v2-1'"], SKIP)
    assert found == [[1]]
    assert product.rollback(base, target) == 0
    assert_answers(hudi, base, {one: f"v1-{one}" for one in range(6)})
    assert_goes_on(hudi, base, range(6), RECORD_INDEX | ALONE)
    hudi.sql(base, [SECONDARY], RECORD_INDEX | ALONE)
    assert open_table(str(base)).indexes == ("record_index", "secondary_index_idx_val")
    assert_answers(hudi, base, {one: f"v6-{one}" for one in range(6)})


@pytest.mark.full
def test_indexes_of_a_writers_settings(judge: Judges, version: str, tmp_path: Path) -> None:
    """The write that built them is rolled back first: they hold the one before it."""
    hudi, base = judge(version), tmp_path / "settings" / "table"
    plain = dict.fromkeys(STATS, "false")
    hudi.create(base, batch(range(6), 1, ONE), plain)
    target = hudi.upsert(base, batch(range(8), 2, ONE), options=plain)
    last = hudi.upsert(base, batch(range(4), 3, ONE), options=STATS)
    built = {"record_index", "column_stats", "bloom_filters"}
    assert built <= set(open_table(str(base)).indexes)
    assert product.rollback(base, last) == 0
    assert built <= set(open_table(str(base)).indexes)
    assert product.rollback(base, target) == 0
    assert open_table(str(base)).metadata_partitions == ("files",)
    assert_answers(hudi, base, {one: f"v1-{one}" for one in range(6)})
    assert_goes_on(hudi, base, range(8), STATS)
    assert built <= set(open_table(str(base)).indexes)


@pytest.mark.full
def test_hudi_ends_a_rollback_that_died(judge: Judges, version: str, tmp_path: Path) -> None:
    """As soon as readers do not see the instant, the indexes that hold it are gone."""
    hudi, base = judge(version), tmp_path / "dies" / "table"
    target = later(hudi, base)
    trial = copy(base, tmp_path / "trial")
    with dying(None) as system:
        assert product.rollback(trial, target) == 0
    with dying(int(system.count * 0.6)), pytest.raises(Crash):
        product.rollback(base, target)
    assert set(LATER).isdisjoint(open_table(str(base)).indexes)
    # Without column statistics: of two that it builds now it would leave one empty.
    hudi.rollback_failed(base, RECORD_INDEX | ALONE)
    assert_answers(hudi, base, {one: f"v1-{one}" for one in range(6)})
    assert holding(Copy(version, "later", base)) == set()


@pytest.mark.full
def test_check_finds_what_hudis_own_rollback_leaves(judge: Judges, version: str, tmp_path: Path) -> None:
    """The rows of the instant are in the index, and those that are there are not found by it."""
    hudi, base = judge(version), tmp_path / "hudis" / "table"
    target = later(hudi, base)
    assert hudi.rollback(base, target)
    assert hudi.sql(base, ["SELECT id FROM judged WHERE val = 'v1-1'"], SKIP) == []
    assert holding(Copy(version, "later", base)) == {f".hoodie/metadata/{name}" for name in LATER}
