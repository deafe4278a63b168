"""What the tests of overlaps share with others."""

from pathlib import Path

from tests.interop.judge import Judge
from tests.interop.make_overlaps import BY_HAND
from tests.interop.scenarios import digest


def upsert_all(hudi: Judge, base: Path) -> None:
    """A writer finds every key where it is: none comes twice."""
    changed = [[row[0], 99, "later", row[3]] for row in hudi.read(base, columns=("id", "ts", "val", "p"))]
    hudi.upsert(base, changed, options=BY_HAND)
    assert hudi.both_rows(base) == digest(changed)
