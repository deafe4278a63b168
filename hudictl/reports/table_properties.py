"""``table properties``: what hoodie.properties says, and what it leaves to Hudi's defaults."""

from dataclasses import dataclass

from hudictl.secrets import value_shown
from hudictl.table.properties_known import known_properties
from hudictl.table.table import Table


@dataclass(frozen=True)
class PropertyRow:
    """A property of a table. ``value`` is null if it is not set, and *** if it may be a secret. ``default`` is that of
    the Hudi release that writes the table version; null if it has none. ``meaning`` is null if this release has no such
    property in hoodie.properties. ``set`` is whether it is in the file. ``changed``: it is, with another value than the
    default."""

    name: str
    value: str | None
    default: str | None
    meaning: str | None
    set: bool
    changed: bool


def property_rows(table: Table, *, unset: bool) -> list[PropertyRow]:
    """The properties by name; ``unset``: also those that Hudi knows, and the table has not."""
    known = known_properties(table.version)
    names = sorted({*table.properties, *(known if unset else ())})
    return [_row(name, table.properties.get(name), *known.get(name, (None, None))) for name in names]


def _row(name: str, value: str | None, meaning: str | None, default: str | None) -> PropertyRow:
    shown = value_shown(name, value)
    changed = None not in (value, default) and value != default
    return PropertyRow(name, shown, default, meaning, value is not None, changed)
