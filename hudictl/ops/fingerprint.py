"""What must be the same for a saved plan to be applied: the facts that it rests on, each by a name that can be told."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from hudictl.errors import Conflict
from hudictl.formats.instants import Instant, State
from hudictl.phrases import first_few
from hudictl.table.table import Table
from hudictl.table.timeline import read_instant

PLAN_VERSION = 1


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
        said = [f"{key} was {before or 'not there'}, is {after or 'gone'}" for key, (before, after) in moved.items()]
        shown = first_few(said, most=3, between="; ", rest="; and {} more")
        raise Conflict(
            f"the table has moved since the plan was made: {shown}",
            hint="make the plan anew with --plan --output json, and look at it",
            moved={key: {"planned": before, "now": after} for key, (before, after) in moved.items()},
        )


def body_digest(table: Table, instant: Instant | None) -> str:
    file = (instant.file(State.COMPLETED) or instant.file(State.REQUESTED)) if instant else None
    return _digest(read_instant(table, file)) if file else "without content"


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
