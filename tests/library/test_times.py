"""Times as people give them."""

from datetime import datetime, timedelta, timezone, tzinfo
from pathlib import Path

import pytest

from hudictl.errors import UsageError
from hudictl.library.times import age_ms, time_of
from hudictl.table.open import open_table
from tests.fixtures import Unpack


@pytest.fixture
def base(unpack: Unpack) -> Path:
    return unpack("v9", "cow_part").path


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("2026", "2026"),
        ("20261121", "20261121"),
        ("00000000000000010", "00000000000000010"),
        ("0002-03-04", "00020304"),
        ("20261", "20261"),
        ("20261121030414999123", "20261121030414999123"),
        ("2026-11", "202611"),
        ("2026-11-21", "20261121"),
        ("2026-11-21T03", "2026112103"),
        ("2026-11-21 03:04", "202611210304"),
        ("2026-11-21T03:04:14", "20261121030414"),
        ("2026-11-21T03:04:14.5", "202611210304145"),
        ("2026-11-21T03:04:14.123456", "20261121030414123"),
        ("2026-11-21T03:04:14-05:00", "20261121100414"),
        ("2026-11-21T23:04:14.123+0000", "20261122010414123"),
        ("2026-11-21T03:04Z", "202611210504"),
        ("2026-11-21T03:04+05:30", "202611202334"),
    ],
)
def test_a_date_is_the_beginning_of_a_time_in_the_tables_zone(base: Path, said: str, wanted: str) -> None:
    assert time_of(open_table(str(base), zone="+02:00"), said, "--since") == wanted


@pytest.mark.parametrize(
    ("now", "said", "wanted"),
    [
        ("2026-03-29T01:20:00", "75m", "20260329010500000"),
        ("2026-03-29T01:20:00", "15m", "20260329030500000"),
        ("2026-10-25T01:10:00", "75m", "20261025015500000"),
        ("2026-10-25T02:20:00", timedelta(hours=3), "20261025012000000"),
    ],
)
def test_an_age_over_a_change_of_the_clock(
    base: Path, monkeypatch: pytest.MonkeyPatch, now: str, said: str | timedelta, wanted: str
) -> None:
    class Then(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Then":
            return cls.fromisoformat(f"{now}+00:00").astimezone(tz)

    monkeypatch.setattr("hudictl.library.times.datetime", Then)
    assert time_of(open_table(str(base), zone="Europe/Berlin"), said, "--since") == wanted


@pytest.mark.parametrize(
    "said",
    [
        *("", "1", "202", "1" * 21, "yesterday", "2026-", "2026-1-5", "2026-11-21T3:04", "2026-13-45", "2026-02-30"),
        *("2026-11-21T24:00", "2026-11-21T03:60", "20261121T0304", "2026-11-21T03:04-5", "2026-11-21T03:04+99:00"),
        *("2026-11-21-05:00", "2026-11-21T03-05:00", "2026-11-21T03:04:14.", "0000-01-01", "0001-01-01T00:00+14:00"),
        *("2026-11-21T03+05:30", "20261399", "20260230", "2026112124", "202611210360"),
        "\u0662\u0660\u0662\u0666",
    ],
)
def test_what_is_no_date_is_refused(base: Path, said: str) -> None:
    """Digits in the wrong place would be another time, and another choice of instants."""
    with pytest.raises(UsageError, match=r"--since .*: not a time"):
        time_of(open_table(str(base), zone="UTC"), said, "--since")


def test_a_time_of_its_own_type(base: Path) -> None:
    table = open_table(str(base), zone="+02:00")
    moment = datetime(2026, 11, 21, 3, 4, 14, 5000)
    assert time_of(table, moment, "--since") == "20261121030414005"
    assert time_of(table, moment.replace(tzinfo=timezone(timedelta(hours=-5))), "--since") == "20261121100414005"


@pytest.mark.parametrize(
    ("said", "wanted"), [("14d", 14 * 86_400_000), ("0", 0), ("0s", 0), ("1s", 1_000), (timedelta(hours=1), 3_600_000)]
)
def test_an_age_beyond_which_is_deleted(said: str | timedelta, wanted: int) -> None:
    assert age_ms(said, "--older-than") == wanted


@pytest.mark.parametrize("said", ["14", "1", "014", "two weeks"])
def test_such_an_age_has_a_unit(said: str) -> None:
    """14 would be seconds, and what was meant to stay for days is gone."""
    with pytest.raises(UsageError):
        age_ms(said, "--older-than")
