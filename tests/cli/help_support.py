"""What the tests of help share with others."""

import click

from hudictl.cli.main import hudictl
from hudictl.cli.tree import every_command

COMMANDS = {
    name: command
    for name, command in every_command(hudictl)
    if not command.hidden and (not isinstance(command, click.Group) or command.invoke_without_command)
}
"""All commands that are shown, without the groups that do nothing by themselves."""
