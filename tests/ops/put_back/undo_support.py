"""What the tests of undo share."""

from hudictl.ops.put_back.execute import UndoResult, execute_undo
from hudictl.ops.put_back.planning import plan_undo
from tests.helpers import OWN, Copy, session, tree


def undo(copy: Copy, time: str, monitor: object = None, idle_ms: int = 0) -> UndoResult:
    """Plans and executes."""
    made = plan_undo(session(copy.table), time, idle_ms)
    return execute_undo(session(copy.table, monitor), made, idle_ms)


def state(copy: Copy) -> dict[str, tuple[str, int]]:
    """All files but hudictl's own, with content and modification time."""
    found = tree(copy.path, OWN)
    return {path: seen for path, seen in found.items() if seen[0] != "folder"}
