"""What is wrong with a profile, as far as a command could find it."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudictl.cli.config_file import Profile
from hudictl.cli.profiles import storage_options_of, writers_settings_of
from hudictl.cli.references import Value, references_in, resolve, texts_in
from hudictl.errors import HudictlError, UsageError
from hudictl.secrets import looks_secret

if TYPE_CHECKING:
    from hudictl.table.locks.config import LockConfig

OK, WARNING, ERROR = "ok", "warning", "error"
_PUBLIC = ("anon", "cache", "cloud", "browser", "google_default")
"""What gcsfs knows as a token besides a secret."""


@dataclass(frozen=True)
class ConfigCheckup:
    """What a check of a profile has found. ``outcome``: one of ok, warning, error. ``advice``: what to do, or empty."""

    profile: str
    check: str
    outcome: str
    text: str
    advice: str
    file: str


def maps_of(profile: Profile) -> Iterator[tuple[str, Value]]:
    """The values of a profile that may be references, by key."""
    for key in ("storage_options", "hoodie_conf", "spark_conf"):
        values: Mapping[str, Value] = getattr(profile, key)
        for name, value in values.items():
            yield f"{key}.{name}", value


def references_of(profile: Profile) -> list[str]:
    """The references of a profile: keys and places."""
    return [f"{key} ({found})" for place, value in maps_of(profile) for key, found in references_in(value, place)]


def check_profile(profile: Profile, *, offline: bool) -> list[ConfigCheckup]:
    """The findings, and what is good about its table."""
    rows = [*_secrets(profile), *_values(profile)]
    if not offline and profile.uri and not any(row.outcome == ERROR for row in rows):
        rows.append(_table(profile))
    if not rows:
        rows.append(_row(profile, "values", OK, "all values can be read"))
    return rows


def _row(profile: Profile, check: str, outcome: str, text: str, advice: str = "") -> ConfigCheckup:
    return ConfigCheckup(profile.name, check, outcome, text, advice, profile.file)


def _secrets(profile: Profile) -> Iterator[ConfigCheckup]:
    """Secrets that others can read, or that are in the file."""
    readers = _readers(profile.file)
    for place, value in maps_of(profile):
        for key in texts_in(value, place):
            if looks_secret(key.partition(".")[2]) and not _is_public(key, value):
                text = f"{key} is a text in {profile.file}{readers}"
                advice = 'write { env = "NAME" } or { file = "/path" } instead'
                yield _row(profile, "secrets", WARNING, text, advice)
        for key, reference in references_in(value, place):
            others = _readers(reference.place) if reference.kind == "file" else ""
            if others:
                yield _row(
                    profile, "secrets", WARNING, f"{key}: {reference.place}{others}", f"chmod go= {reference.place}"
                )


def _readers(file: str) -> str:
    try:
        mode = os.stat(file).st_mode
    except OSError:
        return ""
    return ", which other users can read" if mode & (stat.S_IRGRP | stat.S_IROTH) else ""


def _is_public(key: str, value: Value) -> bool:
    # gcsfs takes the path of a file, too.
    is_token = key == "storage_options.token" and isinstance(value, str)
    return is_token and (value in _PUBLIC or os.path.isabs(str(value)))


def _values(profile: Profile) -> Iterator[ConfigCheckup]:
    missing = False
    for place, value in maps_of(profile):
        try:
            resolve(value, place, secret=False)
        except UsageError as error:
            missing = True
            yield _row(profile, "references", ERROR, error.message, error.hint)
    if profile.timezone:
        from hudictl.table.table import zone_named

        try:
            zone_named(profile.timezone)
        except UsageError as error:
            yield _row(profile, "timezone", ERROR, error.message.removeprefix("--"), error.hint)
    for key in profile.spark_conf:
        if not key.startswith("spark."):
            yield _row(profile, "spark_conf", WARNING, f"{key} does not begin with spark.: Spark ignores it")
    if not missing and profile.props:
        try:
            writers_settings_of(profile, storage_options_of(profile))
        except HudictlError as error:
            yield _row(profile, "props", ERROR, error.message, error.hint)


def _table(profile: Profile) -> ConfigCheckup:
    """Opens the table, and looks at its lock."""
    from hudictl.render.locks import lock_line
    from hudictl.table.locks.config import Locking, supported_lock
    from hudictl.table.table import open_table

    try:
        options = storage_options_of(profile)
        table = open_table(profile.uri, options, profile.timezone)
        config: LockConfig = supported_lock(table, Locking(writers_settings_of(profile, options)))
    except HudictlError as error:
        return _row(profile, "table", ERROR, error.message, error.hint)
    return _row(profile, "table", OK, f"version {table.version}, {table.type}. {lock_line(config)}")
