"""Every exception that hudictl raises on purpose; each class carries its exit code and its slug."""

from typing import Any


class HudictlError(Exception):
    """Base class: a message (what, which value), a hint (the way out), and fields for JSON."""

    slug = "internal"
    exit_code = 1
    meaning = "a bug in hudictl"

    def __init__(self, message: str, *, hint: str = "", **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fields = fields


class UsageError(HudictlError):
    """An argument or option has a value that the command cannot take."""

    slug = "usage"
    exit_code = 2
    meaning = "usage: an unknown command or option, or a value that cannot be taken"


class Incomplete(HudictlError):
    """The operation ran, and some items failed; it stays pending and is safe to run again."""

    slug = "incomplete"
    exit_code = 3
    meaning = (
        "finished with findings (`check`, `log verify`, `metadata verify`, `why`, `--verify`, `--strict`), "
        "or with items that failed: the operation stays pending, and is safe to run again"
    )


class NotConfirmed(HudictlError):
    """The operator declined, or nobody could be asked."""

    slug = "not-confirmed"
    exit_code = 4
    meaning = "not confirmed: declined, or no terminal and no `--yes`"


class NotFound(HudictlError):
    """There is no Hudi table at the URI."""

    slug = "not-found"
    exit_code = 10
    meaning = "no Hudi table at the URI, no file at the path"


class Unsupported(HudictlError):
    """A table version, layout, feature, lock provider or store that hudictl does not write."""

    slug = "unsupported"
    exit_code = 11
    meaning = "unsupported: table version, layout, feature, lock provider, store"


class Conflict(HudictlError):
    """Somebody else acts on the table now."""

    slug = "conflict"
    exit_code = 12
    meaning = "somebody else acts now: a lock, a claim, a live heartbeat, a timeline that moved"


class Refused(HudictlError):
    """A guard refused the operation; nothing was changed."""

    slug = "refused"
    exit_code = 13
    meaning = (
        "refused by a guard: the named instant or savepoint is absent, another restore or a rollback is pending, "
        "a later savepoint is in the way, a file is missing"
    )


class Unreadable(HudictlError):
    """A metadata file is damaged, of another kind than its name says, or contradicts another one."""

    slug = "unreadable"
    exit_code = 14
    meaning = "metadata unreadable or inconsistent"


class StorageFailed(HudictlError):
    """The storage refused or failed: no permission, no space, no connection."""

    slug = "storage"
    exit_code = 15
    meaning = "storage failed: no permission, disk full, no connection"


class EngineFailed(HudictlError):
    """The engine is missing or failed; hudictl never changes to the other engine by itself."""

    slug = "engine"
    exit_code = 16
    meaning = "engine failed or missing (no Java): never a silent change to the other engine"


class OutcomeUnknown(StorageFailed):
    """A store's answer was lost, and a look afterwards cannot tell."""

    slug = "outcome-unknown"
    exit_code = 17
    meaning = "a store's answer was lost, and a look afterwards cannot tell"


class Interrupted(HudictlError):
    """SIGINT or SIGTERM."""

    slug = "interrupted"
    exit_code = 130
    meaning = "interrupted (SIGINT, SIGTERM): run the same command again to go on"
