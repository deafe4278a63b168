"""A rollback that Hudi refused, of a commit that is archived since: Hudi's next clean-up deletes the commit's files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop import product
from tests.interop.check_support import findings
from tests.interop.judge import Judge, JudgeError
from tests.interop.make_overlaps import rows
from tests.walks.shape import BY_HAND, LAZY

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
ARCHIVED = {
    **BY_HAND,
    **LAZY,
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
    "hoodie.cleaner.commits.retained": "1",
    "hoodie.clean.commits.retained": "1",
    "hoodie.metadata.compact.max.delta.commits": "1",
}


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_it_can_only_be_discarded(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi, base = judge(version), tmp_path / "table"
    hudi.create(base, rows("abc", 1), ARCHIVED)
    target = hudi.upsert(base, rows("a", 2), options=ARCHIVED)
    hudi.upsert(base, rows("b", 3), options=ARCHIVED)
    with pytest.raises(JudgeError):
        hudi.rollback(base, target, BY_HAND)
    for number in range(4):
        hudi.upsert(base, rows("bc", 4 + number), options=ARCHIVED)
    hudi.archive(base, ARCHIVED)
    times = {entry[0]: entry[1] for entry in hudi.timeline(base)}
    assert target not in times
    assert "rollback" in times.values()
    before = hudi.both_rows(base)
    assert product.command(base, "failed-writes", "clean", idle="0s") in (0, 3)
    assert hudi.both_rows(base) == before
    assert product.command(base, "resume", idle="0s") == 13
    assert hudi.both_rows(base) == before
    (found,) = [one for one in findings(base) if target in one.meaning]
    assert (found.severity, [one.command for one in found.remedy]) == ("error", ["hudictl resume --discard-rollbacks"])
    assert product.command(base, "resume", "--discard-rollbacks", idle="0s") == 0
    assert findings(base) == []
    hudi.upsert(base, rows("abc", 9), options=ARCHIVED)
    assert hudi.both_rows(base)["count"] == len(rows("abc", 9))
