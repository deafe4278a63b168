"""The active timeline: real ones, damaged ones, zones, and the only writer of instant files."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudictl.errors import Conflict, Refused, StorageFailed, Unreadable
from hudictl.formats import instants as fmt
from hudictl.formats import restore
from hudictl.formats.instants import Instant, InstantFile, State
from hudictl.formats.rollback import InstantInfo, StoredRollbackPlan, encode_plan
from hudictl.table.open import open_table
from hudictl.table.table import Table
from hudictl.table.timeline import active as module
from hudictl.table.timeline.active import (
    completion_now,
    create_instant_file,
    delete_instant,
    delete_instant_files,
    load_timeline,
    new_instant_time,
    pending_rollbacks,
    read_instant,
    taken_back,
    timeline_in_order,
)
from tests import support
from tests.helpers import assert_synced, disk_log, host_in
from tests.table.conftest import Real, Small, base_of, put

T1, T2, T3 = ("20261121000001000", "20261121000002000", "20261121000003000")
TABLES = [(version, name) for version in support.VERSIONS for name in ("cow_cleaned", "mor_part", "cow_cluster")]


@pytest.mark.parametrize(("version", "name"), TABLES)
def test_real_timelines(real: Real, version: str, name: str) -> None:
    """Every state that a reader saw was a completed write (but for those archived since)."""
    timeline = load_timeline(real(version, name))
    completed = [instant.time for instant in timeline.completed_writes()]
    rows = [time for time in support.facts(version, name)["rows"] if time >= completed[0]]
    assert len(rows) >= 4
    assert set(rows) <= set(completed)
    assert completed == sorted(completed)
    assert timeline.unknown == ()
    assert all(instant.completion_time for instant in timeline.instants if instant.completed)
    assert timeline.last_time() >= completed[-1]


@pytest.mark.parametrize("version", support.VERSIONS)
def test_real_pending_operations(real: Real, version: str) -> None:
    """What was interrupted is pending, with its plan."""
    name = "cow_rollback_interrupted"
    table = real(version, name)
    timeline = load_timeline(table)
    ((rollback, plan),) = pending_rollbacks(table, timeline)
    assert plan is not None
    assert rollback.state is State.INFLIGHT
    assert plan.target.time > support.facts(version, name)["savepoint"]
    assert [entry.time for entry in timeline.savepoints()] == [support.facts(version, name)["savepoint"]]
    restore = load_timeline(real(version, "mor_restore_interrupted"))
    assert [entry.state for entry in restore.having(fmt.RESTORE)] == [State.INFLIGHT]


@pytest.mark.parametrize("change", ["nothing", "no instant", "size", "time", "gone", "new", "left out"])
def test_a_timeline_is_loaded_again_where_it_has_changed(small: Small, change: str) -> None:
    names = [f"{T1}.commit.requested", f"{T1}.inflight", f"{T1}.commit", f"{T2}.strange"]
    table = small(6, dict.fromkeys(names, b"{}"))
    before = load_timeline(table)
    file = base_of(table) / ".hoodie" / names[2]
    if change == "no instant":
        (file.parent / "hoodie.properties.backup").write_bytes(b"")
    elif change == "size":
        file.write_bytes(b"{ }")
    elif change == "time":
        os.utime(file, (1, 1))
    elif change == "gone":
        file.unlink()
    elif change == "new":
        (file.parent / f"{T3}.commit.requested").write_bytes(b"")
    elif change == "left out":
        before = before.without({T1})
    again = load_timeline(table, before)
    assert again == load_timeline(table)
    assert (again is before) == (change in ("nothing", "no instant"))


@pytest.mark.parametrize("change", ["size", "time", "gone"])
def test_a_plan_is_read_again_only_where_its_file_has_changed(small: Small, change: str) -> None:
    other = StoredRollbackPlan(InstantInfo(T1, "commit"), ())
    plan = replace(other, target=InstantInfo(T2, "commit"))
    table = small(9, {f"{T3}.rollback.requested": encode_plan(plan), f"{T3}.rollback.inflight": b""})
    timeline = load_timeline(table)
    ((instant, found),) = pending_rollbacks(table, timeline)
    file = instant.file(State.REQUESTED)
    assert file is not None
    assert found == plan
    seen = {timeline.seen(file): other}
    assert pending_rollbacks(table, timeline, seen) == [(instant, other)]
    path = base_of(table) / table.layout.timeline / file.name
    if change == "gone":
        path.unlink()
    elif change == "size":
        before = path.stat()
        path.write_bytes(path.read_bytes() + b"x")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        os.utime(path, ns=(0, 10**15))
    # One byte behind the end makes the file unreadable: that it is tells that it was read.
    expected = plan if change == "time" else None
    assert [plan for _, plan in pending_rollbacks(table, load_timeline(table), seen)] == [expected]


@pytest.mark.parametrize("body", [b"", b"garbage", b"Obj\x01"])
def test_a_pending_rollback_without_a_readable_plan(small: Small, body: bytes) -> None:
    """Listed, without a plan; and so is one whose requested file is gone."""
    table = small(9, {f"{T1}.rollback.requested": body, f"{T2}.rollback.inflight": b""})
    assert [(entry.time, plan) for entry, plan in pending_rollbacks(table, load_timeline(table))] == [
        (T1, None),
        (T2, None),
    ]


def test_layout_1_completes_by_modification_time(small: Small) -> None:
    """In the table's zone, as Hudi 1.x computes it; pending files have none."""
    table = small(6, {f"{T1}.commit": b"", f"{T2}.commit.requested": b""}, zone="Asia/Tokyo")
    modified = int(datetime(2026, 11, 21, 3, tzinfo=timezone.utc).timestamp()) * 10**9 + 123_999_999
    os.utime(base_of(table) / f".hoodie/{T1}.commit", ns=(modified, modified))
    done, pending = load_timeline(table).instants
    assert (done.completion_time, pending.completion_time) == ("20261121120000123", None)


