"""Profiles, as the command line names them: --config, and the secrets that nothing of a command may show."""

from collections.abc import Mapping

import click

from hudictl.library import profiles
from hudictl.library.profiles import LOCK_SETTINGS, Profile

CONFIG = "config_file"
"""The name of --config in the context of the whole command line."""
_SECRETS = "hudictl.secrets"
"""Key of the context's ``meta``, which all contexts of a command line share."""


def config_files() -> list[str]:
    """Where profiles are looked for."""
    return profiles.config_files(_given())


def read_profiles() -> dict[str, Profile]:
    """All profiles by name. Raises UsageError."""
    return profiles.read_profiles(_given())


def _given() -> str:
    context = click.get_current_context(silent=True)
    return (context.find_root().params.get(CONFIG) if context else None) or ""


def resolved(profile: Profile | None, key: str) -> dict[str, str]:
    """The texts of one of a profile's maps. No error of this command line will show those of references.

    Raises UsageError.
    """
    return profiles.resolved(profile, key, _secrets())


def writers_settings_of(profile: Profile | None, storage_options: Mapping[str, str]) -> dict[str, str]:
    """The settings of the table's writers. Raises UsageError, NotFound, Unreadable, StorageFailed."""
    return profiles.writers_settings_of(profile, storage_options, _secrets())


def _secrets() -> set[str]:
    context = click.get_current_context(silent=True)
    found: set[str] = set() if context is None else context.meta.setdefault(_SECRETS, set())
    return found


def secrets_of(context: click.Context | None) -> frozenset[str]:
    """The texts of all references that this command line has resolved until now."""
    return frozenset(context.meta.get(_SECRETS, ()) if context is not None else ())


def lock_source(profile: Profile | None, settings: Mapping[str, str], other: Mapping[str, str]) -> str:
    """What a plan says about lock settings that come from a profile; ``other`` ones are of the command line."""
    keys = {key for key in settings if key.startswith(LOCK_SETTINGS)}
    if profile is None or not keys - other.keys():
        return ""
    also = ", and from the command line" if any(key.startswith(LOCK_SETTINGS) for key in other) else ""
    return f"Lock settings: from the profile {profile.name} ({profile.file}){also}."
