"""The writers' zone, told by times and the moments at which their files were made."""

import time
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudictl.formats import instants as fmt
from hudictl.state.timeline.zone import ZoneSeen, zone_seen
from hudictl.table.timeline.active import Timeline, load_timeline
from tests import support
from tests.bootstrap import bootstrapped
from tests.fixtures import Unpack

NOON = datetime(2026, 3, 20, 12, tzinfo=timezone.utc)
TOKYO, BERLIN, UTC = ZoneInfo("Asia/Tokyo"), ZoneInfo("Europe/Berlin"), timezone.utc
LAYOUTS = pytest.mark.parametrize("layout", [1, 2])
ZONES = ("UTC", "Asia/Tokyo", "Asia/Kathmandu", "America/St_Johns", "Pacific/Kiritimati", "Etc/GMT+12", "Europe/Berlin")


def written(
    moments: Iterable[datetime], zone: tzinfo, layout: int = 2, late_s: float = 0.0, made: datetime | None = None
) -> Timeline:
    """Commits requested at some moments by writers in a zone, each done in half a minute; ``made`` is when all files
    were made, as in a copy."""
    files, modified = [], {}
    for moment in moments:
        text = fmt.format_time(moment.astimezone(zone))
        done = moment + timedelta(seconds=30)
        completion = fmt.format_time(done.astimezone(zone)) if layout == 2 else None
        states = [(fmt.State.REQUESTED, moment, None), (fmt.State.INFLIGHT, done, None)]
        for state, at, completed in [*states, (fmt.State.COMPLETED, done, completion)]:
            name = fmt.instant_file_name(text, fmt.COMMIT, state, layout, completed)
            files.append(fmt.InstantFile(name, text, fmt.COMMIT, state, completed))
            modified[name] = int((made or at + timedelta(seconds=late_s)).timestamp() * 1000)
    return Timeline(fmt.group_instants(files), (), dict.fromkeys(modified, 1), modified)


def hourly(count: int) -> list[datetime]:
    return [NOON + timedelta(hours=number) for number in range(count)]


def hours(seen: ZoneSeen | None) -> tuple[float, str] | None:
    return (seen.ahead / timedelta(hours=1), seen.offset_text) if seen else None


@LAYOUTS
def test_the_writers_zone_is_told_by_the_files_of_their_instants(layout: int) -> None:
    assert hours(zone_seen(written(hourly(3), UTC, layout), TOKYO)) == (9, "UTC+00:00")
    assert hours(zone_seen(written(hourly(3), TOKYO, layout), UTC)) == (-9, "UTC+09:00")
    assert hours(zone_seen(written(hourly(3), TOKYO, layout), TOKYO)) == (0, "UTC+09:00")
    assert hours(zone_seen(written(hourly(3), ZoneInfo("Asia/Kathmandu"), layout), UTC)) == (-5.75, "UTC+05:45")


@pytest.mark.slow
@given(st.sampled_from(ZONES), st.sampled_from(ZONES), st.integers(2, 8), st.floats(-3, 60), st.integers(0, 10**7))
def test_any_two_zones_at_any_time_of_the_year(there: str, here: str, count: int, late_s: float, minute: int) -> None:
    moments = [NOON + timedelta(minutes=minute, hours=number) for number in range(count)]
    seen = zone_seen(written(moments, ZoneInfo(there), late_s=late_s), ZoneInfo(here))
    if seen is None:
        # A change to summer time or back among the last five.
        assert "Europe/Berlin" in (there, here) or "America/St_Johns" in (there, here)
        return
    now = moments[-1] + timedelta(seconds=30)
    offsets = [now.astimezone(ZoneInfo(zone)).utcoffset() for zone in (here, there)]
    assert (seen.ahead, seen.offset) == (offsets[0] - offsets[1], offsets[1])  # type: ignore[operator]


@LAYOUTS
def test_a_change_to_summer_time_is_no_other_zone(layout: int) -> None:
    """Instants of before it, looked at after it; and of the hour that comes twice."""
    spring = [datetime(2026, 3, 28, 20, tzinfo=UTC) + timedelta(hours=hour) for hour in range(8)]
    autumn = [datetime(2026, 10, 24, 22, 20, tzinfo=UTC) + timedelta(minutes=30 * step) for step in range(8)]
    for moments in (spring, autumn, autumn[-4:]):
        for end in range(1, len(moments) + 1):
            assert hours(zone_seen(written(moments[:end], BERLIN, layout), BERLIN)) in (
                (0, "UTC+01:00"),
                (0, "UTC+02:00"),
            )


