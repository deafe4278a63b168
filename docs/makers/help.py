"""The help of each command, from the tree of commands: what the reference page and the man pages say."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass

import click

from hudictl.cli.examples import EXAMPLES
from hudictl.cli.main import hudictl
from hudictl.cli.tree import every_command

PROGRAM = "hudictl"
_VERBATIM = "\b\n"


@dataclass(frozen=True)
class OptionHelp:
    """An option: its names with the metavar, its sentence, and what --help has in brackets behind it."""

    names: str
    help: str
    default: str
    variable: str
    required: bool


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of a help; ``verbatim``: its lines stay as they are."""

    text: str
    verbatim: bool = False


@dataclass(frozen=True)
class CommandHelp:
    """The help of a command. ``name`` is what follows ``hudictl``; ``below`` are the commands of a group."""

    name: str
    summary: str
    usage: str
    paragraphs: tuple[Paragraph, ...]
    arguments: tuple[str, ...]
    options: tuple[OptionHelp, ...]
    examples: tuple[str, ...]
    below: tuple[str, ...]

    @property
    def path(self) -> str:
        """The whole command, as it is typed."""
        return f"{PROGRAM} {self.name}".rstrip()


def every_help() -> Iterator[CommandHelp]:
    """The program first, then all commands and groups that are shown."""
    contexts: dict[str, click.Context] = {}
    for name, command in every_command(hudictl):
        group, _, last = name.rpartition(" ")
        settings = {} if name else hudictl.context_settings
        context = click.Context(command, contexts.get(group), last or PROGRAM, **settings)
        # A command that has others below it: its arguments do not stand before theirs.
        contexts[name] = click.Context(click.Group(name), context.parent, last or PROGRAM) if name else context
        if not command.hidden:
            yield _help(name, command, context)


def _help(name: str, command: click.Command, context: click.Context) -> CommandHelp:
    pieces = command.collect_usage_pieces(context)
    options = [found for found in command.get_params(context) if isinstance(found, click.Option)]
    # A hidden option has none.
    records = [option.get_help_record(context) for option in options]
    paragraphs = tuple(_paragraphs(command.help or ""))
    return CommandHelp(
        name=name,
        summary=re.split(r"(?<=\.)\s", paragraphs[0].text)[0],
        usage=" ".join((context.command_path, *pieces)),
        paragraphs=paragraphs,
        arguments=() if isinstance(command, click.Group) and not command.invoke_without_command else tuple(pieces[1:]),
        options=tuple(_option(*record) for record in records if record),
        examples=tuple(f"{PROGRAM} {line}" for line in EXAMPLES.get(name, ())),
        below=tuple(f"{name} {below}".lstrip() for below, found in command.commands.items() if not found.hidden)
        if isinstance(command, click.Group)
        else (),
    )


def _paragraphs(help: str) -> Iterator[Paragraph]:
    for block in inspect.cleandoc(help).split("\n\n"):
        if block.startswith(_VERBATIM):
            yield Paragraph(block.removeprefix(_VERBATIM), verbatim=True)
        else:
            yield Paragraph(" ".join(block.split()))


def _option(names: str, text: str) -> OptionHelp:
    """From a help record: "Base path.  [env var: HUDICTL_TABLE; required]"."""
    help, _, brackets = text.removesuffix("]").partition("  [") if text.endswith("]") else (text, "", "")
    facts = brackets.split("; ") if brackets else []
    named = dict(fact.split(": ", 1) for fact in facts if ": " in fact)
    # What is left is a range, as x>=1.
    ranges = [fact for fact in facts if ": " not in fact and fact != "required"]
    help = f"{help} ({', '.join(ranges)})" if ranges else help
    default = named.get("default", "").replace('""', "")
    return OptionHelp(names, help, default, named.get("env var", ""), "required" in facts)
