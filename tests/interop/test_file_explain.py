"""What ``file explain`` calls deletable can be deleted: Hudi reads the same rows, and restores to each savepoint."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.reports.file_explain import CLEAN, ORPHANS, explain_file
from hudictl.reports.file_history import Wanted
from hudictl.reports.logs.slices import files_of_table
from hudictl.table.open import open_table
from hudictl.table.timeline.active import load_timeline
from tests import support
from tests.helpers import drop
from tests.interop.judge import RELEASES, Judge
from tests.interop.product import ENGINE

pytestmark = pytest.mark.hudi
NAMES = ("cow_cluster", "cow_savepoints", "mor_part", "mor_pending_compaction", "mor_savepoints")


@pytest.mark.short("v6-mor_savepoints", "v9-cow_cluster", "v9-cow_savepoints", "v9-mor_pending_compaction")
@pytest.mark.parametrize(
    "name", ["cow_cluster", "cow_savepoints", "mor_part", "mor_pending_compaction", "mor_savepoints"]
)
@pytest.mark.parametrize("version", RELEASES)
def test_rows_are_the_same_without_what_is_deletable(
    judge: Callable[[str], Judge], tmp_path: Path, version: str, name: str
) -> None:
    base = support.unpack(version, name, tmp_path)
    hudi, table = judge(version), open_table(str(base))
    timeline = load_timeline(table)
    before = hudi.both_rows(base)
    # By listing: nothing has taken the files out of the metadata table, as a clean does.
    saved = {entry.time: hudi.rows(base, metadata=False, as_of=entry.time) for entry in timeline.savepoints()}
    going = []
    for file in files_of_table(table, timeline, ENGINE):
        found = explain_file(table, ENGINE, Wanted(file.partition, file.data.file_id, file.data.name))
        if found.deleted_by in (CLEAN, ORPHANS):
            going.append(base / file.path)
    # The savepoint or the plan keeps all older slices of the others.
    assert going or name in ("mor_pending_compaction", "mor_savepoints")
    for path in going:
        drop(path)
    assert hudi.both_rows(base) == before
    assert {time: hudi.rows(base, metadata=False, as_of=time) for time in saved} == saved
