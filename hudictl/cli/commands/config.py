"""``hudictl config``."""

import os
from typing import TYPE_CHECKING

import click

from hudictl.cli.options import TableOptions, options_without_table
from hudictl.cli.profiles import config_files, read_profiles
from hudictl.cli.show import show_rows
from hudictl.cli.tree import StrictGroup
from hudictl.errors import HudictlError
from hudictl.library.profiles import Profile, is_reference, leaves, place_of

if TYPE_CHECKING:
    from hudictl.reports.profiles import ProfileRow

_PROVIDER = "hoodie.write.lock.provider"


@click.group(cls=StrictGroup)
def config() -> None:
    """Show profiles: the settings of tables, by name (docs/profiles.md). `hudictl doctor` checks them."""


@config.command("list")
@options_without_table
def list_profiles(common: TableOptions) -> None:
    """List the profiles of your file, and of that of --config. Values of secrets are not shown, and not read."""
    from hudictl.reports.profiles import ProfileRow

    none = f"no profiles: there is no {' and no '.join(config_files())}"
    rows = [_row_of(profile) for _, profile in sorted(read_profiles().items())]
    show_rows(common, "config list", None, rows, ProfileRow, none)


def _row_of(profile: Profile) -> "ProfileRow":
    from hudictl.reports.profiles import ProfileRow

    return ProfileRow(
        profile=profile.name,
        uri=profile.uri,
        engine=profile.engine or None,
        lock_provider=_provider(profile),
        references=tuple(
            f"{key} ({' '.join(place_of(value, profile))})" for key, value in leaves(profile) if is_reference(value)
        ),
        file=profile.file,
    )


def _provider(profile: Profile) -> str | None:
    """By its short name; that of a properties file is read if the file is on this host."""
    value = profile.hoodie_conf.get(_PROVIDER)
    if isinstance(value, dict):
        return " ".join(place_of(value, profile))
    if value is None and profile.props and os.path.isabs(profile.props):
        from hudictl.table.config_file import read_settings

        try:
            value = read_settings(profile.props, {}).get(_PROVIDER)
        except HudictlError:
            return f"unknown: {profile.props} cannot be read"
    return value.rpartition(".")[2] if isinstance(value, str) else None
