"""Commands to copy: they get the options of this command line that say which table is meant, and how it is reached.
What the environment gives, or a profile that it names, still holds without being named."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import takewhile
from typing import Any, TypeVar

import click

from hudictl.cli.command_line import kept
from hudictl.phrases import quoted

Said = TypeVar("Said")
_GIVEN = "hudictl.given"
"""Key of the context's ``meta``, which all contexts of a command line share."""
_REPEATED = (
    *("--config", "--table", "--profile", "--storage-option", "--timezone", "--props", "--hoodie-conf"),
    *("--interval", "--misses", "--engine", "--master", "--conf", "--shared-filesystem"),
)
_SENTENCES = ("advice", "deleted_by", "diagnosis", "hint", "leaves")
"""Fields of results in which names of a table are ``quoted``: so a table puts no command of its own there."""


def keep_given(context: click.Context, given: Mapping[str, Any]) -> None:
    """Keeps what the command line itself gives, but for what may be a secret: masked it would be of no use."""
    for option in context.command.params:
        name = max(option.opts, key=len)
        if name in _REPEATED and option.name in given:
            values = given[option.name] if option.multiple else [given[option.name]]
            sound = [value for value in values if value is True or kept(name, value) == value]
            context.meta.setdefault(_GIVEN, {})[name] = sound


@dataclass(frozen=True)
class ToCopy:
    """Completes commands. ``root``: the command of all commands. ``given``: values by option; of a flag True."""

    root: click.Command
    given: Mapping[str, Sequence[Any]]

    def command(self, text: str) -> str:
        """A command with the options that it takes. One that takes a single table gets none of several."""
        words = text.split(" ")
        try:
            has = {word.partition("=")[0] for word in takewhile("--".__ne__, shlex.split(text))}
        except ValueError:
            # An open quote: hudictl has made no such command.
            return text
        found, depth = self.root, 1
        while isinstance(found, click.Group) and depth < len(words) and words[depth] in found.commands:
            found, depth = found.commands[words[depth]], depth + 1

        def added(command: click.Command) -> list[str]:
            several = {max(option.opts, key=len): option.multiple for option in command.params}
            fit = [(name, self.given.get(name, ())) for name in _REPEATED if name in several and name not in has]
            pairs = [(name, value) for name, values in fit if several[name] or len(values) == 1 for value in values]
            return [name if value is True else f"{name}={quoted(value)}" for name, value in pairs]

        if "--help" in has or not any("--table" in option.opts for option in found.params):
            return text
        return " ".join([words[0], *added(self.root), *words[1:depth], *added(found), *words[depth:]])

    def text(self, said: str) -> str:
        """A sentence of hudictl with its commands, which are between backquotes."""
        return re.sub("`(hudictl [^`]+)`", lambda found: f"`{self.command(found[1])}`", said)

    def all_of(self, value: Said) -> Said:
        """A result with the commands of its remedies and hints."""
        known: Any = value
        if type(value) in (tuple, list):
            known = type(known)(map(self.all_of, known))
        elif is_dataclass(value):
            told = {entry.name: getattr(value, entry.name) for entry in fields(value)}
            spoken = {name: self.text(said) for name, said in told.items() if name in _SENTENCES and said}
            told = {name: self.all_of(said) for name, said in told.items()} | spoken
            known = replace(known, **told | ({"command": self.command(known.command)} if "leaves" in told else {}))
        completed: Said = known
        return completed


def to_copy(context: click.Context | None = None, table: str = "") -> ToCopy:
    """For the commands that this command line names; ``table``: one of several, as the operator names it."""
    context = context or click.get_current_context()
    given = context.meta.get(_GIVEN, {}) | ({"--table": [table]} if table else {})
    return ToCopy(context.find_root().command, given)
