"""Table services, rollbacks and restores: a row each, from the plan and the result; and the files of one."""

from typing import Any

import pytest

from hudictl.cli.chosen import RowFilter, chosen
from hudictl.errors import Refused, Unreadable
from hudictl.formats.clean import decode_metadata, decode_plan
from hudictl.formats.instants import Instant, State
from hudictl.formats.plans import decode_compaction_files, decode_compaction_groups, decode_requested_replace
from hudictl.reports.service_files import ServiceFile, role_lines, service_files
from hudictl.reports.services import SERVICES, service_instant, service_rows
from hudictl.reports.timeline import TimelineFilter
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline, read_instant
from tests import support
from tests.fixtures import Unpack
from tests.helpers import ENGINE, Copy, restore, roll_back
from tests.ops.clean_up.service_support import indexing

ALL = TimelineFilter(archived=True, descending=True)
COMPLETED, PENDING = "COMPLETED", ("REQUESTED", "INFLIGHT")


def rows(copy: Copy, service: str, wanted: TimelineFilter = ALL) -> list[Any]:
    return list(service_rows(open_table(str(copy.path), zone="UTC"), SERVICES[service], wanted))


def having(copy: Copy, action: str) -> list[Instant]:
    return list(load_timeline(copy.table).having(action))


def files(copy: Copy, service: str, time: str) -> list[ServiceFile]:
    return service_files(copy.table, service, service_instant(copy.table, service, time), lambda: ENGINE)


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_each_instant_of_a_service_once_and_its_files_add_up(unpack: Unpack, version: str, name: str) -> None:
    copy = unpack(version, name)
    timeline = load_timeline(copy.table)
    for service in SERVICES:
        found = rows(copy, service)
        assert [row.time for row in found] == sorted({row.time for row in found}, reverse=True)
        assert not [row.problem for row in found if row.problem]
        assert all(bool(row.diagnosis) == (row.state != COMPLETED) for row in found)
        for row in found:
            files(copy, service, row.time)
    listed = {(service, row.time) for service in SERVICES for row in rows(copy, service)}
    for instant in timeline.instants:
        if instant.action in SERVICES:
            assert (instant.action, instant.time) in listed


def test_a_clean_by_its_plan_and_by_its_result(unpack: Unpack) -> None:
    copy = unpack("v9", "cow_cleaned")
    instant = having(copy, "clean")[-1]
    done, request = instant.file(State.COMPLETED), instant.file(State.REQUESTED)
    assert done
    assert request
    deleted = decode_metadata(read_instant(copy.table, done), "").deleted
    planned = decode_plan(read_instant(copy.table, request), "")
    (row,) = [row for row in rows(copy, "clean") if row.time == instant.time]
    assert (row.files, row.partitions, row.earliest) == (
        sum(map(len, deleted.values())),
        len(deleted),
        planned.earliest,
    )
    told = files(copy, "clean", instant.time)
    assert {(one.partition, one.file) for one in told} == {(p, name) for p, names in deleted.items() for name in names}
    assert {(one.role, one.there) for one in told} == {("deleted", False)}

    for file in instant.files:
        if file.state is not State.REQUESTED:
            (copy.timeline / file.name).unlink()
    (row,) = [row for row in rows(copy, "clean") if row.time == instant.time]
    assert (row.state, row.files, row.failed) == ("REQUESTED", sum(map(len, planned.files.values())), None)
    assert "next clean executes its plan" in row.diagnosis
    assert {one.role for one in files(copy, "clean", instant.time)} == {"to delete"}


