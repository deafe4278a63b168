"""What commits did, by their metadata: the same sums at each level, out of both timelines, damage as a row."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import parquet

from hudictl.cli.chosen import RowFilter, chosen
from hudictl.errors import Refused, Unreadable
from hudictl.formats.commit_metadata import CHECKPOINTS
from hudictl.reports.commits import (
    AmplificationRow,
    CommitRow,
    amplification_rows,
    checkpoint_rows,
    commit_differences,
    commit_files,
    commit_partitions,
    commit_rows,
)
from hudictl.reports.timeline import TimelineFilter, timeline_rows
from hudictl.storage.local import LocalStorage
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import records, support
from tests.damage import empty_commit
from tests.fixtures import Unpack
from tests.helpers import Copy

ALL = TimelineFilter(archived=True, descending=True)
SUMS = ("files_added", "files_updated", "records", "inserted", "updated", "deleted", "errors", "bytes")


def rows(copy: Copy, *, archived: bool = True, newest_first: bool = True, since: str = "") -> list[CommitRow]:
    table = open_table(str(copy.path), zone="UTC")
    return list(commit_rows(table, TimelineFilter(since=since, archived=archived, descending=newest_first)))


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_each_completed_write_once_with_the_sums_of_its_partitions_and_files(
    unpack: Unpack, version: str, name: str
) -> None:
    copy = unpack(version, name)
    found = rows(copy)
    wanted = TimelineFilter(("commit", "deltacommit", "replacecommit"), ("completed",), archived=True, descending=True)
    listed = timeline_rows(open_table(str(copy.path), zone="UTC"), wanted)
    of_timeline = [(row.time, row.action, row.timeline, row.records, row.bytes, row.duration_ms) for row in listed]
    assert of_timeline == [
        (row.time, row.action, row.timeline, row.records, row.bytes, row.duration_ms) for row in found
    ]
    for row in found:
        partitions, files = commit_partitions(copy.table, row.time), commit_files(copy.table, row.time)
        assert row.partitions == len({file.partition for file in files})
        for column in SUMS:
            assert getattr(row, column) == sum(getattr(part, column) for part in partitions)
            if not column.startswith("files"):
                assert getattr(row, column) == sum(getattr(file, column) for file in files)
    assert rows(copy, newest_first=False) == found[::-1]
    parts = {row.time: {part.partition for part in commit_partitions(copy.table, row.time)} for row in found}
    for partition in set().union(*parts.values()) | {"none"}:
        # Also those that only replaced files; compared with the commit before, whatever that changed.
        of_it = commit_rows(open_table(str(copy.path), zone="UTC"), ALL, partition=f"{partition}/")
        assert list(of_it) == [row for row in found if partition in parts[row.time]]


def test_a_schema_that_differs_is_a_change(unpack: Unpack) -> None:
    """Against the write before that has one, in both directions; the oldest has none before."""
    copy = unpack("v6", "cow_part")
    *older, changed, newest = load_timeline(copy.table).completed_writes()
    for instant, schema in ((changed, '{"type": "long"}'), (newest, "")):
        path = copy.path / ".hoodie" / instant.completed_files[0].name
        fields = json.loads(path.read_bytes())
        fields["extraMetadata"]["schema"] = schema
        path.write_text(json.dumps(fields))
    wanted = [None, *[False] * (len(older) - 1), True, None]
    assert [row.schema_changed for row in rows(copy, newest_first=False)] == wanted
    assert [row.schema_changed for row in rows(copy)] == wanted[::-1]


@pytest.mark.parametrize("key", CHECKPOINTS)
def test_checkpoints_of_the_commits_that_have_one(unpack: Unpack, key: str) -> None:
    copy = unpack("v6", "cow_part")
    older, newest, *_ = load_timeline(copy.table).completed_writes()
    for instant, value in ((older, "topic,0:5"), (newest, "")):
        path = copy.path / ".hoodie" / instant.completed_files[0].name
        fields = json.loads(path.read_bytes())
        fields["extraMetadata"][key] = value
        path.write_text(json.dumps(fields))
    found = checkpoint_rows(copy.table, ALL)
    assert [(row.time, row.key, row.checkpoint) for row in found] == [(older.time, key, "topic,0:5")]
    assert [row.checkpoint for row in rows(copy) if row.checkpoint] == ["topic,0:5"]


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_damaged_file_of_the_archive_is_told_behind_the_other_commits(unpack: Unpack, newest_first: bool) -> None:
    copy = unpack("v9", "cow_cleaned")
    before = rows(copy, newest_first=newest_first)
    path = max((copy.timeline / "history").glob("*.parquet"))
    lost = set(parquet.read_table(path, columns=["instantTime"]).column(0).to_pylist())
    path.write_bytes(b"damaged")
    shown: list[CommitRow] = []
    read = commit_rows(open_table(str(copy.path), zone="UTC"), replace(ALL, descending=newest_first))
    with pytest.raises(Unreadable, match=path.name):
        # Rows that are sorted are read to their end first.
        shown.extend(chosen(read, RowFilter(sort="time", descending=newest_first)))
    assert [row.time for row in shown] == [row.time for row in before if row.time not in lost]
    assert 0 < len(shown) < len(before)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_damage_is_a_row_and_the_others_are_whole(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    before = rows(copy)
    instant = load_timeline(copy.table).completed_writes()[1]
    (file,) = instant.completed_files
    (copy.path / copy.table.layout.timeline / file.name).write_bytes(b"{ no commit")
    found = rows(copy)
    (damaged,) = [row for row in found if row.problem]
    assert (damaged.time, damaged.records) == (instant.time, 0)
    assert file.name in str(damaged.problem)
    others = [row for row in found if row is not damaged]
    assert [row.time for row in others] == [row.time for row in before if row.time != instant.time]
    with pytest.raises(Unreadable, match="1 row could not be read whole"):
        list(chosen(found, RowFilter()))
    with pytest.raises(Unreadable):
        commit_partitions(copy.table, instant.time)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_an_empty_file_does_not_tell_is_not_known(unpack: Unpack, version: str) -> None:
    """It is valid for Hudi, and the files of the write are there: it has not written nothing."""
    copy = unpack(version, "cow_part")
    empty_commit(copy.path)
    row, *others = rows(copy)
    assert (row.records, row.problem) == (0, f"the file of {row.time} commit is empty: it does not name its data files")
    assert all(other.records and not other.problem for other in others)
    assert [entry.time for entry in commit_rows(copy.table, ALL, partition="none")] == [row.time]
    shown = next(timeline_rows(copy.table, ALL))
    assert (shown.records, shown.partitions, shown.files, shown.bytes) == (None,) * 4
    for of in (commit_partitions, commit_files):
        with pytest.raises(Unreadable, match="is empty: it does not name its data files"):
            of(copy.table, row.time)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_is_archived_while_it_is_listed_is_read_in_the_archive(
    unpack: Unpack, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archiver deletes the file after the listing: the row is the same."""
    copy = unpack(version, "archived_beyond_savepoint")
    before = {row.time: row for row in rows(copy)}
    archived = [row for row in before.values() if row.timeline == "archived"]
    assert archived
    table = open_table(str(copy.path), zone="UTC")
    row = archived[0]
    # As it was: still on the active timeline when it was listed.
    name = f"{row.time}.{row.action}" if version == "v6" else f"{row.time}_{row.time}.{row.action}"
    path = copy.path / table.layout.timeline / name
    path.write_bytes(b"x")
    real = LocalStorage.read

    def read(self: LocalStorage, file: str, start: int = 0, length: int | None = None) -> bytes:
        if Path(file).name == name:
            path.unlink(missing_ok=True)
        return real(self, file, start, length)

    monkeypatch.setattr(LocalStorage, "read", read)
    found = {one.time: one for one in commit_rows(table, ALL)}
    assert found[row.time].records == row.records
    assert found[row.time].problem is None
    assert found.keys() == before.keys()


