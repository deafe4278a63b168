"""The fingerprint of a rollback plan."""

from dataclasses import asdict

from hudictl.ops.fingerprint import body_digest, listed, table_fingerprint
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.undo.plan import Undo, undo_facts
from hudictl.state.facts import Signs
from hudictl.state.timeline.clean_plans import pending_cleans
from hudictl.table.table import Table


def rollback_fingerprint(table: Table, signs: Signs, options: RollbackOptions, undo: Undo) -> dict[str, str]:
    """The rollback of one instant; other writes beside a pending target do not count."""
    timeline = signs.timeline
    return {
        **table_fingerprint(table, asdict(options)),
        **{f"instant {removal.time}": removal.now for removal in undo.removals},
        "savepoints": listed(entry.time for entry in timeline.savepoints()),
        "pending rollbacks": listed(entry.instant.time for entry in signs.live_rollbacks),
        "pending cleans": listed(f"{entry.time} {body_digest(table, entry)}" for entry in pending_cleans(timeline)),
        **undo_facts(undo),
    }
