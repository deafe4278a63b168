"""The options by which a profile is chosen: --profile, and -t with its name."""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from hudictl.cli.profiles import read_profiles
from hudictl.errors import HudictlError, NotFound, UsageError
from hudictl.library.profiles import Profile, names_of, profile_named
from hudictl.phrases import printable

Command = TypeVar("Command", bound=Callable[..., Any])

_SAID = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def refuse_typing_error(text: str) -> None:
    """Raises NotFound: the text of -t is neither a path nor a URI, nor a profile's name, but there are profiles."""
    if text and "/" not in text and ":" not in text and not os.path.isdir(text):
        known = read_profiles()
        if known:
            raise NotFound(f"there is no profile and no folder {text}", hint=names_of(known))


def profile_of_table(text: str) -> Profile | None:
    """The profile that -t names; None if the text is a path or URI.

    Raises UsageError: a folder of the working directory has the name, too; the profile has no URI; as
    ``read_profiles``.
    """
    if not text or "/" in text or ":" in text:
        return None
    profile = read_profiles().get(text)
    if profile is None:
        return None
    if os.path.isdir(text):
        raise UsageError(
            f"-t {text}: there is a profile and a folder of this name",
            hint=f"use --profile {text} for the profile, -t ./{text} for the folder",
        )
    if not profile.uri:
        raise UsageError(f"{profile.where('uri')} is missing", hint=f"add it, or use --profile {text} -t URI")
    return profile


def table_and_profile(text: str, profile: Profile | None, *, insist: bool) -> tuple[str, Profile | None]:
    """The URI that -t gives, and the profile for it.

    Args:
        profile: that of --profile.
        insist: --profile is on the command line: then it must be the same one.

    Raises UsageError.
    """
    named = profile_of_table(text)
    if named is None:
        return text, profile
    if profile is not None and insist and profile.name != named.name:
        raise UsageError(
            f"-t {text} is a profile: it cannot be used with --profile {profile.name}",
            hint="use one of them, or -t URI",
        )
    return named.uri, named


def engines_profile(profiles: Iterable[Profile], *, chosen: bool) -> Profile | None:
    """A profile with the engine's settings of several tables alone; None if there are none.

    Args:
        chosen: the engine is given: then settings that differ do not count.

    Raises UsageError: the settings differ.
    """
    found: dict[tuple[object, ...], Profile] = {}
    for profile in profiles:
        settings = ("" if chosen else profile.engine, profile.master, profile.shared_filesystem)
        if any(settings) or profile.spark_conf:
            found.setdefault((*settings, *sorted(map(str, profile.spark_conf.items()))), profile)
    if len(found) > 1 and chosen:
        return None
    if len(found) > 1:
        names = ", ".join(profile.name for profile in found.values())
        raise UsageError(
            f"the profiles {names} have different settings of the engine",
            hint="use --engine: then those of the profiles do not count",
        )
    for profile in found.values():
        return replace(profile, uri="", timezone="", props="", storage_options={}, hoodie_conf={})
    return None


def said(name: str) -> bool:
    """Whether the command line, or a variable, gives an option."""
    return click.get_current_context().get_parameter_source(name) in _SAID


def profile_option(command: Command) -> Command:
    """Adds --profile, as ``profile``. It is read before -t: see ``TableOption``."""

    def read(_context: click.Context, _option: click.Parameter, name: str | None) -> Profile | None:
        return profile_named(name, read_profiles()) if name else None

    option = click.option(
        "--profile",
        is_eager=True,
        callback=read,
        shell_complete=complete_profiles,
        metavar="NAME",
        help="Settings of a table, by their name in a configuration file (docs/profiles.md).",
    )
    return option(command)


class TableOption(click.Option):
    """-t of one table: a URI, or the name of a profile. Without it, the table is that of --profile.

    ``by_profile``: whether --profile names the table.
    """

    def __init__(self, *args: Any, by_profile: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, shell_complete=complete_tables, **kwargs)
        self._by_profile = by_profile

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """The URI. ``profile`` becomes the table's."""
        value, source = super().consume_value(ctx, opts)
        profile = ctx.params.get("profile")
        insist = ctx.get_parameter_source("profile") is ParameterSource.COMMANDLINE
        overruled = insist and profile is not None and profile.uri and source is ParameterSource.ENVIRONMENT
        if isinstance(value, str) and value and not overruled:
            # While the shell completes, nothing is said about mistakes.
            with suppress(*[HudictlError] if ctx.resilient_parsing else []):
                uri, ctx.params["profile"] = table_and_profile(value, profile, insist=insist)
                if uri == value:
                    refuse_typing_error(uri)
                value = uri
        elif profile is not None and profile.uri and self._by_profile:
            return profile.uri, ParameterSource.DEFAULT_MAP
        return value, source


def complete_profiles(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The names of profiles, with their tables."""
    with suppress(HudictlError), context.scope(cleanup=False):
        found = sorted(read_profiles().items())
        return [CompletionItem(name, help=printable(it.uri) or None) for name, it in found if name.startswith(begun)]
    return []


def complete_tables(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Folders, which the shell finds, and profiles."""
    return [CompletionItem(begun, type="dir"), *complete_profiles(context, parameter, begun)]
