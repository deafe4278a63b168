"""What check says of files that Hudi reads: the real Hudi says the same."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.health.check import check_table
from hudictl.table.table import open_table
from tests import support
from tests.interop import product
from tests.interop.judge import Judge, JudgeError

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]


def slugs(base: Path) -> list[str]:
    return [found.finding for found in check_table(open_table(str(base)), product.ENGINE, 600_000).findings]


@pytest.mark.short("v6", "v9")
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
