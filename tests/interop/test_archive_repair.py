"""An archive that was damaged and mended, judged by the real Hudi: it reads, writes, cleans, archives, merges."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import pytest

from hudictl.ops.repair.archive import plan_archive
from hudictl.table.open import open_table
from hudictl.table.timeline.archive import archived_after
from tests import support
from tests.damage.cases import Case, of_table
from tests.damage.harms import do_harm
from tests.helpers import session
from tests.interop.judge import Judge
from tests.interop.product import command, upsert

pytestmark = pytest.mark.hudi

SOON = {
    "hoodie.keep.min.commits": "4",
    "hoodie.keep.max.commits": "5",
    "hoodie.clean.commits.retained": "2",
    "hoodie.cleaner.commits.retained": "2",
    # Hudi reads all that the archive has.
    "hoodie.timeline.compaction.batch.size": "2",
    "hoodie.archive.merge.enable": "true",
    "hoodie.archive.merge.files.batch.size": "2",
    "hoodie.archive.automatic": "false",
}


def cases(version: str) -> list[Case]:
    """All damages of an archive. After some of them it can be read as it is: then the repair finds nothing."""
    return [case for case in of_table(version, "cow_cleaned") if case.kind.startswith("archive")]


@pytest.mark.full
@pytest.mark.short("v6-cow_cleaned-archive-cut", "v8-cow_cleaned-archive-cut", "v9-cow_cleaned-archive-manifest-cut")
@pytest.mark.parametrize("case", [*chain.from_iterable(map(cases, support.VERSIONS))], ids=lambda case: case.words)
def test_hudi_goes_on(judge: Callable[[str], Judge], case: Case, tmp_path: Path) -> None:
    hudi, base = judge(case.version), support.unpack(case.version, case.table, tmp_path)
    rows = hudi.both_rows(base)
    do_harm(base, case.path, case.harm)
    assert command(base, "archive", "repair", idle="0s") == 0
    assert hudi.both_rows(base) == rows
    before = archived_times(base)
    for _ in range(5):
        upsert(hudi, base, SOON)
        hudi.clean(base, SOON)
        hudi.archive(base, SOON)
    # The archiver has gone on, and all that it has written and merged can be read.
    assert len(archived_times(base) - before) >= 3
    assert not plan_archive(session(open_table(str(base))), 0).files


def archived_times(base: Path) -> set[str]:
    return {entry.time for entry in archived_after(open_table(str(base)), "")}
