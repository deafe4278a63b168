"""What is on the page of ``timeline report``, against the table."""

import shutil
from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.engine.local import LocalEngine
from hudictl.engine.processes import Processes
from hudictl.reports import timeline_report as page
from hudictl.reports.commits import commit_rows
from hudictl.reports.health.check import check_table
from hudictl.reports.timeline import TimelineFilter, instants_shown
from hudictl.reports.timeline_report import ReportOptions, TimelineReport, slice_sizes, timeline_report
from hudictl.table.settings import NOTHING_GIVEN, Settings
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, put

ALL = TimelineFilter()
IDLE_MS = 600_000
MIB = 1024 * 1024


def made(
    copy: Copy, settings: Settings = NOTHING_GIVEN, wanted: TimelineFilter = ALL, *, quick: bool = False
) -> TimelineReport:
    options = ReportOptions(wanted, settings, IDLE_MS, 100 * MIB)
    return timeline_report(copy.table, None if quick else ENGINE, options)


@pytest.mark.slow
@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=50), st.integers(0, 2**32))
def test_each_slice_is_in_one_bin(sizes: list[int], limit: int) -> None:
    found = slice_sizes(sizes, limit)
    assert found is not None
    assert sum(one.count for one in found.bins) == found.count == len(sizes)
    assert sum(one.bytes for one in found.bins) == found.bytes == sum(sizes)
    assert sum(one.count for one in found.bins if one.to_bytes <= limit) == found.small
    for one in found.bins:
        assert one.count == sum(one.from_bytes <= size < one.to_bytes for size in sizes)
    bounds = {bound for one in found.bins for bound in (one.from_bytes, one.to_bytes)}
    assert max(limit, 1) in bounds


def test_no_slices_have_no_sizes() -> None:
    assert slice_sizes([], 100) is None


@pytest.mark.slow
@pytest.mark.short("v9-mor_savepoints")
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_of_a_long_timeline_another_process_looks_at_the_files(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, name: str
) -> None:
    copy = unpack(version, name)
    options = ReportOptions(ALL, NOTHING_GIVEN, 0, 100 * MIB)
    alone = timeline_report(copy.table, ENGINE, options)
    monkeypatch.setattr(page, "_MANY_INSTANTS", 0)
    with closing(LocalEngine(processes=Processes())) as engine:
        both = timeline_report(copy.table, engine, options)
        assert engine.processes is not None
        assert engine.processes.idle.qsize() == bool(alone.bars.lanes)
    moment = {"now_ms": 0, "made_utc": "", "pending": (), "heartbeats": ()}
    assert replace(both, **moment) == replace(alone, **moment)


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_each_instant_is_read_once(unpack: Unpack, version: str, name: str) -> None:
    """Completed writes as commits, all else beside them."""
    copy = unpack(version, name)
    report = made(copy, quick=True)
    shown = instants_shown(copy.table, ALL)
    told = [(row.time, row.action) for row in (*report.commits, *report.others)]
    assert sorted(told) == sorted((entry.time, entry.action) for entry, _ in shown)
    assert report.commits == tuple(commit_rows(copy.table, ALL))
    assert (report.sizes, report.found, report.problems) == (None, None, ())
    pending = {(entry.time, entry.action) for entry, _ in shown if entry.state.name != "COMPLETED"}
    assert {(row.time, row.action) for row in report.pending} == pending
    assert all(row.advice for row in report.pending)


@pytest.mark.parametrize(
    ("name", "blocks", "ends"),
    [
        ("mor_restore_interrupted", ("writers",), "hudictl resume"),
        ("mor_failed_lazy", (), "hudictl failed-writes clean"),
        ("cow_rollback_interrupted", (), "hudictl"),
    ],
)
def test_what_is_pending_and_what_ends_it(unpack: Unpack, name: str, blocks: tuple[str, ...], ends: str) -> None:
    first = made(unpack("v9", name)).pending[0]
    assert first.blocks == blocks
    assert f"`{ends}" in first.advice


@pytest.mark.slow
def test_what_holds_services_back(unpack: Unpack) -> None:
    """By the writers' settings, and where they give none by Hudi's defaults."""
    settings = Settings(
        {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}
    )
    report = made(unpack("v9", "cow_savepoints"), settings)
    oldest = min(row.instant for row in report.savepoints)
    assert report.held[oldest] == ("archive", "clean")
    assert {row.own_bytes for row in report.savepoints} != {None}
    assert made(unpack("v8", "cow_savepoints")).held == {}

    compaction = made(
        unpack("v9", "mor_pending_compaction"), Settings({"hoodie.compact.inline.max.delta.commits": "1"})
    )
    (waiting,) = compaction.pending
    assert (waiting.action, waiting.blocks) == ("compaction", ("compaction",))


def test_findings_are_those_of_check(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_failed_lazy")
    found = check_table(copy.table, ENGINE, IDLE_MS)
    assert found.findings
    report = made(copy)
    assert report.found is not None
    assert [one.finding for one in report.found.findings] == [one.finding for one in found.findings]
    assert report.sizes is not None
    assert report.sizes.small == report.sizes.count > 0
    assert {beat.state for beat in report.heartbeats} == {"expired"}


def test_what_cannot_be_read_is_named_and_the_rest_is_there(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_savepoints")
    (damaged,) = copy.timeline.glob(f"{copy.commits[-1]}_*.commit")
    put(damaged, "no Avro")
    report = made(copy)
    assert len(report.problems) == 1
    assert report.problems[0].startswith(f"sizes: {damaged.name} is neither Avro nor JSON")
    assert report.sizes is None
    assert report.found is not None
    assert "unreadable" in {one.finding for one in report.found.findings}
    assert [row.problem is not None for row in report.commits] == [False] * 4 + [True]
    assert sum(len(lane.bars) for lane in report.bars.lanes if not lane.metadata) == 7


def test_what_the_rest_of_a_damaged_archive_has_is_there(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_cleaned")
    whole = made(copy, wanted=TimelineFilter(archived=True), quick=True)
    damaged = max((copy.timeline / "history").glob("*.parquet"))
    put(damaged, "no Parquet")
    report = made(copy, wanted=TimelineFilter(archived=True), quick=True)
    (problem,) = report.problems
    assert problem.startswith("not all archived instants are shown")
    assert damaged.name in problem
    assert len(made(copy, quick=True).commits) < len(report.commits) < len(whole.commits)


def test_without_its_metadata_table_the_page_is_made(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    shutil.rmtree(copy.meta / "metadata" / ".hoodie" / "timeline")
    report = made(copy, quick=True)
    assert [problem.partition(":")[0] for problem in report.problems] == ["metadata table", "what is blocked"]
    assert report.bars.lanes
    assert not any(lane.metadata for lane in report.bars.lanes)
