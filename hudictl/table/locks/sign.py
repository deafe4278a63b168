"""What is seen of a lock from outside."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LockSign:
    """A lock that exists: the provider that made it, and whether it is held now. ``expired``: its own time is over, and
    it was not released.

    ``path`` is a path below the table, or the lock's place elsewhere. ``owner`` is None if it is not named. ``age_ms``:
    since its last change, None if that is not stored. ``expires_in_ms`` is below 0 if it has expired, and None if it
    does not expire, or that is not known.
    """

    path: str
    provider: str
    held: bool
    expired: bool
    owner: str | None
    age_ms: int | None
    expires_in_ms: int | None
    content: str
