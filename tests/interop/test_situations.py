"""Restores that are more than one to a savepoint, judged by the real Hudi."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.restore.leftovers import plan_leftovers, remove_leftovers
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.table.open import open_table
from hudictl.table.operations import operation_instants
from tests import support
from tests.crash import reader
from tests.crash.inject import Crash, copy, dying
from tests.helpers import session
from tests.interop import product
from tests.interop.judge import Judge
from tests.interop.scenarios import SCENARIOS

pytestmark = pytest.mark.hudi

Judges = Callable[[str], Judge]
WITHOUT_SAVEPOINT = RestoreOptions(to_instant=True, keep_backup=True)


@pytest.mark.short("v6-cow_part", "v9-mor_pending_compaction")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("name", ["cow_part", "mor_pending_compaction"])
def test_to_an_instant(judge: Judges, version: str, name: str, tmp_path: Path) -> None:
    """Also: Hudi works as before beside operation records and copies of removed instants."""
    base = support.unpack(version, name, tmp_path)
    rows = support.facts(version, name)["rows"]
    target = sorted(rows)[1]
    result = product.restore(base, target, WITHOUT_SAVEPOINT)
    assert result is not None
    assert result.restore in operation_instants(open_table(str(base)).storage)
    assert any((base / ".hoodie/.rollback_backup").iterdir())
    hudi = judge(version)
    assert hudi.both_rows(base) == rows[target]
    assert ["savepoint"] not in [entry[1:2] for entry in hudi.timeline(base)]
    product.upsert(hudi, base)


@pytest.mark.short("v6")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_over_a_later_savepoint(judge: Judges, version: str, tmp_path: Path) -> None:
    base = support.unpack(version, "cow_savepoints", tmp_path)
    rows = support.facts(version, "cow_savepoints")["rows"]
    hudi = judge(version)
    first, last = sorted(entry[0] for entry in hudi.timeline(base) if entry[1] == "savepoint")
    product.restore(base, first, RestoreOptions(delete_later_savepoints=True))
    assert hudi.both_rows(base) == rows[first]
    assert [entry[0] for entry in hudi.timeline(base) if entry[1] == "savepoint"] == [first] != [last]
    product.upsert(hudi, base)


@pytest.mark.short("v6-0.3")
@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_hudi_finishes_a_restore_to_an_instant(judge: Judges, version: str, share: float, tmp_path: Path) -> None:
    """hudictl's own savepoint lets Hudi do it; the next `resume` takes that savepoint away."""
    base = support.unpack(version, "mor_part", tmp_path)
    rows = support.facts(version, "mor_part")["rows"]
    target = sorted(rows)[1]
    trial = copy(base, tmp_path / "trial")
    with dying(None) as system:
        product.restore(trial, target, RestoreOptions(to_instant=True))
    with dying(int(system.count * share)), pytest.raises(Crash):
        product.restore(base, target, RestoreOptions(to_instant=True))
    assert any(entry[1] == "savepoint" for entry in reader.instants(base))
    hudi = judge(version)
    product.finish(hudi, base, target)
    assert hudi.both_rows(base) == rows[target]
    table = open_table(str(base))
    leftovers = plan_leftovers(session(table), 0)
    assert leftovers.savepoints == (target,)
    remove_leftovers(session(table), leftovers, 0)
    assert not any(entry[1] == "savepoint" for entry in reader.instants(base))
    product.upsert(hudi, base)


@pytest.mark.full
@pytest.mark.parametrize("version", support.VERSIONS)
def test_hudi_finishes_a_restore_over_log_compactions(judge: Judges, version: str, tmp_path: Path) -> None:
    hudi = judge(version)
    made = SCENARIOS["log_compacted"](hudi, tmp_path)
    assert made.savepoint is not None
    assert list((made.path / ".hoodie").rglob("*.logcompaction.requested"))
    trial = copy(made.path, tmp_path / "trial")
    with dying(None) as system:
        product.restore(trial, made.savepoint)
    table = copy(made.path, tmp_path / "crashed")
    with dying(int(system.count * 0.6)), pytest.raises(Crash):
        product.restore(table, made.savepoint)
    product.finish(hudi, table, made.savepoint)
    assert hudi.both_rows(table) == made.rows[made.savepoint]
    assert not list((table / ".hoodie").rglob("*.logcompaction.*"))
    product.upsert(hudi, table)
