"""A repair of hoodie.properties that dies: the file is the damaged one or the whole one, and the same command ends it;
an undo that dies brings the damaged one back all the same."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.formats import properties as fmt
from hudictl.ops.put_back.execute import execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.ops.repair.plan import execute_repair
from hudictl.ops.repair.properties import plan_properties_repair
from hudictl.table.kept import room_times
from hudictl.table.open import open_table
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import OWN, drop, put, session, tree

pytestmark = [
    pytest.mark.crash,
    pytest.mark.short("missing-v6", "cut-v9", "backup-v6"),
    pytest.mark.parametrize("harm", ["missing", "cut", "backup"]),
    pytest.mark.parametrize("version", support.VERSIONS),
]
PATH = ".hoodie/hoodie.properties"


def _damaged(version: str, harm: str, folder: Path) -> tuple[Path, dict[str, str]]:
    base = support.unpack(version, "mor_part", folder)
    body = (base / PATH).read_bytes()
    if harm == "missing":
        drop(base / PATH)
    else:
        put(base / PATH, body[: len(body) // 2])
    if harm == "backup":
        put(base / f"{PATH}.backup", body)
    return base, fmt.decode(body)


def _repair(base: Path) -> None:
    at = session(open_table(str(base), salvage={}))
    made = plan_properties_repair(at, {}, 0)
    if made.files:
        execute_repair(at, made, lambda: plan_properties_repair(at, {}, 0))


def _undo(base: Path) -> None:
    at = session(open_table(str(base), salvage={}))
    for time in sorted(room_times(at.table), reverse=True):
        execute_undo(at, plan_undo(at, time, 0), 0)


def _changes(made: Path, trial: Path, act: Callable[[Path], None]) -> int:
    with dying(None) as system:
        act(copy(made, trial))
    assert system.count > 5
    return system.count


def test_a_repair_dies_anywhere(version: str, harm: str, tmp_path: Path) -> None:
    made, right = _damaged(version, harm, tmp_path)
    before = tree(made, OWN)
    for at in deaths(_changes(made, tmp_path / "trial", _repair)):
        base = copy(made, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _repair(base)
        if at % 2:
            _repair(base)
            now = fmt.decode((base / PATH).read_bytes())
            assert all(right[key] == value for key, value in now.items())
            assert not (base / f"{PATH}.backup").exists()
        _undo(base)
        assert tree(base, OWN) == before


def test_an_undo_dies_anywhere(version: str, harm: str, tmp_path: Path) -> None:
    made, _ = _damaged(version, harm, tmp_path)
    before = tree(made, OWN)
    repaired = copy(made, tmp_path / "repaired")
    _repair(repaired)
    for at in deaths(_changes(repaired, tmp_path / "trial", _undo)):
        base = copy(repaired, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _undo(base)
        _undo(base)
        assert tree(base, OWN) == before
