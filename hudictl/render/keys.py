"""The keys of a document, from its type: names, types, and the sentences of the docstrings."""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`])|(?<=;)\s+(?=``\w+``)|\n- ")
_NOT_FOR_READERS = re.compile(r"; the\s+names in\s+``shown``\s+are those in JSON")
_NAMES = re.compile(r"``\w+``(?:(?:, | and |, and )``\w+``)*")


@dataclass(frozen=True)
class Explained:
    """The docstring of a type: what it is, and the sentences on its keys, by key."""

    what: str
    keys: Mapping[str, str]


def types_of(kind: type[Any]) -> dict[str, tuple[type[Any], Any]]:
    """The type that has each key, and the key's own, as ``render.json.plain`` finds the keys."""
    found = {}
    for shown in getattr(kind, "shown", None) or [field.name for field in fields(kind)]:
        part, _, name = shown.rpartition(".")
        holder = get_type_hints(kind)[part] if part else kind
        found[name] = holder, _type(holder, name)
    return found


def _type(kind: type[Any], name: str) -> Any:
    found = getattr(kind, name, None)
    if isinstance(found, (property, cached_property)):
        return get_type_hints(found.fget if isinstance(found, property) else found.func)["return"]
    # Of a constant, which is shown like a field, its value has the type.
    hint = get_type_hints(kind)[name]
    return type(found) if "ClassVar" in str(hint) else hint


def explain(kind: type[Any]) -> Explained:
    """A sentence is on the keys that it begins with; all others say what the type is."""
    what: list[str] = []
    by_key: dict[str, str] = {}
    for sentence in _SENTENCE.split(_NOT_FOR_READERS.sub("", inspect.getdoc(kind) or "")):
        sentence = " ".join(sentence.split()).rstrip(";.,")
        begun = _NAMES.match(sentence)
        if begun is None:
            what += [sentence] if sentence else []
            continue
        rest = sentence[begun.end() :]
        meaning = rest.removeprefix(":").strip() if rest.startswith(":") else sentence
        for name in re.findall(r"\w+", begun[0].replace(" and ", " ")):
            by_key[name] = " ".join(filter(None, (by_key.get(name), _sentence(meaning))))
    return Explained(" ".join(map(_sentence, what)), by_key)


def _sentence(text: str) -> str:
    """In Markdown, and with the words of JSON."""
    text = text.replace("``", "`")
    for python, json in {"None": "null", "True": "true", "False": "false"}.items():
        text = re.sub(rf"\b{python}\b", json, text)
    return text[0].upper() + text[1:] + "."


def alternatives(hint: Any) -> Sequence[Any]:
    """The types of a union, without null."""
    if get_origin(hint) in (Union, UnionType):
        return [found for found in get_args(hint) if found is not NoneType]
    return [hint]


def entry_of(hint: Any) -> Any:
    """What a list has; all else is itself."""
    return get_args(hint)[0] if is_list(hint) else hint


def is_list(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, (tuple, list, Set, Iterator))
