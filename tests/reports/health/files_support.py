"""What the tests of files share with others."""

from hudictl.reports.health.finding import Finding
from tests.helpers import (
    Copy,
)
from tests.reports.health.check_support import check


def without_end(copy: Copy) -> list[Finding]:
    return [entry for entry in check(copy) if entry.finding == "timeline-without-end"]
