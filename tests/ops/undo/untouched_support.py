"""What the tests of untouched share with others."""

from hudictl.formats import rollback
from hudictl.formats.rollback import InstantInfo, RollbackRequest, StoredRollbackPlan
from hudictl.table.timeline.active import load_timeline
from tests.helpers import Copy

ARMED = "20261121040000000"


def arm(copy: Copy, target: str, *, inflight: bool = False, time: str = ARMED) -> list[str]:
    """A rollback as Hudi requests it, with every file that the instant has written; returns these."""
    files = sorted(path for path in copy.data() if target in path.rpartition("/")[2].split(".log")[0])
    action = load_timeline(copy.table).find(target, "commit", "deltacommit", "replacecommit")
    assert action is not None
    requests = tuple(
        RollbackRequest(path.rpartition("/")[0], (f"/lake/{copy.version}/{copy.name}/table/{path}",)) for path in files
    )
    body = rollback.encode_plan(StoredRollbackPlan(InstantInfo(target, action.action), requests))
    copy.write(f"{time}.rollback.requested", body)
    if inflight:
        copy.write(f"{time}.rollback.inflight")
    return files
