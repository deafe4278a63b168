"""A change of properties that dies: readers find the old ones or the new ones, and the same command again ends it."""

from pathlib import Path

import pytest

from hudictl.ops.set_property import PropertyOptions, plan_properties, set_properties
from hudictl.table.open import open_table
from hudictl.table.properties import read_properties
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import session

pytestmark = pytest.mark.crash

WANTED = PropertyOptions({"hoodie.database.name": "lake"}, idle_ms=0)


def _change(base: Path) -> None:
    table = open_table(str(base))
    set_properties(session(table), plan_properties(session(table), WANTED), WANTED)


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_everywhere(version: str, tmp_path: Path) -> None:
    made = support.unpack(version, "mor_part", tmp_path)
    old = read_properties(open_table(str(made)).storage)
    trial = copy(made, tmp_path / "trial")
    with dying(None) as system:
        _change(trial)
    new = read_properties(open_table(str(trial)).storage)
    assert (old == new, system.count > 5) == (False, True)
    for at in deaths(system.count):
        base = copy(made, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _change(base)
        assert read_properties(open_table(str(base)).storage) in (old, new)
        _change(base)
        assert read_properties(open_table(str(base)).storage) == new
        assert not (base / ".hoodie/hoodie.properties.backup").exists()
