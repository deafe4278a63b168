"""A compaction plan that hudictl has made again, judged by the real Hudi: the rows of later logs are read, and its
next run compacts them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.helpers import put
from tests.interop import product
from tests.interop.judge import Judge

pytestmark = pytest.mark.hudi


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "empty"])
def test_rows_are_read_and_compacted_by_a_plan_that_was_made_again(
    judge: Callable[[str], Judge], gone: bool, tmp_path: Path
) -> None:
    base = support.unpack("v6", "mor_pending_compaction", tmp_path)
    hudi = judge("v6")
    rows = hudi.both_rows(base)
    request = next((base / ".hoodie").glob("*.compaction.requested"))
    time = request.name.partition(".")[0]
    request.with_name(f".{request.name}.crc").unlink(missing_ok=True)
    put(request.with_name(f"{time}.compaction.inflight"))
    if gone:
        request.unlink()
    else:
        put(request)
    assert product.rollback(base, time, "--keep-plan") == 0
    assert hudi.both_rows(base) == rows
    hudi.compact(base, "execute")
    assert [entry[1:3] for entry in hudi.timeline(base) if entry[0] == time] == [["commit", "COMPLETED"]]
    assert hudi.both_rows(base) == rows
    product.upsert(hudi, base)
