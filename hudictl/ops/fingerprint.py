"""What must be the same for a saved plan to be applied: the facts that it rests on, each by a name that can be told."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from hudictl.errors import Conflict
from hudictl.formats.instants import COMMIT_ACTIONS, SAVEPOINT, Instant, State
from hudictl.ops.facts import Signs, pending_cleans
from hudictl.ops.plan import PLAN_VERSION, Removal, RestoreOptions, RollbackOptions, SavepointOptions
from hudictl.table.file_view import StoredFile
from hudictl.table.table import Table
from hudictl.table.timeline import read_instant

_NAMED = 3


def table_fingerprint(table: Table, options: Mapping[str, Any]) -> dict[str, str]:
    """What the table is, and what was asked for. Where the table is does not count."""
    return {
        "plan version": str(PLAN_VERSION),
        "options": options_digest(options),
        "table": table.name,
        "table version": f"{table.version}, timeline layout {table.layout.version}",
        "table type": table.type,
        "base file format": table.properties.get("hoodie.table.base.file.format", ""),
        "time zone": str(table.zone),
    }


def restore_fingerprint(
    table: Table,
    signs: Signs,
    target: str,
    options: RestoreOptions,
    removals: Sequence[Removal],
    needed: Mapping[str, StoredFile],
    withdrawn: str | None,
    protects: bool,
) -> dict[str, str]:
    """Completed cleans are left out, as are heartbeats, markers, the metadata table and modification times: a restore
    does not rest on them, or a guard looks at them again. So is the pending restore that is withdrawn.

    Args:
        protects: no savepoint but hudictl's own is on the target, so that its commit counts.
    """
    timeline = signs.timeline
    removed = {removal.time for removal in removals}
    subject = timeline.find(target, *(COMMIT_ACTIONS if protects else (SAVEPOINT,)))
    savepoints = [entry.time for entry in timeline.savepoints() if entry.time != target]
    restores = [entry.instant.time for entry in signs.restores if entry.instant.time != withdrawn]
    outside = [str(entry) for entry in timeline.writes() if entry.pending and entry.time not in removed]
    return {
        **table_fingerprint(table, asdict(options)),
        "target": f"{subject} {_body_digest(table, subject)}",
        **{f"instant {removal.time}": _instant(removal) for removal in removals},
        "savepoints": _names(savepoints),
        "pending restores": _names(restores),
        "pending rollbacks": _names(entry.time for entry, _ in signs.rollbacks),
        "pending cleans": _names(f"{entry.time} {_body_digest(table, entry)}" for entry in pending_cleans(timeline)),
        "pending writes that stay": _names(outside),
        "files that are needed": files_digest((file.path, file.size or 0) for file in needed.values()),
        "files to delete": files_digest((file.path, file.size or 0) for removal in removals for file in removal.files),
    }


def rollback_fingerprint(
    table: Table,
    signs: Signs,
    options: RollbackOptions,
    removal: Removal,
    needed: Mapping[str, StoredFile],
    metadata_table: str,
) -> dict[str, str]:
    """The rollback of one instant; what others write beside a pending target does not count."""
    timeline = signs.timeline
    return {
        **table_fingerprint(table, asdict(options)),
        f"instant {removal.time}": _instant(removal),
        "savepoints": _names(entry.time for entry in timeline.savepoints()),
        "pending rollbacks": _names(entry.time for entry, _ in signs.rollbacks),
        "pending cleans": _names(f"{entry.time} {_body_digest(table, entry)}" for entry in pending_cleans(timeline)),
        "metadata table": metadata_table,
        "files that are needed": files_digest((file.path, file.size or 0) for file in needed.values()),
        "files to delete": files_digest((file.path, file.size or 0) for file in removal.files),
    }


def savepoint_fingerprint(
    table: Table, commit: Instant, options: SavepointOptions, files: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """A savepoint on a commit, with the names of its files by partition."""
    names = ((f"{partition}/{name}", 0) for partition, entries in files.items() for name in entries)
    return {
        **table_fingerprint(table, asdict(options)),
        "commit": f"{commit} {_body_digest(table, commit)}",
        "files": files_digest(names),
    }


def deletion_fingerprint(table: Table, saved: Instant | None) -> dict[str, str]:
    """A savepoint to delete."""
    return {**table_fingerprint(table, {}), "savepoint": f"{saved} {_body_digest(table, saved)}"}


def options_digest(options: Mapping[str, Any]) -> str:
    """A digest of what was asked for."""
    return _digest(json.dumps(dict(options), sort_keys=True).encode())


def files_digest(files: Iterable[tuple[str, int]]) -> str:
    """A digest of paths and sizes in bytes."""
    lines = sorted(f"{path} {size}" for path, size in files)
    return f"{len(lines)} files, {_digest(chr(10).join(lines).encode())}"


def refuse_moved(saved: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raises Conflict: something that the saved plan rests on is not what it was; the message names it."""
    moved = {key: (saved.get(key), now.get(key)) for key in [*saved, *now] if saved.get(key) != now.get(key)}
    if moved:
        shown = "; ".join(
            f"{key} was {before or 'not there'}, is {after or 'gone'}"
            for key, (before, after) in list(moved.items())[:_NAMED]
        )
        more = f"; and {len(moved) - _NAMED} more" if len(moved) > _NAMED else ""
        raise Conflict(
            f"the table has moved since the plan was made: {shown}{more}",
            hint="make the plan anew with --plan --output json, and look at it",
            moved={key: {"planned": before, "now": after} for key, (before, after) in moved.items()},
        )


def _instant(removal: Removal) -> str:
    instant = removal.instant
    if instant is None:
        return "gone"
    completed = instant.file(State.COMPLETED)
    return f"{instant.action} {instant.state.name} {completed.name if completed else ''}".rstrip()


def _body_digest(table: Table, instant: Instant | None) -> str:
    file = (instant.file(State.COMPLETED) or instant.file(State.REQUESTED)) if instant else None
    return _digest(read_instant(table, file)) if file else "without content"


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
