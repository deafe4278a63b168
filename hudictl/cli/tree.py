"""The tree of commands."""

from collections.abc import Iterator

import click


def every_command(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, each behind its group, by the names that follow ``hudictl``; hidden ones, too."""
    yield name, command
    if isinstance(command, click.Group):
        for below_name, below in command.commands.items():
            yield from every_command(below, f"{name} {below_name}".lstrip())
