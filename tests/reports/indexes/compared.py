"""The comparison of the indexes of a copy, for the tests of this folder."""

from hudictl.engine.base import Progress
from hudictl.reports.indexes.verify import VerifiedIndexes, verify_indexes
from hudictl.reports.indexes.view import IndexDifference
from hudictl.table.metadata.listing import listing_table
from tests.helpers import ENGINE, Copy

Told = tuple[str, str, str | None]


def silent(name: str, files: int) -> Progress | None:
    return None


def compare(copy: Copy, *, sample: int | None = None, notes: list[str] | None = None) -> VerifiedIndexes:
    """All indexes of a table."""
    table = copy.table
    metadata = listing_table(table)
    assert metadata is not None
    return verify_indexes(table, metadata, ENGINE, [] if notes is None else notes, sample=sample, step=silent)


def rows(copy: Copy, index: str, sample: int | None = None) -> list[IndexDifference]:
    """The differences of one index."""
    return [row for row in compare(copy, sample=sample).rows if row.index == index]
