"""How long instants were in each state: by the times of their files."""

import os
import time
from pathlib import Path

import pytest

from hudictl.reports.phases import PhaseRow, phase_rows
from hudictl.reports.timeline import ARCHIVED, TimelineFilter, timeline_rows
from hudictl.table.open import open_table
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy

VERSIONS = pytest.mark.parametrize("version", support.VERSIONS)
ALL = TimelineFilter(archived=True, descending=True)


def rows(copy: Copy) -> list[PhaseRow]:
    return list(phase_rows(open_table(str(copy.path), zone="UTC"), ALL))


def phases(row: PhaseRow) -> tuple[int | None, ...]:
    return row.to_inflight_ms, row.to_completed_ms, row.metadata_ms


def files(folder: Path, instant: str) -> list[Path]:
    """The files of an instant's states, in their order."""
    found = list(folder.glob(f"{instant}[._]*"))
    return sorted(found, key=lambda path: ("requested" not in path.name, "inflight" not in path.name))


def at(paths: list[Path], *seconds: float) -> None:
    for path, moment in zip(paths, seconds, strict=True):
        os.utime(path, (moment, moment))


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_the_instants_of_the_timeline(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    found = rows(copy)
    listed = timeline_rows(open_table(str(copy.path), zone="UTC"), ALL)
    assert [(row.time, row.action, row.state, row.completed_utc, row.duration_ms) for row in found] == [
        (row.time, row.action, row.state, row.completed_utc, row.duration_ms) for row in listed
    ]
    for row in found:
        assert all(phase is None or phase >= 0 for phase in phases(row))
        if row.timeline == ARCHIVED:
            assert phases(row) == (None, None, None)
        if row.state != "COMPLETED":
            assert row.to_completed_ms is None
        if row.action == "savepoint":
            assert row.metadata_ms is None


@VERSIONS
def test_each_phase_by_its_files(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    last = copy.commits[-1]
    own, metadata = files(copy.timeline, last), copy.meta / "metadata" / copy.timeline.relative_to(copy.path)
    begun = own[0].stat().st_mtime
    at(own, begun, begun + 2, begun + 5)
    at(files(metadata, last), begun + 3, begun + 3.25, begun + 4.5)
    (row,) = (row for row in rows(copy) if row.time == last)
    assert phases(row) == (2000, 3000, 1500)

    at(own, begun + 2, begun, begun + 5)
    (row,) = (row for row in rows(copy) if row.time == last)
    assert phases(row) == (None, 5000, 1500)

    files(metadata, last)[-1].unlink()
    (row,) = (row for row in rows(copy) if row.time == last)
    assert row.metadata_ms is None


@VERSIONS
def test_a_copy_that_has_not_kept_the_times(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    now = time.time()
    for path in copy.timeline.iterdir():
        os.utime(path, (now, now))
    assert {phases(row) for row in rows(copy)} == {(None, None, None)}


@VERSIONS
def test_a_table_without_a_metadata_table(unpack: Unpack, version: str) -> None:
    found = rows(unpack(version, "cow_flat_nomdt"))
    assert {row.metadata_ms for row in found} == {None}
    assert None not in {row.to_completed_ms for row in found}
