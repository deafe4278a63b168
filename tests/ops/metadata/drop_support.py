"""What the tests of drop share with others."""

from tests.helpers import Copy, drop


def later(copy: Copy) -> Copy:
    """The table of tests/indexes, as if a write had followed the indexing."""
    for path in copy.timeline.glob("*indexing*"):
        drop(path)
    return copy
