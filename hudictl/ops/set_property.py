"""``table set-property``: a change of hoodie.properties, by Hudi's own protocol (0.15.0 to 1.2.0)."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches

from hudictl.errors import Conflict, Refused, UsageError
from hudictl.formats.layouts import PROPERTIES_BACKUP
from hudictl.formats.properties import CHECKSUM, DATABASE
from hudictl.ops.guards import liveness
from hudictl.ops.session import Begun, Kind, NothingLeft, Session, changing
from hudictl.secrets import value_shown
from hudictl.state.facts import read_signs
from hudictl.state.timeline.unfinished import way_out_of_restore
from hudictl.state.writable import known_timeline, writable_table, wrong_type
from hudictl.state.writers.activity import DEFAULT_IDLE_MS
from hudictl.table.locks.config import LockConfig
from hudictl.table.properties import read_properties, update_properties
from hudictl.table.properties_known import known_properties, require_value
from hudictl.table.table import TYPE, Table
from hudictl.table.timeline.active import Timeline

_OTHERS = {
    CHECKSUM: "it is computed from the names of table and database",
    "hoodie.table.version": "an upgrade or downgrade is more than this line: let Hudi do it",
    "hoodie.timeline.layout.version": "an upgrade or downgrade is more than this line: let Hudi do it",
    "hoodie.timeline.path": "readers would look for the timeline elsewhere",
    "hoodie.timeline.history.path": "the archive would be looked for elsewhere",
    "hoodie.archivelog.folder": "the archive would be looked for elsewhere",
    "hoodie.table.index.defs.path": "the definitions of the indexes would be looked for elsewhere",
    "hoodie.table.metadata.partitions": "`hudictl metadata drop` takes partitions out of use",
    "hoodie.table.metadata.partitions.inflight": "`hudictl metadata drop` takes partitions out of use",
}
"""What no option allows, and why."""
_HARMLESS = frozenset({DATABASE})
"""Hudi's properties that give neither data nor instants another meaning."""


@dataclass(frozen=True)
class PropertyOptions:
    """``values`` to set, and keys to ``unset``. ``dangerous``: those of them that give the data another meaning.
    ``idle_ms``: an instant with activity less than this ago may be running."""

    values: Mapping[str, str]
    unset: tuple[str, ...] = ()
    dangerous: tuple[str, ...] = ()
    idle_ms: int = DEFAULT_IDLE_MS


@dataclass(frozen=True)
class PropertyChange:
    """A property that changes.

    - ``before``: its value; null if it is not set, *** if it may be a secret.
    - ``after``: its new value.
    - ``meaning``: what it says; null if this Hudi has no such property.
    """

    name: str
    before: str | None
    after: str | None
    meaning: str | None


@dataclass(frozen=True)
class PropertyPlan:
    """A change of properties.

    - ``changes``: the properties that change; none if all have their values already.
    - ``unfinished``: whether an update that died has left its backup, which goes.
    - ``lock``: the lock that is taken.
    """

    changes: tuple[PropertyChange, ...]
    unfinished: bool
    lock: LockConfig

    @property
    def nothing_to_do(self) -> bool:
        return not (self.changes or self.unfinished)


def plan_properties(session: Session, options: PropertyOptions) -> PropertyPlan:
    """Plans a change of hoodie.properties. Changes nothing.

    Raises:
        UsageError: a key that this Hudi does not know, a value that it does not take.
        Refused: a property that gives data another meaning, and was not named; one that is no operator's to change; a
            restore is pending.
        Conflict: a writer or table service may be running.
        Unsupported, Unreadable, StorageFailed, EngineFailed.
    """
    table = session.table
    writable_table(table, session.locking)
    signs = read_signs(table)
    current, known = read_properties(table.storage), known_properties(table.version)
    wanted = {**options.values, **dict.fromkeys(options.unset)}
    for key, value in wanted.items():
        _refuse(key, value, {*known, *current}, key in options.dangerous)
        if value is not None:
            require_value(key, value, known)
    changed = {key: value for key, value in wanted.items() if current.get(key) != value}
    _fits(table, {key: value for key, value in (current | wanted).items() if value is not None}, signs.timeline)
    unfinished = table.storage.stat(PROPERTIES_BACKUP) is not None
    if changed or unfinished:
        for restore in signs.restores:
            hint = way_out_of_restore(table, restore)
            raise Refused(f"{restore.instant} is pending: until it has ended, no property can be changed", hint=hint)
        liveness.nothing_at_work(table, session.engine, signs, session.locking, options.idle_ms)
    rows = (
        PropertyChange(
            key, value_shown(key, current.get(key)), value_shown(key, value), known.get(key, (None, None))[0]
        )
        for key, value in sorted(changed.items())
    )
    return PropertyPlan(tuple(rows), unfinished, session.lock)


def set_properties(session: Session, plan: PropertyPlan, options: PropertyOptions) -> PropertyPlan:
    """Changes exactly the properties of the plan, all at once: readers find the old file or the new one.

    Raises as ``plan_properties``; Conflict: they have changed since planning.
    """
    table = session.table

    def look() -> PropertyPlan:
        now = plan_properties(session, options)
        if now.nothing_to_do:
            raise NothingLeft
        if now.changes != plan.changes:
            raise Conflict("hoodie.properties has changed since planning", hint="run the command again")
        return now

    def work(run: Begun[PropertyPlan]) -> PropertyPlan:
        run.held.check()
        update_properties(table.storage, options.values, options.unset)
        return run.found

    record = {"changes": [[row.name, row.before, row.after] for row in plan.changes]}
    with suppress(NothingLeft):
        changing(session, Kind.SET_PROPERTY, ", ".join(row.name for row in plan.changes), record, look=look, work=work)
    return plan


def _fits(table: Table, properties: Mapping[str, str], timeline: Timeline) -> None:
    """Judges the timeline by the properties as they would be: so a lost type can be given back.

    Raises Refused: the type would be lost; Unsupported, Unreadable.
    """
    after = replace(table, properties=properties)
    wrong = wrong_type(after, timeline)
    if wrong and not wrong_type(table, timeline):
        raise Refused(f"{TYPE}={after.type}: {wrong}", hint="let Hudi compact all logs first, as its last write")
    known_timeline(after, timeline)


def _refuse(key: str, value: str | None, known: set[str], agreed: bool) -> None:
    """Raises UsageError, Refused."""
    if key in _OTHERS:
        raise Refused(f"{key} is not changed by itself: {_OTHERS[key]}", hint="see docs/safety.md")
    if value is not None and any(ord(sign) > 255 or ord(sign) < 32 for sign in f"{key}{value}"):
        raise UsageError(f"{key}: a value has only signs of ISO 8859-1", hint="Hudi writes the file so")
    if agreed or key in _HARMLESS:
        return
    if key not in known:
        near = get_close_matches(key, sorted(known), n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        hint += f"--dangerous {key} changes it all the same"
        raise UsageError(f"{key}: Hudi has no such table property", hint=hint)
    raise Refused(
        f"{key} gives the data of the table another meaning: rows can be read wrongly, or be lost",
        hint=f"if you are sure, and all writers use the new value: --dangerous {key}",
        property=key,
    )
