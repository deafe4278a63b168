"""Profiles, as ``config list`` shows them."""

from dataclasses import dataclass


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