def test_an_instant_that_is_none_is_refused(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_part")
    for time in ("2026", "20991121030627840"):
        with pytest.raises(Refused, match="no completed write"):
            commit_files(copy.table, time)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_only_one_of_two_copies_has(unpack: Unpack, tmp_path: Path, version: str) -> None:
    copy = unpack(version, "cow_part")
    other = Copy(version, "cow_part", support.unpack(version, "cow_part", tmp_path / "other"))
    writes = [entry.time for entry in load_timeline(copy.table).completed_writes()]
    lost = load_timeline(copy.table).completed_writes()[-1]
    for file in lost.files:
        (other.path / other.table.layout.timeline / file.name).unlink()

    def differences(first: Copy, second: Copy, since: str = "") -> list[tuple[str, bool, bool]]:
        found = commit_differences(first.table, second.table, TimelineFilter(since=since, descending=True))
        return [(row.time, row.here, row.there) for row in found]

    assert differences(copy, copy) == []
    assert differences(copy, other) == [(writes[-1], True, False)]
    assert differences(other, copy) == [(writes[-1], False, True)]
    assert differences(other, copy, "2099") == []
    # One that the other has archived is in both.
    first = load_timeline(copy.table).completed_writes()[0]
    for file in first.files:
        (other.path / other.table.layout.timeline / file.name).unlink()
    records.archive(other, first.time)
    assert differences(copy, other) == [(writes[-1], True, False)]
    assert differences(other, copy) == [(writes[-1], False, True)]


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_amplification_is_that_of_the_commits_and_their_total(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    *found, total = amplification_rows(copy.table, ALL)
    commits = rows(copy)
    assert [(row.time, row.write_amplification) for row in found] == [
        (row.time, row.write_amplification) for row in commits
    ]
    records, updated = sum(row.records for row in commits), sum(row.updated for row in commits)
    wanted = round(records / updated, 2) if updated else None
    assert total == AmplificationRow("total", records, updated, wanted, None, total=True)


def test_no_commit_has_no_total_and_damage_is_a_row_of_it(unpack: Unpack) -> None:
    copy = unpack("v6", "cow_part")
    assert list(amplification_rows(copy.table, TimelineFilter(since="9"))) == []
    before = list(amplification_rows(copy.table, ALL))
    copy.file(copy.commits[-1], "commit").write_bytes(b"damaged")
    first, *others, total = amplification_rows(copy.table, ALL)
    assert (first.records, bool(first.problem)) == (0, True)
    assert others == before[1:-1]
    assert total.records == before[-1].records - before[0].records
