"""What the tests of execute share with others."""

import pytest

from hudictl.errors import StorageFailed
from hudictl.formats import rollback
from hudictl.formats.rollback import InstantInfo, RollbackRequest
from hudictl.formats.rollback import StoredRollbackPlan as StoredPlan
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.table.timeline.active import load_timeline
from tests.helpers import At, Copy, roll_back

STEPS = ["prepare", "un-publish the instant", "delete files", "verify", "publish the rollback"]


def newest(copy: Copy) -> str:
    return max(entry.time for entry in load_timeline(copy.table).writes())


def own_files(copy: Copy, time: str) -> set[str]:
    """The data files that carry an instant in their names."""
    return {path for path in copy.data() if time in path.rpartition("/")[2]}


def died(copy: Copy, target: str, step: str, options: RollbackOptions | None = None) -> None:
    """A rollback that ends when a step begins, and stays as it is then."""

    def die() -> None:
        raise StorageFailed("the process dies here")

    with pytest.raises(StorageFailed, match="dies here"):
        roll_back(copy, target, At(step, die), options)


def hudis_plan(copy: Copy, target: str) -> bytes:
    """A commit's rollback plan, with every file that it has written."""
    files = sorted(own_files(copy, target))
    requests = tuple(RollbackRequest(path.rpartition("/")[0], (f"{copy.path}/{path}",)) for path in files)
    return rollback.encode_plan(StoredPlan(InstantInfo(target, "commit"), requests))
