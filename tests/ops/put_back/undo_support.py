"""What the tests of undo share."""

from hudictl.formats.instants import ROLLBACK, WRITE_ACTIONS, State, instant_file_name
from hudictl.formats.rollback import RollbackMetadata, encode_metadata
from hudictl.ops.put_back.execute import UndoResult, execute_undo
from hudictl.ops.put_back.planning import plan_undo
from hudictl.table.timeline.active import instant_now, load_timeline, pending_rollbacks
from tests.helpers import OWN, Copy, session, tree


def undo(copy: Copy, time: str, monitor: object = None, idle_ms: int = 0) -> UndoResult:
    """Plans and executes."""
    made = plan_undo(session(copy.table), time, idle_ms)
    return execute_undo(session(copy.table, monitor), made, idle_ms)


def state(copy: Copy) -> dict[str, tuple[str, int]]:
    """All files but hudictl's own, with content and modification time."""
    found = tree(copy.path, OWN)
    return {path: seen for path, seen in found.items() if seen[0] != "folder"}


def executes(copy: Copy, *, dies: bool = False) -> None:
    """What a writer that cleans eagerly does with pending rollbacks, before it notices a restore. If it ``dies`` in the
    middle, nothing on the timeline says so."""
    timeline = load_timeline(copy.table)
    for instant, plan in pending_rollbacks(copy.table, timeline):
        assert plan is not None
        for partition, name in plan.files:
            (copy.path / partition / name).unlink(missing_ok=True)
        if dies and [*plan.files]:
            return
        target = timeline.find(plan.target.time, *WRITE_ACTIONS)
        for file in target.files if target is not None else ():
            (copy.timeline / file.name).unlink()
        now, layout = instant_now(copy.table), copy.table.layout.version
        done = instant_file_name(instant.time, ROLLBACK, State.COMPLETED, layout, now if layout == 2 else None)
        copy.write(done, encode_metadata(RollbackMetadata(instant.time, 1, plan.target, {})))
