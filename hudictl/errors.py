"""Every exception that hudictl raises on purpose; each class carries its exit code and its slug."""

from typing import Any

from hudictl.secrets import masked_error

WOULD_CHANGE = 20
"""The exit code of ``--plan --detailed-exitcode`` where something would change."""


class HudictlError(Exception):
    """Base class: a message (what happened, which value), a hint (what to do), and fields for JSON.

    Message and hint are without secrets: a driver of a store may have quoted them.
    """

    slug = "internal"
    exit_code = 1
    meaning = "a bug in hudictl"

    def __init__(self, message: str, *, hint: str = "", **fields: Any) -> None:
        self.message, self.hint = masked_error(message), masked_error(hint)
        super().__init__(self.message)
        self.fields = fields


class UsageError(HudictlError):
    """An argument or option has an invalid value."""

    slug = "usage"
    exit_code = 2
    meaning = "usage: an unknown command or option, or an invalid value"


class Incomplete(HudictlError):
    """The operation ran, but some items failed: it stays pending, and it is safe to run it again."""

    slug = "incomplete"
    exit_code = 3
    meaning = (
        "some items failed or need another command, or (only with `--strict`) were skipped because their state is "
        "unknown: they stay pending, and it is safe to run the command again"
    )


class Findings(Incomplete):
    """A command has finished, and found something. ``report``: what a command that changes a table has done."""

    slug = "findings"
    meaning = (
        "finished with findings: `check`, `log verify`, `metadata verify`, `record duplicates`, `why`, "
        "`savepoint show --verify`, `copy` where there is one; a restore or rollback that is done, but has lost an "
        "index that `--require-index` names, or cannot be undone although it was to keep its files"
    )

    def __init__(self, message: str, *, hint: str = "", report: Any = None, **fields: Any) -> None:
        super().__init__(message, hint=hint, **fields)
        self.report = report


class NotConfirmed(HudictlError):
    """The operator declined, or there was no terminal for the question."""

    slug = "not-confirmed"
    exit_code = 4
    meaning = "not confirmed: declined, or no terminal and no `--yes`"


class NotFound(HudictlError):
    """What a path or a name stands for is not there; an instant or savepoint that is not there is ``Refused``."""

    slug = "not-found"
    exit_code = 10
    meaning = "no Hudi table at the URI, no file at the path; no such file, partition or index in the table"


class Unsupported(HudictlError):
    """A table version, layout, feature, lock provider or store that hudictl does not write."""

    slug = "unsupported"
    exit_code = 11
    meaning = "unsupported: table version, layout, feature, lock provider, store"


class Conflict(HudictlError):
    """Another process is using the table."""

    slug = "conflict"
    exit_code = 12
    meaning = "another process is using the table: a lock, a claim, a live heartbeat, a timeline that changed"


class Refused(HudictlError):
    """A guard refused the operation; nothing was changed."""

    slug = "refused"
    exit_code = 13
    meaning = (
        "refused by a guard: the instant or savepoint does not exist, another restore or a rollback is pending, "
        "a later savepoint prevents it, the commit has a savepoint with another tag, or a file is missing"
    )


class Unreadable(HudictlError):
    """A metadata file is damaged, does not match its name, or contradicts another file."""

    slug = "unreadable"
    exit_code = 14
    meaning = "metadata unreadable or inconsistent"


class StorageFailed(HudictlError):
    """The storage refused or failed: no permission, no space, no connection."""

    slug = "storage"
    exit_code = 15
    meaning = "storage failed: no permission, disk full, no connection"


class EngineFailed(HudictlError):
    """The engine is missing or failed; hudictl never switches to the other engine by itself."""

    slug = "engine"
    exit_code = 16
    meaning = "engine failed or missing (no Java); hudictl never switches to the other engine by itself"


class OutcomeUnknown(StorageFailed):
    """The store's reply was lost, and whether the change was made cannot be determined."""

    slug = "outcome-unknown"
    exit_code = 17
    meaning = "the store's reply was lost, and whether the change was made cannot be determined"


class Interrupted(HudictlError):
    """SIGINT or SIGTERM."""

    slug = "interrupted"
    exit_code = 130
    meaning = "interrupted (SIGINT, SIGTERM): the same command continues; the message also names the way back, if any"


def vanished(error: FileNotFoundError) -> StorageFailed:
    """The error for a file or folder that nobody expects to be absent: the table changed under the command."""
    return StorageFailed(
        f"{error.filename or 'a file of the table'} is gone: it was removed while the command ran",
        hint="`hudictl table show` reports whether something is pending",
    )
