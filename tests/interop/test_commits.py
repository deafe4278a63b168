"""``commit list`` and ``show``, column by column, against the procedures of each Hudi on its own tables."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hudictl.reports.commits import (
    AmplificationRow,
    CommitFile,
    CommitRow,
    amplification_rows,
    commit_files,
    commit_partitions,
    commit_rows,
)
from hudictl.reports.timeline import TimelineFilter
from hudictl.table.open import open_table
from tests import support
from tests.interop.judge import RELEASES, Judge

pytestmark = pytest.mark.hudi

NAMES = ("cow_part", "mor_savepoints", "cow_cluster", "mor_failed_lazy")


def of_list(row: CommitRow) -> list[object]:
    """As ``show_commits`` has it. From 1.0 on it shows when a commit was completed, and which action it was."""
    sums = (row.bytes, row.files_added, row.files_updated, row.partitions, row.records, row.updated, row.errors)
    return [row.time, *sums]


def of_file(action: str, row: CommitFile) -> list[object]:
    previous = row.previous or "null"
    return [
        action,
        row.partition,
        row.file_id,
        previous,
        row.updated,
        row.records,
        row.bytes,
        row.errors,
        row.file_bytes,
    ]


def without(rows: Sequence[Sequence[object]], kept: Sequence[int]) -> list[list[object]]:
    return [[row[column] for column in kept] for row in rows]


@pytest.mark.full
@pytest.mark.short("v6-cow_part", "v6-mor_savepoints", "v9-cow_cluster", "v9-mor_savepoints")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", RELEASES)
def test_what_commits_did(judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str) -> None:
    base = support.unpack(version, name, tmp_path)
    table = open_table(str(base))
    hudi = judge(version)

    def call(procedure: str, arguments: str = "") -> list[list[object]]:
        return hudi.sql(base, [f"call {procedure}(table => 'judged', limit => 1000{arguments})"])

    found = list(commit_rows(table, TimelineFilter(descending=True)))
    theirs = call("show_commits")
    width = len(theirs[0])
    # 0.15.0: 8 columns; later ones have the completion time behind the time, and the action.
    kept = [0, *range(width - 7, width)]
    assert without(theirs, kept) == [of_list(row) for row in found], theirs[0]
    for row in found[:4]:
        which = f", instant_time => '{row.time}'"
        files = [of_file(row.action, file) for file in commit_files(table, row.time)]
        assert sorted(call("show_commit_files", which)) == sorted(files)
        partitions = [
            [row.action, part.partition, part.files_added, part.files_updated, part.inserted, part.updated, part.bytes]
            for part in commit_partitions(table, row.time)
        ]
        assert sorted(one[:7] for one in call("show_commit_partitions", which)) == sorted(partitions)
        (stats,) = call("show_commit_write_stats", which)
        assert stats[1:3] == [row.bytes, row.records]


@pytest.mark.short("v6-cow_part", "v8-cow_cluster", "v9-mor_savepoints")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", RELEASES)
def test_write_amplification(judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str) -> None:
    """Hudi leaves out delta commits, also in the total; it shows 0 where nothing was updated."""
    base = support.unpack(version, name, tmp_path)
    table, every = open_table(str(base)), TimelineFilter()
    *theirs, their_total = judge(version).sql(base, ["call stats_wa(table => 'judged', limit => 1000)"])
    delta = {row.time for row in commit_rows(table, every) if row.action == "deltacommit"}
    *found, total = amplification_rows(table, every)

    def as_theirs(row: AmplificationRow, name: str) -> list[object]:
        return [name, row.updated, row.records, float(row.write_amplification or 0)]

    wanted = [as_theirs(row, row.time) for row in found if row.time not in delta]
    assert [[*row[:3], float(row[3])] for row in theirs] == wanted
    if not delta:
        assert [*their_total[:3], float(their_total[3])] == as_theirs(total, "Total")
