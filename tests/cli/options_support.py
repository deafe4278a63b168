"""The options of the command that words name."""

import click

from hudictl.cli.main import hudictl


def command_at(words: list[str]) -> click.Command:
    """The command that words name."""
    found: click.Command = hudictl
    for word in words:
        if not isinstance(found, click.Group) or word not in found.commands:
            break
        found = found.commands[word]
    return found


def takes(words: list[str]) -> dict[str, bool]:
    """The options of the command that words name, and whether they have a value."""
    options = [option for option in command_at(words).params if isinstance(option, click.Option)]
    return {name: not option.is_flag for option in options for name in option.opts}