def test_layout_2_completes_by_name(small: Small) -> None:
    """And a legacy file without completion time by its modification time."""
    table = small(9, {f"{T1}_{T2}.commit": b"", f"{T3}.commit": b""})
    os.utime(base_of(table) / f".hoodie/timeline/{T3}.commit", (0, 0))
    new, legacy = load_timeline(table).instants
    assert (new.completion_time, legacy.completion_time) == (T2, "19700101000000000")


@pytest.mark.parametrize(
    ("zone", "expected", "known"),
    [("LOCAL", None, False), ("UTC", timezone.utc, True), ("utc", timezone.utc, True)],
)
def test_the_tables_zone(small: Small, zone: str, expected: timezone | None, known: bool) -> None:
    """UTC stands in the properties; LOCAL means the writers', which the table doesn't tell."""
    table = small(9, zone=None, table_timeline_timezone=zone)
    assert (table.zone is not None) is known
    local = datetime.now().astimezone().utcoffset()
    assert datetime.now().astimezone(table.zone).utcoffset() == (timedelta(0) if expected else local)


def test_the_asked_zone_wins(small: Small) -> None:
    table = small(9, zone="America/St_Johns", table_timeline_timezone="UTC")
    assert table.zone == ZoneInfo("America/St_Johns")


@pytest.mark.parametrize("now", ["20261130120000", "20260730120000"])
def test_a_file_of_layout_1_has_the_hosts_time_of_its_day(small: Small, now: str) -> None:
    """Whatever the season is by now: an hour more, and a commit looked like one beside it."""
    table = small(6, {f"{now}.commit": b""}, zone=None)
    moment = fmt.parse_time(f"{now}000", ZoneInfo("Europe/Berlin"))
    assert moment is not None
    os.utime(base_of(table) / f".hoodie/{now}.commit", (moment.timestamp(),) * 2)
    with host_in("Europe/Berlin"):
        assert load_timeline(table).instants[0].completion_time == f"{now}000"


def test_unknown_actions_and_strangers(small: Small) -> None:
    """Told apart, and never taken for an instant of the timeline; folders and other files are passed over."""
    table = small(9, {f"{T1}_{T2}.commit": b"", f"{T3}.futureaction.requested": b"", "notes.txt": b"", ".x.crc": b""})
    (base_of(table) / f".hoodie/timeline/{T2}.commit.requested").mkdir()
    timeline = load_timeline(table)
    assert [(entry.time, entry.action) for entry in timeline.instants] == [(T1, "commit")]
    assert [(file.time, file.action) for file in timeline.unknown] == [(T3, "futureaction")]


NAMES = st.lists(
    st.builds(
        lambda time, done, action, state: f"{time}{done}.{action}{state}",
        st.sampled_from([T1[:14], T1, T2, T3, "001"]),
        st.sampled_from(["", f"_{T3}"]),
        st.sampled_from(["commit", "compaction", "clean", "futureaction", "inflight"]),
        st.sampled_from(["", ".requested", ".inflight"]),
    ),
    unique=True,
)


def told(entries: Iterable[Instant | InstantFile]) -> list[str]:
    """Without the completion times that are those of files: each listing of them is of another moment."""
    return sorted(
        repr(entry._replace(completion_time=None) if isinstance(entry, Instant) else entry) for entry in entries
    )


