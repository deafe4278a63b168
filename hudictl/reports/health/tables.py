"""``check`` of several tables: one that cannot be looked at is a finding, and the others are looked at all the same."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from hudictl.errors import HudictlError
from hudictl.reports.health.check import Found
from hudictl.reports.health.finding import ERROR, Finding, Skipped

NOT_CHECKED = "not-checked"


@dataclass(frozen=True)
class Checked:
    """What was found in a table, and ``error``, where it could not be looked at: that is its one finding then."""

    table: str
    findings: tuple[Finding, ...]
    seconds: float
    skipped: tuple[Skipped, ...] = ()
    error: HudictlError | None = None

    def count(self, severity: str) -> int:
        return sum(entry.severity == severity for entry in self.findings)


def checked(uri: str, look: Callable[[], Found]) -> Checked:
    """What a look at a table finds, or fails with."""
    begun = time.monotonic()
    try:
        found = look()
    except HudictlError as error:
        meaning = f"{error.message} ({error.hint})" if error.hint else error.message
        finding = Finding(NOT_CHECKED, ERROR, uri, meaning)
        return Checked(uri, (finding,), time.monotonic() - begun, error=error)
    return Checked(uri, found.findings, time.monotonic() - begun, found.skipped)
