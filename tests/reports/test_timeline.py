"""The whole history of a table, out of both timelines; and that no more is read than is shown."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from hudictl.errors import StorageFailed, Unreadable
from hudictl.reports.commits import commit_rows
from hudictl.reports.instant import inspect_instant
from hudictl.reports.records import records_of
from hudictl.reports.timeline import TimelineFilter, TimelineRow, timeline_rows
from hudictl.storage import FileStatus
from hudictl.storage.local import LocalStorage
from hudictl.table.open import open_table
from hudictl.table.timeline.archive import archived_cleans
from tests import records, support
from tests.fixtures import Unpack
from tests.helpers import Copy, put

HISTORY = TimelineFilter(archived=True)


def rows(copy: Copy, wanted: TimelineFilter = HISTORY) -> list[TimelineRow]:
    return list(timeline_rows(open_table(str(copy.path), zone="UTC"), wanted))


def archived(copy: Copy) -> list[str]:
    return [row.time for row in rows(copy) if row.timeline == "archived"]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read, but for the table's properties and manifests."""
    names: list[str] = []
    read = LocalStorage.read

    def noted(self: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        name = Path(path).name
        if name != "hoodie.properties" and not name.startswith(("manifest_", "_version_")):
            names.append(name)
        return read(self, path, start, length)

    monkeypatch.setattr(LocalStorage, "read", noted)
    return names


@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_whole_history(unpack: Unpack, version: str) -> None:
    """Every commit that was ever made stands there once, in order, with what it wrote."""
    copy = unpack(version, "cow_cleaned")
    found = rows(copy)
    made = support.facts(version, "cow_cleaned")["rows"]
    commits = [row for row in found if row.action == "commit"]
    assert [row.time for row in commits] == [*made]
    # Each of these upserts rewrote the whole table.
    assert [row.records for row in commits] == [entry["count"] for entry in made.values()]
    assert {(row.operation, row.state, row.partitions, row.files) for row in commits} == {("UPSERT", "COMPLETED", 3, 3)}
    assert [row.time for row in found] == sorted({row.time for row in found})
    where = [row.timeline for row in found]
    assert where == sorted(where, reverse=True)
    assert len(archived(copy)) in (10, 11)
    active = rows(copy, TimelineFilter())
    assert found[-len(active) :] == active
    assert {row.timeline for row in active} == {"active"}
    assert rows(copy, TimelineFilter(archived=True, descending=True)) == found[::-1]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_completion_times_of_archived_instants(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    before = [row for row in rows(copy) if row.timeline == "archived"]
    assert all(row.completion_time and row.time < row.completion_time for row in before)
    assert all(row.duration_ms and 200 < row.duration_ms < 3000 for row in before)
    assert all(row.completed_utc and row.completed_utc.startswith("2026-11-21T0") for row in before)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_filters_work_on_both_timelines(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    found = rows(copy)
    old = archived(copy)
    cleans = rows(copy, TimelineFilter(actions=("clean",), archived=True))
    assert cleans == [row for row in found if row.action == "clean"]
    assert {row.timeline for row in cleans} == {"active", "archived"}
    assert rows(copy, TimelineFilter(states=("inflight",), archived=True)) == []
    for since, until in ((old[2], old[4]), (old[-2], found[-2].time), (old[3][:15], old[3][:15]), ("2027", "~")):
        wanted = [row for row in found if since <= row.time <= until + "~"]
        assert rows(copy, TimelineFilter(since=since, until=until, archived=True)) == wanted
    for limit in (0, 1, 3, len(old) + 2, 1000):
        assert rows(copy, TimelineFilter(limit=limit, archived=True)) == (found[-limit:] if limit else [])
        newest = TimelineFilter(limit=limit, descending=True, archived=True)
        assert rows(copy, newest) == found[::-1][:limit]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_an_instant_in_both_timelines_is_shown_once(unpack: Unpack, version: str) -> None:
    """Its archival died before it took the instant off the active timeline."""
    copy = unpack(version, "cow_cleaned")
    before = rows(copy)
    records.archive(copy, copy.commits[0])
    found = rows(copy)
    assert [row.time for row in found] == [row.time for row in before]
    (row,) = [row for row in found if row.timeline == "both"]
    assert (row.time, row.records) == (copy.commits[0], next(one.records for one in before if one.time == row.time))
    assert rows(copy, TimelineFilter(archived=True, descending=True)) == found[::-1]


def test_the_states_of_an_archived_instant_are_one_row(unpack: Unpack) -> None:
    """Layout 1 archives a compaction as the plan of one action and the completed file of another."""
    copy = unpack("v6", "mor_part")
    for number, (action, state) in enumerate(
        (("compaction", "INFLIGHT"), ("commit", "COMPLETED"), ("compaction", "REQUESTED"), ("commit", "COMPLETED"))
    ):
        records.archive(copy, "20200101000000000", action, state=state, number=number)
    records.archive(copy, "20200101000000000", "clean", state="REQUESTED", number=9)
    found = [(row.time, row.action, row.state) for row in rows(copy) if row.timeline == "archived"]
    assert found == [
        ("20200101000000000", action, state) for action, state in (("clean", "REQUESTED"), ("commit", "COMPLETED"))
    ]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_limit_reads_only_the_active_files_that_it_shows(
    unpack: Unpack, opened: list[str], version: str, descending: bool
) -> None:
    copy = unpack(version, "mor_part")
    (row,) = rows(copy, TimelineFilter(limit=1, descending=descending))
    assert [name[:17] for name in opened] == [row.time]


@pytest.mark.parametrize("wanted", [HISTORY, replace(HISTORY, limit=3), replace(HISTORY, limit=1000)])
@pytest.mark.parametrize("version", support.VERSIONS)
def test_the_active_timeline_is_listed_before_the_archive_and_each_once(
    unpack: Unpack, version: str, wanted: TimelineFilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An instant that is archived in between is in both, not in neither."""
    copy = unpack(version, "cow_cleaned")
    table = open_table(str(copy.path), zone="UTC")
    listed: list[str] = []
    real = LocalStorage.list

    def noted(self: LocalStorage, folder: str) -> list[FileStatus]:
        listed.append(folder)
        return real(self, folder)

    monkeypatch.setattr(LocalStorage, "list", noted)
    list(timeline_rows(table, wanted))
    assert listed == [table.layout.timeline, table.layout.archive]


@pytest.mark.parametrize("version", ["v8", "v9"])
def test_a_limit_opens_only_the_archives_files_that_it_needs(unpack: Unpack, opened: list[str], version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    files = sorted(path.name for path in (copy.timeline / "history").glob("*.parquet"))
    old = archived(copy)
    found = rows(copy)

    def reads(**wanted: object) -> set[str]:
        opened.clear()
        rows(copy, TimelineFilter(archived=True, **wanted))  # type: ignore[arg-type]
        return set(opened)

    assert files[0] not in reads(limit=len(found) - len(old) + 1)
    assert reads(since=old[3], until=old[3]) == {name for name in files if name[:17] <= old[3] <= name[18:35]}
    assert reads(limit=0) == set()
    assert reads(limit=len(found) - len(old) - 1).isdisjoint(files)
    newest = found[::-1][: len(found) - len(old) + 1]
    commits = {name for name in reads(limit=len(newest), descending=True) if name.endswith(".parquet")}
    assert commits == {files[-1]}


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_damaged_archive(unpack: Unpack, version: str) -> None:
    """What stood in it nobody can tell; the active timeline and its other files are shown all the same."""
    copy = unpack(version, "cow_cleaned")
    before = rows(copy)
    pattern = "archived/.commits_*" if version == "v6" else "history/*.parquet"
    path = next(copy.timeline.glob(pattern))
    put(path, path.read_bytes()[:-50])
    shown: list[TimelineRow] = []
    with pytest.raises(Unreadable, match=path.name) as error:
        shown += timeline_rows(open_table(str(copy.path), zone="UTC"), HISTORY)
    assert "archive repair" in (error.value.hint or "")
    assert [row for row in before if row in shown] == shown
    assert len(rows(copy, TimelineFilter())) < len(shown) < len(before)
    if version != "v6":
        put(copy.timeline / "history/_version_", b"77")
        with pytest.raises(Unreadable, match="manifest_77"):
            shown += timeline_rows(open_table(str(copy.path), zone="UTC"), HISTORY)
        assert shown[-5:] == rows(copy, TimelineFilter())[-5:]


def test_the_metadata_in_a_file_of_the_archive_that_is_damaged(unpack: Unpack) -> None:
    """Its rows say so; those of other files are whole."""
    copy = unpack("v9", "cow_cleaned")
    path = min((copy.timeline / "history").glob("*.parquet"))
    before = [row.time for row in rows(copy)]
    group = parquet.ParquetFile(path).metadata.row_group(0)
    start = next(
        column.data_page_offset
        for column in map(group.column, range(group.num_columns))
        if column.path_in_schema == "metadata"
    )
    body = path.read_bytes()
    put(path, body[: start + 60] + bytes(60) + body[start + 120 :])
    after = rows(copy)
    assert [row.time for row in after] == before
    damaged = {row.time for row in after if row.problem}
    assert before[0] in damaged
    assert len(damaged) < len(archived(copy))


def test_archived_metadata_that_cannot_be_read(unpack: Unpack) -> None:
    """A row says so, as in the active timeline."""
    copy = unpack("v9", "cow_cleaned")
    records.archive(copy, "20200101000000000", body=b"Obj\x01garbage")
    first = rows(copy)[0]
    assert (first.time, first.records) == ("20200101000000000", None)
    assert first.problem
    assert "20200101000000000" in first.problem
    records.archive(copy, "20200101000000001", body=b"\x02\x06\x0cpart-1")
    records.archive(copy, "20200101000000002", "clean", body=b'"20261121025337059')
    found = rows(copy)[1:3]
    assert all(row.problem and "the upgrade of Hudi 1.0.2" in row.problem for row in found)
    told = records_of(copy.table, HISTORY, lambda entry: entry.problem)
    assert sum("the upgrade of Hudi 1.0.2" in (problem or "") for problem in told) == 2
    for row in found:
        (file,) = inspect_instant(copy.table, row.time).files
        assert "the upgrade of Hudi 1.0.2" in str(file.problem)
    with pytest.raises(Unreadable, match=r"the upgrade of Hudi 1\.0\.2"):
        archived_cleans(copy.table, "")


@pytest.mark.parametrize("version", support.VERSIONS)
def test_rollbacks_restores_and_cleans_say_of_what(unpack: Unpack, version: str) -> None:
    def details(name: str) -> dict[str, tuple[str | None, str | None]]:
        return {row.action: (row.target, row.detail) for row in rows(unpack(version, name)) if row.detail}

    commits = unpack(version, "cow_rollback_interrupted").commits
    assert details("cow_rollback_interrupted") == {"rollback": (commits[-1], f"of {commits[-1]} commit")}
    restored = unpack(version, "mor_restore_interrupted").savepoints[0]
    assert details("mor_restore_interrupted")["restore"] == (restored, f"to {restored}, 2 instants")

    cleans = [row for row in rows(unpack(version, "cow_cleaned")) if row.action == "clean"]
    assert {row.timeline for row in cleans} == {"active", "archived"}
    assert {row.detail for row in cleans} == {f"before {row.target}, 3 files" for row in cleans}
    # Of three commits all files are kept, the one before the clean being the newest of them.
    times = [row.time for row in rows(unpack(version, "cow_cleaned")) if row.action == "commit"]
    for row in cleans:
        before = [time for time in times if time < row.time]
        assert row.target == before[-3], (row.time, row.target)


def test_a_request_alone_and_a_damaged_result(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_rollback_interrupted")
    (inflight,) = (copy.path / ".hoodie/timeline").glob("*.rollback.inflight")
    inflight.unlink()
    (row,) = [row for row in rows(copy) if row.action == "rollback"]
    assert (row.state, row.target) == ("REQUESTED", copy.commits[-1])
    (requested,) = (copy.path / ".hoodie/timeline").glob("*.rollback.requested")
    requested.write_bytes(b"Obj\x01")
    (row,) = [row for row in rows(copy) if row.action == "rollback"]
    assert row.detail is None
    assert requested.name in str(row.problem)


@pytest.mark.parametrize("rows", [timeline_rows, commit_rows])
def test_a_file_that_the_store_does_not_give_is_no_damage(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, rows: Callable[..., Iterable[object]]
) -> None:
    """Nobody may put it back from a backup then."""
    copy, read = unpack("v9", "cow_part"), LocalStorage.read
    first, table = copy.commits[0], copy.table

    def refused(storage: LocalStorage, path: str, start: int = 0, length: int | None = None) -> bytes:
        if f"{first}_" in path:
            raise StorageFailed(f"cannot read {path}: Permission denied", path=path)
        return read(storage, path, start, length)

    monkeypatch.setattr(LocalStorage, "read", refused)
    with pytest.raises(StorageFailed, match="Permission denied"):
        list(rows(table, TimelineFilter()))
