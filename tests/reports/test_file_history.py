"""The history of files says what the records of all instants say, each once, and what is not known any more."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from pyarrow import parquet

from hudictl.cli.chosen import RowFilter, chosen
from hudictl.errors import NotFound, Unreadable
from hudictl.formats import avro, clean, savepoint
from hudictl.formats.file_names import parse_data_file
from hudictl.formats.instants import CLEAN, COMPACTION, SAVEPOINT, Instant, State
from hudictl.formats.plans import decode_compaction_files
from hudictl.reports.file_history import FileEvent, file_history, wanted_file
from hudictl.reports.timeline import TimelineFilter
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.table.timeline.active import load_timeline, pending_rollbacks, read_instant
from hudictl.table.timeline.commits import read_commit
from tests import support
from tests.fixtures import Unpack
from tests.helpers import Copy, put, roll_back

ALL = TimelineFilter(archived=True, descending=True)
ACTIVE = replace(ALL, archived=False)
Event = tuple[str, str, str, str | None]
"""Instant, event, partition, file."""


def history(
    copy: Copy, said: str, wanted: TimelineFilter = ALL, partition: str | None = None
) -> tuple[list[FileEvent], tuple[str, ...]]:
    table, notes = open_table(str(copy.path), zone="UTC"), list[str]()
    return list(file_history(table, wanted_file(table, said, partition), wanted, notes)), tuple(notes)


def short(rows: list[FileEvent]) -> list[Event]:
    return [(row.time, row.event or "", row.partition or "", row.file) for row in rows]


def tail(path: str) -> str:
    return path.rpartition("/")[2]


def decoded(copy: Copy) -> Iterator[Event]:
    """What the decoders of the commands that change tables find on the active timeline."""
    timeline = load_timeline(copy.table)
    for instant in timeline.instants:
        yield from _of_writes(copy.table, instant) if instant.is_write and instant.completed else ()
        yield from _of_others(copy.table, instant)
    for instant, plan in pending_rollbacks(copy.table, timeline):
        for task in plan.requests if plan and instant.pending else ():
            yield from ((instant.time, "to delete", task.partition, tail(path)) for path in task.files)


def _of_writes(table: Table, instant: Instant) -> Iterator[Event]:
    metadata = read_commit(table, instant)
    for path, stats in metadata.stats.items():
        for stat in stats:
            names = [stat.path, *(log for log, _ in stat.change_logs)]
            yield from ((instant.time, "written", path, tail(name)) for name in names if name)
    for path, ids in metadata.replaced.items():
        yield from ((instant.time, "replaced", path, file_id) for file_id in ids)


def _of_others(table: Table, instant: Instant) -> Iterator[Event]:
    done, request = instant.file(State.COMPLETED), instant.file(State.REQUESTED)
    if request is not None and request.action == COMPACTION:
        for path, name in decode_compaction_files(read_instant(table, request), ""):
            yield instant.time, "read" if done else "to read", path, name
    if done is None or instant.action not in (CLEAN, SAVEPOINT):
        return
    body = read_instant(table, done)
    is_clean = instant.action == CLEAN
    named = clean.decode_metadata(body, "").deleted if is_clean else savepoint.decode(body, "").files
    for path, names in named.items():
        yield from ((instant.time, "deleted" if is_clean else "saved", path, name) for name in names)


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_the_histories_of_all_file_groups_are_all_that_the_records_say(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    wanted = set(decoded(copy))
    assert wanted
    groups = {group_of(event) for event in wanted}
    rows = {group: history(copy, group, ACTIVE)[0] for group in groups}
    found = {
        (time, event, path, file or group)
        for group, events in rows.items()
        for time, event, path, file in short(events)
        # Those of clusterings and rollbacks of logs are read by no other decoder as they are.
        if event in {"written", "replaced", "deleted", "saved", "to delete"} or (time, event, path, file) in wanted
    }
    assert found == wanted
    for events in rows.values():
        assert [row.time for row in events] == sorted((row.time for row in events), reverse=True)
        assert not [row for row in events if row.problem]


def group_of(event: Event) -> str:
    _, kind, _, name = event
    data = parse_data_file(name or "")
    return str(name) if data is None or kind == "replaced" else data.file_id


def unknown(copy: Copy, said: str, partition: str | None = None) -> None:
    with pytest.raises(NotFound, match="no instant names the file"):
        history(copy, said, ALL, partition)


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_one_file_by_its_name_or_path_and_in_one_partition(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cleaned")
    (instant, *_) = load_timeline(copy.table).having(CLEAN)
    (done,) = [file for file in instant.files if file.state is State.COMPLETED]
    deleted = clean.decode_metadata(read_instant(copy.table, done), "").deleted
    (name,) = deleted["part-0"]
    data = parse_data_file(name)
    assert data is not None
    rows, notes = history(copy, name)
    assert short(rows) == [(instant.time, "deleted", "part-0", name), (data.instant, "written", "part-0", name)]
    assert notes == ()
    for said in (f"part-0/{name}", f"{copy.path}/part-0/{name}", f"{copy.table.uri}/part-0/{name}"):
        assert history(copy, said)[0] == rows
    assert history(copy, name, ALL, "./part-0/")[0] == rows
    unknown(copy, name, "part-1")
    unknown(copy, f"part-1/{name}")
    group, _ = history(copy, data.file_id)
    assert [row for row in group if row.file == name] == rows
    assert len({row.file for row in group}) > 1
    assert history(copy, data.file_id, replace(ALL, descending=False))[0] == group[::-1]
    unknown(copy, data.file_id[:-1])
    assert history(copy, data.file_id[:-1], replace(ALL, since="0"))[0] == []


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_the_archive_has_is_said(unpack: Unpack, version: str) -> None:
    """The first file of a group is in the archive; without it, a note; where it is cut, another one."""
    copy = unpack(version, "archived_beyond_savepoint")
    rows = next(rows for group in groups_of(copy) if (rows := history(copy, group)[0])[-1].timeline == "archived")
    first = rows[-1]
    assert (first.event, first.begins) == ("written", True)
    group = str(parse_data_file(str(first.file)).file_id)  # type: ignore[union-attr]
    assert history(copy, group)[1] == ()
    fewer, notes = history(copy, group, ACTIVE)
    assert fewer == [row for row in rows if row.timeline == "active"]
    assert notes == ("Older instants may be archived: --archived includes them.",)
    assert history(copy, str(fewer[0].file), ACTIVE)[1] == ()
    # Asked for a time: nothing is missing that was asked for.
    assert history(copy, group, replace(ACTIVE, since=fewer[0].time))[1] == ()
    archive = copy.path / copy.table.layout.archive
    for path in archive.iterdir():
        path.unlink()
    fewer, notes = history(copy, group)
    start = min(instant.time for instant in load_timeline(copy.table).instants)
    assert notes == (f"The archive begins with {start}: what happened before is not recorded.",)


def groups_of(copy: Copy) -> set[str]:
    return {data.file_id for path in copy.data() if (data := parse_data_file(tail(path))) is not None}


@pytest.mark.parametrize("version", support.VERSIONS)
def test_damage_in_one_instant_is_a_row_among_the_others(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    group = next(iter(sorted(groups_of(copy))))
    before = history(copy, group)[0]
    (file,) = load_timeline(copy.table).completed_writes()[-1].completed_files
    put(copy.path / copy.table.layout.timeline / file.name, b"{ no commit")
    rows = history(copy, group)[0]
    (damaged,) = [row for row in rows if row.problem]
    assert (damaged.time, damaged.event, file.name in str(damaged.problem)) == (file.time, None, True)
    assert [row for row in rows if row is not damaged] == [row for row in before if row.time != file.time]
    assert list(history(copy, "no-such-group")[0]) == [damaged]
    with pytest.raises(Exception, match="1 row could not be read whole"):
        list(chosen(rows, RowFilter()))


@pytest.mark.parametrize(
    "wrong",
    [
        {"partitionToWriteStats": {"p": [{"path": ["p/x"], "fileId": "x"}]}},
        {"partitionToWriteStats": {"p": [{"path": "p/x-0_0-1-2_2026.parquet", "numWrites": "many"}]}},
        {"partitionToWriteStats": {"p": {}}},
        {"partitionToReplaceFileIds": {"p": "x-0"}},
    ],
)
def test_what_hudi_does_not_write_is_damage(unpack: Unpack, wrong: dict[str, object]) -> None:
    copy = unpack("v6", "cow_part")
    (file,) = load_timeline(copy.table).completed_writes()[-1].completed_files
    put(copy.path / ".hoodie" / file.name, json.dumps(wrong))
    assert [row.time for row in history(copy, "x-0")[0] if row.problem] == [file.time]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_rollback_names_the_instant_that_it_removes(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_part")
    last = load_timeline(copy.table).completed_writes()[-1]
    path = next(path for path in sorted(copy.data()) if last.time in path)
    roll_back(copy, last.time)
    (row,) = history(copy, path)[0]
    assert (row.action, row.event, row.target, row.state) == ("rollback", "deleted", last.time, "COMPLETED")


@pytest.mark.slow
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_clean_of_a_whole_partition_is_in_the_history_of_all_its_files(unpack: Unpack, version: str) -> None:
    """It names none of them. Without --partition, the file group's other events say where it is."""
    copy = unpack(version, "cow_cleaned")
    *_, instant = load_timeline(copy.table).having(CLEAN)
    (done,) = [file for file in instant.files if file.state is State.COMPLETED]
    body = read_instant(copy.table, done)
    value = avro.decode(body, clean.METADATA, "", lambda value: value)
    value["partitionMetadata"]["part-1"] |= {"successDeleteFiles": [], "isPartitionDeleted": True}
    put(copy.path / copy.table.layout.timeline / done.name, avro.encode_like(body, value))
    whole = (instant.time, "deleted", "part-1", None)
    name = next(path for path in sorted(copy.data()) if path.startswith("part-1/")).rpartition("/")[2]
    assert whole in short(history(copy, name)[0])
    assert whole in short(history(copy, "gone-0", partition="part-1")[0])
    for path in copy.data():
        assert (whole in short(history(copy, path)[0])) is path.startswith("part-1/")
    unknown(copy, "gone-0")


def test_a_damaged_file_of_the_archive_is_told_behind_the_events_of_the_others(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_cleaned")
    group = next(group for group in groups_of(copy) if history(copy, group)[0][-1].timeline == "archived")
    before = history(copy, group)[0]
    path = max((copy.timeline / "history").glob("*.parquet"))
    lost = set(parquet.read_table(path, columns=["instantTime"]).column(0).to_pylist())
    path.write_bytes(b"damaged")
    table, notes, shown = open_table(str(copy.path), zone="UTC"), list[str](), list[FileEvent]()
    with pytest.raises(Unreadable, match=path.name):
        shown.extend(chosen(file_history(table, wanted_file(table, group, None), ALL, notes), RowFilter()))
    assert shown == [row for row in before if row.time not in lost]
    assert 0 < len(shown) < len(before)
    # Nobody knows with what the archive begins.
    assert notes == []
