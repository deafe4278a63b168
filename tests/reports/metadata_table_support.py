"""What the tests of metadata table share with others."""

from tests.helpers import Copy


def some(copy: Copy, partition: str = "part-1") -> str:
    """The first base file of a partition."""
    return min(path.name for path in (copy.path / partition).glob("*.parquet"))
