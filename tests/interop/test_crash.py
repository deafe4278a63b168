"""Crashed restores, read and finished by the real Hudi."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.crash import reader
from tests.crash.inject import Crash, copy, dying
from tests.interop import product
from tests.interop.judge import Judge

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]

STATES = 20


def prepared(version: str, name: str, number: int, folder: Path) -> tuple[Path, str, int]:
    """A table with a savepoint on one of its instants, and how many changes a restore to it makes."""
    base = support.unpack(version, name, folder)
    target = sorted(support.facts(version, name)["rows"])[number]
    product.savepoint(base, target)
    trial = copy(base, folder / "trial")
    with dying(None) as system:
        product.restore(trial, target)
    return base, target, system.count


def crashed(base: Path, target: str, at: int, folder: Path) -> Path:
    """A copy in which a restore died at its change number ``at``."""
    table = copy(base, folder / f"crash-{at}")
    with dying(at), pytest.raises(Crash):
        product.restore(table, target)
    return table


@pytest.mark.full
@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_reader_model_sees_what_hudi_sees(judge: Judges, version: str, tmp_path: Path) -> None:
    """The model of tests/crash is right on crashed states too, by listing and through the metadata table."""
    base, target, count = prepared(version, "mor_part", 1, tmp_path)
    for at in range(0, count, max(1, count // STATES)):
        table = crashed(base, target, at, tmp_path)
        expected = reader.snapshot(table)
        rows = judge(version).both_rows(table)
        assert rows == {"count": expected.count, "digest": expected.digest}, at


@pytest.mark.short("v6-0.35")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize(
    ("name", "number", "share"),
    [
        ("mor_part", 1, 0.35),
        ("mor_part", 1, 0.65),
        ("mor_part", 1, 0.85),
        # Earlier than this the clustering is still completed, and Hudi's own way to take one back leaves it pending.
        ("cow_cluster", 0, 0.75),
        ("cow_cluster", 0, 0.85),
    ],
)
def test_hudi_finishes_the_restore(
    judge: Judges, version: str, name: str, number: int, share: float, tmp_path: Path
) -> None:
    """Pitfalls 13: Hudi's own restore takes over wherever hudictl died, and leaves nothing behind."""
    base, target, count = prepared(version, name, number, tmp_path)
    table = crashed(base, target, int(count * share), tmp_path)
    hudi = judge(version)
    product.finish(hudi, table, target)
    assert hudi.both_rows(table) == support.facts(version, name)["rows"][target]
    trial = reader.files(tmp_path / "trial")
    # Both write rollback blocks on version 6, into files of their own.
    assert {path for path in reader.files(table) ^ trial if not path.endswith("_1-0-1")} == set()
    product.upsert(hudi, table)


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_hudictl_finishes_hudis_restore(judge: Judges, version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "mor_restore_interrupted", tmp_path)
    facts = support.facts(version, "mor_restore_interrupted")
    product.restore(base, facts["savepoint"])
    assert judge(version).both_rows(base) == facts["rows"][facts["savepoint"]]
