"""Options of a command that goes through several tables."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import IO, Any

import click
from click.core import ParameterSource

from hudictl.cli.options import OUTPUTS, TABLE_VARIABLE, Command, TableOptions, options_without_table
from hudictl.cli.profile_options import complete_tables, engines_profile, said, table_and_profile
from hudictl.cli.profiles import writers_settings_of
from hudictl.errors import UsageError
from hudictl.library.profiles import Profile


def many_tables_options(*outputs: str) -> Callable[[Command], Command]:
    """Adds the common options, with ``outputs`` of the command's own; it gets the options of each table, once, as
    ``tables``. ``common`` has the engine's settings of their profiles, if these agree."""

    def added(command: Command) -> Command:
        @click.option(
            "-t",
            "--table",
            "named",
            envvar=TABLE_VARIABLE,
            type=_TableUri(),
            multiple=True,
            metavar="URI",
            shell_complete=complete_tables,
            help="Base path of a table, or its profile's name. Repeatable.",
        )
        @click.option(
            "--tables",
            "file",
            type=click.File(encoding="utf-8", errors="surrogateescape"),
            metavar="FILE",
            help="File with one base path or profile on each line; - for standard input. Lines that begin with # are "
            "ignored.",
        )
        @functools.wraps(command)
        def wrapped(common: TableOptions, named: tuple[str, ...], file: IO[str] | None, **kwargs: Any) -> Any:
            lines = [line.strip() for line in file or ()]
            listed = [line for line in lines if line and not line.startswith("#")]
            tables = _tables(common, _counted(named, file, common.profile), listed)
            if not tables:
                raise UsageError(
                    "no table is given", hint="use -t URI, or --tables FILE with one base path on each line"
                )
            profiles = (table.profile for table in tables if table.profile)
            common = replace(common, profile=engines_profile(profiles, chosen=said("engine")))
            return command(common=common, tables=tables, **kwargs)

        return options_without_table(wrapped, (*OUTPUTS, *outputs))  # type: ignore[return-value]

    return added


def settings_of_table(table: TableOptions, given: Mapping[str, str]) -> dict[str, str]:
    """The settings of a table's writers: those of its profile, and over them ``given`` ones.

    Raises UsageError, NotFound, Unreadable, StorageFailed.
    """
    return writers_settings_of(table.profile, table.storage_options) | dict(given)


def _counted(named: tuple[str, ...], file: IO[str] | None, profile: Profile | None) -> tuple[str, ...]:
    """The tables of -t; the environment's do not count where the command line names others."""
    context = click.get_current_context()
    by_profile = context.get_parameter_source("profile") is ParameterSource.COMMANDLINE and profile and profile.uri
    if (file or by_profile) and context.get_parameter_source("named") is ParameterSource.ENVIRONMENT:
        return ()
    return named


def _tables(common: TableOptions, named: tuple[str, ...], listed: list[str]) -> tuple[TableOptions, ...]:
    texts = [*named, *listed]
    if not texts:
        uri = common.profile.uri if common.profile else ""
        return (replace(common, uri=uri),) if uri else ()
    insist = click.get_current_context().get_parameter_source("profile") is ParameterSource.COMMANDLINE
    found: dict[str, TableOptions] = {}
    for text in texts:
        uri, profile = table_and_profile(text, common.profile, insist=insist)
        one_of = text if listed or len(texts) > 1 else ""
        found.setdefault(uri, replace(common, uri=uri, profile=profile, named=one_of))
    return tuple(found.values())


class _TableUri(click.types.StringParamType):
    """Of several in the environment each has its line: a path may have blanks."""

    name = "uri"
    envvar_list_splitter = "\n"
