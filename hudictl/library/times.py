"""Times as people give them: an instant, a date, an age."""

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from hudictl.errors import UsageError

if TYPE_CHECKING:
    from hudictl.table.table import Table

Time = str | datetime | timedelta
"""An instant time or the beginning of one, a date, an age (2h, 3d); in Python also a time or an age of its own type."""
_DURATION = re.compile(r"^(\d{1,9})(ms|s|m|h|d)?$")
_DATE = re.compile(
    r"(\d{4})-(\d\d)(?:-(\d\d)(?:[T ](\d\d)(?::(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|[+-]\d\d:?\d\d)?)?)?)?", re.ASCII
)
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def duration_ms(text: str | timedelta, option: str) -> int:
    """500ms, 30s, 10m, 2h, 30d; a bare number is seconds. Raises UsageError."""
    if isinstance(text, timedelta):
        return int(text / timedelta(milliseconds=1))
    match = _DURATION.match(text)
    if match is None:
        raise UsageError(f"{option} {text}: not a duration", hint="write it as 30s, 10m, 2h or 30d")
    return int(match[1]) * _UNITS_MS[match[2] or "s"]


def age_ms(text: str | timedelta, option: str) -> int:
    """The same for an age beyond which is deleted: a number without a unit is refused, as 14 could be meant as days."""
    age = duration_ms(text, option)
    if age and isinstance(text, str) and text.isdigit():
        raise UsageError(f"{option} {text}: of which unit?", hint=f"write {text}d for days, {text}h for hours")
    return age


def time_of(table: "Table", said: Time, option: str) -> str:
    """The beginning of an instant time, in the table's zone. Raises UsageError."""
    if isinstance(said, datetime):
        local = said.astimezone(table.zone) if said.tzinfo else said
        return f"{local:%Y%m%d%H%M%S}{local.microsecond // 1000:03}"
    if not isinstance(said, str | timedelta):
        raise UsageError(f"{option} {said}: not a time", hint="write a text, a datetime or a timedelta")
    if isinstance(said, timedelta) or re.fullmatch(r"\d+[smhd]", said):
        from hudictl.formats.instants import format_time

        try:
            # In UTC: the clock of the table's zone may have been changed since then.
            moment = datetime.now(timezone.utc) - timedelta(milliseconds=duration_ms(said, option))
            return format_time(moment.astimezone(table.zone))
        except (OverflowError, ValueError) as error:
            raise UsageError(f"{option} {said}: so long ago there was no instant") from error
    try:
        if re.fullmatch(r"[0-9]{4,20}", said):
            return _possible(said)
        return _digits_of(table, said)
    except (ValueError, OverflowError):
        raise UsageError(
            f"{option} {said}: not a time",
            hint="write it as 20261121, 20261121030000000, 2026-11-21T03:00 or with an offset, 2026-11-21T03:00-05:00; "
            "2h means 2 hours ago",
        ) from None


def _possible(said: str) -> str:
    """The digits. Raises ValueError: there is no such date; but Hudi's reserved instants have the year 0."""
    if not said.startswith("0000"):
        numbers = [int(said[:4]), *(int(said[at : at + 2]) for at in range(4, min(len(said), 14) - 1, 2))]
        datetime(*[*numbers, 1, 1][: max(3, len(numbers))])  # type: ignore[arg-type]
    return said


def _digits_of(table: "Table", said: str) -> str:
    """As many digits of an instant time as a date has. Raises ValueError: it is none."""
    match = _DATE.fullmatch(said)
    if match is None:
        raise ValueError(said)
    *parts, fraction, offset = match.groups()
    numbers = [int(part) for part in parts if part]
    moment = datetime(*[*numbers, 1, 1][: max(3, len(numbers))])  # type: ignore[arg-type]
    if offset:
        hours, minutes = (int(offset[1:3]), int(offset[-2:])) if offset != "Z" else (0, 0)
        ahead = timedelta(hours=hours, minutes=minutes) * (-1 if offset[0] == "-" else 1)
        moment = moment.replace(tzinfo=timezone(ahead)).astimezone(table.zone)
    return f"{moment.year:04}{moment:%m%d%H%M%S}"[: 2 + 2 * len(numbers)] + (fraction or "")[:3]
