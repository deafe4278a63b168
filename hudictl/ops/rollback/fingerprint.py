"""The fingerprint of a rollback plan."""

from dataclasses import asdict

from hudictl.ops.fingerprint import body_digest, files_digest, listed, metadata_facts, needed_digest, table_fingerprint
from hudictl.ops.rollback.plan import RollbackOptions
from hudictl.ops.undo.plan import Undo
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
        "metadata table": metadata_facts(undo.metadata_table),
        "files that are needed": needed_digest(undo.needed or {}),
        "files to delete": files_digest((file.path, file.bytes) for file in undo.files),
    }
