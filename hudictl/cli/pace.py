"""Options of how fast a change may go: what it waits for, and what it takes for dead."""

import functools
from dataclasses import dataclass
from typing import Any

import click

from hudictl.cli.options import Command, idle_option
from hudictl.library.options import refuse_value
from hudictl.library.profiles import Profile
from hudictl.library.times import duration_ms


@dataclass(frozen=True)
class Pace:
    """What a restore or rollback waits for, and what it takes for dead; the fields are those of their options."""

    idle_ms: int
    settle_s: float
    grace_s: float
    keep_backup: bool
    keep_files: bool


keep_files_option = click.option(
    "--keep-files/--delete-files",
    default=None,
    help="Move the files into .hoodie/.hudictl/undo, instead of deleting them. `hudictl undo` brings all back, until "
    "the next write. Default: as the profile says, or delete.",
)


def keeps_files(given: bool | None) -> bool:
    """Whether files are kept: as the command line says, else as the profile."""
    profile = profile_given()
    return given if given is not None else profile is not None and bool(profile.keep_files)


def profile_given() -> Profile | None:
    """The profile of the command that runs."""
    found: Profile | None = click.get_current_context().params.get("profile")
    return found


def pace_options(command: Command) -> Command:
    """Adds --settle, --grace, --keep-backup, --keep-files and --idle; the command gets them as ``pace``."""

    @click.option(
        "--settle",
        default="2s",
        show_default=True,
        callback=_settle_seconds,
        metavar="DURATION",
        help="Wait this long after the request, then check again for new writes (20s). At least 2s.",
    )
    @click.option(
        "--grace",
        default="0s",
        callback=lambda _context, _parameter, value: duration_ms(value, "--grace") / 1000,
        metavar="DURATION",
        help="Wait this long before files are deleted, so that running queries can finish (90s, 5m); files that would "
        "hide rows, which the plan names, go before. New queries do not see the commits any more. Until the first "
        "deletion `hudictl resume --withdraw` takes a restore back; with --keep-files `hudictl undo` does, also a "
        "rollback, which has no other way back.",
    )
    @click.option(
        "--keep-backup",
        is_flag=True,
        help="Keep the removed instants' timeline files in .hoodie/.rollback_backup. Data files are still deleted.",
    )
    @keep_files_option
    @idle_option
    @functools.wraps(command)
    def wrapped(
        settle: float, grace: float, keep_backup: bool, keep_files: bool | None, idle_ms: int, **kwargs: Any
    ) -> Any:
        return command(pace=Pace(idle_ms, settle, grace, keep_backup, keeps_files(keep_files)), **kwargs)

    return wrapped  # type: ignore[return-value]


def _settle_seconds(_context: click.Context, _parameter: click.Parameter, value: str) -> float:
    """A duration, or a number of seconds, also one with a fraction."""
    try:
        settle = float(value)
    except ValueError:
        settle = duration_ms(value, "--settle") / 1000
    refuse_value("settle_s", settle, f"--settle {value}")
    return settle
