"""The history of schemas in which columns have ids: Hudi's schema on read, in ``.hoodie/.schema``."""

from collections.abc import Mapping
from typing import Any

from hudictl.formats.json_values import parse_json

Ids = Mapping[str, int]
"""The ids of the columns by their paths (``a.b`` inside structures)."""


def read_history(body: bytes) -> dict[int, Ids]:
    """The columns of each schema, by the number of the instant from which on it was in force; 0: from the beginning.
    Raises ValueError, KeyError, TypeError, AttributeError: damaged."""
    return {int(schema["version_id"]): dict(_ids(schema, "")) for schema in parse_json(body.decode())["schemas"]}


def _ids(kind: Any, path: str) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for field in kind.get("fields", ()) if isinstance(kind, dict) else ():
        found += [(path + field["name"], field["id"]), *_ids(field["type"], f"{path}{field['name']}.")]
    for part in ("element", "key", "value"):
        found += _ids(kind[part], f"{path}{part}.") if isinstance(kind, dict) and part in kind else []
    return found


def in_force(history: Mapping[int, Ids], time: str) -> Ids:
    """The columns at an instant."""
    return history[max((begin for begin in history if begin <= int(time)), default=min(history))]


def other_name(then: Ids, now: Ids) -> str:
    """A column that had another name, or whose name another column had; "" if there is none."""
    names = {number: path for path, number in then.items()}
    return next(
        (path for path, number in now.items() if names.get(number, path) != path or then.get(path, number) != number),
        "",
    )
