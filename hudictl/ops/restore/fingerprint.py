"""The fingerprint of a restore plan."""

from dataclasses import asdict

from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT
from hudictl.ops.fingerprint import body_digest, listed, table_fingerprint
from hudictl.ops.restore.plan import RestoreOptions
from hudictl.ops.undo.plan import Undo, undo_facts
from hudictl.state.facts import Signs
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.table.table import Table


def restore_fingerprint(
    table: Table,
    signs: Signs,
    target: str,
    options: RestoreOptions,
    undo: Undo,
    *,
    withdrawn: str | None,
    protects: bool,
    before: str | None,
) -> dict[str, str]:
    """Left out are completed cleans, heartbeats, markers and modification times: a restore does not depend on them, or
    a guard checks them again. The pending restore that is withdrawn is left out, too.

    Args:
        protects: the target has no savepoint except hudictl's temporary one, so that its commit is compared instead.
        before: the table's type, if the restore changes it.
    """
    timeline = signs.timeline
    subject = timeline.find(target, *(COMMIT_ACTIONS if protects else (SAVEPOINT,)))
    savepoints = [entry.time for entry in timeline.savepoints() if entry.time != target]
    restores = [entry.instant.time for entry in signs.planned_restores if entry.instant.time != withdrawn]
    outside = [str(entry) for entry in timeline.writes() if entry.pending and entry.time not in undo.removed]
    return {
        **table_fingerprint(table, asdict(options)),
        "table type": before or table.type,
        "target": f"{subject} {body_digest(table, subject, timeline.sizes)}",
        **{f"instant {removal.time}": removal.now for removal in undo.removals},
        "savepoints": listed(savepoints),
        "pending restores": listed(restores),
        "pending rollbacks": listed(entry.instant.time for entry in signs.live_rollbacks),
        "pending cleans": listed(f"{entry.time} {body_digest(table, entry)}" for entry in pending_cleans(timeline)),
        "pending writes that stay": listed(outside),
        **undo_facts(undo),
    }
