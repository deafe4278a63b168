"""What the tests of check share with others."""

from pathlib import Path

from hudictl.reports.health.check import check_table
from hudictl.reports.health.finding import Finding
from hudictl.table.open import open_table
from tests.interop import product


def findings(base: Path) -> list[Finding]:
    return list(check_table(open_table(str(base)), product.ENGINE, 600_000).findings)


def slugs(base: Path) -> list[str]:
    return [found.finding for found in findings(base)]
