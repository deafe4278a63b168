"""The keys of a document, from its type: names, JSON types, and the sentences of the docstrings."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hudictl.table.locks.config import LockConfig
from makers.json_words import WORDS

_ELSEWHERE = {"lock": [LockConfig]}
"""Nearly all plans have it: its keys are described once, with ``lock show``."""
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", Any: "any value"}
_SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z`])|(?<=;)\s+(?=``\w+``)|\n- ")
_NOT_FOR_READERS = re.compile(r"; the\s+names in\s+``shown``\s+are those in JSON")
_NAMES = re.compile(r"``\w+``(?:(?:, | and |, and )``\w+``)*")


@dataclass(frozen=True)
class Key:
    """A key of a document: its path behind ``rows[]`` or ``result``, its JSON type, and what it means.

    ``word`` is the word of ``WORDS`` that says so, if one does. ``has_keys``: its own keys are described, too.
    """

    path: str
    type: str
    meaning: str
    word: str
    has_keys: bool


@dataclass(frozen=True)
class Explained:
    """The docstring of a type: what it is, and the sentences on its keys, by key."""

    what: str
    keys: Mapping[str, str]


def keys(kind: type[Any], besides: Mapping[str, type[Any]], path: str = "") -> Iterator[Key]:
    """The keys of a type and of all types in it, in the order in which they are printed."""
    for name, (holder, hint) in {**_types(kind), **{name: (kind, hint) for name, hint in besides.items()}}.items():
        explained = explain(holder)
        inner = [found for found in _alternatives(_entry(hint)) if isinstance(found, type) and is_dataclass(found)]
        word = next((word for word in (f"{holder.__name__}.{name}", name) if word in WORDS), "")
        # A word for one type counts more than its docstring, one for all types less.
        if name in explained.keys and "." not in word:
            word, meaning = "", explained.keys[name]
        else:
            meaning = WORDS[word] if word else " ".join(explain(found).what for found in inner)
        if not meaning:
            raise ValueError(f"{kind.__name__}.{name} has no sentence: write one in its docstring, or in json_words.py")
        here = f"{path}.{name}"
        yield Key(here, _said(hint), meaning, word, bool(inner))
        if _ELSEWHERE.get(name) != inner:
            yield from _inner(inner, here + "[]" * (_entry(hint) is not hint))


def _inner(kinds: Iterable[type[Any]], path: str) -> Iterator[Key]:
    """The keys of all types that can be at one place, each key once."""
    found = {key.path: key for kind in reversed(list(kinds)) for key in keys(kind, {}, path)}
    yield from found.values()


def _types(kind: type[Any]) -> dict[str, tuple[type[Any], Any]]:
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


def _said(hint: Any, *, many: bool = False) -> str:
    """A type in words."""
    *others, last = _alternatives(hint)
    if others or NoneType in get_args(hint):
        words = dict.fromkeys(_said(found) for found in (*others, last))
        return " or ".join((*words, *(["null"] if NoneType in get_args(hint) else [])))
    origin = get_origin(last) or last
    if is_dataclass(last) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return "objects" if many else "object"
    if _is_list(last):
        return f"{'lists' if many else 'list'} of {_said(get_args(last)[0], many=True)}"
    return _SCALARS[last] + ("s" if many else "")


def _alternatives(hint: Any) -> Sequence[Any]:
    """The types of a union, without null."""
    if get_origin(hint) in (Union, UnionType):
        return [found for found in get_args(hint) if found is not NoneType]
    return [hint]


def _entry(hint: Any) -> Any:
    """What a list has; all else is itself."""
    return get_args(hint)[0] if _is_list(hint) else hint


def _is_list(hint: Any) -> bool:
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, (tuple, list, Set, Iterator))
