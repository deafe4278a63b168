"""Why a table service does not do all the work that its settings require."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from hudictl.errors import UsageError
from hudictl.state.facts import Signs, read_signs
from hudictl.state.services.blocks import with_remedies
from hudictl.state.services.due.archiving import archive_due, archive_thresholds, read_archivable
from hudictl.state.services.due.cleaning import Cleanable, clean_due, clean_thresholds
from hudictl.state.services.due.compaction import Compactable, compaction_due, compaction_thresholds
from hudictl.state.services.due.counted import ARCHIVE, CLEANING, COMPACT, MANIFEST, Blocker, Due, read_last_clean
from hudictl.state.services.left_manifests import left_manifests, readable_metadata_table
from hudictl.state.timeline.unfinished import RESUME, Remedy
from hudictl.table.settings import Setting, Settings
from hudictl.table.table import Table
from hudictl.table.timeline.active import instant_now

Service = Callable[[Table, Signs, Settings], Due]
Thresholds = Callable[[Settings], tuple[Setting, ...]]


def _archive(table: Table, signs: Signs, settings: Settings) -> Due:
    return archive_due(read_archivable(table, signs.timeline), settings)


def _clean(table: Table, signs: Signs, settings: Settings) -> Due:
    cleaned = read_last_clean(table, signs.timeline)
    return clean_due(Cleanable(signs.timeline, cleaned, instant_now(table)), settings)


def _compaction(table: Table, signs: Signs, settings: Settings) -> Due:
    look = Compactable(signs.timeline, table.rules, not table.is_cow, instant_now(table))
    return compaction_due(look, settings)


SERVICES: Mapping[str, tuple[Service, Thresholds]] = {
    ARCHIVE: (_archive, archive_thresholds),
    CLEANING: (_clean, clean_thresholds),
    COMPACT: (_compaction, compaction_thresholds),
}


def why(table: Table, service: str, settings: Settings, idle_ms: int) -> Due:
    """What the next run of a service would do, and what blocks it, with the commands that end the blocks.

    Args:
        idle_ms: an instant with activity less than this ago may be running.

    Raises:
        UsageError: thresholds are missing, or Hudi refuses the settings.
        Unreadable, StorageFailed.
    """
    look, thresholds = SERVICES[service]
    missing = settings.missing(*thresholds(settings))
    if missing:
        raise UsageError(
            f"not given: {', '.join(missing)}",
            hint="give the writers' settings with --props or --hoodie-conf, or Hudi's defaults with --assume-defaults",
        )
    signs = read_signs(table)
    due = look(table, signs, settings)
    left = _left_manifests(table, signs, idle_ms) if service == ARCHIVE else ()
    return replace(due, blocks=(*left, *with_remedies(table, signs, idle_ms, due.blocks)))


def _left_manifests(table: Table, signs: Signs, idle_ms: int) -> tuple[Blocker, ...]:
    paths = left_manifests(table, readable_metadata_table(table), signs.now_ms, idle_ms)
    because = "a writer died while it archived, and left this file: Hudi fails at it"
    return tuple(
        Blocker(MANIFEST, "", f"{path}: {because}", (Remedy(RESUME, "the file is removed"),)) for path in paths
    )
