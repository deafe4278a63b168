"""docs/commands.md: each command with its usage, options and examples."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from textwrap import fill

from makers.help import CommandHelp, OptionHelp, every_help

_WIDTH = 120
_SHARED_BY = 4
"""An option that so many commands have is described once."""

_PAGE = """\
# Commands

All commands, with the words of their `--help`. [json.md](json.md) has what they print with `--output json`, and
[exit-codes.md](exit-codes.md) their exit codes.

An option is taken from the command line, else from its environment variable, else from the table's
[profile](profiles.md), else it has its default. Options that accept a loss, and those that answer a question, have no
variable: `--yes`, for example.

Commands that hudictl names, to be copied, have the options of its own command line that say which table is meant, and
how it is reached: `--table`, `--profile`, `--storage-option`, `--timezone`, those of the engine, and the writers'
settings. What a variable gives is not repeated. What may be a secret is left out
([profiles.md](profiles.md#secrets)).

{contents}

{sections}

## Options of many commands

{shared}
"""


def commands_page() -> str:
    """The page of all commands."""
    helps = list(every_help())
    number = Counter(option for help in helps for option in set(help.options))
    shared = [option for option in number if number[option] >= _SHARED_BY]
    order = [option for help in helps for option in help.options]
    shared.sort(key=order.index)
    return _PAGE.format(
        contents="\n".join(_contents(helps)),
        sections="\n\n".join("\n\n".join(_section(help, shared)) for help in helps if help.name),
        shared=_table(shared),
    )


def anchor(heading: str) -> str:
    """The link to a heading of the same page, as GitHub makes it."""
    return "#" + re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def cell(text: str) -> str:
    """Text in a table."""
    return text.replace("|", r"\|")


def code(text: str) -> str:
    """Code in a table."""
    return f"`{cell(text)}`" if text else ""


def prose(text: str, indent: str = "") -> str:
    """A paragraph of short lines; ``indent``: of all but the first."""
    # Code is not broken.
    text = re.sub(r"`[^`]*`", lambda found: found[0].replace(" ", "\0"), text)
    lines = fill(text, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\0", " ")


def _contents(helps: Iterable[CommandHelp]) -> Iterator[str]:
    """A list; the commands of a group stand below it."""
    for help in helps:
        if help.name:
            indent = "  " * help.name.count(" ")
            yield prose(f"{indent}- [`{help.name}`]({anchor(help.name)}): {help.summary}", f"{indent}  ")


def _section(help: CommandHelp, shared: list[OptionHelp]) -> Iterator[str]:
    yield f"## {help.name}"
    yield f"```\n{help.usage}\n```"
    for paragraph in help.paragraphs:
        yield f"```sh\n{paragraph.text}\n```" if paragraph.verbatim else prose(paragraph.text)
    if help.below:
        yield prose("Commands: " + ", ".join(f"[`{name}`]({anchor(name)})" for name in help.below) + ".")
    if help.arguments:
        yield prose("Arguments: " + ", ".join(map(_argument, help.arguments)) + ".")
    own = [option for option in help.options if option not in shared]
    if own:
        yield _table(own)
    others = [name for option in help.options if option in shared and (name := _name(option)) != "--help"]
    if others:
        link = f"[options of many commands]({anchor('Options of many commands')})"
        yield prose(f"{'Also, of the' if own else 'Of the'} {link}: " + ", ".join(f"`{name}`" for name in others) + ".")
    if help.examples:
        yield "```sh\n" + "\n".join(help.examples) + "\n```"


def _argument(piece: str) -> str:
    """``[INSTANT]`` or ``PATH...``, in words."""
    name = piece.strip("[].").removeprefix("{").removesuffix("}")
    said = ["optional"] if piece.startswith("[") else []
    said += ["repeatable"] if piece.endswith("...") else []
    return f"`{name}`" + (f" ({', '.join(said)})" if said else "")


def _name(option: OptionHelp) -> str:
    """The first long one."""
    return next(word.rstrip(",") for word in option.names.split() if word.startswith("--"))


def _table(options: Iterable[OptionHelp]) -> str:
    rows = [
        f"| {code(option.names)} | {cell(option.help)} | {'required' if option.required else code(option.default)} "
        f"| {code(option.variable)} |"
        for option in options
    ]
    return "\n".join(("| option | | default | variable |", "| --- | --- | --- | --- |", *rows))
