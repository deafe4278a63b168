"""Histories of schemas with ids, as the real Hudi writes them; the names and the ids are other ones."""

import json
from typing import Any

from hudictl.formats.internal_schemas import in_force, other_name, read_history

NESTED = {"type": "record", "fields": [{"id": 3, "name": "x", "optional": True, "type": "int"}]}
BEFORE = [
    {"id": 0, "name": "id", "optional": False, "type": "string"},
    {"id": 1, "name": "val", "optional": True, "type": "string"},
    {"id": 2, "name": "n", "optional": True, "type": NESTED},
    {"id": 4, "name": "list", "type": {"type": "array", "element_id": 5, "element": NESTED, "element_optional": True}},
    {"id": 6, "name": "m", "type": {"type": "map", "key_id": 7, "key": "string", "value_id": 8, "value": NESTED}},
]


def history(**schemas: list[dict[str, Any]]) -> bytes:
    """The fields of schemas by the time since when each is in force."""
    found = [{"version_id": int(time[1:]), "type": "record", "fields": fields} for time, fields in schemas.items()]
    return json.dumps({"schemas": found}).encode()


def test_columns_have_the_ids_of_their_time() -> None:
    found = read_history(history(t20260102000000000=BEFORE[:2], t0=BEFORE))
    ids = {"id": 0, "val": 1, "n": 2, "n.x": 3, "list": 4, "list.element.x": 3, "m": 6, "m.value.x": 3}
    assert in_force(found, "20260101235959999") == ids
    assert in_force(found, "20260102000000000") == in_force(found, "20260103000000000") == {"id": 0, "val": 1}
    assert in_force({5: ids}, "4") == ids


def test_other_names_are_found_by_ids() -> None:
    then = {"id": 0, "val": 1, "n": 2, "n.x": 3}
    assert other_name(then, then) == ""
    assert other_name(then, {"id": 0, "n": 2, "n.x": 3, "more": 4}) == ""
    assert other_name(then, {"id": 0, "val2": 1, "n": 2, "n.x": 3}) == "val2"
    assert other_name(then, {"id": 0, "val": 1, "n": 2, "n.y": 3}) == "n.y"
    assert other_name(then, {"id": 0, "n": 2, "n.x": 3, "val": 4}) == "val"