@pytest.mark.slow
@pytest.mark.parametrize("version", [6, 9])
def test_in_order_it_is_the_same_timeline_from_either_end(small: Small, version: int) -> None:
    table = small(version)

    @given(NAMES)
    @settings(max_examples=50, deadline=None)
    def test(names: list[str]) -> None:
        folder = base_of(table) / table.layout.timeline
        shutil.rmtree(folder)
        for name in names:
            put(table, f"{table.layout.timeline}/{name}", b"")
        folder.mkdir(exist_ok=True)
        timeline = load_timeline(table)
        expected = sorted([*timeline.instants, *timeline.unknown], key=fmt.order)
        assert told(timeline_in_order(table)) == told(expected)
        assert [*map(fmt.order, timeline_in_order(table))] == [*map(fmt.order, expected)]
        assert [*map(fmt.order, timeline_in_order(table, newest_first=True))] == [*map(fmt.order, expected)][::-1]

    test()


@pytest.mark.parametrize("version", [6, 9])
def test_an_empty_timeline(small: Small, version: int) -> None:
    """A new table: no instants, and any time is later."""
    timeline = load_timeline(small(version))
    assert (timeline.instants, timeline.last_time()) == ((), "")


def test_a_missing_timeline_folder(small: Small) -> None:
    table = small(9)
    (base_of(table) / ".hoodie/timeline").rmdir()
    with pytest.raises(Unreadable, match="timeline is missing"):
        load_timeline(table)


def test_a_file_that_vanishes_is_a_conflict(small: Small) -> None:
    """A writer is at work: exit 12, not 15 and not 1."""
    table = small(9, {f"{T1}_{T2}.commit": b""})
    (instant,) = load_timeline(table).instants
    put(table, f".hoodie/timeline/{T1}_{T2}.commit").unlink()
    with pytest.raises(Conflict, match="disappeared") as caught:
        read_instant(table, instant.files[0])
    assert caught.value.exit_code == 12


def test_idle_time_is_that_of_the_last_file(small: Small) -> None:
    table = small(9, {f"{T1}.commit.requested": b"", f"{T1}.inflight": b""})
    for name, second in ((f"{T1}.commit.requested", 10), (f"{T1}.inflight", 20)):
        os.utime(base_of(table) / ".hoodie/timeline" / name, (second, second))
    timeline = load_timeline(table)
    assert timeline.idle_ms(timeline.instants[0], 60_000) == 40_000


@pytest.mark.parametrize("version", [6, 9])
def test_create_instant_file(small: Small, version: int) -> None:
    """Hudi's name; the same again is success, another body a conflict, and the first one's body stays."""
    table = small(version)
    done = None if version == 6 else T2
    name = create_instant_file(table, T1, "restore", State.COMPLETED, b"body", done)
    assert name == (f"{T1}.restore" if version == 6 else f"{T1}_{T2}.restore")
    assert create_instant_file(table, T1, "restore", State.COMPLETED, b"body", done) == name
    with pytest.raises(Conflict, match="other content"):
        create_instant_file(table, T1, "restore", State.COMPLETED, b"other", done)
    (instant,) = load_timeline(table).instants
    assert read_instant(table, instant.files[0]) == b"body"


