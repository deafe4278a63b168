"""docs/schemas: the JSON Schema of each command; and what readers of a ``schema_version`` would lose by a change.

Within a version keys can be added, and other documents of a command; no key is removed or gets values of another type.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hudictl.render.documents import schema_rows
from hudictl.render.schema import ERROR, schema_text

FOLDER = "docs/schemas"
Schema = Mapping[str, Any]
Kinds = list[tuple[str, Schema]]
_ANY = "any value"


def schema_files() -> dict[str, str]:
    """The text of each file, by its path."""
    commands = (*(row.command for row in schema_rows()), ERROR)
    return {f"{FOLDER}/{command.replace(' ', '-')}.json": schema_text(command) for command in commands}


def losses(root: Path, files: Mapping[str, str]) -> Iterator[str]:
    """What the present files have, and those to write do not, if both are of one ``schema_version``."""
    version = json.loads(files[f"{FOLDER}/{ERROR}.json"])["$comment"]
    for present in sorted((root / FOLDER).glob("*.json")):
        old = json.loads(present.read_text(encoding="utf-8"))
        if old["$comment"] == version:
            path = f"{FOLDER}/{present.name}"
            found = lost(old, json.loads(files[path])) if path in files else ["the command is gone"]
            yield from (f"{path}: {loss}" for loss in found)


def lost(old: Schema, new: Schema) -> Iterator[str]:
    """Each key that a new schema of a command does not have any more, or whose values can have another type."""
    return _lost("", _kinds(old, old), _kinds(new, new), old, new)


def _lost(path: str, olds: Kinds, news: Kinds, old_root: Schema, new_root: Schema) -> Iterator[str]:
    was = dict(olds)
    if _ANY in was:
        return
    new_objects = [(name, kind) for name, kind in news if _is_object(kind)]
    for name, kind in news:
        if _is_object(kind):
            fits = any(map(_is_object, was.values()))
        elif "enum" in kind:
            fits = name in was and set(kind["enum"]) <= set(was[name]["enum"])
        else:
            fits = name in was or (name == "integer" and "number" in was)
        if not fits:
            yield f"{path}: was {' or '.join(was)}, can be {name}"
        elif name == "array":
            old_items, new_items = _kinds(was[name]["items"], old_root), _kinds(kind["items"], new_root)
            yield from _lost(f"{path}[]", old_items, new_items, old_root, new_root)
    for name, kind in olds:
        if _is_object(kind):
            # A class can get another name.
            others = [other for its_name, other in new_objects if its_name == name] or [kind for _, kind in new_objects]
            found = [list(_lost_keys(path, kind, other, old_root, new_root)) for other in others]
            yield from min(found, key=len, default=[f"{path}: {name} is gone"])


def _lost_keys(path: str, old: Schema, new: Schema, old_root: Schema, new_root: Schema) -> Iterator[str]:
    either = [name for case in new.get("oneOf", ()) for name in case["required"]]
    for key, hint in old.get("properties", {}).items():
        here = f"{path}.{key}"
        if key not in new.get("properties", {}):
            yield f"{here} is gone"
            continue
        if key in old["required"] and key not in (*new["required"], *either):
            yield f"{here} can be missing"
        yield from _lost(here, _kinds(hint, old_root), _kinds(new["properties"][key], new_root), old_root, new_root)
    if "additionalProperties" in old:
        old_values = _kinds(old["additionalProperties"], old_root)
        new_values = _kinds(new.get("additionalProperties", {}), new_root)
        yield from _lost(f"{path}.*", old_values, new_values, old_root, new_root)


def _is_object(kind: Schema) -> bool:
    return kind.get("type") == "object"


def _kinds(schema: Schema, root: Schema) -> Kinds:
    """The kinds of values that a schema allows, each with its name."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return [(name, root["$defs"][name])]
    if "anyOf" in schema:
        return [kind for part in schema["anyOf"] for kind in _kinds(part, root)]
    if "const" in schema:
        return [("one value", {"enum": [schema["const"]]})]
    if "enum" in schema:
        return [("one of some values", schema)]
    types = schema.get("type", _ANY)
    return [(kind, {**schema, "type": kind}) for kind in ([types] if isinstance(types, str) else types)]
