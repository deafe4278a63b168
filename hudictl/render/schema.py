"""JSON Schema (2020-12) of what a command prints with ``--output json``, made from the types of its documents.

By own code, as the libraries for it (mashumaro, msgspec, pydantic) see the fields of a dataclass, and not the names in
``shown``, which are those in JSON: a walk over types that docs/json.md needs, too.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin

from hudictl.render.documents import CHANGING, RESULT, ROWS, Document, documents_of
from hudictl.render.json import SCHEMA_VERSION, ChangeOutcome, ErrorObject
from hudictl.render.keys import alternatives, explain, is_list, types_of

ERROR = "error"
"""Stands for a command: the object on stderr after a failure of any."""
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
Schema = dict[str, Any]


def schema_text(command: str) -> str:
    """The schema as a file has it; ``ERROR`` is a command, too."""
    return json.dumps(schema_of(command), indent=2) + "\n"


def schema_of(command: str) -> Schema:
    """The schema of all documents of a command. It allows more keys: new ones can come within a ``schema_version``.

    Raises TypeError: a type that is not known here.
    """
    defs: dict[str, Schema] = {}
    inside = _type(ErrorObject, defs) if command == ERROR else _document(command, defs)
    said = f"hudictl {command}" if command != ERROR else "The error object of hudictl"
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$comment": f"schema_version {SCHEMA_VERSION}",
        "title": said,
        **inside,
        "$defs": dict(sorted(defs.items())),
    }


def _document(command: str, defs: dict[str, Schema]) -> Schema:
    changes = command in CHANGING
    found: dict[str, list[Schema]] = {}
    for document in documents_of(command):
        found.setdefault(document.key, []).append(_part(document, defs))
    if RESULT in found and (changes or any(document.or_null for document in documents_of(command))):
        found[RESULT].append({"type": "null"})
    content = {
        key: _one_of(parts) if key == RESULT else {"type": "array", "items": _one_of(parts)}
        for key, parts in found.items()
    }
    properties = {
        "schema_version": {"const": SCHEMA_VERSION},
        "command": {"const": command},
        "table": {"type": ["string", "null"]},
        **({"outcome": {"enum": [outcome.value for outcome in ChangeOutcome]}} if changes else {}),
        **content,
        "notes": {"type": "array", "items": {"type": "string"}},
    }
    # A document has one of the two.
    either = {ROWS, RESULT} if {ROWS, RESULT} <= content.keys() else set()
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in either],
        **({"oneOf": [{"required": [name]} for name in sorted(either)]} if either else {}),
    }


def _part(document: Document, defs: dict[str, Schema]) -> Schema:
    part = _object(document.of, document.besides, defs) if document.besides else _type(document.of, defs)
    return part | ({"description": document.when} if document.when else {})


def _object(kind: type[Any], besides: Mapping[str, Any], defs: dict[str, Schema]) -> Schema:
    said = explain(kind).what
    properties = {}
    for name, (holder, hint) in {**types_of(kind), **{name: (kind, hint) for name, hint in besides.items()}}.items():
        meaning = explain(holder).keys.get(name)
        properties[name] = _type(hint, defs) | ({"description": meaning} if meaning else {})
    return {
        "type": "object",
        **({"description": said} if said else {}),
        "properties": properties,
        "required": list(properties),
    }


def _type(hint: Any, defs: dict[str, Schema]) -> Schema:
    if hint is Any:
        return {}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    kinds = [*alternatives(hint), *([NoneType] if NoneType in get_args(hint) else [])]
    if len(kinds) > 1:
        return _one_of([_type(kind, defs) for kind in kinds])
    if is_dataclass(hint):
        name = hint.__name__  # type: ignore[union-attr]
        if name not in defs:
            defs[name] = _object(hint, {}, defs)  # type: ignore[arg-type]
        return {"$ref": f"#/$defs/{name}"}
    if is_list(hint):
        return {"type": "array", "items": _type(get_args(hint)[0], defs)}
    origin = get_origin(hint) or hint
    if isinstance(origin, type) and issubclass(origin, Mapping):
        values = _type(get_args(hint)[1], defs) if get_args(hint) else {}
        return {"type": "object"} | ({"additionalProperties": values} if values else {})
    raise TypeError(f"{hint}: no JSON Schema for this type")


def _one_of(schemas: Sequence[Schema]) -> Schema:
    if len(schemas) == 1:
        return schemas[0]
    if all(schema.keys() == {"type"} for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": list(schemas)}
