"""What the metadata table alone keeps right dies with no restore, rollback or deletion of orphans."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hudictl.ops.clean_up.orphans import OrphanOptions, delete_orphans, plan_orphan_deletion
from hudictl.ops.restore.execute import execute_restore
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.restore.planning import plan_restore
from hudictl.ops.rollback.execute import execute_rollback
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.rollback.planning import done_already, plan_rollback
from hudictl.table.metadata.place import PARTITION_KEYS
from hudictl.table.properties import read_properties
from tests import support
from tests.crash.inject import Crash, copy, deaths, dying
from tests.helpers import Copy, only_listed, session, unlisted
from tests.state.orphans.find_support import between, rolled_back

pytestmark = pytest.mark.crash

METAFILE = ".hoodie_partition_metadata"


def _restore(made: Copy) -> None:
    plan = plan_restore(session(made.table), made.savepoints[-1], RestoreOptions(settle_s=0.0))
    if not plan.nothing_to_do:
        execute_restore(session(made.table), plan)


def _rollback(made: Copy, target: str) -> None:
    execute_rollback(session(made.table), plan_rollback(session(made.table), target, RollbackOptions(settle_s=0.0)))


def _orphans(made: Copy) -> None:
    delete_orphans(session(made.table), plan_orphan_deletion(session(made.table), OrphanOptions(idle_ms=0)))


def _everywhere(
    made: Copy, act: Callable[[Copy], None], holds: Callable[[Copy], bool], folder: Path, every: int
) -> None:
    """Wherever it dies, the metadata table is in use, or what must have been done before was; and the rerun ends."""
    trial = Copy(made.version, made.name, copy(made.path, folder / "trial"))
    with dying(None) as system:
        act(trial)
    assert holds(trial)
    for at in deaths(system.count, every):
        died = Copy(made.version, made.name, copy(made.path, folder / f"crash-{at}"))
        with dying(at, torn=bool(at % 2)), pytest.raises(Crash):
            act(died)
        assert any(read_properties(died.table.storage).get(key) for key in PARTITION_KEYS) or holds(died)
        act(died)
        assert died.data() == trial.data()
        assert holds(died)


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_a_restore_makes_metafiles_before(version: str, tmp_path: Path) -> None:
    made = Copy(version, "cow_savepoints", support.unpack(version, "cow_savepoints", tmp_path))
    only_listed(made, "old")
    _everywhere(made, _restore, lambda died: (died.path / "old" / METAFILE).exists(), tmp_path, every=5)


def test_a_rollback_makes_metafiles_before(tmp_path: Path) -> None:
    made = Copy("v6", "cow_part", support.unpack("v6", "cow_part", tmp_path))
    only_listed(made, "old")
    target = made.commits[-1]

    def act(died: Copy) -> None:
        if done_already(died.table, target) is None:
            _rollback(died, target)

    _everywhere(made, act, lambda died: (died.path / "old" / METAFILE).exists(), tmp_path, every=3)


@pytest.mark.short("v6", "v9")
@pytest.mark.parametrize("version", support.VERSIONS)
def test_orphans_that_it_keeps_from_readers_go_before(version: str, tmp_path: Path) -> None:
    """Without it a rerun could not tell that they are orphans, and readers would see them meanwhile."""
    made = Copy(version, "cow_cleaned", support.unpack(version, "cow_cleaned", tmp_path))
    rolled_back(made, between(made))
    path = unlisted(made, between(made), "part-0")
    _everywhere(made, _orphans, lambda died: path not in died.data(), tmp_path, every=4)
