"""Profiles: a table's settings by a name, from configuration files."""

import difflib
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from hudictl.cli.config_file import Profile, parse_profiles
from hudictl.cli.references import Value, resolve
from hudictl.errors import HudictlError, NotFound, UsageError
from hudictl.phrases import printable
from hudictl.secrets import looks_secret
from hudictl.trust import stranger_at

Command = TypeVar("Command", bound=Callable[..., Any])

CONFIG = "config_file"
"""The name of --config in the context of the whole command line."""
_LARGEST = 1024 * 1024
_LOCK_SETTINGS = ("hoodie.write.lock.", "hoodie.write.concurrency.")
_SAID = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)


def config_files() -> list[str]:
    """Where profiles are looked for: in the user's file, and in that of --config, which wins."""
    home = os.environ.get("XDG_CONFIG_HOME", "")
    folder = home if os.path.isabs(home) else os.path.join(os.path.expanduser("~"), ".config")
    given = _given()
    return [os.path.join(folder, "hudictl", "config.toml"), *([os.path.abspath(given)] if given else [])]


def read_profiles() -> dict[str, Profile]:
    """All profiles by name. One in the file of --config replaces the user's of this name as a whole.

    Raises UsageError: a file cannot be read, is wrong, or others can write it; there is none of --config.
    """
    found: dict[str, Profile] = {}
    for file in config_files():
        body = _read(file)
        if body is not None:
            found |= parse_profiles(body, file)
        elif _given() and file == os.path.abspath(_given()):
            raise UsageError(f"there is no configuration file {file}", hint="correct --config, or HUDICTL_CONFIG")
    return found


def _given() -> str:
    context = click.get_current_context(silent=True)
    return (context.find_root().params.get(CONFIG) if context else None) or ""


def profile_named(name: str) -> Profile:
    """Raises UsageError: there is none of this name; as ``read_profiles``."""
    known = read_profiles()
    if name not in known:
        raise UsageError(
            f"there is no profile {name}",
            hint=f"{_closest(name, known)}; `hudictl config list` shows the profiles and their files",
        )
    return known[name]


def refuse_typing_error(text: str) -> None:
    """Raises NotFound: the text of -t is neither a path nor a URI, nor a profile's name, but there are profiles."""
    if text and "/" not in text and ":" not in text and not os.path.isdir(text):
        known = read_profiles()
        if known:
            raise NotFound(f"there is no profile and no folder {text}", hint=_closest(text, known))


def _closest(name: str, known: Mapping[str, Profile]) -> str:
    close = difflib.get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else f"profiles: {', '.join(sorted(known)) or 'none'}"


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


def resolved(values: Mapping[str, Value], profile: Profile, key: str) -> dict[str, str]:
    """The texts of a profile's map. Raises UsageError: see ``resolve``."""
    # Plans and errors show a table's lock: where it is, is no secret.
    return {
        name: resolve(
            value,
            profile.where(f"{key}.{name}"),
            secret=not name.startswith(_LOCK_SETTINGS) or looks_secret(name),
        )
        for name, value in values.items()
    }


def storage_options_of(profile: Profile | None) -> dict[str, str]:
    """Raises UsageError."""
    return resolved(profile.storage_options, profile, "storage_options") if profile else {}


def writers_settings_of(profile: Profile | None, storage_options: Mapping[str, str]) -> dict[str, str]:
    """The settings of the table's writers: of the properties file, and single ones over them.

    Raises UsageError, NotFound, Unreadable, StorageFailed.
    """
    if profile is None:
        return {}
    from hudictl.table.settings import read_settings

    read = read_settings(profile.props, storage_options) if profile.props else {}
    return read | resolved(profile.hoodie_conf, profile, "hoodie_conf")


def lock_source(profile: Profile | None, settings: Mapping[str, str], other: Mapping[str, str]) -> str:
    """What a plan says about lock settings that come from a profile; ``other`` ones are of the command line."""
    keys = {key for key in settings if key.startswith(_LOCK_SETTINGS)}
    if profile is None or not keys - other.keys():
        return ""
    also = ", and from the command line" if any(key.startswith(_LOCK_SETTINGS) for key in other) else ""
    return f"Lock settings: from the profile {profile.name} ({profile.file}){also}."


def engines_profile(profiles: Iterable[Profile], *, chosen: bool) -> Profile | None:
    """A profile with the engine's settings of several tables alone; None if there are none.

    Args:
        chosen: the engine is given: then settings that differ do not count.

    Raises UsageError: the settings differ.
    """
    found: dict[tuple[object, ...], Profile] = {}
    for profile in profiles:
        settings = (None if chosen else profile.engine, profile.master, profile.shared_filesystem)
        if any(settings) or profile.spark_conf:
            found.setdefault((*settings, *sorted(profile.spark_conf.items(), key=str)), profile)
    if len(found) > 1 and chosen:
        return None
    if len(found) > 1:
        names = ", ".join(profile.name for profile in found.values())
        raise UsageError(
            f"the profiles {names} have different settings of the engine",
            hint="use --engine: then those of the profiles do not count",
        )
    for profile in found.values():
        return replace(profile, uri="", timezone=None, props=None, storage_options={}, hoodie_conf={})
    return None


def said(name: str) -> bool:
    """Whether the command line, or a variable, gives an option."""
    return click.get_current_context().get_parameter_source(name) in _SAID


def profile_option(command: Command) -> Command:
    """Adds --profile, as ``profile``. It is read before -t: see ``TableOption``."""

    def read(_context: click.Context, _option: click.Parameter, name: str | None) -> Profile | None:
        return profile_named(name) if name else None

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


def _read(file: str) -> bytes | None:
    """Raises UsageError: it cannot be read, or is not the operator's alone."""
    try:
        # A pipe would never end.
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise UsageError(f"cannot read {file}: not a regular file")
            stranger = stranger_at(file)
            if stranger is not None:
                raise UsageError(
                    f"{file} is not used: {stranger}",
                    hint="a configuration file and its folder must be root's or your own: chown it, and chmod go-w",
                )
            body = stream.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from error
    if len(body) > _LARGEST:
        raise UsageError(f"{file} has more than {_LARGEST} bytes: not a configuration file")
    return body
