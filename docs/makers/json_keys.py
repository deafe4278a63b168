"""The keys of a document, from its type: names, JSON types, and the sentences of the docstrings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from types import NoneType
from typing import Any, get_args, get_origin

from hudictl.render.keys import alternatives, entry_of, explain, is_list, types_of
from hudictl.table.locks.config import LockConfig
from makers.json_words import WORDS

_ELSEWHERE = {"lock": [LockConfig]}
"""Nearly all plans have it: its keys are described once, with ``lock show``."""
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean", Any: "any value"}


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


def keys(kind: type[Any], besides: Mapping[str, type[Any]], path: str = "") -> Iterator[Key]:
    """The keys of a type and of all types in it, in the order in which they are printed."""
    for name, (holder, hint) in {**types_of(kind), **{name: (kind, hint) for name, hint in besides.items()}}.items():
        explained = explain(holder)
        inner = [found for found in alternatives(entry_of(hint)) if isinstance(found, type) and is_dataclass(found)]
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
            yield from _inner(inner, here + "[]" * (entry_of(hint) is not hint))


def _inner(kinds: Iterable[type[Any]], path: str) -> Iterator[Key]:
    """The keys of all types that can be at one place, each key once."""
    found = {key.path: key for kind in reversed(list(kinds)) for key in keys(kind, {}, path)}
    yield from found.values()


def _said(hint: Any, *, many: bool = False) -> str:
    """A type in words."""
    *others, last = alternatives(hint)
    if others or NoneType in get_args(hint):
        words = dict.fromkeys(_said(found) for found in (*others, last))
        return " or ".join((*words, *(["null"] if NoneType in get_args(hint) else [])))
    origin = get_origin(last) or last
    if is_dataclass(last) or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return "objects" if many else "object"
    if is_list(last):
        return f"{'lists' if many else 'list'} of {_said(get_args(last)[0], many=True)}"
    return _SCALARS[last] + ("s" if many else "")
