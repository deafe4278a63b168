"""The fingerprint of a saved plan: the facts that must be the same when it is applied, each under a readable name."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence

from hudictl.errors import Conflict
from hudictl.formats.instants import Instant, State
from hudictl.phrases import first_few
from hudictl.state.files.changes import Needed
from hudictl.state.metadata.undo import MetadataPlan
from hudictl.table.beat_rule import HeartbeatRule, rule_of
from hudictl.table.table import Table
from hudictl.table.timeline.active import read_instant

PLAN_VERSION = 5
PLACE = "place"
"""The fact where the table is. ``apply`` compares it with the table that the plan names; a table may be moved, too."""
HEARTBEATS = "heartbeats"
"""Which heartbeats counted as expired. ``apply`` takes this over unless the operator says it anew."""
OF_THE_OPERATOR = (PLACE, HEARTBEATS)
TO_DELETE = "files to delete"
UNFINISHED = "unfinished"
"""The fact which earlier operations have died, and are finished."""

_WINDOW_BYTES = 8 * 1024 * 1024
_DIGITS = 16


def table_fingerprint(table: Table, options: Mapping[str, object]) -> dict[str, str]:
    """The place and the kind of the table, and the options of the command."""
    return {
        "plan version": str(PLAN_VERSION),
        PLACE: table.uri,
        "options": options_digest(options),
        "table": table.name,
        "table version": f"{table.version}, timeline layout {table.layout.version}",
        "table type": table.type,
        "base file format": table.properties.get("hoodie.table.base.file.format", ""),
        "time zone": table.zone_text,
        HEARTBEATS: _with_digest(str(table.heartbeat_rule)),
    }


def options_digest(options: Mapping[str, object]) -> str:
    """A digest of the options of the command."""
    # By value: a plan that went through jq has 2 for 2.0.
    plain = {
        key: int(value) if isinstance(value, float) and value.is_integer() else value for key, value in options.items()
    }
    return _digest(json.dumps(plain, sort_keys=True).encode())


def _with_digest(text: str) -> str:
    return f"{text}; {_digest(text.encode())}"


def heartbeats_of(fingerprint: Mapping[str, str]) -> HeartbeatRule | None:
    """Which heartbeats counted as expired when the plan was made; None where that was changed by hand."""
    said = str(fingerprint.get(HEARTBEATS, ""))
    text = said.rpartition("; ")[0]
    return rule_of(text) if said == _with_digest(text) else None


def files_digest(files: Iterable[tuple[str, int]], others: Iterable[str] = ()) -> str:
    """A digest of paths and sizes in bytes, and of the paths of other files."""
    lines = sorted((*(f"{path} {size}" for path, size in files), *others))
    return f"{len(lines)} files, {_digest_of(lines)}"


def names_digest(files: Mapping[str, Sequence[str]]) -> str:
    """A digest of file names by partition, which are sorted."""
    digest = hashlib.sha256()
    for partition in sorted(files):
        # No name ends with a slash: a partition is never taken for a file.
        digest.update("\n".join((f"{partition}/", *files[partition], "")).encode(errors="surrogatepass"))
    return f"{sum(map(len, files.values()))} files, {digest.hexdigest()[:16]}"


def needed_digest(needed: Mapping[str, Needed]) -> str:
    """A digest of the required files, by partition."""
    lines = [f"{path} {entry.digest.hex()}" for path, entry in sorted(needed.items())]
    return f"{sum(entry.count for entry in needed.values())} files, {_digest_of(lines)}"


def _digest_of(lines: Sequence[str]) -> str:
    # Names of files may be no UTF-8.
    return _digest("\n".join(lines).encode(errors="surrogatepass"))


def refuse_moved(saved: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Raises Conflict: a fact of the saved plan has changed, other than the operator's own; the message names it."""
    facts = [key for key in (*saved, *now) if key not in OF_THE_OPERATOR]
    moved = {key: (saved.get(key), now.get(key)) for key in facts if saved.get(key) != now.get(key)}
    if moved:
        said = [
            f"{key}: was {before or 'absent'}, is now {after or 'absent'}" for key, (before, after) in moved.items()
        ]
        shown = first_few(said, most=3, between="; ", rest="; and {} more")
        raise Conflict(
            f"the table has changed since the plan was made: {shown}",
            hint="make a new plan with --plan --output json, and read it",
            moved={key: {"planned": before, "now": after} for key, (before, after) in moved.items()},
        )


def metadata_facts(plan: MetadataPlan) -> str:
    """What becomes of the metadata table, and of its indexes."""
    undone = f", without {listed(plan.instants_undone)}" if plan.undone else ""
    lost = f"; lost: {listed(plan.lost)}" if plan.lost else ""
    return (f"{plan.fate}: {listed(plan.kept)}{undone}" if plan.kept else plan.fate) + lost


def body_digest(table: Table, instant: Instant | None, sizes: Mapping[str, int] | None = None) -> str:
    """A digest of an instant's main file.

    Args:
        sizes: of the timeline's files, in bytes; with them a large file is never whole in memory.
    """
    file = (instant.file(State.COMPLETED) or instant.file(State.REQUESTED)) if instant else None
    if file is None:
        return "without content"
    size = (sizes or {}).get(file.name, 0)
    if size <= _WINDOW_BYTES:
        return _digest(read_instant(table, file))
    digest, path = hashlib.sha256(), f"{table.layout.timeline}/{file.name}"
    try:
        for start in range(0, size, _WINDOW_BYTES):
            digest.update(table.storage.read(path, start, _WINDOW_BYTES))
    except FileNotFoundError:
        # Another operator deleted it after the listing: this says so.
        read_instant(table, file)
        raise
    return digest.hexdigest()[:_DIGITS]


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:_DIGITS]


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