def test_delete_instant_files_in_order(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other; the first that cannot be deleted stops the rest; an absent one does not."""
    names = [f"{T1}_{T2}.commit", f"{T1}.inflight", f"{T1}.commit.requested"]
    table = small(9, dict.fromkeys(names, b""))
    (instant,) = load_timeline(table).instants
    newest_first = instant.files[::-1]
    put(table, f".hoodie/timeline/{names[1]}").unlink()
    (base_of(table) / f".hoodie/timeline/{names[1]}").mkdir()
    with pytest.raises(StorageFailed, match=f"cannot delete {names[1]}"):
        delete_instant_files(table, newest_first)
    assert [(base_of(table) / ".hoodie/timeline" / name).exists() for name in names] == [False, True, True]
    (base_of(table) / f".hoodie/timeline/{names[1]}").rmdir()
    delete_instant_files(table, newest_first)
    assert load_timeline(table).instants == ()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/St_Johns"])
def test_a_new_time_is_now_in_the_tables_zone(small: Small, zone: str) -> None:
    table = small(9, zone=zone)
    moment = fmt.parse_time(new_instant_time(table, load_timeline(table)), ZoneInfo(zone))
    assert moment is not None
    assert abs(datetime.now(timezone.utc) - moment) < timedelta(seconds=10)


@pytest.mark.parametrize("what", ["requested", "completed"])
def test_a_timeline_ahead_of_the_clock_is_refused(small: Small, what: str) -> None:
    """Taking the time from the timeline would hide the next writers' commits; requested and completion times count."""
    ahead = fmt.format_time(datetime.now(timezone.utc) + timedelta(hours=1))
    name = f"{ahead}.commit.requested" if what == "requested" else f"{T1}_{ahead}.commit"
    table = small(9, {name: b""})
    with pytest.raises(Refused, match="last instant") as caught:
        new_instant_time(table, load_timeline(table))
    assert caught.value.fields["last_time"] == ahead
    assert "--timezone" in caught.value.hint
    assert "wait until" not in caught.value.hint


class WentBack(tzinfo):
    """The clock went back an hour ago."""

    def fromutc(self, moment: datetime) -> datetime:
        back = datetime.now(timezone.utc).replace(tzinfo=None) - timedelta(minutes=50)
        return moment + timedelta(hours=1 if moment.replace(tzinfo=None) > back else 2)


def test_in_an_hour_that_comes_twice_the_clock_is_waited_for(small: Small) -> None:
    """Nothing is wrong then, and nothing is to be removed."""
    ahead = fmt.format_time(datetime.now(timezone.utc) + timedelta(hours=1, minutes=5))
    table = replace(small(9, {f"{ahead}_{ahead}.commit": b""}), zone=WentBack())
    with pytest.raises(Refused, match="last instant") as caught:
        new_instant_time(table, load_timeline(table))
    assert f"wait until the clock shows {ahead}" in caught.value.hint
    assert "rollback" not in caught.value.hint


@pytest.mark.slow
def test_no_two_instants_have_one_time(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    table = small(9, {f"{T1}.commit.requested": b""})
    monkeypatch.setattr(module, "instant_now", lambda _: T1)
    with pytest.raises(Refused, match="last instant"):
        new_instant_time(table, load_timeline(table))


def test_a_table_copied_to_another_zone(real: Real, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same files, opened with a zone behind the writers': the clock face is before the timeline."""
    original = real("v9", "cow_flat_nomdt")
    table: Table = open_table(original.uri, zone="Etc/GMT+12")
    last = fmt.parse_time(load_timeline(table).last_time(), timezone.utc)
    assert last is not None

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return last + timedelta(hours=1)

    monkeypatch.setattr(module, "datetime", Clock)
    with pytest.raises(Refused):
        new_instant_time(table, load_timeline(table))
    assert new_instant_time(original, load_timeline(original)) > load_timeline(original).last_time()


def test_a_completion_is_now_and_never_before_its_request(small: Small) -> None:
    """A request that was made in another zone may be hours ahead."""
    table = small(9)
    ahead = fmt.format_time(datetime.now(timezone.utc) + timedelta(hours=9))
    assert completion_now(table, ahead) == ahead
    assert T1 < completion_now(table, T1) < ahead


def test_a_timeline_without_some_instants(small: Small) -> None:
    timeline = load_timeline(small(9, {f"{T1}.commit.requested": b"", f"{T2}.restore.requested": b""}))
    assert timeline.without({T2, None}).last_time() == T1
    assert timeline.without({None}) == timeline


def test_the_request_of_a_restore_tells_what_it_took_back(small: Small) -> None:
    """The result of a resumed one names only the instants of its last attempt (Hudi 0.15.0 to 1.2.0)."""
    request = restore.encode_plan(restore.StoredRestorePlan((InstantInfo(T3, "commit"),), T1))
    result = restore.encode_metadata(T2, 0, [])
    table = small(9, {f"{T2}.restore.requested": request, f"{T2}.restore.inflight": b"", f"{T2}_{T3}.restore": result})
    assert taken_back(table, load_timeline(table)) == {T3: f"the restore {T2}"}


# Durability.


def test_each_deletion_is_on_the_disk_before_the_next(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power failure a request would be gone whose completed file is still there."""
    table = small(9, {f"{T1}.commit.requested": b"", f"{T1}.inflight": b"", f"{T1}_{T2}.commit": b"{}"})
    log = disk_log(monkeypatch)
    delete_instant(table, load_timeline(table).find(T1, "commit"))
    timeline = base_of(table) / ".hoodie" / "timeline"
    order = [line.rpartition("/")[2] for line in log if line.startswith("unlink") and not line.endswith(".crc")]
    assert order == [f"{T1}_{T2}.commit", f"{T1}.inflight", f"{T1}.commit.requested"]
    assert_synced(log, timeline, r"\d.*")
