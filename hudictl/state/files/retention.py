"""Which savepoints are kept: the rules of restic's ``forget``, on the times of the savepointed commits.

Nothing here reads a table, nor a clock.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta, timezone, tzinfo

from hudictl.formats.instants import parse_time
from hudictl.phrases import span

PERIODS = {"hourly": "%Y%m%d%H", "daily": "%Y%m%d", "weekly": "%G%V", "monthly": "%Y%m", "yearly": "%Y"}
"""The rules that count periods; equal texts in this format are one period, as shown by the writers' clock."""


@dataclass(frozen=True)
class Rules:
    """How many savepoints to keep; 0: no such rule. A savepoint is kept if one rule keeps it.

    ``last``: so many newest ones. ``hourly`` to ``yearly``: the newest one of each hour, calendar day, ISO week, month
    or year with a savepoint, for so many of these. ``within_ms``: those less than so much older than the newest one.
    """

    last: int = 0
    hourly: int = 0
    daily: int = 0
    weekly: int = 0
    monthly: int = 0
    yearly: int = 0
    within_ms: int = 0

    @property
    def any(self) -> bool:
        """Whether there is a rule."""
        return any(asdict(self).values())


def reasons_to_keep(instants: Collection[str], rules: Rules, zone: tzinfo | None) -> dict[str, tuple[str, ...]]:
    """Why each of some savepoints is kept, newest first; a savepoint without a reason is to be deleted.

    Args:
        instants: the times of the savepointed commits. One that is no date is kept, and not counted.
        zone: that of the times; None: this host's. Its clock may be changed between two of them.
    """
    dates = {time: parse_time(time, zone) for time in sorted(instants, reverse=True)}
    found: dict[str, list[str]] = {time: [] if date else ["its time is no date"] for time, date in dates.items()}
    dated = [(time, date) for time, date in dates.items() if date is not None]
    for time, _ in dated[: rules.last]:
        found[time].append("last")
    for rule, form in PERIODS.items():
        for time in _newest_of_each(dated, form)[: getattr(rules, rule)]:
            found[time].append(rule)
    ages = [(time, date.astimezone(timezone.utc)) for time, date in dated if rules.within_ms]
    for time, date in ages:
        if ages[0][1] - date < timedelta(milliseconds=rules.within_ms):
            found[time].append(f"within {span(rules.within_ms)}")
    return {time: tuple(reasons) for time, reasons in found.items()}


def _newest_of_each(dated: Collection[tuple[str, datetime]], form: str) -> list[str]:
    newest: dict[str, str] = {}
    for time, date in dated:
        newest.setdefault(date.strftime(form), time)
    return list(newest.values())
