"""The history of a record has each version that a file has, with its state, and which one queries read."""

from dataclasses import replace
from pathlib import Path

import pytest

from hudictl.cli.chosen import RowFilter, chosen
from hudictl.engine.local import LocalEngine
from hudictl.errors import Unreadable
from hudictl.reports.logs.records import Wanted, record_rows
from hudictl.reports.record_versions import RecordVersion, found_rows, version_rows
from hudictl.reports.timeline import TimelineFilter
from hudictl.table.logs.paths import find_logs
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.fixtures import Unpack
from tests.helpers import put, roll_back
from tests.reports.logs.records_support import queried

ALL = TimelineFilter(archived=True)


def history(path: Path, key: str, wanted: TimelineFilter = ALL) -> tuple[list[RecordVersion], list[str]]:
    notes: list[str] = []
    return list(version_rows(open_table(str(path), zone="UTC"), key, None, wanted, LocalEngine(), notes)), notes


def keys_of(path: Path) -> set[str]:
    return {row.record_key or "" for row in queried(path)}


@pytest.mark.slow
@support.ONE_OF_EACH_KIND
@pytest.mark.parametrize(
    ("version", "name"),
    [pytest.param(of, name, id=f"{of}-{name}") for of in support.VERSIONS for name in support.names(of)],
)
def test_the_visible_version_is_the_one_that_is_found(tmp_path: Path, version: str, name: str) -> None:
    path = support.unpack(version, name, tmp_path)
    table = open_table(str(path))
    for key in keys_of(path):
        rows, _ = history(path, key)
        assert [row.problem for row in rows if row.problem] == []
        assert [row.instant for row in rows] == sorted((row.instant for row in rows), reverse=True)
        found = found_rows(table, key, None, None, LocalEngine(), [])
        assert [(row.partition, row.file, row.kind, row.instant) for row in rows if row.visible] == [
            (row.partition, row.file, row.kind, row.instant) for row in found if not row.deleted
        ]
        assert all(row.state == "committed" for row in rows if row.visible)


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_it_has_every_version_that_queries_have_read(unpack: Unpack, version: str) -> None:
    """Where nothing was cleaned: those as of each commit, and no others."""
    copy = unpack(version, "mor_part")
    read: dict[str, set[object]] = {}
    for time in copy.commits:
        for row in queried(copy.path, time):
            read.setdefault(row.record_key or "", set()).add(row.record["_hoodie_commit_time"])
    for key, instants in read.items():
        rows, notes = history(copy.path, key)
        assert {row.instant for row in rows if not row.deleted} == instants
        assert {row.state for row in rows} == {"committed"}
        assert f"from {min(map(str, instants))} on" in notes[-1]
    gone = next(key for key in read if key not in keys_of(copy.path))
    assert [row.visible for row in history(copy.path, gone)[0] if row.visible] == []


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_its_instants_did(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_part")
    table = copy.table
    writes = {entry.time: entry for entry in load_timeline(table).completed_writes()}
    for row in history(copy.path, "17", replace(ALL, archived=False))[0]:
        assert (row.action, row.completed_utc is None) == (writes[row.instant].action, False)
        assert row.operation in ("INSERT", "UPSERT", "DELETE")
        assert (copy.path / str(row.partition) / str(row.file)).exists()
    since = history(copy.path, "17")[0][1].instant
    assert {row.instant >= since for row in history(copy.path, "17", TimelineFilter(since=since))[0]} == {True}
    assert history(copy.path, "17", TimelineFilter(since="2027"))[0] == []


@pytest.mark.parametrize("version", ["v6", "v8"])
def test_pending_and_rolled_back_writes(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_failed_lazy")
    pending = max(entry.time for entry in load_timeline(copy.table).writes() if entry.pending)
    logs, _ = find_logs([str(path) for path in copy.path.glob("part-*/.*.log.*")], None, "UTC")
    key = next(row.record_key for row in record_rows(logs, Wanted(), [], []) if row.instant == pending)
    (row,) = [row for row in history(copy.path, str(key))[0] if row.instant == pending]
    assert (row.state, row.kind, row.visible, row.completed_utc) == ("pending", "log", False, None)
    roll_back(copy, pending)
    states = [row.state for row in history(copy.path, str(key))[0] if row.instant == pending]
    # From table version 8 on a rollback deletes logs.
    assert states == (["rolled back"] if version == "v6" else [])


def test_a_damaged_file_is_a_row_and_the_others_are_read(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    rows, _ = history(copy.path, "17")
    assert len(rows) > 1
    put(copy.path / str(rows[-1].partition) / str(rows[-1].file), b"damaged")
    damaged, _ = history(copy.path, "17")
    assert damaged[:-1] == rows[:-1]
    assert damaged[-1].file == rows[-1].file
    assert damaged[-1].file in str(damaged[-1].problem)


def test_a_damaged_file_of_the_archive_is_told_behind_the_versions(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_cleaned")
    rows, _ = history(copy.path, "1")
    path = max((copy.timeline / "history").glob("*.parquet"))
    path.write_bytes(b"damaged")
    shown: list[RecordVersion] = []
    with pytest.raises(Unreadable, match=path.name):
        shown.extend(chosen(version_rows(copy.table, "1", None, ALL, LocalEngine(), []), RowFilter()))
    assert [(row.instant, row.file) for row in shown] == [(row.instant, row.file) for row in rows]


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_it_says_from_where_on_it_is_complete(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    first = min(entry.time for entry in load_timeline(copy.table).writes())
    for key in keys_of(copy.path):
        rows, (note,) = history(copy.path, key)
        from_here = note.split(" on;")[0].rpartition(" ")[2]
        for time in copy.commits:
            if time >= from_here:
                read = {row.record["_hoodie_commit_time"] for row in queried(copy.path, time) if row.record_key == key}
                assert read <= {row.instant for row in rows}
        assert from_here > first
    assert history(copy.path, "no key") == ([], [])
