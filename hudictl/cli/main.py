"""The command line: the group of all commands, and the way from every outcome to an exit code."""

import gc
import os
import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import click

from hudictl import __version__
from hudictl.cli.commands.apply import apply
from hudictl.cli.commands.check import check
from hudictl.cli.commands.completion import completion
from hudictl.cli.commands.config import config
from hudictl.cli.commands.demo import demo
from hudictl.cli.commands.doctor import doctor
from hudictl.cli.commands.failed_writes import failed_writes
from hudictl.cli.commands.file import file
from hudictl.cli.commands.heartbeat import heartbeat
from hudictl.cli.commands.history import history
from hudictl.cli.commands.lock import lock
from hudictl.cli.commands.log import log
from hudictl.cli.commands.marker import marker
from hudictl.cli.commands.metadata import metadata
from hudictl.cli.commands.orphans import orphans
from hudictl.cli.commands.restore import restore
from hudictl.cli.commands.resume import resume
from hudictl.cli.commands.rollback import rollback
from hudictl.cli.commands.savepoint import savepoint
from hudictl.cli.commands.table import table
from hudictl.cli.commands.timeline import timeline
from hudictl.cli.commands.why import why
from hudictl.cli.environment import give_variables
from hudictl.cli.examples import give_examples
from hudictl.cli.profiles import CONFIG
from hudictl.cli.references import secrets_of
from hudictl.cli.streams import emit, in_color, require_output, say
from hudictl.cli.tree import StrictGroup, every_command
from hudictl.errors import HudictlError, Interrupted, UsageError, vanished
from hudictl.phrases import printable
from hudictl.render.json import error_object
from hudictl.render.nagios import NAGIOS, UNKNOWN, unknown
from hudictl.secrets import masked


@click.group(cls=StrictGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="hudictl")
@click.option("--config", CONFIG, metavar="FILE", help="A file with profiles: they win over the user's own.")
def hudictl(config_file: str | None) -> None:
    """Administer Apache Hudi tables: timeline, savepoints, restores, rollbacks, logs.

    Exit code 0: done, or nothing to do. All exit codes: docs/exit-codes.md.
    """


for command in (
    *(table, timeline, savepoint, restore, rollback, resume, failed_writes, heartbeat, marker),
    *(orphans, file, log, metadata, lock, check, why, apply, history, doctor, config, demo, completion),
):
    hudictl.add_command(command)
for name, each in every_command(hudictl):
    give_variables(each)
    give_examples(name, each)


# Click before 8.2 shows the help itself, and has no such error.
_NO_COMMAND: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
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
            hudictl.main(list(arguments), prog_name="hudictl")
        # Not ``main``: click ends the process by itself where the reader of our output has gone.
        with hudictl.make_context("hudictl", list(arguments)) as context:
            contexts.append(context)
            hudictl.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except (click.Abort, KeyboardInterrupt):
        return fail(_INTERRUPTED)
    except _NO_COMMAND as error:
        say(error.format_message())
        return UsageError.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "hudictl"
        return fail(UsageError(_one_line(error), hint=f"see `{path} --help`"))
    except click.ClickException as error:
        return fail(UsageError(_one_line(error)))
    except HudictlError as error:
        return fail(error)
    except Exception as error:
        if os.environ.get("HUDICTL_DEBUG"):
            raise
        return fail(_unexpected(error))
    return 0


def _one_line(error: click.ClickException) -> str:
    # Click lists the values of a choice one a line.
    return " ".join(error.format_message().split())


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
    output = _output(arguments)
    secrets = frozenset().union(*map(secrets_of, contexts))
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


def _output(arguments: Sequence[str]) -> str:
    """Asked of the raw arguments: an error may come before they are parsed."""
    asked = os.environ.get("HUDICTL_OUTPUT", "")
    for option, following in pairwise([*arguments, ""]):
        match = re.match(r"(?:--output(?:=|$)|-v*o)(.*)$", option)
        if match:
            asked = match[1] or following
    return asked
