"""What a deletion of orphans that has died leaves of the metadata table: a rerun deletes it, and nothing else."""

import pytest

from hudictl.errors import StorageFailed
from hudictl.ops.clean_up.orphans import OrphanOptions, OrphanPlan, plan_orphan_deletion
from hudictl.storage.local import LocalStorage
from hudictl.table.metadata.aside import times_dropped
from tests.fixtures import Unpack
from tests.helpers import At, Copy, session, tree
from tests.state.orphans.find_support import between_commits, delete, listed_orphan

CASES = pytest.mark.parametrize(
    ("version", "metadata", "moves"),
    [
        *((version, metadata, True) for version in ("v6", "v9") for metadata in ("keep", "delete")),
        ("v9", "delete", False),
    ],
)


def planned(copy: Copy) -> OrphanPlan:
    return plan_orphan_deletion(session(copy.table), OrphanOptions(0))


def dies() -> None:
    raise StorageFailed("the process dies here")


@CASES
@pytest.mark.parametrize("step", ["delete files", "verify"])
def test_a_rerun_deletes_it(
    unpack: Unpack, monkeypatch: pytest.MonkeyPatch, version: str, metadata: str, moves: bool, step: str
) -> None:
    """At the second step the orphans are gone already: there is nothing else to do."""
    copy = unpack(version, "cow_record_index")
    if not moves:
        monkeypatch.setattr(LocalStorage, "move", lambda self, source, target: False)
    path = listed_orphan(copy, between_commits(copy))
    with pytest.raises(StorageFailed, match="dies here"):
        delete(copy, At(step, dies), metadata=metadata)
    left = times_dropped(copy.table)
    plan = planned(copy)
    assert (set(plan.unfinished), len(plan.orphans)) == (left, 1 if step == "delete files" else 0)
    before = {name: body for name, body in tree(copy.path).items() if "metadata_" not in name}

    done = delete(copy)
    assert (done.files_deleted, (copy.path / path).exists()) == (len(plan.orphans), False)
    assert times_dropped(copy.table) == set()
    assert not list((copy.meta / ".hudictl").glob("dropped-*"))
    assert planned(copy).nothing_to_do
    kept = tree(copy.path)
    assert [name for name in before if name not in kept and not name.startswith(".hoodie/") and name != path] == []


@pytest.mark.parametrize("version", ["v6", "v9"])
def test_folders_with_such_a_name_are_left(unpack: Unpack, version: str) -> None:
    """No record says that a deletion of orphans has left them: they may be of another operation, or of Hudi."""
    copy = unpack(version, "cow_record_index")
    folder = copy.meta / f".hudictl/dropped-metadata-{between_commits(copy)}-record_index"
    folder.mkdir(parents=True)
    assert planned(copy).nothing_to_do
    delete(copy)
    assert folder.exists()