def test_a_host_without_zone_is_compared_with_its_changes_over_the_year(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its offset of today is another than that of the instants."""
    winter, summer = (written([NOON.replace(month=month)], BERLIN) for month in (1, 7))
    for host, ahead in (("Europe/Berlin", (0, 0)), ("Asia/Tokyo", (8, 7))):
        with monkeypatch.context() as patch:
            patch.setenv("TZ", host)
            time.tzset()
            assert hours(zone_seen(winter, None)) == (ahead[0], "UTC+01:00")
            assert hours(zone_seen(summer, None)) == (ahead[1], "UTC+02:00")
        time.tzset()


@pytest.mark.slow
@LAYOUTS
def test_a_plain_copy_tells_nothing(layout: int) -> None:
    """All its files were made at one moment, whole quarters of an hour after one of the instants."""
    for minutes in range(24 * 60):
        made = NOON + timedelta(days=2, minutes=minutes)
        assert zone_seen(written(hourly(5), UTC, layout, made=made), UTC) is None


@pytest.mark.slow
@LAYOUTS
def test_a_copy_of_a_table_of_one_minute_tells_nothing(layout: int) -> None:
    """Its instants lie so close together that all are as far from the copy; only an exact distance would count."""
    moments = [NOON + timedelta(seconds=number) for number in range(5)]
    found = [
        hours(zone_seen(written(moments, UTC, layout, made=NOON + timedelta(seconds=second)), UTC))
        for second in range(120, 900 - 10)
    ]
    assert {*found} == {None}


def test_a_single_instant_counts_where_it_is_exact() -> None:
    assert hours(zone_seen(written([NOON], TOKYO, late_s=3), UTC)) == (-9, "UTC+09:00")
    assert zone_seen(written([NOON], TOKYO, late_s=40), UTC) is None
    assert zone_seen(written([], TOKYO), UTC) is None


@pytest.mark.parametrize("text", ["00010101000000000", "99991231235959999", "001", "20261301000000000"])
def test_reserved_times_say_nothing(text: str) -> None:
    file = fmt.InstantFile(f"{text}.commit.requested", text, fmt.COMMIT, fmt.State.REQUESTED)
    for zone in (None, TOKYO, ZoneInfo("America/New_York")):
        assert zone_seen(Timeline(fmt.group_instants([file]), (), {}, {file.name: 0}), zone) is None


def test_instants_that_say_different_things_say_nothing() -> None:
    mixed = [written(hourly(2), TOKYO), written([NOON + timedelta(hours=5)], UTC)]
    files = [file for timeline in mixed for instant in timeline.instants for file in instant.files]
    modified = mixed[0].modified_ms | mixed[1].modified_ms
    timeline = Timeline(fmt.group_instants(files), (), {}, modified)
    assert zone_seen(timeline, UTC) is None
    assert zone_seen(timeline, TOKYO) is None


def test_writes_go_on_in_a_copy_and_the_newest_count() -> None:
    """Of a table that was copied with plain cp, the writes since."""
    copied = written(hourly(5), TOKYO, made=NOON + timedelta(days=1))
    since = written([NOON + timedelta(days=1, hours=number) for number in range(1, 5)], TOKYO)
    files = [file for one in (copied, since) for instant in one.instants for file in instant.files]
    timeline = Timeline(fmt.group_instants(files), (), {}, copied.modified_ms | since.modified_ms)
    assert hours(zone_seen(timeline, UTC)) == (-9, "UTC+09:00")


def test_an_operators_own_instants_do_not_count() -> None:
    """Restores, rollbacks and savepoints: one of them may have been made in a wrong zone before."""
    writes = written(hourly(3), UTC)
    names = {f"{fmt.format_time(NOON.astimezone(TOKYO))}.{action}.requested" for action in ("restore", "rollback")}
    parsed = [fmt.parse_instant_file(name, 2) for name in names]
    files = [*(file for file in parsed if file), *(file for instant in writes.instants for file in instant.files)]
    modified = writes.modified_ms | dict.fromkeys(names, int((NOON + timedelta(days=1)).timestamp() * 1000))
    assert hours(zone_seen(Timeline(fmt.group_instants(files), (), {}, modified), TOKYO)) == (9, "UTC+00:00")


@support.ONE_OF_EVERY_KIND
@pytest.mark.parametrize(("version", "name"), support.every_table())
def test_real_tables_say_utc(unpack: Unpack, version: str, name: str) -> None:
    """Made by 0.15.0, 1.0.2 and 1.2.0 on a host in UTC; tar keeps whole seconds."""
    table = unpack(version, name).table
    timeline = load_timeline(table)
    seen = hours(zone_seen(timeline, table.zone))
    if name.startswith("upgraded") and seen is None:
        # The upgrade has written all instants anew, and too few have come since.
        return
    assert seen == (0, "UTC+00:00")
    assert hours(zone_seen(timeline, ZoneInfo("America/New_York"))) == (-5, "UTC+00:00")


def test_the_times_of_a_bootstrap_are_in_no_zone(tmp_path: Path) -> None:
    """The writes after it show the zone, also where they are as few."""
    copy = bootstrapped("v6", "mor_mixed", tmp_path)
    assert hours(zone_seen(load_timeline(copy.table), TOKYO)) == (9, "UTC+00:00")
