"""docs/json.md: what each command prints with ``--output json``."""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from hudictl.render.documents import DOCUMENTS, RESULT, ROWS, Document
from hudictl.render.json import error_object
from hudictl.render.keys import explain
from makers.commands import anchor, cell, prose
from makers.exit_codes import example_error
from makers.help import every_help
from makers.json_documents import EXAMPLES, OTHERS, example_of
from makers.json_keys import Key, keys
from makers.json_runs import printed
from makers.json_words import WORDS

_LONGEST = 60

_PAGE = """\
# JSON

With `--output json` every command prints one document on stdout, in one line. Keys are part of the interface: see
[JSON Schema](#json-schema).

```json
{envelope}
```

| key | type | |
| --- | --- | --- |
| `.schema_version` | integer | 1 |
| `.command` | string | The command. |
| `.table` | string or null | URI of the table; null if there are several, or none is known. |
| `.outcome` | string | Only commands that change: `done`, `nothing to do` or `planned`. |
| `.rows` or `.result` | list of objects, or object | What the command found or did: see below. |
| `.notes` | list of strings | What else is to be said. |

- No key is left out: what is not known is null. Only `--columns` leaves out the keys that it does not name.
- A key can have another type in a plan than in the result of the same command, or in a list: `rollback_blocks`,
  `files_removed` and `files_kept` are lists or numbers, `metadata_table` is an object, a string or a boolean.
- Where there is nothing to do, `.result` can be null; also if no write has a schema (`table schema`).
- Times of instants are strings, as on disk. Keys in `_utc` and `_at` are ISO 8601, in UTC.
- Keys in `_ms` are milliseconds, in `_s` seconds. `bytes` and keys in `_bytes` are bytes.
- Contents of records have JSON types where JSON has them; bytes are base64, all others are text.

## In a script

The exit code reports whether it worked ([exit-codes.md](exit-codes.md)). A command that found something wrong prints
its document, and ends with 3.

<!-- runs on v9/cow_savepoints -->
```sh
hudictl timeline show -o json | jq -r '.rows[] | select(.action == "commit") | .time'
hudictl savepoint list -o json | jq -e '.rows | length > 0'
hudictl restore 20261121030414313 --plan -o json --engine local | jq '.result.bytes_to_delete'
```

## JSON Schema

`hudictl schema COMMAND` prints the JSON Schema (2020-12) of the documents of a command; [schemas/](schemas/) has the
same in files. Every document that hudictl's tests print is validated by them.

Within one `.schema_version`, keys are only added: none is removed or renamed, and none gets values of another type. So
the schemas allow keys that they do not name: ignore them. All other changes come with another `.schema_version`, and
with a line in [CHANGELOG.md](../CHANGELOG.md).

- A command with several documents has them all in its schema, each with its case.
- A line of `--output ndjson` is an entry of `.rows`: the schema has it under `.properties.rows.items`.
- With `--columns`, the other keys are missing: such rows are not valid by the schema.
- `hudictl schema error` prints the schema of the error object.

<!-- runs on v9/cow_savepoints -->
```sh
hudictl schema savepoint list | jq -r '."$defs".SavepointRow.properties | keys[]'
```

## Errors

An error is one object on stderr, and stdout is empty. Commands that found something wrong print both.

```json
{error}
```

| key | type | |
| --- | --- | --- |
| `.slug` | string | The kind of error; it belongs to the exit code. |
| `.exit_code` | integer | The exit code. |
| `.message` | string | What happened, with the value. |
| `.hint` | string | What to do; it may be empty. |
| `.fields` | object | The values of the message, by name: they depend on the error. |

## Rows one by one

`--output ndjson` prints each object of `.rows` in a line of its own, as soon as it is known, and no document around it.
Notes go to stderr. All lists have it, and `log inspect`, `log records` and `log verify`.

## Progress

`--progress ndjson` prints steps on stderr, each object in a line. It goes with every `--output`.

```json
{{"step": "list files"}}
{{"step": "list files", "done": 1200, "total": 4800}}
{{"step": "list files", "seconds": 2.1}}
```

| key | type | |
| --- | --- | --- |
| `.step` | string | The step. |
| `.done`, `.total` | integer | How much of the step is done. Such a line is printed at most twice a second. |
| `.seconds` | number | The step has ended, and took this long. |

## Commands

Examples are from sample tables. The column `example` is empty if the sample table has no such entry.

{contents}
{others}

{sections}
"""


