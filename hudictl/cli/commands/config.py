"""``hudictl config``."""

import os
from dataclasses import dataclass

import click

from hudictl.cli.config_file import Profile
from hudictl.cli.options import TableOptions, options_without_table
from hudictl.cli.profiles import complete_profiles, config_files, profile_named, read_profiles
from hudictl.cli.references import Reference
from hudictl.cli.show import show_rows
from hudictl.cli.tree import StrictGroup
from hudictl.errors import Findings, HudictlError
from hudictl.phrases import count_of

_PROVIDER = "hoodie.write.lock.provider"


@dataclass(frozen=True)
class ProfileRow:
    """A profile. ``lock_provider``: the class of the writers' lock; None if the profile names none. ``references``: the
    keys whose values are elsewhere, and where.
    """

    profile: str
    uri: str
    engine: str | None
    lock_provider: str | None
    references: tuple[str, ...]
    file: str


@click.group(cls=StrictGroup)
def config() -> None:
    """Show and check profiles: the settings of tables, by name (docs/profiles.md)."""


@config.command("list")
@options_without_table
def list_profiles(common: TableOptions) -> None:
    """List the profiles of your file, and of that of --config. Values of secrets are not shown, and not read."""
    rows = [_row_of(profile) for _, profile in sorted(read_profiles().items())]
    show_rows(common, "config list", None, rows, ProfileRow, _none())


@config.command()
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=complete_profiles)
@click.option("--offline", is_flag=True, help="Do not open the tables.")
@options_without_table
def check(common: TableOptions, names: tuple[str, ...], offline: bool) -> None:
    """Check profiles, all without a NAME: references, values, secrets; then open each table, and show its lock.

    Exit code 3 for a warning or an error, else 0. A file that is not valid: exit code 2, as for each command.
    """
    from hudictl.cli.config_checks import OK, ConfigCheckup, check_profile

    profiles = [profile_named(name) for name in names] or [found for _, found in sorted(read_profiles().items())]
    rows = [row for profile in profiles for row in check_profile(profile, offline=offline)]
    show_rows(common, "config check", None, rows, ConfigCheckup, _none(), hidden=("file",))
    wrong = [row for row in rows if row.outcome != OK]
    if wrong:
        raise Findings(
            f"{count_of(len(wrong), 'finding')} in {count_of(len(profiles), 'profile')}", findings=len(wrong)
        )


def _none() -> str:
    return f"no profiles: there is no {' and no '.join(config_files())}"


def _row_of(profile: Profile) -> ProfileRow:
    from hudictl.cli.config_checks import references_of

    return ProfileRow(
        profile=profile.name,
        uri=profile.uri,
        engine=profile.engine,
        lock_provider=_provider(profile),
        references=tuple(references_of(profile)),
        file=profile.file,
    )


def _provider(profile: Profile) -> str | None:
    """By its short name; that of a properties file is read if the file is on this host."""
    value = profile.hoodie_conf.get(_PROVIDER)
    if isinstance(value, Reference):
        return str(value)
    if value is None and profile.props and os.path.isabs(profile.props):
        from hudictl.table.settings import read_settings

        try:
            value = read_settings(profile.props, {}).get(_PROVIDER)
        except HudictlError:
            return f"unknown: {profile.props} cannot be read"
    return value.rpartition(".")[2] if isinstance(value, str) else None
