"""Values of a configuration file, which may be references: to a variable of the environment, or to a file."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import click

from hudictl.errors import UsageError

_SECRETS = "hudictl.secrets"
"""Key of the context's ``meta``, which all contexts of a command line share."""


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a value is: ``kind`` is ``env`` or ``file``, ``place`` the name of the variable or the path."""

    kind: str
    place: str

    def __str__(self) -> str:
        return f"{self.kind} {self.place}"


@dataclass(frozen=True, slots=True)
class Structure:
    """A table of values, for a store's option that takes an object."""

    values: Mapping[str, Any]


Value = str | Reference | Structure


def references_in(value: Value, key: str) -> Iterator[tuple[str, Reference]]:
    """The references of a value, by key: ``key``, or below it."""
    if isinstance(value, Reference):
        yield key, value
    elif isinstance(value, Structure):
        for name, below in value.values.items():
            if isinstance(below, Reference | Structure):
                yield from references_in(below, f"{key}.{name}")


def texts_in(value: Value, key: str) -> Iterator[str]:
    """The keys of the texts that the configuration file itself has."""
    if isinstance(value, str):
        yield key
    elif isinstance(value, Structure):
        for name, below in value.values.items():
            if isinstance(below, str | Structure):
                yield from texts_in(below, f"{key}.{name}")


def resolve(value: Value, where: str, *, secret: bool = True) -> str:
    """The text of a value; of a structure, its JSON.

    Args:
        where: the file, profile and key, for errors.
        secret: no error of this command line may show the text, if it is a reference's.

    Raises:
        UsageError: no such variable, or the file cannot be read.
    """
    if isinstance(value, Structure):
        return json.dumps(_resolved(value, where))
    text = _text(value, where) if isinstance(value, Reference) else value
    if secret and isinstance(value, Reference):
        _keep_secret(text)
    return text


def _resolved(value: Any, where: str) -> Any:
    if isinstance(value, Structure):
        return {name: _resolved(below, f"{where}.{name}") for name, below in value.values.items()}
    return resolve(value, where) if isinstance(value, Reference) else value


def _text(reference: Reference, where: str) -> str:
    if reference.kind == "env":
        text = os.environ.get(reference.place, "")
        if not text:
            raise UsageError(f"{where}: the variable {reference.place} is not set, or empty")
    else:
        try:
            with open(reference.place, encoding="utf-8", newline="") as file:
                text = file.read().removesuffix("\n")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
            raise UsageError(f"{where}: cannot read the file {reference.place}: {reason}") from None
    return text


def _keep_secret(text: str) -> None:
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta.setdefault(_SECRETS, set()).add(text)


def secrets_of(context: click.Context | None) -> frozenset[str]:
    """The texts of all references that this command line has resolved until now."""
    return frozenset(context.meta.get(_SECRETS, ()) if context is not None else ())