def json_page() -> str:
    """The page of all documents. Raises ValueError: a command has none, or a word is not used."""
    commands = {help.name for help in every_help() if not help.below or help.examples} - {""}
    names = dict.fromkeys(document.command for document in DOCUMENTS)
    if commands != names.keys() | OTHERS.keys():
        raise ValueError(f"not in json_documents.py, or no command: {commands ^ (names.keys() | OTHERS.keys())}")
    unused = WORDS.keys() - {key.word for document in DOCUMENTS for key in keys(document.of, document.besides)}
    if unused:
        raise ValueError(f"words for no key: {unused}")

    stale = EXAMPLES.keys() - {(document.command, document.when) for document in DOCUMENTS}
    if stale:
        raise ValueError(f"examples of no document: {stale}")

    found = printed(DOCUMENTS)
    (envelope,) = (shown for document, shown in found.items() if document.command == "savepoint list")
    return _PAGE.format(
        envelope=json.dumps(envelope | {ROWS: envelope[ROWS][:1]}),
        error=error_object(example_error()),
        contents="\n".join(f"- [`{name}`]({anchor(name)})" for name in names),
        others="\n".join(f"- `{name}`: {said}" for name, said in OTHERS.items()),
        sections="\n\n".join(_sections(found)),
    )


def _sections(found: Mapping[Document, Any]) -> Iterator[str]:
    # A type is explained once, if possible where there is an example.
    homes: dict[object, Document] = {}
    for document in sorted(DOCUMENTS, key=lambda document: example_of(document).line is None):
        homes.setdefault(_kind(document), document)
    for command, documents in groupby(DOCUMENTS, key=lambda document: document.command):
        yield f"### {command}"
        for document in documents:
            where = f"`{_start(document)}`" + (f", {document.when}" if document.when else "")
            home = homes[_kind(document)]
            if document is not home:
                yield f"{where}: as for [`{home.command}`]({anchor(home.command)})."
                continue
            yield prose(f"{where}: {explain(document.of).what}")
            yield _table(document, found.get(document, {}).get(document.key))


def _kind(document: Document) -> object:
    return document.of, *document.besides


def _start(document: Document) -> str:
    return f".{document.key}" if document.key == RESULT else f".{document.key}[]"


def _table(document: Document, shown: Any) -> str:
    declared = list(keys(document.of, document.besides))
    values = shown if isinstance(shown, list) else [shown] if shown else []
    _check(document, declared, values)
    rows = (
        f"| `{_start(document)}{key.path}` | {key.type} | {cell(key.meaning)} "
        f"| {'' if key.has_keys else _example(_under(values, key.path))} |"
        for key in declared
    )
    return "\n".join(("| key | type | | example |", "| --- | --- | --- | --- |", *rows))


def _check(document: Document, declared: Iterable[Key], values: Iterable[Mapping[str, Any]]) -> None:
    """Raises ValueError: what was printed has other keys than the type."""
    expected = {key.path.removeprefix(".") for key in declared if key.path.rfind(".") == 0}
    for value in values:
        if value.keys() != expected:
            raise ValueError(
                f"{document.command}: {document.of.__name__} is not what it prints: {set(value) ^ expected}"
            )


def _under(value: Any, path: str) -> Iterator[Any]:
    """All values under a path, as ``.remedy[].command``; those of lists one by one."""
    name, _, rest = path.removeprefix(".").partition(".")
    for entry in value if isinstance(value, list) else [value]:
        found = (entry or {}).get(name.removesuffix("[]"))
        if rest:
            yield from _under(found, rest)
        else:
            yield found


def _example(values: Iterable[Any]) -> str:
    """The first value that says something, or its beginning."""
    found = [value for value in values if value is not None]
    if not found:
        return ""
    value = next((value for value in found if value not in ("", [], {})), found[0])
    # Of an object whose keys are names, the first is enough: others can depend on the host.
    value = dict(list(value.items())[:1]) if isinstance(value, dict) else value
    text = json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return f"`` {cell(text)} ``" if "`" in text else f"`{cell(text)}`"
