"""Creating a savepoint, and removing it again if a clean appeared meanwhile."""

import time
from functools import partial

from hudictl.errors import Conflict, Incomplete
from hudictl.formats import instants as fmt
from hudictl.formats import savepoint
from hudictl.formats.instants import State
from hudictl.formats.savepoint import SavepointMetadata
from hudictl.ops.guards import timeline as guards
from hudictl.ops.savepoint.plan import SavepointPlan, SavepointReport
from hudictl.ops.savepoint.planning import check_signs
from hudictl.ops.session import Begun, Kind, Session, changing
from hudictl.state.facts import read_signs
from hudictl.state.timeline.targets import find_commit
from hudictl.table.files.sweep import sweep
from hudictl.table.properties import recover_properties
from hudictl.table.timeline.active import (
    completion_now,
    create_instant_file,
    delete_instant,
    load_timeline,
    replace_savepoint,
)


def create_savepoint(session: Session, plan: SavepointPlan) -> None:
    """Writes the savepoint, then removes it again if a clean appeared meanwhile. Raises Conflict: the table has
    changed, a clean appeared, or a file was deleted; Refused, Unsupported, Unreadable, StorageFailed, Interrupted."""
    if plan.nothing_to_do:
        return
    look, work = partial(_look_again, session, plan), partial(_publish, session, plan)
    changing(session, Kind.SAVEPOINT_CREATE, plan.target, {"files": plan.files}, look=look, work=work)


def _look_again(session: Session, plan: SavepointPlan) -> None:
    signs = read_signs(session.table)
    guards.not_moved(signs.timeline, plan.timeline)
    check_signs(session, signs, find_commit(session.table, signs.timeline, plan.target), plan.options)
    recover_properties(session.table.storage)


def _publish(session: Session, plan: SavepointPlan, run: Begun[None]) -> SavepointReport:
    table = session.table
    session.monitor.step("write the savepoint")
    metadata = SavepointMetadata(plan.user, int(time.time() * 1000), plan.comment, plan.file_names)
    # Before the first write, so that a failure of the encoding leaves nothing.
    body = savepoint.encode(metadata)
    run.held.check()
    if plan.exists:
        name = replace_savepoint(table, plan.target, body)
    else:
        create_instant_file(table, plan.target, fmt.SAVEPOINT, State.INFLIGHT)
        completed = completion_now(table, plan.target)
        name = create_instant_file(table, plan.target, fmt.SAVEPOINT, State.COMPLETED, body, completed)
    # No stop in between: a rerun would find a savepoint that was not verified.
    _withdraw_if_cleaned(session, plan, name)
    return SavepointReport(plan.target, plan.files)


def _withdraw_if_cleaned(session: Session, plan: SavepointPlan, name: str) -> None:
    """Raises Conflict: a clean appeared, or a file is missing, so that the savepoint may be incomplete; a new savepoint
    is deleted again."""
    table = session.table
    timeline = load_timeline(table)
    cleans = [str(entry) for entry in timeline.having(fmt.CLEAN) if not entry.names <= plan.timeline]
    lost = sweep(table, session.engine, plan.file_names).absent(plan.file_names)
    if cleans or lost:
        # A savepoint that existed before names no fewer files than it did.
        if not plan.exists:
            delete_instant(table, timeline.find(plan.target, fmt.SAVEPOINT))
        raise Conflict(
            f"files may have been deleted while the savepoint was written ({(cleans + lost)[0]}): the savepoint "
            + ("may be incomplete" if plan.exists else "was removed again"),
            hint="run the command again",
            cleans=cleans,
            lost=lost,
        )
    if name not in timeline.modified_ms:
        raise Incomplete(f"the savepoint {plan.target} was deleted again by another process", instant=plan.target)
