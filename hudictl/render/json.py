"""JSON: one envelope for every command, keys from the dataclasses, none omitted."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from hudictl.errors import HudictlError

SCHEMA_VERSION = 1
# Nearly all values of a stream, which would be asked for what they are not one time after the other.
_AS_IT_IS = (str, int, bool, float, type(None))
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def envelope(command: str, table: str | None, *, notes: Sequence[str] = (), **content: Any) -> str:
    """``rows`` or ``result`` inside the common frame."""
    document = {"schema_version": SCHEMA_VERSION, "command": command, "table": table}
    return json.dumps(document | {key: plain(value) for key, value in content.items()} | {"notes": list(notes)})


def row_line(row: Any) -> str:
    """A row dataclass of a stream, in a line of its own."""
    return json.dumps(plain(row))


def error_object(error: HudictlError) -> str:
    """The one object that stands on stderr after a failure."""
    return json.dumps(
        {
            "slug": error.slug,
            "exit_code": error.exit_code,
            "message": error.message,
            "hint": error.hint,
            "fields": plain(error.fields),
        }
    )


def printable(text: str) -> str:
    """One line, without what a terminal would obey: table contents are not to be trusted."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\n", " "))


def plain(value: Any) -> Any:
    """Dataclasses, sets and mappings as JSON has them; sets are sorted, so that plans compare."""
    if type(value) in _AS_IT_IS:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(plain(entry) for entry in value)
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, bytes):
        return _text(value)
    return value


def _text(value: bytes) -> str:
    """As text where it is text, else as base64."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
