"""What the tests of log records share with others."""

from pathlib import Path

from tests.interop.judge import Judge
from tests.reports.logs.records_support import queried, text


def assert_as_queried(hudi: Judge, base: Path) -> int:
    """Returns how many rows there are."""
    state = hudi.state(base)
    found = [[text(row.record.get(column)) for column in state["columns"]] for row in queried(base)]
    assert sorted(found, key=str) == sorted(state["rows"], key=str)
    return len(found)
