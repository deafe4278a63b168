"""The command line: the group of all commands, and the way from every outcome to an exit code."""

import gc
import os
import re
from collections import UserDict
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import click
from click.shell_completion import add_completion_class

from hudictl import __version__
from hudictl.cli.complete import Bash
from hudictl.cli.environment import give_variables
from hudictl.cli.examples import give_examples
from hudictl.cli.options import PATH
from hudictl.cli.profiles import CONFIG, secrets_of
from hudictl.cli.streams import emit, in_color, require_output, say
from hudictl.cli.to_copy import to_copy
from hudictl.cli.tree import StrictGroup, every_command
from hudictl.errors import HudictlError, Interrupted, UsageError, vanished
from hudictl.formats.layouts import META
from hudictl.phrases import printable, quoted
from hudictl.render.json import error_object
from hudictl.render.nagios import NAGIOS, UNKNOWN, unknown
from hudictl.secrets import masked, masked_error


@click.group(cls=StrictGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hudictl")
@click.option("--config", CONFIG, metavar="FILE", type=PATH, help="A file with profiles: they win over the user's own.")
def hudictl(config_file: str | None) -> None:
    """Administer Apache Hudi tables: timeline, savepoints, restores, rollbacks, logs.

    Exit code 0: done, or nothing to do. All exit codes: docs/exit-codes.md.
    """


class _Commands(UserDict[str, Any]):
    """All commands by name. Each is imported when it is asked for: starts and completions stay quick."""

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            module = name.replace("-", "_")
            self.data[name] = getattr(import_module(f"hudictl.cli.commands.{module}"), module)
            for path, each in every_command(self.data[name], name):
                give_variables(each)
                give_examples(path, each)
        return self.data[name]


give_variables(hudictl)
_NAMES = (
    *(
        "table",
        "timeline",
        "archive",
        "commit",
        "checkpoint",
        "clean",
        "compaction",
        "clustering",
        "indexing",
        "partition",
        "stats",
        "savepoint",
        "restore",
        "rollback",
        "resume",
        "undo",
        "wait",
        "copy",
        "failed-writes",
        "heartbeat",
        "marker",
    ),
    *("orphans", "file", "record", "log", "metadata", "lock", "check", "why", "apply", "history", "doctor", "config"),
    *("schema", "demo", "completion", "mcp"),
)
hudictl.commands = _Commands(dict.fromkeys(_NAMES))

_INTERRUPTED = Interrupted("interrupted", hint="`hudictl table show` reports whether something is pending")


def run(arguments: Sequence[str]) -> int:
    """Runs a command line; returns its exit code. Errors are one line (or one JSON object) on stderr."""
    # What a command makes has hardly any cycles, and most of it lives until the end: with Python's own setting, large
    # tables take a third longer.
    gc.set_threshold(100_000, 50, 100)
    contexts: list[click.Context] = []
    fail = partial(_fail, arguments, contexts)
    try:
        require_output()
        if "_HUDICTL_COMPLETE" in os.environ:
            add_completion_class(Bash)
            hudictl.main(list(arguments), prog_name="hudictl")
        # Not ``main``: click ends the process by itself where the reader of our output has gone.
        with hudictl.make_context("hudictl", list(arguments)) as context:
            contexts.append(context)
            hudictl.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return fail(_INTERRUPTED)
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.format_message())
        return UsageError.exit_code
    except click.UsageError as error:
        return fail(UsageError(_one_line(error), hint=_usage_hint(arguments, error)))
    except click.ClickException as error:
        return fail(UsageError(_one_line(error)))
    except HudictlError as error:
        return fail(error)
    except Exception as error:
        if os.environ.get("HUDICTL_DEBUG"):
            from traceback import format_exception

            traced = masked_error(masked("".join(format_exception(error)), _secrets(contexts)))
            say("\n".join(map(printable, traced.splitlines())))
        return fail(_unexpected(error))
    return 0


def _one_line(error: click.ClickException) -> str:
    # Click lists the values of a choice one a line.
    return " ".join(error.format_message().split())


def _usage_hint(arguments: Sequence[str], error: click.UsageError) -> str:
    """Where to look; or what was meant: a table that was given without its option, or an option that is no command."""
    if isinstance(error, click.MissingParameter) and error.param is not None and "--table" in error.param.opts:
        table = next((one for one in arguments if os.path.isdir(os.path.join(one, META))), None)
        if table is not None:
            return f"did you mean `--table={quoted(table)}`?"
    if arguments[:2] == ["config", "check"]:
        return "use `hudictl doctor`: it checks profiles, too"
    if arguments[:1] in (["help"], ["version"]):
        return f"did you mean `hudictl --{arguments[0]}`?"
    return f"see `{error.ctx.command_path if error.ctx else 'hudictl'} --help`"


def _unexpected(error: Exception) -> HudictlError:
    # What Python before 3.12 makes of Ctrl-C while a class is being made, as imports do.
    if isinstance(error.__cause__, KeyboardInterrupt):
        return _INTERRUPTED
    if isinstance(error, FileNotFoundError):
        return vanished(error)
    return HudictlError(
        f"a bug in hudictl: {type(error).__name__}: {error}",
        hint="set HUDICTL_DEBUG=1, run the command again, and report the traceback",
    )


def _fail(arguments: Sequence[str], contexts: Sequence[click.Context], error: HudictlError) -> int:
    if contexts:
        error.hint = to_copy(contexts[0]).text(error.hint)
    output = _output(arguments)
    secrets = _secrets(contexts)
    said = masked(f"{error.message} ({error.hint})" if error.hint else error.message, secrets)
    if output == NAGIOS:
        emit(unknown(said))
        return UNKNOWN
    if output in ("json", "ndjson"):
        say(masked(error_object(error), secrets))
    else:
        name = f"{error.slug} ({error.exit_code})"
        # Click takes the colour away again where standard error is no terminal.
        name = click.style(name, fg="red", bold=True) if in_color("--no-color" in arguments) else name
        say(f"hudictl: {name}: {printable(said)}")
    return error.exit_code


def _secrets(contexts: Sequence[click.Context]) -> frozenset[str]:
    return frozenset().union(*map(secrets_of, contexts))


def _output(arguments: Sequence[str]) -> str:
    """Asked of the raw arguments: an error may come before they are parsed."""
    asked = os.environ.get("HUDICTL_OUTPUT", "")
    for option, following in pairwise([*arguments, ""]):
        match = re.match(r"(?:--output(?:=|$)|-v*o)(.*)$", option)
        if match:
            asked = match[1] or following
    return asked
