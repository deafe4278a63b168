"""A restore with a time of another zone, resumed: what it leaves is a table that Hudi's writers open."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.table.timeline.active import instant_now, load_timeline
from tests import support
from tests.helpers import Copy, die, host_in, restore, without_zone
from tests.interop import product
from tests.interop.judge import Judge

pytestmark = pytest.mark.hudi


@pytest.mark.short("v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_writers_go_on_after_a_restore_whose_time_is_hours_ahead(
    judge: Callable[[str], Judge], version: str, tmp_path: Path
) -> None:
    """Twice: their own commits are older than the restore by their times."""
    name = "mor_savepoints"
    copy = Copy(version, name, support.unpack(version, name, tmp_path))
    target = copy.savepoints[-1]
    with host_in("Asia/Tokyo"):
        die(without_zone(copy), target, "delete files")
    done = restore(copy, target).restore
    assert done > instant_now(copy.table)
    hudi = judge(version)
    assert hudi.both_rows(copy.path) == support.facts(version, name)["rows"][target]
    product.upsert(hudi, copy.path)
    product.upsert(hudi, copy.path)
    assert all(entry.completed for entry in load_timeline(copy.table).instants)
    assert copy.commits[-1] < done