@pytest.mark.parametrize("version", support.VERSIONS)
def test_what_a_pending_compaction_reads(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_pending_compaction")
    (instant,) = load_timeline(copy.table).having("compaction")
    body = read_instant(copy.table, instant.files[0])
    (row,) = [row for row in rows(copy, "compaction") if row.state != COMPLETED]
    assert row.file_groups == len(decode_compaction_groups(body, ""))
    assert row.base_files + row.logs == len(decode_compaction_files(body, ""))
    assert "scheduled, not started" in row.diagnosis

    told = files(copy, "compaction", row.time)
    assert {(one.partition, one.file) for one in told} == decode_compaction_files(body, "")
    sizes = [(copy.path / str(one.partition) / str(one.file)).stat().st_size for one in told]
    assert [one.bytes for one in told] == sizes
    (copy.path / str(told[0].partition) / str(told[0].file)).unlink()
    assert [one.there for one in files(copy, "compaction", row.time)] == [False] + [True] * (len(told) - 1)
    assert role_lines(files(copy, "compaction", row.time)) == [
        f"to read: {len(told)} files, {sum(sizes[1:]):,} bytes; 1 not there"
    ]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_completed_compaction_is_no_other_commit(unpack: Unpack, version: str) -> None:
    """Of a table that merges on read, each completed commit; of one that copies on write, none, in the archive too."""
    copy = unpack(version, "mor_part")
    commits = [entry.time for entry in load_timeline(copy.table).having("commit")]
    assert [row.time for row in rows(copy, "compaction")] == commits[::-1]
    assert rows(unpack(version, "cow_cleaned"), "compaction") == []


@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_clustering_is_no_other_replacecommit(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "cow_cluster")
    replaced = having(copy, "replacecommit")
    found = rows(copy, "clustering")
    assert [row.time for row in found] == [entry.time for entry in replaced][::-1]
    for row, instant in zip(found, reversed(replaced), strict=True):
        request = instant.file(State.REQUESTED)
        assert request
        plan = decode_requested_replace(read_instant(copy.table, request), "")
        assert (row.file_groups, row.replaced_file_groups) == (len(plan.groups), len(plan.groups))
        told = files(copy, "clustering", row.time)
        assert {(one.partition, one.file) for one in told if one.role == "read"} == plan.files
        assert len([one for one in told if one.role == "written"]) == row.files_added


@pytest.mark.parametrize("version", support.VERSIONS)
def test_rollbacks_and_restores_before_and_after(unpack: Unpack, version: str) -> None:
    """What the plan would delete is what the result has deleted."""
    copy = unpack(version, "cow_part")
    target = copy.commits[-1]
    deleted = {str(path.relative_to(copy.path)) for path in copy.path.rglob(f"*_{target}.parquet") if not is_own(path)}
    done = roll_back(copy, target)
    (row,) = rows(copy, "rollback")
    assert (row.target, row.target_action, row.state) == (target, "commit", COMPLETED)
    assert (row.files, row.failed, row.rollback_blocks) == (len(deleted), 0, 0)
    told = files(copy, "rollback", done.rollback)
    assert {f"{one.partition}/{one.file}".lstrip("/") for one in told} == deleted
    assert {(one.role, one.instant, one.there) for one in told} == {("deleted", target, False)}

    copy = unpack(version, "mor_savepoints")
    saved = copy.savepoints[0]
    later = [time for time in copy.commits if time > saved]
    restored = restore(copy, saved)
    (last,) = rows(copy, "restore")
    assert (last.target, last.newest, last.oldest) == (saved, later[-1], later[0])
    told = files(copy, "restore", last.time)
    assert last.files == restored.files_deleted == sum(one.role == "deleted" for one in told)
    assert {one.instant for one in told} <= set(later)


def is_own(path: object) -> bool:
    return ".hoodie" in str(path)


@pytest.mark.parametrize("version", support.VERSIONS)
def test_pending_ones_say_what_ends_them(unpack: Unpack, version: str) -> None:
    copy = unpack(version, "mor_restore_interrupted")
    (row,) = rows(copy, "restore")
    assert (row.state in PENDING, row.instants, "`hudictl resume`" in row.diagnosis) == (True, 2, True)
    told = files(copy, "restore", row.time)
    assert [(one.instant, one.file) for one in told] == [(row.newest, None), (row.oldest, None)]
    (armed,) = rows(unpack(version, "cow_rollback_interrupted"), "rollback")
    assert "--discard-rollbacks" in armed.diagnosis

    indexing(copy, begun=True)
    (planned,) = rows(copy, "indexing")
    assert (planned.indexes, planned.up_to) == (("bloom_filters",), "20260101000000000")
    assert "hudictl rollback" in planned.diagnosis
    assert [(one.role, one.partition) for one in files(copy, "indexing", planned.time)] == [
        ("to build", "bloom_filters")
    ]


@pytest.mark.parametrize("body", [b"garbage", b""])
def test_damage_is_a_row_and_the_others_are_whole(unpack: Unpack, body: bytes) -> None:
    copy = unpack("v8", "cow_cleaned")
    before = rows(copy, "clean")
    instant = having(copy, "clean")[-1]
    (copy.timeline / instant.completed_files[0].name).write_bytes(body)
    found = rows(copy, "clean")
    assert found[1:] == before[1:]
    assert (found[0].time, found[0].state) == (instant.time, COMPLETED)
    if body:
        assert instant.completed_files[0].name in found[0].problem
        with pytest.raises(Unreadable):
            list(chosen(found, RowFilter()))
        with pytest.raises(Unreadable):
            service_instant(copy.table, "clean", instant.time)


def test_an_instant_of_another_kind_is_refused(unpack: Unpack) -> None:
    copy = unpack("v9", "mor_part")
    delta = having(copy, "deltacommit")[0].time
    for service, time in (("clean", delta), ("compaction", delta), ("restore", "2026"), ("clustering", "20990101")):
        with pytest.raises(Refused, match=f"there is no {service} {time}"):
            service_instant(copy.table, service, time)
