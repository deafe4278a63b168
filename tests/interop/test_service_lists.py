"""The lists of table services and rollbacks, column by column, against the procedures of each Hudi."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hudictl.reports.service_files import service_files
from hudictl.reports.services import SERVICES, service_instant, service_rows
from hudictl.reports.timeline import TimelineFilter
from hudictl.table.open import open_table
from tests import support
from tests.interop import product
from tests.interop.judge import RELEASES, Judge

pytestmark = pytest.mark.hudi
Call = Callable[..., list[list[Any]]]


def rows(base: Path, service: str) -> list[Any]:
    return list(service_rows(open_table(str(base)), SERVICES[service], TimelineFilter(descending=True)))


def caller(hudi: Judge, base: Path) -> Call:
    def call(procedure: str, arguments: str = "") -> list[list[Any]]:
        return hudi.sql(base, [f"call {procedure}(table => 'judged', limit => 1000{arguments})"])

    return call


def agree(theirs: Sequence[Sequence[Any]], ours: Sequence[Sequence[Any]]) -> None:
    assert [list(row) for row in theirs] == [list(row) for row in ours]
    assert ours


@pytest.mark.short("v6-mor_part", "v9-mor_pending_compaction")
@pytest.mark.parametrize("name", ["mor_part", "mor_pending_compaction", "mor_savepoints"])
@pytest.mark.parametrize("version", RELEASES)
def test_compactions(judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str) -> None:
    base = support.unpack(version, name, tmp_path)
    theirs = caller(judge(version), base)("show_compaction")
    assert [list(row) for row in theirs] == [[row.time, row.file_groups, row.state] for row in rows(base, "compaction")]


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", RELEASES)
def test_clusterings(judge: Callable[[str], Judge], tmp_path: Path, version: str) -> None:
    """Hudi names the partitions only if it is asked to."""
    base = support.unpack(version, "cow_cluster", tmp_path)
    theirs = caller(judge(version), base)("show_clustering")
    agree([row[:3] for row in theirs], [(row.time, row.input_groups, row.state) for row in rows(base, "clustering")])


def test_cleans(judge: Callable[[str], Judge], tmp_path: Path) -> None:
    """Only 1.2.0 has the procedures."""
    base = support.unpack("v9", "cow_cleaned", tmp_path)
    call, found = caller(judge("v9"), base), rows(base, "clean")
    agree(
        [(row[0], row[2], row[5], row[6]) for row in call("show_cleans")],
        [(row.time, "clean", row.files, row.earliest) for row in found],
    )
    agree(
        [(row[0], row[1], row[3], row[5], row[7], row[8]) for row in call("show_clean_plans")],
        [(row.time, row.state, row.earliest, row.policy, row.partitions, row.partitions_dropped) for row in found],
    )
    of_partitions = [(row[0], row[4], row[7], row[8]) for row in call("show_cleans_metadata")]
    ours = []
    for row in found:
        told = service_files(
            open_table(str(base)),
            "clean",
            service_instant(open_table(str(base)), "clean", row.time),
            lambda: product.ENGINE,
        )
        for partition in {one.partition for one in told}:
            roles = [one.role for one in told if one.partition == partition]
            ours.append((row.time, partition, roles.count("deleted"), roles.count("not deleted")))
    agree(sorted(of_partitions), sorted(ours))


@pytest.mark.short("v6-hudi", "v9-product")
@pytest.mark.parametrize("by", ["hudi", "product"])
@pytest.mark.parametrize("version", RELEASES)
def test_rollbacks(judge: Callable[[str], Judge], tmp_path: Path, version: str, by: str) -> None:
    """Those that Hudi has made, and ours."""
    base, hudi = support.unpack(version, "cow_part", tmp_path), judge(version)
    call = caller(hudi, base)
    last = hudi.sql(base, ["select max(_hoodie_commit_time) from judged"])[0][0]
    if by == "hudi":
        hudi.sql(base, [f"call rollback_to_instant(table => 'judged', instant_time => '{last}')"])
    else:
        assert product.rollback(base, last) == 0
    (row,) = rows(base, "rollback")
    (theirs,) = call("show_rollbacks")
    assert [theirs[0], theirs[1], theirs[2], theirs[4]] == [row.time, row.target, row.files, row.partitions]
    told = service_files(
        open_table(str(base)),
        "rollback",
        service_instant(open_table(str(base)), "rollback", row.time),
        lambda: product.ENGINE,
    )
    detail = call("show_rollback_detail", f", instant_time => '{row.time}'")
    ours = sorted((row.time, f"[{one.instant}]", one.partition, one.file, one.role == "deleted") for one in told)
    agree(sorted((one[0], one[1], one[2], Path(one[3]).name, one[4]) for one in detail), ours)
