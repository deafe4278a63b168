"""Options about the table's writers, and of the commands that must know them: settings, locks, heartbeats."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from hudictl.cli.command_line import HOODIE_CONF
from hudictl.cli.options import (
    PATH,
    ChangeOptions,
    Command,
    EngineOptions,
    TableOptions,
    engine_options,
    pairs_of,
    table_options,
)
from hudictl.cli.profiles import lock_source, writers_settings_of
from hudictl.errors import UsageError
from hudictl.library.times import duration_ms


def change_options(command: Command) -> Command:
    """Adds the options of every command that changes something; the command gets them as ``change``."""
    return table_options(engine_options(_change_options(command)))


def change_options_without_engine(command: Command) -> Command:
    """The same for a change that neither lists nor deletes data files."""
    return table_options(_change_options(command))


def _change_options(command: Command) -> Command:

    @click.option("--plan", "--dry-run", "plan", is_flag=True, help="Show what would change, and change nothing.")
    @click.option(
        "--detailed-exitcode", "detailed", is_flag=True, help="With --plan: exit code 20 if something would change."
    )
    @click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
    @single_operator_option
    @lock_options
    @heartbeat_values
    @no_lock_option
    @functools.wraps(command)
    def wrapped(
        common: TableOptions,
        plan: bool,
        detailed: bool,
        yes: bool,
        single_operator: bool,
        engine_options: EngineOptions | None = None,
        **kwargs: Any,
    ) -> Any:
        if detailed and not plan:
            raise UsageError("--detailed-exitcode can only be used with --plan")
        if common.locking and common.locking.off and not (yes or plan):
            raise UsageError(
                "--no-lock can only be used with --yes; make sure that no other process writes to the table"
            )
        change = ChangeOptions(common, plan, yes, single_operator, detailed, engine_options)
        return command(change=change, **kwargs)

    return wrapped  # type: ignore[return-value]


def lock_options(command: Command) -> Command:
    """Adds --hoodie-conf, --props and --lock-timeout, after the table's options: they become part of ``common``."""

    @_writers_settings("such as hoodie.write.lock.provider (only lock and heartbeat settings are used). Repeatable.")
    @click.option(
        "--lock-timeout",
        callback=lambda _context, _parameter, value: value and duration_ms(value, "--lock-timeout"),
        metavar="DURATION",
        help="Wait this long for the lock. Default: the waiting time in the writers' lock settings.",
    )
    @functools.wraps(command)
    def wrapped(
        common: TableOptions,
        kept: dict[str, str],
        asked: dict[str, str],
        lock_timeout: int | None,
        no_lock: bool = False,
        **kwargs: Any,
    ) -> Any:
        from hudictl.library.opening import of_environment
        from hudictl.table.locks.config import Locking

        locking = Locking(of_environment() | kept | asked, lock_timeout, no_lock)
        source = "" if no_lock else lock_source(common.profile, kept, asked)
        return command(common=replace(common, locking=locking, lock_source=source), **kwargs)

    return wrapped  # type: ignore[return-value]


def settings_options(command: Command) -> Command:
    """Adds --hoodie-conf, --props and --assume-defaults, after the table's options; the command gets ``settings``."""

    @_writers_settings("such as hoodie.keep.max.commits. Repeatable.")
    @heartbeat_values
    @click.option("--assume-defaults", is_flag=True, help="Use Hudi's defaults for thresholds without a setting.")
    @functools.wraps(command)
    def wrapped(kept: dict[str, str], asked: dict[str, str], assume_defaults: bool, **kwargs: Any) -> Any:
        from hudictl.table.settings import Settings

        return command(settings=Settings(kept | asked, assume_defaults), **kwargs)

    return wrapped  # type: ignore[return-value]


def heartbeat_options(command: Command) -> Command:
    """Adds the writers' heartbeat settings to a command that only reads, after the table's options."""

    @_writers_settings("such as hoodie.client.heartbeat.interval_in_ms (only heartbeat settings are used). Repeatable.")
    @heartbeat_values
    @functools.wraps(command)
    def wrapped(kept: dict[str, str], asked: dict[str, str], **kwargs: Any) -> Any:
        return command(**kwargs)

    return wrapped  # type: ignore[return-value]


def heartbeat_values(command: Command) -> Command:
    """Adds --interval, in milliseconds, and --misses."""
    interval = click.option(
        "--interval",
        callback=lambda _context, _parameter, value: None if value is None else duration_ms(value, "--interval"),
        metavar="DURATION",
        help="Heartbeat interval of the writers. Default: hoodie.client.heartbeat.interval_in_ms in their settings, "
        "else 60s.",
    )
    misses = click.option(
        "--misses",
        type=click.IntRange(min=1),
        help="Missed heartbeats before a writer counts as dead. Default: hoodie.client.heartbeat.tolerable.misses in "
        "their settings, else 2. Where the interval is not known, a heartbeat counts as expired after one hour.",
    )
    return interval(misses(command))


def no_lock_option(command: Command) -> Command:
    """Adds --no-lock."""
    option = click.option(
        "--no-lock",
        is_flag=True,
        help="Do not take the configured lock. Make sure that no other process writes to the table.",
    )
    return option(command)


def single_operator_option(command: Command) -> Command:
    """Adds --single-operator."""
    option = click.option(
        "--single-operator",
        is_flag=True,
        help="Confirm that no other hudictl works on this table. Needed if the store cannot create files exclusively.",
    )
    return option(command)


def _writers_settings(help: str) -> Callable[[Command], Command]:
    """Adds --hoodie-conf and --props. The command gets what they and --interval and --misses give as ``asked``: single
    values win over the file, and options over both; the profile's settings as ``kept``; and the heartbeat rule of both
    in ``common``."""

    def added(command: Command) -> Command:
        @click.option(
            HOODIE_CONF, "hoodie_conf", multiple=True, metavar="K=V", help=f"Setting of the table's writers, {help}"
        )
        @click.option(
            "--props",
            metavar="FILE",
            type=PATH,
            help="Properties file with the writers' settings, as for Hudi's own tools (--props).",
        )
        @functools.wraps(command)
        def wrapped(
            common: TableOptions,
            hoodie_conf: tuple[str, ...],
            props: str | None,
            interval: int | None = None,
            misses: int | None = None,
            **kwargs: Any,
        ) -> Any:
            from hudictl.table.beat_rule import INTERVAL, MISSES, heartbeat_rule
            from hudictl.table.config_file import read_settings

            asked = read_settings(props, common.storage_options) if props else {}
            asked |= pairs_of(hoodie_conf, HOODIE_CONF)
            asked |= {key: str(value) for key, value in ((INTERVAL, interval), (MISSES, misses)) if value is not None}
            kept = writers_settings_of(common.profile, common.storage_options)
            said = INTERVAL in asked or MISSES in asked
            common = replace(common, rule=heartbeat_rule(kept | asked), rule_said=said)
            return command(common=common, kept=kept, asked=asked, **kwargs)

        return wrapped  # type: ignore[return-value]

    return added
