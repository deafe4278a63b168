"""``check`` of several tables: a table that cannot be read is a finding, and the others are still checked."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from hudictl.errors import HudictlError
from hudictl.reports.health.check import Found
from hudictl.reports.health.finding import ERROR, Finding, Skipped

NOT_CHECKED = "not-checked"


@dataclass(frozen=True)
class Checked:
    """The findings of a table; ``error`` if it could not be read, which is then its only finding."""

    table: str
    findings: tuple[Finding, ...]
    seconds: float
    skipped: tuple[Skipped, ...] = ()
    error: HudictlError | None = None

    def count(self, severity: str) -> int:
        return sum(entry.severity == severity for entry in self.findings)


def checked(uri: str, look: Callable[[], Found]) -> Checked:
    """The findings of a check, or its failure."""
    begun = time.monotonic()
    try:
        found = look()
    except HudictlError as error:
        meaning = f"{error.message} ({error.hint})" if error.hint else error.message
        finding = Finding(NOT_CHECKED, ERROR, uri, meaning)
        return Checked(uri, (finding,), time.monotonic() - begun, error=error)
    return Checked(uri, found.findings, time.monotonic() - begun, found.skipped)
