"""A temporary manifest that a dead writer has left in the archive."""

import pytest

from hudictl.errors import Conflict
from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers
from hudictl.reports.health.check import check_table
from hudictl.reports.why import why
from hudictl.state.services.due import ARCHIVE, MANIFEST
from hudictl.table.settings import Settings
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, first_command, put, session

NAME = "manifest_2.0f3bd0ac-5a80-4a9e-9d36-0c2f1f0e7a11"
HOUR_MS = 3_600_000
VERSIONS = pytest.mark.parametrize("version", ["v8", "v9"])
PLACES = pytest.mark.parametrize("place", [".hoodie/timeline/history", ".hoodie/metadata/.hoodie/timeline/history"])


def left(copy: Copy, place: str, name: str = NAME, *, old: bool = True) -> str:
    put(copy.path / place / name, b"{}", old=old)
    return f"{place}/{name}"


def found(copy: Copy, idle_ms: int = HOUR_MS) -> tuple[str, ...]:
    return plan_leftovers(session(copy.table), idle_ms).manifests


@VERSIONS
@PLACES
def test_it_is_an_error_and_removed_by_resume(unpack: Unpack, version: str, place: str) -> None:
    copy = unpack(version, "cow_part")
    path = left(copy, place)
    others = [left(copy, place, name) for name in ("manifest_1", f"{NAME}.tmp", "manifest_3", "other_1.parquet")]
    told = [entry for entry in check_table(copy.table, ENGINE, HOUR_MS).findings if entry.subject == path]
    assert [(entry.finding, first_command(entry)) for entry in told] == [("archive-manifest-left", "hudictl resume")]
    (block,) = [
        entry
        for entry in why(copy.table, ARCHIVE, Settings(assume_defaults=True), HOUR_MS).blocks
        if entry.kind == MANIFEST
    ]
    assert (path in block.because, [way.command for way in block.remedy]) == (True, ["hudictl resume"])
    remove_leftovers(session(copy.table), plan_leftovers(session(copy.table), HOUR_MS), HOUR_MS)
    assert not (copy.path / path).exists()
    assert all((copy.path / other).exists() for other in others)
    assert found(copy) == ()


@VERSIONS
def test_one_that_an_archiving_writes_now_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    left(copy, ".hoodie/timeline/history", old=False)
    assert found(copy) == ()


@VERSIONS
def test_one_that_changes_meanwhile_stays(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    path = left(copy, ".hoodie/timeline/history")
    made = plan_leftovers(session(copy.table), HOUR_MS)
    put(copy.path / path, b"{ }", old=False)
    with pytest.raises(Conflict, match="changed since planning"):
        remove_leftovers(session(copy.table), made, HOUR_MS)
    assert (copy.path / path).exists()


def test_version_6_has_no_manifests(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    left(copy, ".hoodie/archived")
    assert found(copy) == ()
