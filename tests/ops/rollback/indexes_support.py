"""What the tests of indexes share with others."""

import pytest

from hudictl.reports.health.check import check_table
from tests.helpers import ENGINE, Copy

VERSIONS = pytest.mark.parametrize("version", ["v8", "v9"])


LATER = ("expr_index_idx_day", "secondary_index_idx_val")


def holding(copy: Copy) -> set[str]:
    """The indexes of which `check` says that they hold a removed instant."""
    found = check_table(copy.table, ENGINE, 600_000).findings
    return {entry.subject for entry in found if entry.finding == "index-holds-removed-instant"}
