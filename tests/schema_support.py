"""What a command has printed is valid by its JSON Schema, and has no key beside it."""

import json
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from hudictl.render.documents import schema_rows
from hudictl.render.schema import ERROR, schema_of

_COMMANDS = frozenset(row.command for row in schema_rows())
_DOCUMENT = '{"schema_version": '
_ERROR = '{"slug": '


def check_printed(words: Sequence[str], out: str, err: str = "") -> None:
    """Raises AssertionError: a document, a row of NDJSON or an error that the schema of its command does not have.

    ``words`` are the command line.
    """
    chosen = any(word.startswith("--columns") for word in words)
    for line in out.splitlines() if out.startswith("{") else ():
        if line.startswith(_DOCUMENT):
            document = json.loads(line)
            _check(document["command"], document, chosen=chosen)
        elif "ndjson" in words:
            _check(_command(words), json.loads(line), row=True, chosen=chosen)
    for line in err.splitlines():
        if line.startswith(_ERROR):
            _check(ERROR, json.loads(line))


def _check(command: str, found: Any, *, row: bool = False, chosen: bool = False) -> None:
    error = best_match(validator(command, row, chosen).iter_errors(found))
    assert error is None, f"{command}: {error.json_path}: {error.message[:1000]}"


@cache
def validator(command: str, row: bool = False, chosen: bool = False) -> Draft202012Validator:
    """Of a command's document, or of a row in it; where columns were ``chosen``, keys are missing."""
    schema = schema_of(command)
    for kind in _objects(schema):
        kind["additionalProperties"] = False
        if chosen:
            kind.pop("required")
    return Draft202012Validator(schema["properties"]["rows"]["items"] | {"$defs": schema["$defs"]} if row else schema)


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    """All that name their keys."""
    if isinstance(schema, dict):
        if "properties" in schema and "required" in schema:
            yield schema
        for part in schema.values():
            yield from _objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from _objects(part)


def _command(words: Sequence[str]) -> str:
    """The command of a command line."""
    return next(name for name in (" ".join(words[:2]), words[0]) if name in _COMMANDS)
