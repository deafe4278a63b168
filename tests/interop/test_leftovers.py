"""The real Hudi dies after each change below ``.hoodie``: what `check` names then ends it, and writers go on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests import support
from tests.interop.judge import Judge
from tests.interop.leftovers import COLUMNS, LATER, PLACES, SCENARIOS, died, kinds_left, mend, place_of
from tests.interop.scenarios import digest

pytestmark = pytest.mark.hudi


@pytest.mark.full
@pytest.mark.short("v6-first metadata table-properties")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("version", support.VERSIONS)
def test_writers_go_on(judge: Callable[[str], Judge], version: str, name: str, place: str, tmp_path: Path) -> None:
    hudi, scenario = judge(version), SCENARIOS[name]
    made, trial = tmp_path / "made" / "table", tmp_path / "trial" / "table"
    for path in (made, trial):
        scenario.make(hudi, path)
    before = hudi.both_rows(made)
    kinds = list(kinds_left(hudi.changes_of(trial, lambda: scenario.work(hudi, trial))))
    rows = (before, hudi.both_rows(trial))
    here = [kind for kind in kinds if place_of(kind) == place]
    if not here:
        pytest.skip("nothing is changed there")
    for number, kind in enumerate(here):
        left = died(hudi, scenario, made, kind, tmp_path / str(number))
        mend(left)
        found = hudi.read(left, metadata=False, columns=COLUMNS)
        assert digest(found) in rows, kind
        hudi.upsert(left, LATER, options=scenario.later)
        kept = {row[0]: row for row in found} | {row[0]: row for row in LATER}
        assert hudi.both_rows(left) == digest(kept.values()), kind
