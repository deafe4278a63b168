"""A repair of the archive that dies: what was lost stays known, and the same command again ends it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hudictl.errors import Unreadable
from hudictl.ops.repair.archive import plan_archive
from hudictl.ops.repair.plan import execute_repair
from hudictl.table.archive_lost import lost_until
from hudictl.table.open import open_table
from hudictl.table.timeline.archive import archived_after
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.damage.cases import of_table
from tests.damage.harms import do_harm
from tests.helpers import put, session

pytestmark = pytest.mark.crash


def _repair(base: Path) -> None:
    def again() -> object:
        return plan_archive(session(open_table(str(base))), 0)

    made = again()
    if made.files:
        execute_repair(session(open_table(str(base))), made, again)


def _archive(base: Path) -> Mapping[str, bytes]:
    folder = base / open_table(str(base)).layout.archive
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith(".crc")}


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_everywhere(version: str, tmp_path: Path) -> None:
    made = support.unpack(version, "cow_cleaned", tmp_path)
    case = next(case for case in of_table(version, "cow_cleaned") if (case.kind, case.harm) == ("archive", "cut"))
    do_harm(made, case.path, case.harm)
    if version != "v6":
        put(made / ".hoodie/timeline/history/_version_", b"44")
    trial = copy(made, tmp_path / "trial")
    with dying(None) as system:
        _repair(trial)
    right, until = _archive(trial), lost_until(open_table(str(trial)))
    assert (bool(until), system.count > 5) == (True, True)
    for at in deaths(system.count):
        base = copy(made, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _repair(base)
        table = open_table(str(base))
        try:
            archived_after(table, "")
        except Unreadable:
            pass
        else:
            # Whole to a reader: then it is known that something is lost.
            assert lost_until(table) == until
        _repair(base)
        assert _archive(base) == right
        assert lost_until(table) == until
