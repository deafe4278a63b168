"""The tree of commands."""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import click

from hudictl.cli.to_copy import keep_given
from hudictl.errors import UsageError

_INSTANTS = ("instant", "instants", "savepoint", "to_instant", "as_of")
"""The parameters that name an instant."""


def every_command(command: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    """A command and all below it, each behind its group, by the names that follow ``hudictl``; hidden ones, too."""
    yield name, command
    if isinstance(command, click.Group):
        for below_name, below in command.commands.items():
            yield from every_command(below, f"{name} {below_name}".lstrip())


class StrictCommand(click.Command):
    """A command that refuses an option that is given again: click takes the last value, and drops the others. And an
    instant that is empty, as a variable that is not set: there is nothing to name it by."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raises UsageError."""
        _each_once(self, ctx, args)
        return super().parse_args(ctx, args)


class StrictGroup(StrictCommand, click.Group):
    """A group of such commands."""

    command_class = StrictCommand
    group_class = type


class CommandWithMore(StrictGroup):
    """A command that has others below it: a first argument that is the name of one stands for this one."""

    allow_extra_args = False
    allow_interspersed_args = True

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["invoke_without_command"] = True
        super().__init__(*args, **kwargs)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return click.Command.collect_usage_pieces(self, ctx)

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if args[:1] and args[0] in self.commands:
            # Without the parameters of this one: they do not stand before those of the others.
            above = click.Context(click.Group(self.name), info_name=info_name, parent=parent)
            return self.commands[args[0]].make_context(args[0], args[1:], parent=above, **extra)
        return super().make_context(info_name, args, parent, **extra)


def hidden(command: click.Command) -> click.Command:
    """The same command under a name that it had before: for one release, and not in the help."""
    other = copy(command)
    other.hidden = True
    return other


def _each_once(command: click.Command, ctx: click.Context, args: Sequence[str]) -> None:
    """Raises UsageError: an option with one value is given several times, or an instant is empty."""
    if ctx.resilient_parsing:
        return
    given, _, found = command.make_parser(ctx).parse_args(args=list(args))
    keep_given(ctx, given)
    for parameter in command.params:
        value = given.get(parameter.name or "")
        if parameter.name in _INSTANTS and (value == "" or (isinstance(value, tuple) and "" in value)):
            said = parameter.opts[0] if isinstance(parameter, click.Option) else "INSTANT"
            raise UsageError(f"{said} is empty", hint="give an instant time, as in `hudictl timeline show`")
    for option, times in Counter(entry for entry in found if isinstance(entry, click.Option)).items():
        if times > 1 and not (option.multiple or option.is_flag or option.count):
            name = max(option.opts, key=len)
            once = f"give it once, as {name} {option.metavar}" if "," in (option.metavar or "") else ""
            raise UsageError(
                f"{name} is given {times} times: this command takes one value",
                hint=once or "give it once; for several tables, run the command for each",
            )
