"""A deletion of orphans that dies: never a file gone that the metadata table may list, and the rerun finishes."""

from pathlib import Path

import pytest

from hudictl.engine.local import LocalEngine
from hudictl.formats.instants import time_plus_ms
from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.reports.health.check import check_table
from hudictl.table.metadata.place import PARTITION_KEYS
from hudictl.table.open import open_table
from hudictl.table.properties import read_properties
from tests import damage, support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.crash.kept import assert_right_if_listed
from tests.helpers import Copy, session
from tests.state.orphans.find_support import listed, orphan

pytestmark = pytest.mark.crash

ENGINE = LocalEngine(parallelism=1)


def _delete(base: Path, metadata: str, *, duplicates: bool = False) -> None:
    table = open_table(str(base))
    options = OrphanOptions(idle_ms=0, metadata=metadata, duplicates=duplicates)
    plan = plan_orphan_deletion(session(table), options)
    delete_orphans(session(table), plan)


@pytest.mark.parametrize("version", support.VERSIONS)
@pytest.mark.parametrize("metadata", ["keep", "delete"])
@pytest.mark.parametrize("lists", [True, False], ids=["listed", "not listed"])
def test_everywhere(version: str, lists: bool, metadata: str, tmp_path: Path) -> None:
    made = Copy(version, "cow_part", support.unpack(version, "cow_part", tmp_path))
    kept = made.data()
    orphans = {orphan(made, time_plus_ms(made.commits[0], number)) for number in (1, 2, 3)}
    if lists:
        listed(made, min(orphans))
    trial = copy(made.path, tmp_path / "trial")
    with dying(None) as system:
        _delete(trial, metadata)
    assert Copy(version, "cow_part", trial).data() == kept
    for at in deaths(system.count):
        base = copy(made.path, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _delete(base, metadata)
        left = Copy(version, "cow_part", base)
        assert kept <= left.data()
        assert_right_if_listed(base)
        if metadata == "delete" and not orphans <= left.data():
            assert not any(read_properties(left.table.storage).get(key) for key in PARTITION_KEYS)
        _delete(base, metadata)
        assert left.data() == kept
        slugs = {found.finding for found in check_table(left.table, ENGINE, 600_000).findings}
        # Each of the orphans has a rollback, all later than the last commit.
        assert slugs <= {"metadata-table-leftover", "rollbacks-piled-up"}


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_second_base_files(version: str, tmp_path: Path) -> None:
    made = Copy(version, "cow_part", support.unpack(version, "cow_part", tmp_path))
    kept = made.data()
    damage.second_base_file(made.path)
    trial = copy(made.path, tmp_path / "trial")
    with dying(None) as system:
        _delete(trial, "keep", duplicates=True)
    assert Copy(version, "cow_part", trial).data() == kept
    for at in deaths(system.count):
        base = copy(made.path, tmp_path / f"crash-{at}")
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            _delete(base, "keep", duplicates=True)
        left = Copy(version, "cow_part", base)
        assert kept <= left.data()
        _delete(base, "keep", duplicates=True)
        assert left.data() == kept
        assert check_table(left.table, ENGINE, 600_000).findings == ()
