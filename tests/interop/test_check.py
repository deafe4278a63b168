"""What check says of files that Hudi reads: the real Hudi says the same."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.health.indexes import record_index_groups
from hudictl.table.settings import (
    RECORD_INDEX_BYTES,
    RECORD_INDEX_GROWTH,
    RECORD_INDEX_LEAST,
    RECORD_INDEX_MOST,
    Settings,
)
from tests import support
from tests.interop import product
from tests.interop.check_support import slugs
from tests.interop.judge import Judge, JudgeError
from tests.reports.health.check_support import begun_beside
from tests.walks.shape import NO_STATISTICS, STATISTICS

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_checksum_that_does_not_match(judge: Judges, version: str, tmp_path: Path) -> None:
    """Hadoop passes over a sidecar without its head, and over sums behind the file's end."""
    base = support.unpack(version, "cow_flat_nomdt", tmp_path)
    hudi, rows = judge(version), support.facts(version, "cow_flat_nomdt")["rows"]
    right = rows[max(rows)]
    sidecar = base / ".hoodie" / ".hoodie.properties.crc"
    good = sidecar.read_bytes()
    for ignored in (b"", good[:6], good + b"more"):
        sidecar.write_bytes(ignored)
        assert hudi.rows(base, metadata=False) == right
        assert slugs(base) == []
    sidecar.write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    assert slugs(base) == ["checksum-mismatch"]
    with pytest.raises(JudgeError):
        hudi.rows(base, metadata=False)


@pytest.mark.short("v6-restore", "v9-rollback")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("action", ["restore", "rollback"])
def test_a_result_without_content(judge: Judges, version: str, action: str, tmp_path: Path) -> None:
    """Hudi was killed between creating the file and writing it: its readers fail at the metadata table."""
    base = support.unpack(version, "mor_part", tmp_path)
    hudi = judge(version)
    time = "20261121235959000"
    name = f"{time}.{action}" if version == "v6" else f"timeline/{time}_{time}.{action}"
    (base / ".hoodie" / name).touch()
    assert slugs(base) == ["empty-result"]
    hudi.rows(base, metadata=False)
    with pytest.raises(JudgeError):
        hudi.rows(base, metadata=True)


@pytest.mark.full
@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_index_that_one_writer_drops_and_the_next_builds_anew(judge: Judges, version: str, tmp_path: Path) -> None:
    """The metadata table's commits name files of the first one still; found by a walk (v8-603)."""
    hudi, base = judge(version), tmp_path / "table"
    rows = [[1, 1, "v", "a"], [2, 1, "v", "b"]]
    hudi.create(base, rows, STATISTICS)
    for options in (NO_STATISTICS, STATISTICS, STATISTICS):
        hudi.upsert(base, rows, "upsert", options)
        assert slugs(base) == []
    index = base / ".hoodie/metadata/column_stats"
    next(
        path for path in sorted(index.iterdir()) if not path.name.endswith(".crc") and path.stat().st_size > 200
    ).unlink()
    assert slugs(base) == ["metadata-files-damaged"]


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_how_many_file_groups_a_record_index_gets(judge: Judges, version: str) -> None:
    chance = random.Random(version)
    cases = []
    for _ in range(200):
        least, growth = chance.choice([1, 10, 400]), chance.choice([1.0, 2.0, 3.5])
        most = least + chance.choice([0, 90, 10_000])
        cases.append((chance.randrange(1 << 31, 1 << 36), least, most, growth, chance.randrange(1 << 20, 1 << 31)))
    assert judge(version).call("record_index_groups", cases=cases) == [
        pytest.approx(record_index_groups(records * 48, sizing(*rest)), rel=1e-6, abs=1) for records, *rest in cases
    ]


def sizing(least: int, most: int, growth: float, size: int) -> Settings:
    keys = (RECORD_INDEX_LEAST, RECORD_INDEX_MOST, RECORD_INDEX_GROWTH, RECORD_INDEX_BYTES)
    return Settings({setting.key: str(value) for setting, value in zip(keys, (least, most, growth, size), strict=True)})


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_base_file_that_is_not_committed_hides_later_logs(judge: Judges, version: str, tmp_path: Path) -> None:
    """Its writer began before those of the logs were completed, and died. Its rollback shows them again."""
    base, hudi = support.unpack(version, "mor_part", tmp_path), judge(version)
    before = hudi.rows(base, metadata=False)
    (path, _) = begun_beside(base)
    time = path.rpartition("_")[2].removesuffix(".parquet")
    for state in ("requested", "inflight"):
        (base / ".hoodie/timeline" / f"{time}.deltacommit.{state}").touch()
    assert "logs-hidden" in slugs(base)
    assert hudi.rows(base, metadata=False) != before
    assert product.rollback(base, time) == 0
    assert slugs(base) == []
    assert hudi.rows(base, metadata=False) == before
