"""A record index that the indexer built while a commit came: after hudictl nothing of that commit is in any index."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.open import open_table
from tests import support
from tests.helpers import Copy
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.make_indexes import RECORD_INDEX
from tests.interop.scenarios import batch

pytestmark = [pytest.mark.hudi, pytest.mark.parametrize("version", support.VERSIONS)]

Judges = Callable[[str], Judge]
KEYS = list(range(40))
WRITER = RECORD_INDEX | {"hoodie.index.type": "RECORD_INDEX", "hoodie.table.timeline.timezone": "UTC"}


@pytest.mark.parametrize(("left", "kept"), [(2, False), pytest.param(3, True, marks=pytest.mark.full)])
@pytest.mark.parametrize("way", ["restore", pytest.param("rollback", marks=pytest.mark.full)])
def test_it_says_nothing_of_what_is_gone(
    judge: Judges, version: str, tmp_path: Path, left: int, kept: bool, way: str
) -> None:
    hudi, base = judge(version), support.unpack_beside(version, tmp_path)
    commits = Copy(version, "beside", base).commits
    assert hudi.index_differences(base, KEYS) == []
    if way == "restore":
        product.restore(base, commits[left - 1], RestoreOptions(to_instant=True))
    else:
        for commit in reversed(commits[left:]):
            assert product.rollback(base, commit) == 0
    assert ("record_index" in open_table(str(base)).metadata_partitions) is kept
    assert hudi.index_differences(base, KEYS) == []
    before = hudi.both_rows(base)["count"]
    # Keys of the removed commit are written again, as new ones.
    hudi.upsert(base, batch(range(10, 20), 9, (("a",),)), options=WRITER)
    assert hudi.both_rows(base)["count"] == before + (10 if left == 2 else 6)
    assert hudi.index_differences(base, KEYS) == []
