"""What is wrong with a profile, as far as a command could find it without its table."""

import os
import stat
from collections.abc import Iterator

from hudictl.cli.profiles import resolved, writers_settings_of
from hudictl.errors import HudictlError
from hudictl.library.profiles import MAPS, Profile, is_reference, leaves, place_of
from hudictl.reports.doctor.checkup import MISSING, WARNING, Checkup
from hudictl.secrets import is_public, looks_secret


def profile_checkups(profile: Profile) -> Iterator[Checkup]:
    """Values that cannot be used, and secrets that others can read. Nothing, where all is well."""
    yield from _secrets(profile)
    for key in MAPS:
        try:
            resolved(profile, key)
        except HudictlError as error:
            yield Checkup("profile", MISSING, error.message, error.hint)
            return
    for key in profile.spark_conf:
        if not key.startswith("spark."):
            text = f"{profile.where('spark_conf')}: {key} does not begin with spark.: Spark ignores it"
            yield Checkup("profile", WARNING, text)
    try:
        if profile.timezone:
            from hudictl.table.table import zone_named

            zone_named(profile.timezone)
        writers_settings_of(profile, resolved(profile, "storage_options"))
    except HudictlError as error:
        yield Checkup("profile", MISSING, f"{profile.where('')}{error.message}", error.hint)


def _secrets(profile: Profile) -> Iterator[Checkup]:
    """Secrets that others can read, or that are in the file."""
    for key, value in leaves(profile):
        if is_reference(value):
            kind, path = place_of(value, profile)
            if kind == "file" and (readers := _readers(path)):
                yield Checkup("profile", WARNING, f"{profile.where(key)}: {path}{readers}", f"chmod go= {path}")
        elif looks_secret(key.partition(".")[2]) and not is_public(key.partition(".")[2], value):
            text = f"{profile.where(key)} is a text{_readers(profile.file)}"
            yield Checkup("profile", WARNING, text, 'write { env = "NAME" } or { file = "/path" } instead')


def _readers(file: str) -> str:
    try:
        mode = os.stat(file).st_mode
    except OSError:
        return ""
    return ", which other users can read" if mode & (stat.S_IRGRP | stat.S_IROTH) else ""
