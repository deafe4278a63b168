"""Why a table service does not do, or does not do all of, what its settings say."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from hudictl.errors import UsageError
from hudictl.state.archive_due import THRESHOLDS as ARCHIVE_THRESHOLDS
from hudictl.state.archive_due import archive_due, read_archivable
from hudictl.state.blocks import with_remedies
from hudictl.state.facts import Signs, read_signs
from hudictl.state.services_due import ARCHIVE, Due
from hudictl.table.settings import Setting, Settings
from hudictl.table.table import Table

Service = Callable[[Table, Signs, Settings], Due]


def _archive(table: Table, signs: Signs, settings: Settings) -> Due:
    return archive_due(read_archivable(table, signs.timeline), settings)


_SERVICES: Mapping[str, tuple[Service, tuple[Setting, ...]]] = {
    ARCHIVE: (_archive, ARCHIVE_THRESHOLDS),
}


def why(table: Table, service: str, settings: Settings, idle_ms: int) -> Due:
    """What the next run of a service would do, and what holds it back, with the commands that end that.

    Args:
        idle_ms: what did something less than this ago may be at work.

    Raises:
        UsageError: thresholds are missing, or settings are such as Hudi refuses.
        Unreadable, StorageFailed.
    """
    look, thresholds = _SERVICES[service]
    missing = settings.missing(*thresholds)
    if missing:
        raise UsageError(
            f"not given: {', '.join(missing)}",
            hint="give the writers' settings with --props or --hoodie-conf, or take Hudi's with --assume-defaults",
        )
    signs = read_signs(table)
    due = look(table, signs, settings)
    return replace(due, blocks=with_remedies(table, signs, idle_ms, due.blocks))
