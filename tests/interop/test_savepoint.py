"""hudictl's savepoints name the files that Hudi's own name, and each tool works with the other's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.restore_support import QUICK
from tests.interop.savepoint_support import files, savepoint_file

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]


def savepoints(*, quick: bool) -> list[tuple[str, str, str]]:
    """(version, table, instant) of the savepoints in outcomes-*.json that Hudi made and a writer survived."""
    return [
        (version, name, entry["instant"])
        for version in support.VERSIONS
        for name in support.names(version)
        for entry in support.outcomes(version, name, "savepoint")
        if entry.get("ok") and "write" in entry and (name in QUICK) is quick
    ]


def check(judge: Judge, version: str, name: str, instant: str, folder: Path) -> None:
    own = support.unpack(version, name, folder / "own")
    hudis = support.unpack(version, name, folder / "hudis")
    product.savepoint(own, instant)
    judge.savepoint(hudis, instant)
    named, by_hudi = files(own, instant), files(hudis, instant)
    # Beside a pending compaction Hudi's names too little: what the compaction is to read may be taken by a clean.
    assert name == "mor_pending_compaction" or named == by_hudi
    assert all(by_hudi[partition] <= named[partition] for partition in by_hudi)
    read = judge.decode(savepoint_file(own, instant), "HoodieSavepointMetadata")
    assert read["partitionMetadata"].keys() == files(own, instant).keys()
    judge.delete_savepoint(own, instant)
    assert not [entry for entry in judge.timeline(own) if entry[:2] == [instant, "savepoint"]]


@pytest.mark.short(
    "v6-cow_cluster-20261121025325292",
    "v6-mor_part-20261121025359408",
    "v9-cow_part-20261121030258116",
    "v9-mor_pending_compaction-20261121030359393",
)
@pytest.mark.parametrize(("version", "name", "instant"), savepoints(quick=True))
def test_savepoint(judge: Judges, version: str, name: str, instant: str, tmp_path: Path) -> None:
    check(judge(version), version, name, instant, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(("version", "name", "instant"), savepoints(quick=False))
def test_savepoint_of_every_table(judge: Judges, version: str, name: str, instant: str, tmp_path: Path) -> None:
    check(judge(version), version, name, instant, tmp_path)
